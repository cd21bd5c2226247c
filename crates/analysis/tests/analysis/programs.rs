//! Random small programs and their traces; random filters.

use bactrian_analysis::units::{Between, Bytes, Time};
use bactrian_analysis::{Collected, Filter, FramePattern, Hidden, Live, Pattern, TraceFile};
use bactrian_trace::{
    DomainId, Locate, Micros, NewAlloc, ObjectId, Source, SourceLocation, TraceInfo, Words, Writer,
};
use proptest::prelude::*;

/// The locations of each code: file, function, line. Several if functions were inlined, the outermost first.
/// A function may be in several frames, and twice in one.
const FRAMES: &[&[(&str, &str, u32)]] = &[
    &[("src/main.ml", "Main.run", 3)],
    &[("src/main.ml", "Main.run", 9)],
    &[("src/main.ml", "Main.loop", 12)],
    &[("lib/list.ml", "Lib__List.map", 92)],
    &[("lib/list.ml", "Lib__List.map", 92), ("src/main.ml", "Main.run.(fun)", 4)],
    &[("lib/list.ml", "Lib__List.map", 93), ("lib/list.ml", "Lib__List.map", 92)],
    &[
        ("src/cache.ml", "Cache.add", 7),
        ("lib/list.ml", "Lib__List.rev", 1),
        ("lib/buf.ml", "Buf.grow", 5),
    ],
    &[],
];

/// Finds the locations of code `n + 1` in [`FRAMES`].
struct Here;

impl Locate for Here {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        let locations = FRAMES[code as usize - 1].iter().map(|&(file, function, line)| {
            let (file, function) = (file.as_bytes(), function.as_bytes());
            SourceLocation { file, function, line, start_char: 2, end_char: 20 }
        });
        found(&locations.collect::<Vec<_>>());
    }
}

#[derive(Clone, Debug)]
pub struct Step {
    after: u64,
    domain: u16,
    act: Act,
}

#[derive(Clone, Debug)]
enum Act {
    Alloc(Block),
    /// The index of a live object; it wraps around.
    Promote(usize),
    Collect(usize),
}

/// A block to allocate.
#[derive(Clone, Debug)]
pub struct Block {
    pub length: u64,
    pub samples: u64,
    pub source: Source,
    pub stack: Vec<u64>,
}

pub fn info(version: u16, sample_rate: f64) -> TraceInfo {
    TraceInfo {
        version,
        sample_rate,
        word_bits: 64,
        executable: b"made/up.exe".to_vec(),
        host: b"nowhere".to_vec(),
        runtime_params: Vec::new(),
        pid: 7,
        context: b"a test".to_vec(),
        start: 1_700_000_000_000_000,
    }
}

/// Opens a trace that was just written.
pub fn open(bytes: Vec<u8>) -> TraceFile {
    TraceFile::new(bytes.into()).expect("a readable trace")
}

/// A trace of these blocks, allocated one per microsecond and never collected.
pub fn trace_of_blocks(sample_rate: f64, blocks: &[Block]) -> TraceFile {
    let alloc = |block: &Block| Step { after: 1, domain: 0, act: Act::Alloc(block.clone()) };
    trace(2, sample_rate, &blocks.iter().map(alloc).collect::<Vec<_>>(), ONE_PACKET)
}

/// The packet size with which everything goes into one packet.
pub const ONE_PACKET: usize = usize::MAX;

/// A trace with a new packet after every `packet` steps.
pub fn trace(version: u16, sample_rate: f64, steps: &[Step], packet: usize) -> TraceFile {
    let mut writer = Writer::new(Vec::new(), info(version, sample_rate)).expect("a known version");
    let mut clock = 0;
    // Live objects, with the domain of their last event and whether they can be promoted.
    let mut alive: Vec<(ObjectId, DomainId, bool)> = Vec::new();
    for (number, Step { after, domain, act }) in steps.iter().enumerate() {
        if number % packet == packet - 1 {
            writer.flush(Micros(clock)).expect("a vector takes all");
        }
        clock += after;
        let (time, here) = (Micros(clock), DomainId(*domain));
        // At equal times, an event of another domain could be read first.
        let teller = |last: DomainId| if *after == 0 { last } else { here };
        match act {
            Act::Alloc(Block { length, samples, source, stack }) => {
                let (length, samples, source) = (Words(*length), *samples, *source);
                let new = NewAlloc { time, domain: here, length, samples, source, stack };
                let id = writer.alloc(&new, &Here).expect("a vector takes all");
                alive.push((id, here, source == Source::Minor));
            }
            _ if alive.is_empty() => {}
            Act::Promote(which) => {
                let at = which % alive.len();
                let (id, last, minor) = &mut alive[at];
                if std::mem::take(minor) {
                    *last = teller(*last);
                    writer.promote(time, *last, *id).expect("a vector takes all");
                }
            }
            Act::Collect(which) => {
                let (id, last, _) = alive.swap_remove(which % alive.len());
                writer.collect(time, teller(last), id).expect("a vector takes all");
            }
        }
    }
    open(writer.finish().expect("a vector takes all"))
}

