//! `bactrian ship` beside real OCaml programs: what their runtime counts, and what snapshots of their heaps hold, in the store.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use bactrian_fixtures::{BOTH, Compiler, Variant, program};
use bactrian_fleet::{Folder, Meter, Origin, Shipper};
use bactrian_tables::schema::{RUNTIME, SUMMARIES};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use serde_json::Value;

/// The longest wait for what comes at once on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);

fn bactrian(arguments: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_bactrian")).args(arguments).output();
    let output = output.expect("bactrian runs");
    assert!(output.status.success(), "{arguments:?}: {output:?}");
    output
}

fn json(arguments: &[&str]) -> Value {
    let envelope: Value = serde_json::from_slice(&bactrian(arguments).stdout).expect("JSON");
    envelope["result"].clone()
}

/// A program under `bactrian record` that has done its work, and waits.
struct Waiting {
    record: Child,
    trace: PathBuf,
    pid: u32,
    /// Kept open: the program would get SIGPIPE.
    _output: BufReader<ChildStdout>,
}

impl Waiting {
    fn start(folder: &Path, compiler: Compiler, environment: &[(&str, &str)]) -> Waiting {
        let trace = folder.join("run.ctf");
        let mut command = Command::new("env");
        command.args(["--default-signal", env!("CARGO_BIN_EXE_bactrian"), "record", "--quiet"]);
        command.args(["--rate", "1e-3", "-o"]).arg(&trace).arg("--");
        command.arg(program("wait_after_work", compiler, Variant::Plain));
        command.envs(environment.iter().copied()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut record = command.spawn().expect("bactrian runs");
        let mut output = BufReader::new(record.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("it says so when its work is done");
        // The trace says whose it is, once the agent has written what it had in hand.
        let path = trace.to_str().expect("text");
        let begin = Instant::now();
        let pid = loop {
            let info = Command::new(env!("CARGO_BIN_EXE_bactrian"))
                .args(["info", "--json", path])
                .output();
            let info = serde_json::from_slice::<Value>(&info.expect("bactrian runs").stdout);
            if let Some(pid) = info.ok().and_then(|info| info["result"]["pid"].as_u64()) {
                break u32::try_from(pid).expect("a process");
            }
            assert!(begin.elapsed() < PATIENCE, "there is no trace: {line}");
            std::thread::sleep(Duration::from_millis(100));
        };
        Waiting { record, trace, pid, _output: output }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        // It may have ended.
        let _ = Command::new("kill").arg(self.pid.to_string()).status();
        let _ = self.record.wait();
    }
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

/// The rows of a table of a store.
fn rows(store: &Path, table: &str) -> Vec<BTreeMap<String, Field>> {
    let read = |path: &PathBuf| {
        let reader = SerializedFileReader::new(fs::File::open(path).expect("a file"));
        let rows = reader.expect("Parquet").get_row_iter(None).expect("rows").collect::<Vec<_>>();
        rows.into_iter()
            .map(|row| {
                row.expect("a row").get_column_iter().map(|(n, f)| (n.clone(), f.clone())).collect()
            })
            .collect::<Vec<_>>()
    };
    let is_whole = |path: &&PathBuf| path.extension().is_some_and(|end| end == "parquet");
    files(&store.join(table)).iter().filter(is_whole).flat_map(read).collect()
}

fn whole(row: &BTreeMap<String, Field>, name: &str) -> Option<u64> {
    match &row[name] {
        Field::Long(number) => Some(u64::try_from(*number).expect("not negative")),
        Field::Null => None,
        other => panic!("{name}: {other:?}"),
    }
}

fn real(row: &BTreeMap<String, Field>, name: &str) -> Option<f64> {
    match &row[name] {
        Field::Double(number) => Some(*number),
        Field::Null => None,
        other => panic!("{name}: {other:?}"),
    }
}

fn text<'r>(row: &'r BTreeMap<String, Field>, name: &str) -> Option<&'r str> {
    match &row[name] {
        Field::Str(text) => Some(text),
        Field::Null => None,
        other => panic!("{name}: {other:?}"),
    }
}

/// Ships what is there with a clock that is `minutes` ahead, so that the current minute is over.
fn shipped(trace: &Path, store: &Path, minutes: u64) -> Shipper {
    let store = Arc::new(Folder::new(store));
    let mut shipper = Shipper::open(trace, store, Origin::default()).expect("a trace");
    let later = SystemTime::now() + Duration::from_secs(60 * minutes);
    // The agent writes what it has in hand within two seconds.
    let begin = Instant::now();
    while shipper.poll(later).expect("room").profiles == 0 {
        assert!(begin.elapsed() < PATIENCE, "there is no profile");
        std::thread::sleep(Duration::from_millis(100));
    }
    shipper
}

/// What `bactrian live` says of an observer; none if it does not know.
fn live(result: &Value, name: &str) -> Option<u64> {
    let observers = result["observers"].as_array().expect("observers");
    let observer = observers.iter().find(|observer| observer["name"] == name)?;
    observer["value"].as_u64()
}

#[test]
fn runtime_counts_are_those_of_live() {
    for compiler in BOTH {
        let folder = bactrian_fixtures::own_folder("ship_runtime");
        let store = folder.join("store");
        let events = [
            ("OCAML_RUNTIME_EVENTS_START", "1"),
            ("OCAML_RUNTIME_EVENTS_DIR", folder.to_str().expect("text")),
        ];
        let waiting = Waiting::start(&folder, compiler, &events);
        let _shipper = shipped(&waiting.trace, &store, 1);
        let known = json(&["live", "--json", "--for", "1s", &waiting.pid.to_string()]);
        let rows = rows(&store, RUNTIME.name);
        let [row] = &rows[..] else { panic!("{rows:?}") };
        for (column, observer, scale) in [
            ("heap", "runtime.heap", 1),
            ("live", "runtime.live", 1),
            ("minor_collections", "runtime.minor_collections", 1),
            ("major_collections", "runtime.major_collections", 1),
            ("promoted_words", "runtime.promoted", 8),
            ("allocated_words", "runtime.allocated", 8),
        ] {
            let told = live(&known, observer).map(|number| number / scale);
            assert!(told.is_some(), "{observer}: {known:#}");
            assert_eq!(whole(row, column), told, "{compiler:?} {column}");
        }
        assert!(whole(row, "minor_collections") > Some(10), "{row:?}");
        let free = whole(row, "heap").zip(whole(row, "live")).map(|(heap, live)| heap - live);
        assert_eq!(whole(row, "free"), free);
        // The kernel's numbers move a little while it waits.
        let (rss, told) = (whole(row, "rss"), live(&known, "process.rss"));
        let (rss, told) = (rss.expect("known") as f64, told.expect("known") as f64);
        assert!((rss / told - 1.0).abs() < 0.1, "{rss} {told}");
        // It is counted from its start.
        let seconds = real(row, "seconds").expect("known");
        assert!((0.7..PATIENCE.as_secs_f64()).contains(&seconds), "{seconds}");
        assert_eq!(text(row, "trace"), waiting.trace.to_str());
        // Only OCaml 5 writes rings, by which pauses are known without the agent.
        match compiler {
            Compiler::OCaml4 => assert_eq!(whole(row, "pauses"), None),
            _ => {
                let (pauses, minor) = (whole(row, "pauses"), whole(row, "minor_collections"));
                assert!(pauses.expect("known") > 0 && minor > Some(0), "{row:?}");
                let [sum, median, longest] = ["pause_seconds", "pause_median", "pause_max"]
                    .map(|name| real(row, name).expect("known"));
                assert!(0.0 < median && median <= longest && longest <= sum && sum < seconds);
            }
        }
    }
}

/// Numbers of processes are used again.
#[test]
fn a_process_that_is_not_of_the_run_is_not_counted() {
    let folder = bactrian_fixtures::own_folder("ship_other_run");
    let waiting = Waiting::start(&folder, Compiler::OCaml4, &[]);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("after 1970");
    let (pid, now) = (u64::from(waiting.pid), now.as_micros() as u64);
    assert!(Meter::of(pid, now).is_some());
    // It began after such a trace.
    assert!(Meter::of(pid, now - 3_600_000_000).is_none());
    // This process is recorded by nobody, and that one does not exist.
    assert!(Meter::of(std::process::id().into(), now).is_none());
    assert!(Meter::of(u64::from(u32::MAX), now).is_none());
    // After its end nothing is known, and its profile is shipped all the same.
    let trace = waiting.trace.clone();
    drop(waiting);
    let store = folder.join("store");
    drop(shipped(&trace, &store, 1));
    let rows = rows(&store, RUNTIME.name);
    assert!(!rows.is_empty() && rows.iter().all(|row| whole(row, "heap").is_none()), "{rows:?}");
}

/// Sums of a column by another.
fn sums(rows: &[BTreeMap<String, Field>], by: &str, of: &str) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for row in rows {
        if let Some(name) = text(row, by) {
            *sums.entry(name.to_owned()).or_default() += whole(row, of).expect("known");
        }
    }
    sums
}

