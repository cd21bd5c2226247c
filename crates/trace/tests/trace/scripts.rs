//! Made-up programs: what happens in which order, and the trace that is written of it.

use std::collections::BTreeMap;

use bactrian_trace::{
    DomainId, Locate, Making, MakingWords, Micros, NewAlloc, ObjectId, Sink, Source,
    SourceLocation, TraceInfo, Words, Writer, complete,
};
use proptest::prelude::*;

use crate::events::{Place, Seen, What};

/// Something that happens in a domain, `after` microseconds after the last thing that happened there; a
/// negative time means that the clock was set back.
#[derive(Clone, Debug)]
pub struct Step {
    pub after: i64,
    pub domain: u16,
    pub act: Act,
}

#[derive(Clone, Debug)]
pub enum Act {
    Alloc {
        length: u64,
        samples: u64,
        source: Source,
        stack: Vec<u64>,
    },
    /// Of one of the objects so far (the number wraps), whichever domain allocated it.
    Promote(usize),
    Collect(usize),
}

/// One of the codes. Every third shares its two slots of the cache with all others of its kind.
pub fn code(n: u8) -> u64 {
    let n = u64::from(n) + 1;
    if n.is_multiple_of(3) { n << 50 | 0xABC } else { 0x40_0000 + n * 8 }
}

/// The source locations of a code: none, one, or several that were inlined into each other.
pub fn places(code: u64) -> Vec<Place> {
    let place = |depth: u64| {
        let n = code % 1009 + depth;
        let (module, function) = (n % 40, n % 70);
        // Some functions come from a file that is not named after their module.
        let file =
            if n.is_multiple_of(9) { "tables.inc".to_owned() } else { format!("src/m{module}.ml") };
        let file = file.into_bytes();
        let function = format!("Lib__M{module}.f{function}").into_bytes();
        (file, function, n as u32 + 1, (n % 256) as u16, (n % 1024) as u16)
    };
    (0..code % 4).map(place).collect()
}

/// Locates codes by [`places`].
pub struct Here;

impl Locate for Here {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        let places = places(code);
        let locations = places.iter().map(|(file, function, line, start, end)| SourceLocation {
            file,
            function,
            line: *line,
            start_char: u32::from(*start),
            end_char: u32::from(*end),
        });
        found(&locations.collect::<Vec<_>>());
    }
}

pub fn info(version: u16) -> TraceInfo {
    TraceInfo {
        version,
        sample_rate: 1e-3,
        word_bits: 64,
        executable: b"made/up.exe".to_vec(),
        host: b"nowhere".to_vec(),
        runtime_params: b"v=0".to_vec(),
        pid: 7,
        context: b"a test".to_vec(),
        // The 25 bits that events hold of their time wrap 10 ms after the start.
        start: (1_700_000_000_000_000 >> 25 << 25) - 10_000,
    }
}

/// A script's trace, and the events that must come out of it.
#[derive(Debug)]
pub struct Written {
    pub bytes: Vec<u8>,
    pub events: Vec<Seen>,
}

/// Writes a trace. Ends packets every `flush_every` steps, so that a small trace has many.
pub fn write(version: u16, steps: &[Step], flush_every: usize) -> Written {
    let mut writer = Writer::new(Vec::new(), info(version)).expect("a writable version");
    let events = put(&mut writer, steps, flush_every);
    Written { bytes: writer.finish().expect("a vector takes all"), events }
}

/// What remains in a sink that outlives the program if the program is killed after its last event.
pub fn write_until_killed(version: u16, steps: &[Step], flush_every: usize) -> Written {
    let mut writer = Writer::new(Survivor::default(), info(version)).expect("a writable version");
    let events = put(&mut writer, steps, flush_every);
    let Survivor { mut bytes, making } = std::mem::take(writer.sink_mut());
    for (words, events, locations) in making.values() {
        bytes.extend(complete(words, events, locations));
    }
    Written { bytes, events }
}

/// Keeps copies of unfinished packets, with the headers that they had in the beginning.
#[derive(Debug, Default)]
struct Survivor {
    bytes: Vec<u8>,
    making: BTreeMap<usize, (MakingWords, Vec<u8>, Vec<u8>)>,
}

impl Sink for Survivor {
    type Error = std::convert::Infallible;

