//! What is said in Ocamlviz's protocol, in such a way that its clients stay alive.
//!
//! They know less than ours: what is new is shown as what they know. All values are said at every tick, as the original
//! did, because a client stamps what it hears with the last time it heard. The time is that of the wall; the original's
//! stood still while a program slept.

use std::collections::HashMap;

use bactrian_live::ocamlviz::{Message, Uid, VizKind, VizValue, put};
use bactrian_live::{Declaration, Histogram, Kind, LogLine, ObserverId, Unit, Value, names};

use super::old_tree;
use super::sampler::{Entry, Sampler};
use crate::name::cut;

/// Strings and lines are cut to this.
const LONGEST_TEXT: usize = 4 << 10;
/// So many bytes of lines go into one message.
const LINES_AT_ONCE: usize = 32 << 10;
/// Integers of OCaml have 63 bits.
const LARGEST_INT: i64 = (1 << 62) - 1;
/// So many places of allocation are shown.
const MOST_SITES: usize = 10;

/// Which part of an observer's value a number of the protocol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Whole,
    Count,
    Bytes,
}

/// The numbers that observers have in this protocol.
#[derive(Debug)]
pub(crate) struct Old {
    numbers: HashMap<ObserverId, Vec<(Uid, VizKind, Part)>>,
    /// The next number; none if there is none.
    next: Option<u16>,
    /// Observers that found no number.
    pub without_number: u64,
}

impl Old {
    pub fn new() -> Old {
        Old { numbers: HashMap::new(), next: Some(Uid::FIRST.0), without_number: 0 }
    }

    /// Gives numbers to those that have none. Dead or alive: numbers are not used again.
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
            Kind::Point | Kind::Counter => &[(VizKind::Point, Part::Whole)],
            Kind::Time => &[(VizKind::Time, Part::Whole)],
            Kind::Int => &[(VizKind::ValueInt, Part::Whole)],
            Kind::Float | Kind::Gauge => &[(VizKind::ValueFloat, Part::Whole)],
            Kind::Bool => &[(VizKind::ValueBool, Part::Whole)],
            Kind::Text | Kind::Histogram | Kind::Span | Kind::Sites => {
                &[(VizKind::ValueString, Part::Whole)]
            }
            Kind::Tag => &[(VizKind::TagSize, Part::Bytes), (VizKind::TagCount, Part::Count)],
            Kind::Tree => &[(VizKind::Tree, Part::Whole)],
            Kind::Table => &[(VizKind::Hash, Part::Whole)],
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

    /// Everything there is: for who has just come, or has missed something. `lines` are those that it may have missed.
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
        // A client that is asked to write its file before it knows these ends with an error.
        for uid in [Uid::HEAP, Uid::LIVE] {
            said.put(Message::Send(uid, VizValue::Int64(0)));
        }
        sampler.entries.iter().for_each(|entry| self.value(&mut said, entry, entry.end.is_some()));
        said.lines(lines);
        said.bytes
    }

    /// A tick.
    pub fn news(&self, sampler: &Sampler, lines: &[LogLine], markers: &[String]) -> Vec<u8> {
        let mut said = Said::default();
        let new = sampler.entries.iter().filter(|entry| entry.is_declared && !entry.was_declared);
        new.for_each(|entry| self.declare(&mut said, entry));
        said.put(clock(sampler));
        for entry in
            sampler.entries.iter().filter(|entry| entry.end.is_none() || entry.has_just_ended)
        {
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

/// A name with its labels.
fn name(declaration: &Declaration) -> String {
    if declaration.labels.is_empty() {
        return declaration.name.clone();
    }
    let labels: Vec<_> =
        declaration.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    cut(&format!("{} {{{}}}", declaration.name, labels.join(", ")), 1000)
}

/// A value as the clients of Ocamlviz know it; none if there is nothing to say.
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
        (VizKind::Hash, Value::Table(table)) => VizValue::Hashtable(
            [table.buckets, table.bindings, table.empty, table.longest].map(int),
        ),
        _ => return None,
    };
    Some(translated)
}

/// What there is no kind for, as a text.
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

/// What is being said.
#[derive(Default)]
struct Said {
    bytes: Vec<u8>,
}

impl Said {
    fn put(&mut self, message: Message) {
        // All that could be too long was cut; should one be too long all the same, it is better missing than freezing
        // a client.
        let _ = put(&mut self.bytes, &message);
    }

    /// Lines of the log, in as many messages as it takes.
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
            // The newest first.
            lines.reverse();
            self.put(Message::Send(Uid::LOG, VizValue::Log(lines)));
        }
    }
}
