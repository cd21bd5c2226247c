//! Encodes for the Ocamlviz protocol, so that its clients survive.
//!
//! These clients know fewer kinds than ours: newer kinds are mapped to known ones. All values are sent at
//! every tick, as the original did, because a client stamps a value with the last time it received. The time
//! sent is wall-clock time; the original's clock stood still while a program slept.

use std::collections::HashMap;

use bactrian_live::ocamlviz::{Message, Uid, VizKind, VizValue, put};
use bactrian_live::{
    Declaration, Histogram, LogLine, ObserverId, ObserverKind, Table, Unit, Value, names,
};

use super::old_tree;
use super::sampler::{Entry, Sampler};
use crate::name::cut;

/// Longer strings and lines are cut, in bytes.
const LONGEST_TEXT: usize = 4 << 10;
/// The most bytes of log lines in one message.
const LINES_AT_ONCE: usize = 32 << 10;
/// OCaml integers have 63 bits.
const LARGEST_INT: i64 = (1 << 62) - 1;
/// The most allocation sites that are shown.
const MOST_SITES: usize = 10;

/// The part of an observer's value that a number of the protocol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    Count,
    Bytes,
}

/// The numbers of observers in this protocol.
#[derive(Debug)]
pub(crate) struct Old {
    numbers: HashMap<ObserverId, Vec<(Uid, VizKind, Part)>>,
    /// The next number; None when all are used.
    next: Option<u16>,
    /// How many observers got no number.
    pub without_number: u64,
    /// The last statistics sent for each table.
    tables: HashMap<Uid, [i64; 4]>,
}

impl Old {
    pub fn new() -> Old {
        Old {
            numbers: HashMap::new(),
            next: Some(Uid::FIRST.0),
            without_number: 0,
            tables: HashMap::new(),
        }
    }

    /// Numbers the observers that have no number yet, including ended ones; numbers are never reused.
    pub fn number(&mut self, sampler: &Sampler) {
        let newest = sampler.entries.iter().rev();
        let new =
            newest.take_while(|entry| !self.numbers.contains_key(&entry.observer.id())).count();
        for entry in &sampler.entries[sampler.entries.len() - new..] {
            let numbers = self.numbers_of(&entry.observer.declaration);
            self.numbers.insert(entry.observer.id(), numbers);
        }
        if self.numbers.len() > 2 * sampler.entries.len() + 1000 {
            self.numbers.retain(|id, _| sampler.find(*id).is_some());
        }
    }

    fn numbers_of(&mut self, declaration: &Declaration) -> Vec<(Uid, VizKind, Part)> {
        match declaration.name.as_str() {
            names::HEAP => return vec![(Uid::HEAP, VizKind::Special, Part::Whole)],
            names::LIVE => return vec![(Uid::LIVE, VizKind::Special, Part::Whole)],
            _ => {}
        }
        let kinds: &[(VizKind, Part)] = match declaration.kind {
            ObserverKind::Point | ObserverKind::Counter => &[(VizKind::Point, Part::Whole)],
            ObserverKind::Time => &[(VizKind::Time, Part::Whole)],
            ObserverKind::Int => &[(VizKind::ValueInt, Part::Whole)],
            ObserverKind::Float | ObserverKind::Gauge => &[(VizKind::ValueFloat, Part::Whole)],
            ObserverKind::Bool => &[(VizKind::ValueBool, Part::Whole)],
            ObserverKind::Text
            | ObserverKind::Histogram
            | ObserverKind::Span
            | ObserverKind::Sites => &[(VizKind::ValueString, Part::Whole)],
            ObserverKind::Tag => {
                &[(VizKind::TagSize, Part::Bytes), (VizKind::TagCount, Part::Count)]
            }
            ObserverKind::Tree => &[(VizKind::Tree, Part::Whole)],
            ObserverKind::Table => &[(VizKind::Hash, Part::Whole)],
        };
        let mut numbers = Vec::new();
        for (kind, part) in kinds {
            let Some(next) = self.next else {
                self.without_number += 1;
                return Vec::new();
            };
            numbers.push((Uid(next), *kind, *part));
            self.next = next.checked_add(1);
        }
        numbers
    }

    fn of(&self, entry: &Entry) -> &[(Uid, VizKind, Part)] {
        self.numbers.get(&entry.observer.id()).map_or(&[], Vec::as_slice)
    }

