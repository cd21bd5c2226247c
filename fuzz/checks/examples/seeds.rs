//! Writes the small sound files that fuzzing starts from: `cargo xtask fuzz-seeds`.
//!
//! Each seed of a trace has one feature of the format that mutations would hardly produce: names evicted from
//! their lists, two domains, a second packet, a cut. Run this again after a change of the writer. Executables,
//! marshalled data, bytecode, heaps and tables of types are those of their readers' own tests.

#[path = "../../../crates/ocaml/tests/bytecode/samples.rs"]
mod bytecode;
#[path = "../../../crates/capture/tests/attach/core_file.rs"]
mod core_file;
#[path = "../../../crates/ocaml/tests/executable/elf_file.rs"]
mod elf_file;
#[path = "../../../crates/types/tests/table/everything.rs"]
mod everything;
#[path = "../../../crates/snapshot/tests/snapshot/heaps.rs"]
mod heaps;
#[path = "../../../crates/capture/tests/live/ring_file.rs"]
mod ring_file;
#[path = "../../../crates/ocaml/tests/executable/samples.rs"]
mod samples;

use std::fs;
use std::path::Path;

use bactrian_snapshot::Columns;
use bactrian_trace::{
    DomainId, Locate, Micros, NewAlloc, Source, SourceLocation, TraceInfo, Words, Writer,
};

type Output = Writer<Vec<u8>>;

/// Offsets in a packet header of its size in bits and its format version.
const SIZE_AT: usize = 4;
const VERSION_AT: usize = 28;

/// Code `n` is line `n` of a file and a function that are named after it; odd codes also have an inlined
/// caller.
struct Numbered;

impl Locate for Numbered {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        let line = code as u32;
        let (file, function) = (format!("f{}.ml", code / 2), format!("F.g{code}"));
        let (file, function) = (file.as_bytes(), function.as_bytes());
        let place = SourceLocation { file, function, line, start_char: 2, end_char: 30 };
        let caller = SourceLocation { file: b"main.ml", function: b"Main.go", ..place };
        let places = [caller, place];
        found(if code % 2 == 1 { &places } else { &places[1..] });
    }
}

/// Symbols in each of the compiler's styles.
const SYMBOLS: &[(&str, &str)] = &[
    ("old", "camlStdlib__List__map_123"),
    ("lower_case", "camlStdlib__list__map_123"),
    ("new", "camlStdlib__List.map_123"),
    ("dollar", "camlFoo$bar_12"),
    ("flambda", "camlFoo__bar_12_34_code"),
    ("operator", "camlStdlib__$5e_135"),
    ("letters", "camlMain.$c3$a9t$c3$a9_12"),
    ("runtime", "caml_curry3_1"),
];

fn main() -> std::io::Result<()> {
    write("executable", samples::all())?;
    // Only headers and notes are parsed; the memory behind them would make the seeds too large.
    let core = core_file::core();
    write("core", vec![("headers", core[..1500].to_vec()), ("cut_notes", core[..700].to_vec())])?;
    let few = ring_file::RingFile::new().minor(0, 1000, 3000).minor(1, 1500, 1600);
    let many = (0..20).fold(few, |file, at| file.minor(0, 5000 + 100 * at, 5050 + 100 * at));
    write("runtime_events", vec![("written_over", many.bytes())])?;
    let symbols = SYMBOLS.iter().map(|&(name, symbol)| (name, symbol.as_bytes().to_vec()));
    write("symbol", symbols.collect())?;
    let values = bytecode::values().whole();
    write("marshal", vec![("cut", values[..60].to_vec()), ("values", values)])?;
    let [four, five] = ["Caml1999X030", "Caml1999X035"].map(bytecode::executable);
    write("bytecode", vec![("ocaml_4", four), ("ocaml_5", five)])?;
    write("heap", heap_snapshots()?)?;
    let index = &bactrian_fuzz_checks::indexes::sound().1;
    write(
        "heap_index",
        vec![("cut", index[..index.len() / 2].to_vec()), ("sound", index.clone())],
    )?;
    let table = everything::everything().to_bytes();
    write("types", vec![("cut", table[..table.len() / 2].to_vec()), ("everything", table)])?;
    write("types_infer", bactrian_fuzz_checks::tables::programs())?;
    write("language_server", bactrian_fuzz_checks::language_server::sessions())?;
    let plain = trace(2, plain)?;
    let domains = trace(3, two_domains)?;
    let seeds = vec![
        ("v1_plain", as_version_1(plain.clone())),
        ("v2_cut_in_event", plain[..plain.len() - 3].to_vec()),
        ("v2_plain", plain),
        ("v2_many_names", trace(2, many_names)?),
        ("v2_many_packets", trace(2, many_packets)?),
        ("v3_cut_in_header", domains[..domains.len() - 100].to_vec()),
        ("v3_two_domains", domains),
    ];
    write("trace", seeds)
}

