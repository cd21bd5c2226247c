//! Translates the messages of a program linked with Ocamlviz to events.
//!
//! Ocamlviz's only clock is processor time, which stops while the program waits, and points are sent before
//! the time that they belong to. So the moments here are those of arrival, and Ocamlviz's clock only gives
//! the processor time.

use std::collections::HashMap;

use super::{Message, Uid, VizKind, VizValue};
use crate::{
    Declaration, Event, LogLine, Node, ObserverId, ObserverKind, Program, Stamp, Table, Tree, Unit,
    Value, names,
};

/// Messages within this many nanoseconds belong to one moment: a program sends all messages of a period at
/// once.
const MOMENT: u64 = 20_000_000;
/// The assumed period. The protocol does not transmit it; this is Ocamlviz's default.
const PERIOD_MS: u32 = 100;

/// Converts messages to events.
#[derive(Debug)]
pub struct Translator {
    observers: HashMap<Uid, Place>,
    /// Tags whose declarations came, but not yet the `Bind` that says which belong together.
    waiting: Vec<(Uid, VizKind, String)>,
    tags: HashMap<ObserverId, (Option<u64>, Option<u64>)>,
    last_tick: Option<u64>,
    /// Processor time, in nanoseconds.
    cpu: u64,
    log: History,
}

/// The observer that a number stands for.
#[derive(Clone, Copy, Debug)]
struct Place {
    id: ObserverId,
    kind: VizKind,
}

/// The state of the log's history, which a program sends twice to its first client.
#[derive(Debug)]
enum History {
    NotSent,
    /// Lines that may come again, the newest first.
    Sent(Vec<(f64, String)>),
    Over,
}

impl Translator {
    /// A translator for a new connection, with the events that begin it.
    pub fn new(name: &str) -> (Translator, Vec<Event>) {
        let translator = Translator {
            observers: HashMap::new(),
            waiting: Vec::new(),
            tags: HashMap::new(),
            last_tick: None,
            cpu: 0,
            log: History::NotSent,
        };
        let runtime = "OCaml, linked with Ocamlviz".into();
        let program = Program { name: name.into(), runtime, ..Program::default() };
        (translator, vec![Event::Hello(program)])
    }

    /// The events that a message stands for. `now` is in nanoseconds since the connection was made.
    pub fn translate(&mut self, message: Message, now: u64) -> Vec<Event> {
        let mut events = Vec::new();
        match message {
            Message::Declare(uid, kind @ (VizKind::TagCount | VizKind::TagSize), name) => {
                self.waiting.push((uid, kind, name));
            }
            Message::Declare(uid, kind, name) => self.declare(uid, kind, &name, &mut events),
            Message::Bind(uids) => self.bind(&uids, &mut events),
            Message::Send(uid, value) => {
                for (uid, kind, name) in std::mem::take(&mut self.waiting) {
                    self.declare_as(ObserverId(uid.0.into()), uid, kind, &name, &mut events);
                }
                self.send(uid, value, now, &mut events);
            }
        }
        events
    }

    fn declare(&mut self, uid: Uid, kind: VizKind, name: &str, events: &mut Vec<Event>) {
        let name = match uid {
            Uid::HEAP => names::HEAP,
            Uid::LIVE => names::LIVE,
            Uid::CLOCK | Uid::LOG => return,
            _ => name,
        };
        self.declare_as(ObserverId(uid.0.into()), uid, kind, name, events);
    }

    fn declare_as(
        &mut self,
        id: ObserverId,
        uid: Uid,
        kind: VizKind,
        name: &str,
        events: &mut Vec<Event>,
    ) {
        let (shown, unit) = match kind {
            VizKind::Point => (ObserverKind::Point, Unit::None),
            VizKind::Time => (ObserverKind::Time, Unit::Nanos),
            VizKind::ValueInt => (ObserverKind::Int, Unit::None),
            VizKind::ValueFloat => (ObserverKind::Float, Unit::None),
            VizKind::ValueBool => (ObserverKind::Bool, Unit::None),
            VizKind::ValueString => (ObserverKind::Text, Unit::None),
            VizKind::TagCount | VizKind::TagSize => (ObserverKind::Tag, Unit::None),
            VizKind::Special if uid <= Uid::LIVE => (ObserverKind::Gauge, Unit::Bytes),
            VizKind::Tree => (ObserverKind::Tree, Unit::None),
            VizKind::Hash => (ObserverKind::Table, Unit::None),
            VizKind::Special | VizKind::Log => return,
        };
        self.observers.insert(uid, Place { id, kind });
        let name = name.to_owned();
        events.push(Event::Declare(Declaration {
            id,
            kind: shown,
            name,
            labels: Vec::new(),
            unit,
            period_ms: PERIOD_MS,
        }));
    }