    /// The full state, for a client that is new or missed something. `lines` are the log lines that it may
    /// have missed.
    pub fn everything(&self, sampler: &Sampler, lines: &[LogLine]) -> Vec<u8> {
        let mut said = Said::default();
        for (uid, kind, name) in [
            (Uid::HEAP, VizKind::Special, "heap_total_size"),
            (Uid::LIVE, VizKind::Special, "heap_alive_size"),
            (Uid::CLOCK, VizKind::Special, "etime"),
            (Uid::LOG, VizKind::Log, "log"),
        ] {
            said.put(Message::Declare(uid, kind, name.to_owned()));
        }
        sampler.entries.iter().for_each(|entry| self.declare(&mut said, entry));
        said.put(clock(sampler));
        // A client that is asked to write its file before it has these values exits with an error.
        for uid in [Uid::HEAP, Uid::LIVE] {
            said.put(Message::Send(uid, VizValue::Int64(0)));
        }
        sampler.entries.iter().for_each(|entry| self.value(&mut said, entry, entry.end.is_some()));
        said.lines(lines);
        said.bytes
    }

    /// The update for a tick.
    pub fn news(&mut self, sampler: &Sampler, lines: &[LogLine], markers: &[String]) -> Vec<u8> {
        let mut said = Said::default();
        let new = sampler.entries.iter().filter(|entry| entry.is_declared && !entry.was_declared);
        new.for_each(|entry| self.declare(&mut said, entry));
        said.put(clock(sampler));
        for entry in
            sampler.entries.iter().filter(|entry| entry.end.is_none() || entry.has_just_ended)
        {
            self.unfreeze_table(&mut said, entry);
            self.value(&mut said, entry, entry.has_just_ended);
        }
        let mut lines = lines.to_vec();
        let line = |text| LogLine { at: sampler.stamp.at, text };
        for entry in sampler.entries.iter().filter(|entry| entry.is_new) {
            if let Some(Value::Failed(why)) = &entry.last {
                lines.push(line(format!("{} failed: {why}", name(&entry.observer.declaration))));
            }
        }
        lines.extend(markers.iter().map(|marker| line(format!("--- {marker} ---"))));
        said.lines(&lines);
        said.bytes
    }

    fn declare(&self, said: &mut Said, entry: &Entry) {
        let numbers = self.of(entry);
        for (uid, kind, _) in numbers.iter().filter(|(uid, ..)| *uid >= Uid::FIRST) {
            said.put(Message::Declare(*uid, *kind, name(&entry.observer.declaration)));
        }
        if numbers.len() > 1 {
            said.put(Message::Bind(numbers.iter().map(|(uid, ..)| *uid).collect()));
        }
    }

    /// Clients accept the four statistics of a table only if all four have changed, so a table with one
    /// constant number would never be updated. Therefore values that differ in all four are sent first, for
    /// the same moment.
    fn unfreeze_table(&mut self, said: &mut Said, entry: &Entry) {
        let (Some(Value::Table(table)), true) = (&entry.last, entry.is_new) else { return };
        let Some((uid, ..)) = self.of(entry).first().copied() else { return };
        let now = numbers_of_table(table);
        let Some(before) = self.tables.insert(uid, now) else { return };
        if now.iter().zip(&before).any(|(now, before)| now == before) {
            let other =
                |at: usize| if now[at] + 1 == before[at] { now[at] + 2 } else { now[at] + 1 };
            said.put(Message::Send(uid, VizValue::Hashtable([0, 1, 2, 3].map(other))));
        }
    }

    fn value(&self, said: &mut Said, entry: &Entry, with_end: bool) {
        for (uid, kind, part) in self.of(entry) {
            let last = entry.last.as_ref();
            if let Some(value) =
                last.and_then(|value| translate(value, *kind, *part, &entry.observer.declaration))
            {
                said.put(Message::Send(*uid, value));
            }
            let end = entry.end.as_ref().filter(|_| with_end && *uid >= Uid::FIRST);
            if let Some(end) = end {
                let end =
                    if *end == Value::Collected { VizValue::Collected } else { VizValue::Killed };
                said.put(Message::Send(*uid, end));
            }
        }
    }
}

fn clock(sampler: &Sampler) -> Message {
    Message::Send(Uid::CLOCK, VizValue::Float(seconds(sampler.stamp.at)))
}

fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

fn int(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(LARGEST_INT).min(LARGEST_INT)
}

/// The name, with labels.
fn name(declaration: &Declaration) -> String {
    if declaration.labels.is_empty() {
        return declaration.name.clone();
    }
    let labels: Vec<_> =
        declaration.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    cut(&format!("{} {{{}}}", declaration.name, labels.join(", ")), 1000)
}

