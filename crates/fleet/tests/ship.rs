//! Exactly the contents of the trace are shipped, each sample once, however often `ship` is restarted and whenever the store fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bactrian_fixtures::whole_table;
use bactrian_fleet::{Folder, Origin, Shipper};
use bactrian_trace::{
    DomainId, Locate, Micros, NewAlloc, ObjectId, Recorder, Source, SourceLocation, State,
    TraceInfo, Words, Writer, write_single_domain,
};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};

/// Minutes that the trace takes.
const MINUTES: u64 = 12;
const START: u64 = 1_795_000_000_000_000;

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn next(&mut self, below: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

/// Each code address is a separate function.
struct Named;

impl Locate for Named {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        let function = format!("Shop.f{code}");
        let line = u32::try_from(code).expect("small");
        found(&[SourceLocation {
            line,
            start_char: 1,
            end_char: 2,
            function: function.as_bytes(),
            file: b"shop.ml",
        }]);
    }
}

/// The totals of a trace: samples, promoted samples, and samples alive at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Sums {
    samples: u64,
    promoted: u64,
    live: u64,
}

/// A trace of some minutes.
fn trace(seed: u64, state: State) -> (Vec<u8>, Sums) {
    trace_of_version(2, u64::MAX, seed, state)
}

/// A packet ends every `flush_every` events.
fn trace_of_version(version: u16, flush_every: u64, seed: u64, state: State) -> (Vec<u8>, Sums) {
    let recorder = Recorder { ocaml: "5.3.0".to_owned(), state, ..Recorder::default() };
    let info = TraceInfo {
        version,
        sample_rate: 1e-4,
        word_bits: 64,
        executable: b"/srv/shop".to_vec(),
        host: b"web-1".to_vec(),
        runtime_params: Vec::new(),
        pid: 42,
        context: recorder.context(),
        start: START,
    };
    let mut writer = Writer::new(Vec::new(), info).expect("memory");
    let (mut dice, mut sums) = (Dice(seed), Sums::default());
    let mut alive: Vec<(ObjectId, u64, bool)> = Vec::new();
    let events = 15_000;
    for event in 0..events {
        let time = Micros(event * MINUTES * 60_000_000 / events);
        let what = dice.next(10);
        if what < 6 || alive.is_empty() {
            let samples = 1 + dice.next(3);
            let stack: Vec<u64> =
                (0..=dice.next(6)).map(|depth| 1 + depth * 10 + dice.next(4)).collect();
            let new = NewAlloc {
                time,
                domain: DomainId(0),
                length: Words(3),
                samples,
                source: Source::Minor,
                stack: &stack,
            };
            let id = writer.alloc(&new, &Named).expect("memory");
            sums.samples += samples;
            sums.live += samples;
            alive.push((id, samples, false));
        } else if what < 7 {
            let at = dice.next(alive.len() as u64) as usize;
            let (id, samples, is_promoted) = &mut alive[at];
            if !*is_promoted {
                writer.promote(time, DomainId(0), *id).expect("memory");
                sums.promoted += *samples;
                *is_promoted = true;
            }
        } else {
            let at = dice.next(alive.len() as u64) as usize;
            let (id, samples, _) = alive.swap_remove(at);
            writer.collect(time, DomainId(0), id).expect("memory");
            sums.live -= samples;
        }
        if event % flush_every == flush_every - 1 {
            writer.flush(time).expect("memory");
        }
    }
    (writer.finish().expect("memory"), sums)
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.path().is_dir() {
            true => all.extend(files(&entry.path())),
            false => all.push(entry.path()),
        }
    }
    all.sort();
    all
}

fn rows(folder: &Path) -> Vec<Row> {
    let read = |path: PathBuf| {
        let file = fs::File::open(&path).expect("a file");
        let reader = SerializedFileReader::new(file).expect("Parquet");
        reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row")).collect::<Vec<_>>()
    };
    let is_whole = |path: &PathBuf| path.extension().is_some_and(|end| end == "parquet");
    files(folder).into_iter().filter(is_whole).flat_map(read).collect()
}

fn value(row: &Row, name: &str) -> i64 {
    let found = row.get_column_iter().find(|(column, _)| *column == name);
    match found {
        Some((_, Field::Long(number))) => *number,
        other => panic!("{name}: {other:?}"),
    }
}

/// The totals of the run in a store. No stack may have two rows for one minute.
fn stored(store: &Path) -> Sums {
    let mut seen = BTreeSet::new();
    let (mut sums, mut last) = (Sums::default(), BTreeMap::new());
    let samples = rows(&store.join("samples"));
    for row in &samples {
        let (time, stack) = (value(row, "time"), value(row, "stack_id"));
        assert!(seen.insert((time, stack)), "told twice: {row}");
        sums.samples += value(row, "samples") as u64;
        sums.promoted += value(row, "promoted") as u64;
        *last.entry(time).or_insert(0) += value(row, "live") as u64;
    }
    sums.live = last.last_key_value().map_or(0, |(_, live)| *live);
    // Every stack of a sample is known, once.
    let mut known = BTreeSet::new();
    for row in rows(&store.join("stacks")) {
        assert!(known.insert(value(&row, "stack_id")), "known twice: {row}");
    }
    assert!(samples.iter().all(|row| known.contains(&value(row, "stack_id"))));
    sums
}