fn acts() -> impl Strategy<Value = Act> {
    let sources = vec![Source::Minor, Source::Minor, Source::Major, Source::External];
    let lengths = prop_oneof![4 => 1..20u64, 1 => 0..10_000u64];
    let stacks = prop::collection::vec(1..=FRAMES.len() as u64, 0..7);
    let alloc = (lengths, 1..9u64, prop::sample::select(sources), stacks);
    prop_oneof![
        4 => alloc.prop_map(|(length, samples, source, stack)| {
            Act::Alloc(Block { length, samples, source, stack })
        }),
        1 => any::<usize>().prop_map(Act::Promote),
        2 => any::<usize>().prop_map(Act::Collect),
    ]
}

/// The duration of the longest programs, in microseconds.
const LONGEST: u64 = 120 * 150;

/// Random traces of a version with this many domains, sampled and exact, in as few packets as possible or in
/// many.
pub fn traces_of(version: u16, domains: u16, packet: usize) -> impl Strategy<Value = TraceFile> {
    let after = prop_oneof![1 => Just(0u64), 6 => 1..10u64, 1 => 1..150u64];
    let step = (after, 0..domains, acts());
    let step = step.prop_map(|(after, domain, act)| Step { after, domain, act });
    let rates = prop::sample::select(vec![0.01, 0.5, 1.0]);
    (prop::collection::vec(step, 1..120), rates)
        .prop_map(move |(steps, rate)| trace(version, rate, &steps, packet))
}

pub fn traces() -> impl Strategy<Value = TraceFile> {
    prop_oneof![traces_of(2, 1, ONE_PACKET), traces_of(2, 1, 7), traces_of(3, 3, 20)]
}

fn times() -> impl Strategy<Value = Time> + Clone {
    prop_oneof![0..400u64, 0..LONGEST].prop_map(|us| Time(Micros(us)))
}

fn ranges<T: Copy + Ord + std::fmt::Debug>(
    ends: impl Strategy<Value = T> + Clone,
) -> impl Strategy<Value = Between<T>> {
    (prop::option::of(ends.clone()), prop::option::of(ends)).prop_map(|(a, b)| match (a, b) {
        (Some(a), Some(b)) => Between { from: Some(a.min(b)), to: Some(a.max(b)) },
        (from, to) => Between { from, to },
    })
}

pub fn pattern(text: &str) -> Pattern {
    Pattern::parse(text).expect("a pattern")
}

/// Patterns for functions: whole names and parts of them.
pub fn functions() -> impl Strategy<Value = Pattern> {
    let texts = ["Main.run", "Lib__List.map", "Nowhere.f", "/List/", "/^Main\\./", "/(fun)/"];
    prop::sample::select(texts.map(pattern).to_vec())
}

fn places() -> impl Strategy<Value = FramePattern> {
    let files = ["src/main.ml", "list.ml", "nowhere.ml", "/^src/", "/^buf/"];
    prop_oneof![
        functions().prop_map(FramePattern::Function),
        prop::sample::select(files.map(pattern).to_vec()).prop_map(FramePattern::File),
    ]
}

/// Filters with all conditions set.
fn full_filters() -> impl Strategy<Value = Filter> {
    let live = prop_oneof![
        ranges(times()).prop_map(Live::In),
        times().prop_map(Live::At),
        Just(Live::AtEnd),
        Just(Live::AtPeak),
    ];
    let collected = prop_oneof![ranges(times()).prop_map(Collected::In), Just(Collected::Never)];
    let sources = vec![Source::Minor, Source::Major, Source::External];
    let sizes = prop_oneof![0..200u64, 0..80_000u64].prop_map(Bytes);
    (
        ranges(times()),
        prop::collection::vec(live, 1..3),
        collected,
        ranges(sizes),
        ranges(times()),
        prop::sample::subsequence(sources, 1..=2),
        prop::sample::subsequence(vec![DomainId(0), DomainId(1), DomainId(2)], 1..=2),
        prop::collection::vec(places(), 1..3),
        prop::collection::vec(places(), 1..3),
        prop::collection::vec(functions(), 1..3),
    )
        .prop_map(
            |(
                allocated,
                live,
                collected,
                size,
                lifetime,
                sources,
                domains,
                inside,
                not,
                hidden,
            )| {
                Filter {
                    allocated,
                    live,
                    collected: Some(collected),
                    size,
                    lifetime,
                    sources,
                    domains,
                    inside,
                    not_inside: not,
                    hidden: Hidden::of(hidden),
                }
            },
        )
}

/// The number of conditions of a filter.
const CONDITIONS: usize = 10;

/// Filters without conditions, with each condition alone, and with several.
pub fn filters() -> impl Strategy<Value = Filter> {
    let alone = (0..CONDITIONS).prop_map(|which| vec![which]);
    let several = prop::sample::subsequence((0..CONDITIONS).collect::<Vec<_>>(), 0..4);
    (full_filters(), prop_oneof![alone, several]).prop_map(|(full, conditions)| {
        let mut filter = Filter::default();
        for condition in conditions {
            match condition {
                0 => filter.allocated = full.allocated,
                1 => filter.live = full.live.clone(),
                2 => filter.collected = full.collected,
                3 => filter.size = full.size,
                4 => filter.lifetime = full.lifetime,
                5 => filter.sources = full.sources.clone(),
                6 => filter.domains = full.domains.clone(),
                7 => filter.inside = full.inside.clone(),
                8 => filter.not_inside = full.not_inside.clone(),
                _ => filter.hidden = full.hidden.clone(),
            }
        }
        filter
    })
}