/// A value in the terms of the Ocamlviz protocol; None if there is nothing to send.
fn translate(
    value: &Value,
    kind: VizKind,
    part: Part,
    declaration: &Declaration,
) -> Option<VizValue> {
    let translated = match (kind, value) {
        (VizKind::Special, Value::Int(bytes)) => VizValue::Int64(*bytes),
        (VizKind::Special, Value::Count(bytes)) => VizValue::Int64(int(*bytes)),
        (VizKind::Special, Value::Float(bytes)) => VizValue::Int64(*bytes as i64),
        (VizKind::Point, Value::Count(count)) => VizValue::Int(int(*count)),
        (VizKind::Time, Value::Elapsed { nanos, .. }) => VizValue::Float(seconds(*nanos)),
        (VizKind::ValueInt, Value::Int(number)) => {
            VizValue::Int((*number).clamp(-LARGEST_INT - 1, LARGEST_INT))
        }
        (VizKind::ValueFloat, Value::Float(number)) => VizValue::Float(*number),
        (VizKind::ValueFloat, Value::Int(number)) => VizValue::Float(*number as f64),
        (VizKind::ValueFloat, Value::Count(number)) => VizValue::Float(*number as f64),
        (VizKind::ValueBool, Value::Bool(truth)) => VizValue::Bool(*truth),
        (VizKind::ValueString, value) => {
            VizValue::String(cut(&text(value, declaration.unit)?, LONGEST_TEXT))
        }
        (VizKind::TagCount, Value::Tag { count, .. }) if part == Part::Count => {
            VizValue::Int(int((*count)?))
        }
        (VizKind::TagSize, Value::Tag { bytes, .. }) if part == Part::Bytes => {
            VizValue::Int64(int((*bytes)?))
        }
        (VizKind::Tree, Value::Tree(tree)) => VizValue::Tree(old_tree::unfolded(tree)),
        (VizKind::Hash, Value::Table(table)) => VizValue::Hashtable(numbers_of_table(table)),
        _ => return None,
    };
    Some(translated)
}

fn numbers_of_table(table: &Table) -> [i64; 4] {
    [table.buckets, table.bindings, table.empty, table.longest].map(int)
}

/// Values without a corresponding kind, as text.
fn text(value: &Value, unit: Unit) -> Option<String> {
    let text = match value {
        Value::Text(text) => text.clone(),
        Value::Histogram(histogram) => distribution(histogram, unit),
        Value::Span { open, durations } => {
            format!("{open} open, {}", distribution(durations, Unit::Nanos))
        }
        Value::Sites(sites) => {
            let site = |site: &bactrian_live::Site| {
                let (rate, live) = (site.rate.max(0.0) as u64, site.live.max(0.0) as u64);
                format!(
                    "{}: {}/s, {} live",
                    site.name,
                    amount(rate, Unit::Bytes),
                    amount(live, Unit::Bytes)
                )
            };
            sites.iter().take(MOST_SITES).map(site).collect::<Vec<_>>().join("; ")
        }
        _ => return None,
    };
    Some(text)
}

fn distribution(histogram: &Histogram, unit: Unit) -> String {
    let at = |percent| amount(histogram.percentile(percent), unit);
    let (half, most, nearly_all) = (at(50.0), at(90.0), at(99.0));
    let (max, count) = (amount(histogram.max(), unit), histogram.count());
    format!("p50 {half}, p90 {most}, p99 {nearly_all}, max {max}, count {count}")
}

/// A number for people.
fn amount(number: u64, unit: Unit) -> String {
    let (units, step): (&[&str], f64) = match unit {
        Unit::None => return number.to_string(),
        Unit::Percent => return format!("{number} %"),
        Unit::Bytes => (&["B", "kB", "MB", "GB", "TB"], 1000.0),
        Unit::Nanos => (&["ns", "us", "ms", "s"], 1000.0),
    };
    let mut scaled = number as f64;
    let mut at = 0;
    while scaled >= step && at + 1 < units.len() {
        scaled /= step;
        at += 1;
    }
    if at == 0 { format!("{number} {}", units[0]) } else { format!("{scaled:.1} {}", units[at]) }
}

/// The messages being encoded.
#[derive(Default)]
struct Said {
    bytes: Vec<u8>,
}

impl Said {
    fn put(&mut self, message: Message) {
        // Everything that could become too long was cut already. If a message still is too long, omitting it
        // is better than freezing a client.
        let _ = put(&mut self.bytes, &message);
    }