fn shipper(trace: &Path, store: &Path) -> Shipper {
    Shipper::open(trace, Arc::new(Folder::new(store)), Origin::default()).expect("a trace")
}

fn later() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_micros(START) + Duration::from_secs(MINUTES * 60 + 300)
}

#[test]
fn shipped_samples_are_those_of_the_trace() {
    for seed in 1..4 {
        let folder = tempfile::tempdir().expect("a folder");
        let (bytes, expected) = trace(seed, State::Ended);
        let (path, store) = (folder.path().join("run.ctf"), folder.path().join("store"));
        fs::write(&path, &bytes).expect("room");
        let shipped = shipper(&path, &store).poll(later()).expect("room");
        assert!(shipped.is_all && shipped.profiles > 2, "{shipped:?}");
        assert_eq!(stored(&store), expected);
        // Nothing is left to ship.
        let again = shipper(&path, &store).poll(later()).expect("room");
        assert_eq!((again.is_all, again.profiles), (true, 0));
        assert_eq!(stored(&store), expected);
    }
}

/// The trace grows, and `ship` is killed: after any number of polls, and while it writes a file.
#[test]
fn shipper_that_was_killed_continues_where_the_store_ends() {
    for seed in 1..if whole_table() { 40 } else { 7 } {
        let folder = tempfile::tempdir().expect("a folder");
        let (running, expected) = trace(seed, State::Running);
        let (path, store) = (folder.path().join("run.ctf"), folder.path().join("store"));
        let mut dice = Dice(seed);
        let (mut length, mut shipping) = (4096, None);
        while length < running.len() {
            fs::write(&path, &running[..length]).expect("room");
            let one = shipping.get_or_insert_with(|| shipper(&path, &store));
            let passed = MINUTES * 60 * length as u64 / running.len() as u64;
            let start = SystemTime::UNIX_EPOCH + Duration::from_micros(START);
            one.poll(start + Duration::from_secs(passed)).expect("room");
            if dice.next(3) == 0 {
                shipping = None;
                // A file that was being written stays behind.
                if let Some(last) = files(&store.join("samples")).last() {
                    fs::write(last.with_extension("unfinished"), "half a file").expect("room");
                }
            }
            length += 1 + dice.next(running.len() as u64 / 20) as usize;
        }
        fs::write(&path, trace(seed, State::Ended).0).expect("room");
        let last = shipper(&path, &store).poll(later()).expect("room");
        assert!(last.is_all);
        assert_eq!(stored(&store), expected, "{seed}");
    }
}

#[test]
fn nothing_is_lost_while_the_store_is_away() {
    let folder = tempfile::tempdir().expect("a folder");
    let (bytes, expected) = trace(7, State::Ended);
    let (path, store) = (folder.path().join("run.ctf"), folder.path().join("store"));
    fs::write(&path, &bytes).expect("room");
    // It is a file: nothing can be written there.
    fs::write(&store, "").expect("room");
    let mut one = shipper(&path, &store);
    for _ in 0..3 {
        one.poll(later()).expect_err("there is no store");
    }
    fs::remove_file(&store).expect("it is there");
    while !one.poll(later()).expect("room").is_all {}
    assert_eq!(stored(&store), expected);
}

/// A program that was killed together with its recorder is not reported to hold memory for ever.
#[test]
fn live_memory_of_a_silent_program_is_not_shipped_for_ever() {
    let folder = tempfile::tempdir().expect("a folder");
    let (bytes, expected) = trace(3, State::Running);
    let (path, store) = (folder.path().join("run.ctf"), folder.path().join("store"));
    fs::write(&path, &bytes).expect("room");
    let mut one = shipper(&path, &store);
    let minutes = |number: u64| later() + Duration::from_secs(60 * number);
    let told: usize = (0..60).map(|at| one.poll(minutes(at)).expect("room").profiles).sum();
    assert!(told < 40, "{told}");
    assert_eq!(stored(&store), expected);
}

#[test]
fn other_files_are_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("run.ctf");
    for bytes in [&b""[..], b"no trace", &[0; 100_000]] {
        fs::write(&path, bytes).expect("room");
        let shipped = shipper(&path, &folder.path().join("store")).poll(later());
        assert!(bytes.len() < 100 || shipped.is_err(), "{shipped:?}");
        assert!(!folder.path().join("store").exists());
    }
}

/// `record` converts a finished trace of one domain from version 3 to version 2, whose packet headers are shorter. All headers together
/// differ by more than a packet here.
#[test]
fn a_converted_trace_continues_where_the_store_ends() {
    for seed in 1..4 {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, store) = (folder.path().join("run.ctf"), folder.path().join("store"));
        let (whole, expected) = trace_of_version(3, 10, seed, State::Running);
        for part in 1..4 {
            fs::write(&path, &whole[..whole.len() * part / 4]).expect("room");
            shipper(&path, &store).poll(later()).expect("room");
        }
        let mut converted = Vec::new();
        let ended = trace_of_version(3, 10, seed, State::Ended).0;
        assert!(write_single_domain(&ended, &mut converted).expect("memory"));
        fs::write(&path, converted).expect("room");
        assert!(shipper(&path, &store).poll(later()).expect("room").is_all);
        assert_eq!(stored(&store), expected, "{seed}");
    }
}