/// Writes seeds into a folder of the corpus.
fn write(corpus: &str, seeds: Vec<(&str, Vec<u8>)>) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus").join(corpus);
    fs::create_dir_all(&folder)?;
    for (name, bytes) in seeds {
        assert!(bytes.len() < 4096, "{name} is larger than libFuzzer's default input");
        fs::write(folder.join(name), bytes)?;
    }
    Ok(())
}

/// Random heaps: with every column, with many groups, empty, and cut.
fn heap_snapshots() -> std::io::Result<Vec<(&'static str, Vec<u8>)>> {
    let every = Columns { immediates: true, strings: Some(4), equals: true, continuations: true };
    let snapshot = |seed, blocks, columns, group| {
        let heap = heaps::random(&mut heaps::Dice(seed), blocks, columns);
        heaps::write(&heap, group).map_err(std::io::Error::other)
    };
    let groups = snapshot(2, 30, Columns::default(), 8)?;
    Ok(vec![
        ("cut", groups[..groups.len() / 2].to_vec()),
        ("empty", snapshot(3, 0, Columns::default(), 1)?),
        ("every_column", snapshot(1, 12, every, 12)?),
        ("groups", groups),
    ])
}

fn trace(
    version: u16,
    fill: impl FnOnce(&mut Output) -> std::io::Result<()>,
) -> std::io::Result<Vec<u8>> {
    let info = TraceInfo {
        version,
        sample_rate: 1e-3,
        word_bits: 64,
        executable: b"seed.exe".to_vec(),
        host: b"here".to_vec(),
        runtime_params: b"s=256k".to_vec(),
        pid: 7,
        context: b"fuzz".to_vec(),
        start: 1_700_000_000_000_000,
    };
    let mut writer = Writer::new(Vec::new(), info)?;
    fill(&mut writer)?;
    writer.finish()
}

fn small(time: u64, domain: u16, stack: &[u64]) -> NewAlloc<'_> {
    NewAlloc {
        time: Micros(time),
        domain: DomainId(domain),
        length: Words(3),
        samples: 1,
        source: Source::Minor,
        stack,
    }
}

/// Every kind of event, stacks with hits, runs and misses, and vints of several lengths.
fn plain(writer: &mut Output) -> std::io::Result<()> {
    let domain = DomainId(0);
    let first = writer.alloc(&small(10, 0, &[2, 3, 4, 5]), &Numbered)?;
    writer.alloc(&small(11, 0, &[2, 3, 4, 6]), &Numbered)?;
    let large = NewAlloc { length: Words(100_000), samples: 300, ..small(12, 0, &[2, 7]) };
    let large = writer.alloc(&NewAlloc { source: Source::Major, ..large }, &Numbered)?;
    writer.promote(Micros(13), domain, first)?;
    let outside = NewAlloc { source: Source::External, ..small(14, 0, &[8, 3, 4, 5]) };
    writer.alloc(&outside, &Numbered)?;
    writer.alloc(&small(15, 0, &[2, 3, 4, 5]), &Numbered)?;
    writer.collect(Micros(16), domain, large)?;
    writer.collect(Micros(17), domain, first)
}

/// More files than a move-to-front list holds, the first of which is used again.
fn many_names(writer: &mut Output) -> std::io::Result<()> {
    let stack: Vec<u64> = (2..70).step_by(2).chain([2]).collect();
    writer.alloc(&small(5, 0, &stack), &Numbered)?;
    writer.flush(Micros(6))?;
    writer.alloc(&small(7, 0, &[3, 5, 7, 9, 64, 3]), &Numbered)?;
    Ok(())
}

/// Packets with a cache check, and one after a pause that ends a packet.
fn many_packets(writer: &mut Output) -> std::io::Result<()> {
    for at in 0..4 {
        let time = at * 20_000_000;
        let id = writer.alloc(&small(time, 0, &[2, 4, 10 + at]), &Numbered)?;
        writer.flush(Micros(time + 1))?;
        writer.collect(Micros(time + 2), DomainId(0), id)?;
    }
    Ok(())
}

/// Two domains at once; one frees what the other allocated.
fn two_domains(writer: &mut Output) -> std::io::Result<()> {
    let ours = writer.alloc(&small(10, 0, &[2, 3, 4]), &Numbered)?;
    let theirs = writer.alloc(&small(9, 1, &[2, 3, 5]), &Numbered)?;
    writer.promote(Micros(20), DomainId(1), theirs)?;
    writer.flush(Micros(21))?;
    writer.collect(Micros(30), DomainId(1), ours)?;
    writer.collect(Micros(31), DomainId(0), theirs)?;
    writer.alloc(&small(32, 1, &[2, 3, 4]), &Numbered)?;
    Ok(())
}

/// Version 1 is version 2 without the context at the end of the first packet, which a reader of version 1
/// ignores.
fn as_version_1(mut bytes: Vec<u8>) -> Vec<u8> {
    let mut at = 0;
    while let Some(size) = bytes.get(at + SIZE_AT..).and_then(|rest| rest.first_chunk::<4>()) {
        let bits = u32::from_le_bytes(*size);
        bytes[at + VERSION_AT] = 1;
        at += bits as usize / 8;
    }
    bytes
}