    /// Adds log lines, in as many messages as necessary.
    fn lines(&mut self, lines: &[LogLine]) {
        let mut some = Vec::new();
        let mut length = 0;
        for line in lines {
            let text = cut(&line.text, LONGEST_TEXT);
            if length + text.len() > LINES_AT_ONCE {
                self.log(std::mem::take(&mut some));
                length = 0;
            }
            length += text.len() + 12;
            some.push((seconds(line.at), text));
        }
        self.log(some);
    }

    fn log(&mut self, mut lines: Vec<(f64, String)>) {
        if !lines.is_empty() {
            // The protocol wants the newest first.
            lines.reverse();
            self.put(Message::Send(Uid::LOG, VizValue::Log(lines)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;
    use crate::registry::{Handle, Origin};
    use crate::server::Shared;
    use crate::server::sampler::Tick;
    use crate::settings::Settings;
    use bactrian_live::ocamlviz::{MAX_FRAME, take};
    use bactrian_live::wire::Frames;
    use std::time::Duration;

    struct Watched {
        shared: Shared,
        sampler: Sampler,
        old: Old,
    }

    impl Watched {
        fn new() -> Watched {
            let shared = Shared::new(Settings::default(), None);
            Watched { shared, sampler: Sampler::new(Duration::from_millis(100)), old: Old::new() }
        }

        fn declare(&self, kind: ObserverKind, name: Name) -> Handle {
            self.shared.registry.add(kind, name, Origin::Published.source(kind))
        }

        fn tick(&mut self) -> Vec<Message> {
            self.sampler.tick(&self.shared, Tick::Last);
            self.old.number(&self.sampler);
            messages(&self.old.news(&self.sampler, &[], &[]))
        }
    }

    fn messages(bytes: &[u8]) -> Vec<Message> {
        let mut frames = Frames::up_to(MAX_FRAME - 4);
        frames.push(bytes);
        let frames = std::iter::from_fn(|| frames.next().expect("not too long"));
        frames.map(|frame| take(&frame).expect("known")).collect()
    }

    fn sent(messages: &[Message], of: Uid) -> Vec<VizValue> {
        let value = |message: &Message| match message {
            Message::Send(uid, value) if *uid == of => Some(value.clone()),
            _ => None,
        };
        messages.iter().filter_map(value).collect()
    }

    #[test]
    fn every_kind_maps_to_an_ocamlviz_kind() {
        let mut watched = Watched::new();
        let mut histogram = Histogram::default();
        (1..=100).for_each(|number| histogram.record(number * 1_000_000));
        let durations = histogram.clone();
        let site = bactrian_live::Site { name: "f".into(), rate: 2e6, live: 300.0, samples: 1 };
        let cases = [
            (ObserverKind::Point, Value::Count(3), VizValue::Int(3)),
            (ObserverKind::Counter, Value::Count(u64::MAX), VizValue::Int(LARGEST_INT)),
            (ObserverKind::Time, elapsed(1_500_000_000), VizValue::Float(1.5)),
            (ObserverKind::Int, Value::Int(i64::MIN), VizValue::Int(-LARGEST_INT - 1)),
            (ObserverKind::Gauge, Value::Int(2), VizValue::Float(2.0)),
            (ObserverKind::Bool, Value::Bool(true), VizValue::Bool(true)),
            (
                ObserverKind::Histogram,
                Value::Histogram(histogram),
                text("p50 50.3 ms, p90 92.3 ms, p99 100.0 ms, max 100.0 ms, count 100"),
            ),
            (
                ObserverKind::Span,
                Value::Span { open: 2, durations },
                text("2 open, p50 50.3 ms, p90 92.3 ms, p99 100.0 ms, max 100.0 ms, count 100"),
            ),
            (ObserverKind::Sites, Value::Sites(vec![site]), text("f: 2.0 MB/s, 300 B live")),
        ];
        for (kind, value, _) in &cases {
            watched.declare(*kind, Name::new("n").unit(Unit::Nanos)).publish(value.clone());
        }
        let said = watched.tick();
        for (number, (kind, _, expected)) in (Uid::FIRST.0..).zip(&cases) {
            assert_eq!(sent(&said, Uid(number)), std::slice::from_ref(expected), "{kind:?}");
        }
    }

    fn elapsed(nanos: u64) -> Value {
        Value::Elapsed { nanos, runs: 1, running: false }
    }

    fn text(text: &str) -> VizValue {
        VizValue::String(text.into())
    }

    #[test]
    fn tag_is_sent_as_two_bound_observers() {
        let mut watched = Watched::new();
        let tag = watched.declare(ObserverKind::Tag, "t".into());
        tag.publish(Value::Tag { count: Some(3), bytes: None });
        let said = watched.tick();
        let (size, count) = (Uid(5), Uid(6));
        assert!(said.contains(&Message::Declare(size, VizKind::TagSize, "t".into())));
        assert!(said.contains(&Message::Declare(count, VizKind::TagCount, "t".into())));
        assert!(said.contains(&Message::Bind(vec![size, count])));
        assert_eq!((sent(&said, size), sent(&said, count)), (vec![], vec![VizValue::Int(3)]));
    }

    #[test]
    fn runtime_heap_is_sent_as_the_clients_heap() {
        let mut watched = Watched::new();
        let heap = watched.declare(ObserverKind::Gauge, Name::reserved(names::HEAP));
        heap.publish(Value::Int(1 << 40));
        let said = watched.tick();
        assert_eq!(sent(&said, Uid::HEAP), [VizValue::Int64(1 << 40)]);
        assert!(!said.iter().any(|message| matches!(message, Message::Declare(..))));
        let all = messages(&watched.old.everything(&watched.sampler, &[]));
        assert_eq!(sent(&all, Uid::HEAP), [VizValue::Int64(0), VizValue::Int64(1 << 40)]);
        assert_eq!(sent(&all, Uid::LIVE), [VizValue::Int64(0)]);
    }

    #[test]
    fn failure_is_logged_and_end_follows_the_last_value() {
        let mut watched = Watched::new();
        let value = watched.declare(ObserverKind::Int, "v".into());
        value.publish(Value::Failed("Not_found".into()));
        let said = watched.tick();
        assert_eq!(sent(&said, Uid(5)), []);
        let [VizValue::Log(lines)] = &sent(&said, Uid::LOG)[..] else { panic!("{said:?}") };
        assert_eq!(lines[0].1, "v failed: Not_found");
        assert_eq!(sent(&watched.tick(), Uid::LOG), [], "said once");
        value.publish(Value::Int(1));
        value.kill();
        let end = [VizValue::Int(1), VizValue::Killed];
        assert_eq!(sent(&watched.tick(), Uid(5)), end);
        assert_eq!(sent(&watched.tick(), Uid(5)), []);
        assert_eq!(sent(&messages(&watched.old.everything(&watched.sampler, &[])), Uid(5)), end);
    }

    #[test]
    fn table_with_one_constant_number_is_updated() {
        let mut watched = Watched::new();
        let table = watched.declare(ObserverKind::Table, "t".into());
        let mut shown = None;
        for bindings in [3, 4, 5, 5, 4] {
            table.publish(Value::Table(Table { buckets: 16, bindings, empty: 8, longest: 1 }));
            for value in sent(&watched.tick(), Uid(5)) {
                let VizValue::Hashtable(now) = value else { panic!() };
                // As the clients do.
                let is_new = |before: [i64; 4]| now.iter().zip(before).all(|(a, b)| *a != b);
                if shown.is_none_or(is_new) {
                    shown = Some(now);
                }
            }
            assert_eq!(shown, Some([16, bindings as i64, 8, 1]));
        }
    }

    #[test]
    fn numbers_are_never_reused() {
        let mut watched = Watched::new();
        watched.old.next = Some(u16::MAX);
        let first = watched.declare(ObserverKind::Int, "last".into());
        let second = watched.declare(ObserverKind::Int, "too many".into());
        first.publish(Value::Int(1));
        second.publish(Value::Int(2));
        let said = watched.tick();
        assert_eq!(watched.old.without_number, 1);
        assert_eq!(sent(&said, Uid(u16::MAX)), [VizValue::Int(1)]);
        assert_eq!(said.iter().filter(|it| matches!(it, Message::Declare(..))).count(), 1);
    }

    #[test]
    fn long_lines_are_split_into_messages() {
        let mut said = Said::default();
        let line = |at| LogLine { at, text: format!("{at} {}", "x".repeat(3000)) };
        said.lines(&(0..100).map(line).collect::<Vec<_>>());
        let messages = messages(&said.bytes);
        let VizValue::Log(first) = &sent(&messages, Uid::LOG)[0] else { panic!() };
        assert!(messages.len() > 5 && first.len() > 5);
        assert!(first[0].0 > first[1].0, "the newest first");
        let lines = sent(&messages, Uid::LOG)
            .iter()
            .map(|log| match log {
                VizValue::Log(lines) => lines.len(),
                _ => 0,
            })
            .sum::<usize>();
        assert_eq!(lines, 100);
    }
}