    /// A tag has two numbers, each with an id of its own; bound ids are one tag.
    fn bind(&mut self, uids: &[Uid], events: &mut Vec<Event>) {
        let Some(id) = uids.iter().min().map(|uid| ObserverId(uid.0.into())) else { return };
        let (bound, others): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.waiting).into_iter().partition(|(uid, ..)| uids.contains(uid));
        self.waiting = others;
        for (position, (uid, kind, name)) in bound.into_iter().enumerate() {
            if position == 0 {
                self.declare_as(id, uid, kind, &name, events);
            }
            self.observers.insert(uid, Place { id, kind });
        }
    }

    fn send(&mut self, uid: Uid, value: VizValue, now: u64, events: &mut Vec<Event>) {
        if let (Uid::CLOCK, VizValue::Float(seconds)) = (uid, &value) {
            // The cast saturates: negative times become 0, and absurd ones the maximum.
            self.cpu = self.cpu.max((seconds * 1e9) as u64);
            self.tick(now, events);
            return;
        }
        if self.last_tick.is_none_or(|last| now >= last.saturating_add(MOMENT)) {
            self.tick(now, events);
        }
        if let VizValue::Log(lines) = value {
            self.lines(lines, now, events);
            return;
        }
        // Values of undeclared observers are skipped; they come again after the declaration.
        let Some(Place { id, kind }) = self.observers.get(&uid).copied() else { return };
        if let Some(value) = self.value(id, kind, value) {
            events.push(Event::Update(id, value));
        }
    }

    fn tick(&mut self, now: u64, events: &mut Vec<Event>) {
        self.last_tick = Some(now);
        events.push(Event::Tick(Stamp { at: now, cpu: self.cpu }));
    }

    fn value(&mut self, id: ObserverId, kind: VizKind, value: VizValue) -> Option<Value> {
        let natural = |number: i64| u64::try_from(number).unwrap_or(0);
        Some(match (kind, value) {
            (_, VizValue::Killed) => Value::Killed,
            (_, VizValue::Collected) => Value::Collected,
            (VizKind::Point, VizValue::Int(count) | VizValue::Int64(count)) => {
                Value::Count(natural(count))
            }
            (VizKind::Time, VizValue::Float(seconds)) => {
                Value::Elapsed { nanos: (seconds * 1e9) as u64, runs: 0, running: false }
            }
            (
                VizKind::TagCount | VizKind::TagSize,
                VizValue::Int(number) | VizValue::Int64(number),
            ) => {
                let (count, bytes) = self.tags.entry(id).or_default();
                *(if kind == VizKind::TagCount { &mut *count } else { &mut *bytes }) =
                    Some(natural(number));
                Value::Tag { count: *count, bytes: *bytes }
            }
            (_, VizValue::Int(number) | VizValue::Int64(number)) => Value::Int(number),
            (_, VizValue::Float(number)) => Value::Float(number),
            (_, VizValue::String(text)) => Value::Text(text),
            (_, VizValue::Bool(truth)) => Value::Bool(truth),
            (_, VizValue::Tree(nodes)) => Value::Tree(root_first(nodes)),
            (_, VizValue::Hashtable(numbers)) => {
                let [buckets, bindings, empty, longest] = numbers.map(natural);
                Value::Table(Table { buckets, bindings, empty, longest })
            }
            (_, VizValue::Log(_)) => return None,
        })
    }

    fn lines(&mut self, lines: Vec<(f64, String)>, now: u64, events: &mut Vec<Event>) {
        let new = match std::mem::replace(&mut self.log, History::Over) {
            History::NotSent => {
                self.log = History::Sent(lines.clone());
                lines
            }
            History::Sent(before) => {
                lines.into_iter().filter(|line| !before.contains(line)).collect()
            }
            History::Over => lines,
        };
        let new = new.into_iter().rev();
        events.extend(new.map(|(_, text)| Event::Log(LogLine { at: now, text })));
    }
}

/// Reverses the nodes: Ocamlviz has the root last, our trees have it first.
fn root_first(nodes: Vec<(String, Vec<u16>)>) -> Tree {
    let last = nodes.len().saturating_sub(1) as u32;
    let turned = |(label, children): (String, Vec<u16>)| {
        let children =
            children.into_iter().map(|child| last.saturating_sub(child.into())).collect();
        Node { label, children }
    };
    Tree { nodes: nodes.into_iter().rev().map(turned).collect() }
}