/// Numbers of classes, as `heap types` has them.
fn types(heap: &str, of: fn(&Value) -> &Value) -> BTreeMap<String, u64> {
    let all = json(&["heap", "types", heap, "--limit", "0", "--json"]);
    let rows = all["rows"].as_array().unwrap_or_else(|| panic!("{all:#}"));
    let name = |row: &Value| {
        let name = row["name"].as_str().expect("a name").to_owned();
        match row["file"].as_str() {
            Some(file) => format!("{name} ({file})"),
            None => name,
        }
    };
    let mut sums = BTreeMap::new();
    for row in rows {
        *sums.entry(name(row)).or_default() += of(row).as_f64().expect("a number") as u64;
    }
    sums
}

/// What roots of one kind or name retain, as `heap roots` has it, by the names that summaries have.
fn modules(heap: &str) -> BTreeMap<String, u64> {
    let all = json(&["heap", "roots", heap, "--limit", "0", "--depth", "2", "--json"]);
    let mut known = BTreeMap::new();
    for kind in all["all"]["rows"].as_array().unwrap_or_else(|| panic!("{all:#}")) {
        for row in kind["rows"].as_array().expect("rows") {
            if kind["name"] == "globals" {
                let name = format!("module {}", row["name"].as_str().expect("a name"));
                known.insert(name, row["retained"].as_u64().expect("bytes"));
            }
        }
    }
    known.retain(|_, bytes| *bytes > 0);
    known
}

