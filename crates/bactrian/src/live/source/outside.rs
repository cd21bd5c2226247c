//! Numbers measured from outside, as observers: their names, and where to find them.

use bactrian_capture::live::counters::Collector;
use bactrian_capture::live::memory::MemoryUse;
use bactrian_capture::live::{Known, Numbers};
use bactrian_live::{Declaration, Event, ObserverId, ObserverKind, Unit, Value, names};

/// Ids beyond those that any program uses for its own observers.
const FIRST: u32 = 1 << 31;

/// Why it is not known what bigarrays hold.
const NOT_SAMPLED: &str = "memory of bigarrays is only known from samples: bactrian live PID \
    --rate 1e-4";

struct Outside {
    name: &'static str,
    kind: ObserverKind,
    unit: Unit,
    value: fn(&Numbers) -> Value,
}

const ALL: &[Outside] = &[
    gauge(names::HEAP, Unit::Bytes, |numbers| int(&counted(numbers, |collector| collector.heap))),
    gauge(names::LIVE, Unit::Bytes, |numbers| int(&counted(numbers, |collector| collector.live))),
    counter(names::ALLOCATED, Unit::Bytes, |numbers| {
        count(&counted(numbers, |collector| collector.allocated))
    }),
    counter(names::PROMOTED, Unit::Bytes, |numbers| {
        count(&counted(numbers, |collector| collector.promoted))
    }),
    counter(names::MINOR_COLLECTIONS, Unit::None, |numbers| {
        count(&counted(numbers, |collector| collector.minor_collections))
    }),
    counter(names::MAJOR_COLLECTIONS, Unit::None, |numbers| {
        count(&counted(numbers, |collector| collector.major_collections))
    }),
    counter(names::COMPACTIONS, Unit::None, |numbers| {
        count(&counted(numbers, |collector| collector.compactions))
    }),
    gauge(names::DOMAINS, Unit::None, |numbers| {
        int(&counted(numbers, |collector| collector.domains))
    }),
    Outside {
        name: names::PAUSES,
        kind: ObserverKind::Histogram,
        unit: Unit::Nanos,
        value: |numbers| known(&numbers.pauses, |pauses| Value::Histogram(pauses.times.clone())),
    },
    counter(names::LOST_EVENTS, Unit::None, |numbers| {
        known(&numbers.pauses, |pauses| Value::Count(pauses.lost_events))
    }),
    counter(names::COLLECTOR_TIME, Unit::Nanos, |numbers| {
        known(&numbers.pauses, |pauses| Value::Count(pauses.times.sum()))
    }),
    gauge(names::RSS, Unit::Bytes, |numbers| int(&numbers.resident)),
    gauge(names::HEAP_USED, Unit::Bytes, |numbers| used(numbers, |memory| memory.heap_used)),
    gauge(names::HEAP_FREE, Unit::Bytes, |numbers| used(numbers, |memory| memory.heap_free)),
    gauge(names::MINOR_HEAPS, Unit::Bytes, |numbers| used(numbers, |memory| memory.minor_heaps)),
    gauge(names::EXTERNAL, Unit::Bytes, |numbers| match &numbers.memory {
        Ok(MemoryUse { external: None, .. }) => Value::Failed(NOT_SAMPLED.to_owned()),
        _ => used(numbers, |memory| memory.external.unwrap_or(0)),
    }),
    gauge(names::C_MEMORY, Unit::Bytes, |numbers| used(numbers, |memory| memory.c)),
    gauge(names::STACKS, Unit::Bytes, |numbers| used(numbers, |memory| memory.stacks)),
    gauge(names::CODE, Unit::Bytes, |numbers| used(numbers, |memory| memory.code)),
    gauge(names::SHARED, Unit::Bytes, |numbers| used(numbers, |memory| memory.shared)),
    counter(names::CPU, Unit::Nanos, |numbers| count(&numbers.cpu)),
    gauge(names::THREADS, Unit::None, |numbers| int(&numbers.threads)),
    Outside {
        name: names::SITES,
        kind: ObserverKind::Sites,
        unit: Unit::Bytes,
        value: |numbers| known(&numbers.sampled, |sampled| Value::Sites(sampled.sites.clone())),
    },
    gauge(names::MINOR_HEAP_SIZE, Unit::Bytes, |numbers| {
        parameter(numbers, |collector| collector.minor_heap_size)
    }),
    gauge(names::SPACE_OVERHEAD, Unit::None, |numbers| {
        parameter(numbers, |collector| collector.space_overhead)
    }),
];

const fn gauge(name: &'static str, unit: Unit, value: fn(&Numbers) -> Value) -> Outside {
    Outside { name, kind: ObserverKind::Gauge, unit, value }
}

const fn counter(name: &'static str, unit: Unit, value: fn(&Numbers) -> Value) -> Outside {
    Outside { name, kind: ObserverKind::Counter, unit, value }
}

fn counted(numbers: &Numbers, which: fn(&Collector) -> u64) -> Known<u64> {
    numbers.collector.as_ref().map(which).map_err(Clone::clone)
}

fn parameter(numbers: &Numbers, which: fn(&Collector) -> Option<u64>) -> Value {
    let why = "the collector's parameters cannot be read";
    let known = counted(numbers, |collector| collector.domains)
        .and_then(|_| numbers.collector.as_ref().ok().and_then(which).ok_or(why.to_owned()));
    int(&known)
}

fn used(numbers: &Numbers, which: fn(&MemoryUse) -> u64) -> Value {
    int(&numbers.memory.as_ref().map(which).map_err(Clone::clone))
}

fn int(number: &Known<u64>) -> Value {
    known(number, |number| Value::Int(i64::try_from(*number).unwrap_or(i64::MAX)))
}

fn count(number: &Known<u64>) -> Value {
    known(number, |number| Value::Count(*number))
}

/// An unknown number reports the reason.
fn known<T>(number: &Known<T>, value: impl Fn(&T) -> Value) -> Value {
    match number {
        Ok(number) => value(number),
        Err(why) => Value::Failed(why.clone()),
    }
}

/// The declarations, with this period.
pub fn declarations(period_ms: u32) -> impl Iterator<Item = Event> {
    with_ids().map(move |(id, Outside { name, kind, unit, .. })| {
        let (name, labels) = ((*name).to_owned(), Vec::new());
        Event::Declare(Declaration { id, kind: *kind, name, labels, unit: *unit, period_ms })
    })
}

/// The values. Sites are long, so they are sent less often.
pub fn updates(numbers: &Numbers, with_sites: bool) -> impl Iterator<Item = Event> {
    let told =
        with_ids().filter(move |(_, outside)| with_sites || outside.kind != ObserverKind::Sites);
    told.map(|(id, outside)| Event::Update(id, (outside.value)(numbers)))
}

fn with_ids() -> impl Iterator<Item = (ObserverId, &'static Outside)> {
    (FIRST..).map(ObserverId).zip(ALL)
}
