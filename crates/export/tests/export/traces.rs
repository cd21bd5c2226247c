//! Traces made for tests, and their exports.

use bactrian_analysis::units::Bytes;
use bactrian_analysis::{Filter, Profile, TraceFile};
use bactrian_export::{About, Format, LivePoint, export};
use bactrian_trace::{
    DomainId, Locate, Micros, NewAlloc, Source, SourceLocation, TraceInfo, Words, Writer,
};

/// The functions of a code address; if functions are inlined, the innermost is last.
pub struct Code {
    pub code: u64,
    pub functions: Vec<(&'static [u8], &'static [u8], u32)>,
}

struct Codes<'a>(&'a [Code]);

impl Locate for Codes<'_> {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        let known = self.0.iter().find(|known| known.code == code);
        let locations =
            known.iter().flat_map(|known| &known.functions).map(|&(function, file, line)| {
                SourceLocation { file, function, line, start_char: 4, end_char: 20 }
            });
        found(&locations.collect::<Vec<_>>());
    }
}

/// An allocation: its stack from the outermost frame, words, samples, and whether it is collected.
pub type Allocation<'a> = (&'a [u64], u64, u64, bool);

/// A trace of these allocations, one each millisecond.
pub fn trace(codes: &[Code], sample_rate: f64, allocations: &[Allocation<'_>]) -> TraceFile {
    let codes = Codes(codes);
    let info = TraceInfo {
        version: 2,
        sample_rate,
        word_bits: 64,
        executable: b"bin/tiny.exe".to_vec(),
        host: b"desk".to_vec(),
        runtime_params: Vec::new(),
        pid: 42,
        context: Vec::new(),
        start: 1_700_000_000_000_000,
    };
    let mut writer = Writer::new(Vec::new(), info).expect("a vector takes all");
    for (at, &(stack, words, samples, collected)) in (1..).zip(allocations) {
        let alloc = NewAlloc {
            time: Micros(at * 1000),
            domain: DomainId(0),
            length: Words(words),
            samples,
            source: Source::Minor,
            stack,
        };
        let id = writer.alloc(&alloc, &codes).expect("a vector takes all");
        if collected {
            let time = Micros(at * 1000 + 500);
            writer.collect(time, DomainId(0), id).expect("a vector takes all");
        }
    }
    let bytes = writer.finish().expect("a vector takes all");
    TraceFile::new(bytes.into()).expect("the writer writes traces")
}

/// A handful of stacks: recursion, an inlined function, code without names, no stack at all.
pub fn tiny() -> TraceFile {
    let codes = [
        Code { code: 1, functions: vec![(b"Tiny.main", b"bin/tiny.ml", 30)] },
        Code {
            code: 2,
            functions: vec![
                (b"Tiny.build", b"bin/tiny.ml", 12),
                (b"Stdlib__List.map", b"list.ml", 92),
            ],
        },
        Code { code: 3, functions: vec![(b"Tiny.build.(fun)", b"bin/tiny.ml", 13)] },
    ];
    trace(
        &codes,
        0.01,
        &[
            (&[1], 3, 1, true),
            (&[1, 2], 2, 2, false),
            (&[1, 2, 3], 2, 1, true),
            (&[1, 2, 2, 3], 1000, 7, false),
            (&[1, 0x2f0], 6, 1, true),
            (&[], 2, 1, false),
            (&[1, 2, 3], 2, 1, false),
        ],
    )
}

/// The usual profile for a format.
pub fn profile(trace: &TraceFile, format: Format) -> Profile {
    Profile::new(trace, &Filter::default(), format.by(), format.measures())
}

/// The export of the usual profile, with a memory track of three points.
pub fn exported(trace: &TraceFile, format: Format) -> Vec<u8> {
    let point = |milliseconds: u64, live| LivePoint {
        time: Micros(milliseconds * 1000),
        live: Bytes(live),
    };
    let timeline = [point(0, 0), point(3, 3200), point(7, 2400)];
    let about = About { version: "0.0.0".to_owned(), ..About::of(trace) };
    let mut out = Vec::new();
    export(format, &profile(trace, format), &about, &timeline, &mut out)
        .expect("a vector takes all");
    out
}