#[test]
fn summaries_of_heaps_add_up_to_what_heap_commands_say() {
    for compiler in BOTH {
        let folder = bactrian_fixtures::own_folder("ship_heaps");
        let text_of = |name: &str| folder.join(name).to_str().expect("text").to_owned();
        let (trace, store, heap) = (text_of("run.ctf"), text_of("store"), text_of("run.1.heap"));
        let leaky = program("leaky_cache", compiler, Variant::Plain);
        let leaky = leaky.to_str().expect("text");
        bactrian(&[
            "record",
            "--quiet",
            "--rate",
            "1e-3",
            "--snapshots",
            "exit",
            "-o",
            &trace,
            "--",
            leaky,
            "20000",
        ]);
        let ship = || {
            let output = bactrian(&["ship", &trace, "--to", &store, "--once", "--service", "shop"]);
            String::from_utf8(output.stdout).expect("text")
        };
        assert!(ship().contains("1 snapshot of heaps"), "{compiler:?}");
        let summaries = files(&Path::new(&store).join("heaps"));
        let [summary] = &summaries[..] else { panic!("{summaries:?}") };
        // A few kilobytes, whatever the heap is.
        let (bytes, of_heap) =
            (summary.metadata().expect("a file").len(), fs::metadata(&heap).expect("a file").len());
        assert!(bytes < 8_000 && bytes * 10 < of_heap, "{bytes} of {of_heap}");
        let rows = rows(Path::new(&store), SUMMARIES.name);
        assert!(rows.iter().all(|row| text(row, "service") == Some("shop")));
        assert!(rows.iter().all(|row| text(row, "path") == Some(&*heap)));
        // Small rows are added up, the others are as in the heap.
        let check = |told: &BTreeMap<String, u64>, expected: &BTreeMap<String, u64>, others| {
            for (name, sum) in told {
                let expected = expected[name];
                assert!((sum..=&(sum + others)).contains(&&expected), "{name}: {sum} {expected}");
            }
        };
        let mut other_bytes = 0;
        for (of, expected) in [
            ("blocks", types(&heap, |row| &row["blocks"]["value"])),
            ("retained", types(&heap, |row| &row["retained"])),
            ("bytes", types(&heap, |row| &row["shallow"]["value"])),
        ] {
            let mut told = sums(&rows, "class", of);
            other_bytes = told.remove("[others]").expect("small classes");
            let all = expected.values().sum::<u64>();
            assert_eq!(told.values().sum::<u64>() + other_bytes, all, "{of}");
            check(&told, &expected, other_bytes);
        }
        let mut held = sums(&rows, "root", "bytes");
        held.retain(|name, _| name.starts_with("module "));
        assert!(held.values().any(|bytes| *bytes > 10 * other_bytes), "{held:?} {other_bytes}");
        check(&held, &modules(&heap), other_bytes);
        // It is shipped once, and a file that was being written when `ship` was killed is ignored.
        fs::write(summary.with_extension("unfinished"), "half a file").expect("room");
        assert!(!ship().contains("snapshot"));
        assert_eq!(self::rows(Path::new(&store), SUMMARIES.name).len(), rows.len());
        fs::remove_file(summary).expect("it is there");
        assert!(ship().contains("1 snapshot of heaps"));
    }
}

