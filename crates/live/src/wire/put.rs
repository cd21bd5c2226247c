//! Encodes messages.

use super::frames::HEADER;
use super::{Greeting, KINDS, MAGIC, Reply, UNITS, action, frame_type, mark};
use crate::{
    Action, Control, Declaration, Dropped, Event, Histogram, LogLine, Program, Site, Stamp, Table,
    Tree, Value,
};

/// Appends a frame with an event.
pub fn put_event(bytes: &mut Vec<u8>, event: &Event) {
    match event {
        Event::Hello(program) => frame(bytes, frame_type::HELLO, |body| put_program(body, program)),
        Event::Declare(it) => frame(bytes, frame_type::DECLARE, |body| put_declaration(body, it)),
        Event::Tick(Stamp { at, cpu }) => frame(bytes, frame_type::TICK, |body| {
            put_number(body, *at);
            put_number(body, *cpu);
        }),
        Event::Update(id, value) => frame(bytes, frame_type::UPDATE, |body| {
            put_number(body, id.0.into());
            put_value(body, value);
        }),
        Event::Log(LogLine { at, text }) => frame(bytes, frame_type::LOG, |body| {
            put_number(body, *at);
            put_text(body, text);
        }),
        Event::Marker(text) => frame(bytes, frame_type::MARKER, |body| put_text(body, text)),
        Event::Dropped(Dropped { ticks, lines }) => frame(bytes, frame_type::DROPPED, |body| {
            put_number(body, *ticks);
            put_number(body, *lines);
        }),
        Event::Answer { request, result } => frame(bytes, frame_type::ANSWER, |body| {
            put_number(body, (*request).into());
            let (is_done, text) = match result {
                Ok(text) => (1, text),
                Err(text) => (0, text),
            };
            body.push(is_done);
            put_text(body, text);
        }),
        Event::End(reason) => frame(bytes, frame_type::END, |body| put_text(body, reason)),
    }
}

/// Appends a frame with a request.
pub fn put_control(bytes: &mut Vec<u8>, control: &Control) {
    frame(bytes, frame_type::CONTROL, |body| {
        put_number(body, control.request.into());
        match &control.action {
            Action::SetPeriod(id, period) => {
                body.push(action::SET_PERIOD);
                put_number(body, id.0.into());
                put_number(body, (*period).into());
            }
            Action::Stop(id) => {
                body.push(action::STOP);
                put_number(body, id.0.into());
            }
            Action::Resume(id) => {
                body.push(action::RESUME);
                put_number(body, id.0.into());
            }
            Action::Snapshot(name) => {
                body.push(action::SNAPSHOT);
                put_text(body, name);
            }
            Action::Sampling(on) => body.extend([action::SAMPLING, (*on).into()]),
            Action::Mark(text) => {
                body.push(action::MARK);
                put_text(body, text);
            }
        }
    });
}

/// Appends a client's first frame.
pub fn put_greeting(bytes: &mut Vec<u8>, greeting: &Greeting) {
    frame(bytes, frame_type::GREETING, |body| {
        body.extend_from_slice(MAGIC);
        put_number(body, greeting.lowest.into());
        put_number(body, greeting.highest.into());
        put_bytes(body, &greeting.token);
    });
}

/// Appends a program's first frame.
pub fn put_reply(bytes: &mut Vec<u8>, reply: &Reply) {
    match reply {
        Reply::Welcome(version) => frame(bytes, frame_type::WELCOME, |body| {
            body.extend_from_slice(MAGIC);
            put_number(body, (*version).into());
        }),
        Reply::Refused(reason) => frame(bytes, frame_type::REFUSED, |body| {
            body.extend_from_slice(MAGIC);
            put_text(body, reason);
        }),
        Reply::Elsewhere { socket, run } => frame(bytes, frame_type::ELSEWHERE, |body| {
            body.extend_from_slice(MAGIC);
            put_text(body, socket);
            put_text(body, run);
        }),
    }
}

fn frame(bytes: &mut Vec<u8>, kind: u8, put: impl FnOnce(&mut Vec<u8>)) {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; HEADER]);
    bytes.push(kind);
    put(bytes);
    // Texts of a program are cut long before this limit.
    let length = u32::try_from(bytes.len() - start - HEADER).unwrap_or(u32::MAX);
    bytes[start..start + HEADER].copy_from_slice(&length.to_le_bytes());
}