    fn put_packet(&mut self, packet: &[u8]) -> Result<(), Self::Error> {
        self.bytes.extend_from_slice(packet);
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    fn making(&mut self, place: usize, making: Making<'_>) {
        let (words, events, locations) = self.making.entry(place).or_insert_with(|| {
            let [events, locations] = making.headers();
            (making.words(), events, locations)
        });
        *words = making.words();
        events.extend_from_slice(&making.events()[events.len()..]);
        locations.extend_from_slice(&making.locations()[locations.len()..]);
    }

    fn made(&mut self, place: usize) {
        self.making.remove(&place);
    }
}

/// Executes a script and returns the events that must come out.
fn put<S: Sink<Error: std::fmt::Debug>>(
    writer: &mut Writer<S>,
    steps: &[Step],
    flush_every: usize,
) -> Vec<Seen> {
    let mut clocks = BTreeMap::new();
    // When packets were last ended; nothing happens before.
    let mut flushed = 0u64;
    let mut ids: Vec<ObjectId> = Vec::new();
    let mut events = Vec::new();
    for (number, Step { after, domain, act }) in (1..).zip(steps) {
        let clock = clocks.entry(*domain).or_insert(flushed);
        *clock = clock.saturating_add_signed(*after);
        let (time, domain) = (Micros(*clock), DomainId(*domain));
        let (id, what) = match act {
            Act::Alloc { length, samples, source, stack } => {
                let (length, samples, source) = (Words(*length), *samples, *source);
                let new = NewAlloc { time, domain, length, samples, source, stack };
                let id = writer.alloc(&new, &Here).expect("a vector takes all");
                ids.push(id);
                (id, What::Alloc { length, samples, source, stack: stack.clone() })
            }
            _ if ids.is_empty() => continue,
            Act::Promote(which) => {
                let id = ids[which % ids.len()];
                writer.promote(time, domain, id).expect("a vector takes all");
                (id, What::Promote)
            }
            Act::Collect(which) => {
                let id = ids[which % ids.len()];
                writer.collect(time, domain, id).expect("a vector takes all");
                (id, What::Collect)
            }
        };
        events.push(Seen { time, domain, id, what });
        if number % flush_every == 0 {
            flushed = clocks.values().copied().max().unwrap_or(flushed);
            writer.flush(Micros(flushed)).expect("a vector takes all");
            clocks.values_mut().for_each(|clock| *clock = flushed);
        }
    }
    // Domains are merged by time; at the same time, the lower number comes first.
    events.sort_by_key(|seen| (seen.time, seen.domain));
    events
}

/// A small program of one domain, the same each time.
pub fn small_program() -> Vec<Step> {
    let alloc = |n: usize| {
        let depth = 2 + n % 5;
        let stack = (0..depth).map(|level| code((level * 7 + n % (level + 1) * 3) as u8)).collect();
        let source = [Source::Minor, Source::Minor, Source::Major, Source::External][n % 4];
        Act::Alloc { length: (n * n % 300) as u64, samples: 1 + n as u64 % 3, source, stack }
    };
    let act = |n: usize| match n % 4 {
        3 => Act::Collect(n * 5),
        2 => Act::Promote(n * 5),
        _ => alloc(n),
    };
    (0..150).map(|n| Step { after: 500 + n as i64, domain: 0, act: act(n) }).collect()
}

/// Its trace, with many packets.
pub fn small(version: u16) -> Written {
    write(version, &small_program(), 20)
}

/// Deeper stacks may be cut when they are written, if no frame is in the cache.
const NEVER_CUT: usize = 4086 / 10;

fn stacks() -> impl Strategy<Value = Vec<u64>> {
    let codes = || (0..60u8).prop_map(code);
    let recursion = (prop::collection::vec(codes(), 1..4), 0..=NEVER_CUT)
        .prop_map(|(cycle, depth)| cycle.into_iter().cycle().take(depth).collect());
    prop_oneof![12 => prop::collection::vec(codes(), 0..12), 1 => recursion]
}

fn acts() -> impl Strategy<Value = Act> {
    let lengths = prop_oneof![8 => 0..20u64, 1 => 0..100_000u64, 1 => 0..=i64::MAX as u64];
    let samples = prop_oneof![4 => Just(1u64), 1 => 1..1_000_000_000_000u64];
    let sources =
        prop::sample::select(vec![Source::Minor, Source::Minor, Source::Major, Source::External]);
    let alloc = (lengths, samples, sources, stacks())
        .prop_map(|(length, samples, source, stack)| Act::Alloc { length, samples, source, stack });
    prop_oneof![
        5 => alloc,
        1 => any::<usize>().prop_map(Act::Promote),
        2 => any::<usize>().prop_map(Act::Collect),
    ]
}

/// Random programs of up to this many domains.
pub fn steps(domains: u16) -> impl Strategy<Value = Vec<Step>> {
    let after = prop_oneof![2 => Just(0i64), 20 => 0..3_000i64, 1 => 0..80_000_000i64];
    let step = (after, 0..domains, acts());
    prop::collection::vec(step.prop_map(|(after, domain, act)| Step { after, domain, act }), 0..250)
}

/// Random versions with random programs that these versions can represent.
pub fn programs() -> impl Strategy<Value = (u16, Vec<Step>)> {
    prop_oneof![
        steps(1).prop_map(|steps| (2, steps)),
        steps(1).prop_map(|steps| (3, steps)),
        steps(4).prop_map(|steps| (3, steps)),
    ]
}