/// Killed at any moment, it leaves each summary there once.
#[test]
fn a_shipper_of_snapshots_may_be_killed_at_any_moment() {
    let folder = bactrian_fixtures::own_folder("ship_killed");
    let text_of = |name: &str| folder.join(name).to_str().expect("text").to_owned();
    let (trace, store) = (text_of("run.ctf"), text_of("store"));
    let leaky = program("leaky_cache", Compiler::OCaml4, Variant::Plain);
    let leaky = leaky.to_str().expect("text");
    // On a busy machine snapshots that may be skipped are skipped.
    let snapshots = ["--snapshots", "major", "--snapshots-when-busy", "wait"];
    let record = [&["record", "--quiet"], &snapshots[..], &["-o", &trace, "--", leaky, "20000"]];
    bactrian(&record.concat());
    let folder_name = folder.to_str().expect("text");
    let heaps = files(&folder)
        .iter()
        .filter(|path| path.extension().is_some_and(|end| end == "heap"))
        .count();
    assert!(heaps > 1);
    for wait in [0, 5, 20, 40, 80, 160] {
        let mut ship = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        ship.args(["ship", folder_name, "--to", &store])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut ship = ship.spawn().expect("bactrian runs");
        std::thread::sleep(Duration::from_millis(wait));
        ship.kill().expect("it can be killed");
        ship.wait().expect("it ended");
    }
    bactrian(&["ship", folder_name, "--to", &store, "--once"]);
    let told = files(&Path::new(&store).join("heaps"));
    let told = told.iter().filter(|path| path.extension().is_some_and(|end| end == "parquet"));
    assert_eq!(told.count(), heaps);
}

#[test]
fn a_summary_of_a_running_program_keeps_no_snapshot() {
    let folder = bactrian_fixtures::own_folder("ship_summary");
    let waiting = Waiting::start(&folder, Compiler::OCaml4, &[]);
    let store = folder.join("store");
    let (pid, to) = (waiting.pid.to_string(), store.to_str().expect("text"));
    bactrian(&[
        "snapshot",
        &pid,
        "--quiet",
        "--summary",
        "--to",
        to,
        "--service",
        "shop",
        "--redact",
        "names",
    ]);
    let rows = rows(&store, SUMMARIES.name);
    let blocks: u64 = rows.iter().filter_map(|row| whole(row, "blocks")).sum();
    assert!(blocks > 2_000, "{blocks}");
    assert!(rows.iter().all(|row| text(row, "path").is_none()));
    let roots: Vec<&str> = rows.iter().filter_map(|row| text(row, "root")).collect();
    assert!(!roots.is_empty() && roots.iter().all(|root| root.len() == 16), "{roots:?}");
    assert!(files(&folder).iter().all(|path| path.extension().is_none_or(|end| end != "heap")));
    for wrong in [&["snapshot", &pid, "--summary"][..], &["snapshot", &pid, "--to", to]] {
        let output = Command::new(env!("CARGO_BIN_EXE_bactrian")).args(wrong).output();
        assert_eq!(output.expect("bactrian runs").status.code(), Some(2), "{wrong:?}");
    }
}

/// A program and its recorder are killed at once, as when a container runs out of memory, and start again: the trace never
/// says that it has ended, and another one takes its name.
#[test]
fn a_trace_that_replaces_another_of_the_same_name_is_shipped() {
    let folder = bactrian_fixtures::own_folder("ship_replaced");
    let store = folder.join("store");
    let mut waiting = Waiting::start(&folder, Compiler::OCaml4, &[]);
    waiting.record.kill().expect("it runs");
    let killed = Command::new("kill").args(["-9", &waiting.pid.to_string()]).status();
    assert!(killed.expect("kill runs").success());
    let mut ship = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    ship.arg("ship").arg(&folder).arg("--to").arg(&store).stdout(Stdio::null());
    let mut ship = ship.spawn().expect("bactrian runs");
    let until = |what: &str, holds: &dyn Fn() -> bool| {
        let begin = Instant::now();
        while !holds() {
            assert!(begin.elapsed() < PATIENCE, "{what}");
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    let open = Path::new("/proc").join(ship.id().to_string()).join("fd");
    let is_open = || {
        let mut files = fs::read_dir(&open).into_iter().flatten().flatten();
        files.any(|file| fs::read_link(file.path()).is_ok_and(|path| path == waiting.trace))
    };
    until("the first trace is not opened", &is_open);
    let leaky = program("leaky_cache", Compiler::OCaml4, Variant::Plain);
    let (trace, leaky) = (waiting.trace.to_str(), leaky.to_str().expect("text"));
    let trace = trace.expect("text");
    bactrian(&["record", "--quiet", "--rate", "1e-3", "-o", trace, "--", leaky, "5000"]);
    let pids = || {
        let rows = rows(&store, "samples");
        rows.iter().filter_map(|row| whole(row, "pid")).collect::<BTreeSet<_>>()
    };
    until("both runs are not shipped", &|| pids().len() == 2);
    assert!(pids().contains(&u64::from(waiting.pid)));
    ship.kill().and_then(|()| ship.wait()).expect("it runs");
}