fn put_program(body: &mut Vec<u8>, program: &Program) {
    put_text(body, &program.name);
    put_number(body, program.pid.into());
    put_number(body, program.started);
    put_text(body, &program.runtime);
    body.push(program.controls.into());
    put_text(body, &program.run);
}

fn put_declaration(body: &mut Vec<u8>, declaration: &Declaration) {
    put_number(body, declaration.id.0.into());
    body.push(position(&KINDS, &declaration.kind));
    body.push(position(&UNITS, &declaration.unit));
    put_number(body, declaration.period_ms.into());
    put_text(body, &declaration.name);
    put_number(body, declaration.labels.len() as u64);
    for (key, value) in &declaration.labels {
        put_text(body, key);
        put_text(body, value);
    }
}

/// The index of an element in a list that contains it.
fn position<T: PartialEq>(all: &[T], one: &T) -> u8 {
    all.iter().position(|it| it == one).unwrap_or_default() as u8
}

fn put_value(body: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Count(count) => {
            body.push(mark::COUNT);
            put_number(body, *count);
        }
        Value::Elapsed { nanos, runs, running } => {
            body.push(mark::ELAPSED);
            put_number(body, *nanos);
            put_number(body, *runs);
            body.push((*running).into());
        }
        Value::Int(number) => {
            body.push(mark::INT);
            // Zigzag encoding: small numbers are short, whatever their sign.
            put_number(body, ((number << 1) ^ (number >> 63)) as u64);
        }
        Value::Float(number) => {
            body.push(mark::FLOAT);
            put_float(body, *number);
        }
        Value::Bool(truth) => body.extend([mark::BOOL, (*truth).into()]),
        Value::Text(text) => {
            body.push(mark::TEXT);
            put_text(body, text);
        }
        Value::Tag { count, bytes } => {
            let parts = u8::from(count.is_some()) | u8::from(bytes.is_some()) << 1;
            body.extend([mark::TAG, parts]);
            count.iter().chain(bytes).for_each(|number| put_number(body, *number));
        }
        Value::Tree(tree) => {
            body.push(mark::TREE);
            put_tree(body, tree);
        }
        Value::Table(Table { buckets, bindings, empty, longest }) => {
            body.push(mark::TABLE);
            for number in [buckets, bindings, empty, longest] {
                put_number(body, *number);
            }
        }
        Value::Histogram(histogram) => {
            body.push(mark::HISTOGRAM);
            put_histogram(body, histogram);
        }
        Value::Span { open, durations } => {
            body.push(mark::SPAN);
            put_number(body, *open);
            put_histogram(body, durations);
        }
        Value::Sites(sites) => {
            body.push(mark::SITES);
            put_number(body, sites.len() as u64);
            for Site { name, rate, live, samples } in sites {
                put_text(body, name);
                put_float(body, *rate);
                put_float(body, *live);
                put_number(body, *samples);
            }
        }
        Value::Failed(reason) => {
            body.push(mark::FAILED);
            put_text(body, reason);
        }
        Value::Collected => body.push(mark::COLLECTED),
        Value::Killed => body.push(mark::KILLED),
    }
}

fn put_tree(body: &mut Vec<u8>, tree: &Tree) {
    put_number(body, tree.nodes.len() as u64);
    for node in &tree.nodes {
        put_text(body, &node.label);
        put_number(body, node.children.len() as u64);
        node.children.iter().for_each(|child| put_number(body, (*child).into()));
    }
}

fn put_histogram(body: &mut Vec<u8>, histogram: &Histogram) {
    for number in [histogram.sum(), histogram.min(), histogram.max()] {
        put_number(body, number);
    }
    let counts = histogram.counts();
    put_number(body, counts.len() as u64);
    let mut last = 0;
    for (bucket, count) in counts {
        put_number(body, (bucket - last) as u64);
        put_number(body, count);
        last = bucket;
    }
}

/// LEB128: seven bits per byte, lowest first; the top bit says that more follow.
fn put_number(body: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        body.push(number as u8 | 0x80);
        number >>= 7;
    }
    body.push(number as u8);
}

fn put_float(body: &mut Vec<u8>, number: f64) {
    body.extend_from_slice(&number.to_le_bytes());
}

fn put_text(body: &mut Vec<u8>, text: &str) {
    put_bytes(body, text.as_bytes());
}

fn put_bytes(body: &mut Vec<u8>, bytes: &[u8]) {
    put_number(body, bytes.len() as u64);
    body.extend_from_slice(bytes);
}
