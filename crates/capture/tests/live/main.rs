//! Programs that are watched while they run: what we report is what they know themselves.

mod measured;
mod programs;
mod ring_file;
mod rings;
#[path = "../attach/running.rs"]
#[allow(dead_code, reason = "tests of attaching need more of it")]
mod running;
mod unnoticed;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bactrian_capture::attach::{Options, freeze};
use bactrian_capture::launch::Streams;
use bactrian_capture::live::counters::Collector;
use bactrian_capture::live::{LaunchOptions, Numbers, Watch};
use bactrian_fixtures::{Compiler, Variant};
use running::{Running, compile};

/// Machines are loaded, but nothing here takes this long.
const TOO_LONG: Duration = Duration::from_secs(180);

/// The directory of a program's output, which also ends the program: it must not outlive a test that fails.
struct Folder {
    files: tempfile::TempDir,
    pid: u32,
}

impl Folder {
    fn path(&self) -> &std::path::Path {
        self.files.path()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // If all is well it has ended already.
        let _ = fs::write(self.path().join("stop"), "");
        if std::thread::panicking() {
            let _ = std::process::Command::new("kill").arg(self.pid.to_string()).status();
        }
    }
}

/// Starts a program that is watched from its start, with its output in a file.
fn launch(name: &str, source: &str, compiler: Compiler, variant: Variant) -> (Watch, Folder) {
    launch_at(name, source, compiler, variant, 1e-3)
}

fn launch_at(
    name: &str,
    source: &str,
    compiler: Compiler,
    variant: Variant,
    rate: f64,
) -> (Watch, Folder) {
    let program = compile(name, source, compiler, variant);
    let folder = tempfile::tempdir().expect("a folder");
    let output = fs::File::create(folder.path().join("output")).expect("room");
    let stop = folder.path().join("stop");
    let watch = Watch::launch(LaunchOptions {
        name: program.clone().into_os_string(),
        program,
        arguments: vec![stop.into_os_string()],
        streams: Streams {
            input: Some(Stdio::null()),
            output: Some(output.into()),
            error: Some(Stdio::null()),
        },
        rate,
        trace: None,
        sampling: true,
    });
    let watch = watch.expect("it starts");
    let pid = watch.pid();
    (watch, Folder { files: folder, pid })
}

/// Polls until a condition holds.
fn until(watch: &mut Watch, what: &str, mut is_so: impl FnMut(&Numbers) -> bool) -> Numbers {
    let start = Instant::now();
    loop {
        let numbers = watch.poll();
        if is_so(numbers) {
            return numbers.clone();
        }
        assert!(start.elapsed() < TOO_LONG, "{what}: {numbers:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Parses what a program reports about itself, converting words to bytes.
fn said(line: &str) -> Collector {
    let numbers: Vec<u64> = line.split(' ').map(|n| n.parse().expect("a number")).collect();
    let [minor, major, promoted, heap, live, minors, majors, compactions] = numbers[..] else {
        panic!("{line}");
    };
    Collector {
        heap: 8 * heap,
        live: 8 * live,
        allocated: 8 * (minor + major - promoted),
        promoted: 8 * promoted,
        minor_collections: minors,
        major_collections: majors,
        compactions,
        domains: 1,
        minor_heap_size: None,
        space_overhead: None,
        gaps: Vec::new(),
    }
}

fn is_near(a: u64, b: u64, by: u64) -> bool {
    a.abs_diff(b) <= by
}

fn counters_are_right(compiler: Compiler, variant: Variant) {
    let mut running = Running::start("counting", programs::COUNTING, compiler, variant);
    let mut watch = Watch::attach(running.pid()).expect("it runs");
    for work in ["", "100000", "1000000"] {
        let said = said(&running.ask(work));
        let told = watch.poll().collector.clone().expect("OCaml that is known");
        let what = format!("{compiler:?} {variant:?} {work}: {told:?} but {said:?}");
        // The program allocates for its report after it has read the counters.
        assert!(is_near(told.allocated, said.allocated, 100 << 10), "{what}");
        assert!(is_near(told.promoted, said.promoted, 100 << 10), "{what}");
        assert!(is_near(told.heap, said.heap, 0), "{what}");
        // Single free words are not in any free list.
        assert!(is_near(told.live, said.live, said.heap / 50), "{what}");
        assert!(is_near(told.minor_collections, said.minor_collections, 0), "{what}");
        assert!(is_near(told.major_collections, said.major_collections, 0), "{what}");
        assert_eq!(told.compactions, said.compactions, "{what}");
        assert_eq!((told.domains, told.gaps), (1, Vec::new()), "{what}");
    }
    let numbers = watch.poll().clone();
    assert!(numbers.resident.expect("known") > 8 << 20);
    assert_eq!(numbers.threads, Ok(1));
    assert_eq!(numbers.ended, None);
    assert_eq!(running.finish(), (String::new(), 0));
    assert!(watch.poll().ended.is_some_and(|end| end.status.is_none()));
    // The last known numbers stay.
    assert!(watch.poll().collector.is_ok());
}

#[test]
fn counters_are_those_of_the_runtime() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        for variant in [Variant::Plain, Variant::Stripped] {
            counters_are_right(compiler, variant);
        }
    }
    counters_are_right(Compiler::OCaml4, Variant::Bytecode);
    counters_are_right(Compiler::OCaml4, Variant::Static);
    counters_are_right(Compiler::OCaml4, Variant::Hidden);
}

#[test]
fn counters_include_domains_that_have_ended() {
    for variant in [Variant::Plain, Variant::Stripped] {
        let source = programs::COUNTING_DOMAINS;
        let mut running = Running::start("counting_domains", source, Compiler::OCaml5, variant);
        let mut watch = Watch::attach(running.pid()).expect("it runs");
        for work in ["", "100000", "1000000", "10"] {
            let said = said(&running.ask(work));
            let told = watch.poll().collector.clone().expect("OCaml that is known");
            let what = format!("{variant:?} {work}: {told:?} but {said:?}");
            assert!(is_near(told.allocated, said.allocated, 200 << 10), "{what}");
            assert!(is_near(told.promoted, said.promoted, 200 << 10), "{what}");
            assert!(is_near(told.heap, said.heap, said.heap / 50), "{what}");
            assert!(is_near(told.live, said.live, said.heap / 50), "{what}");
            assert!(is_near(told.minor_collections, said.minor_collections, 1), "{what}");
            assert!(is_near(told.major_collections, said.major_collections, 1), "{what}");
            assert_eq!((told.domains, told.gaps), (4, Vec::new()), "{what}");
        }
        let polls = 200;
        let start = Instant::now();
        for _ in 0..polls {
            watch.poll();
        }
        eprintln!("{variant:?}: {:?} for one poll", start.elapsed() / polls);
        assert_eq!(running.finish(), (String::new(), 0));
    }
}

#[test]
fn a_program_is_watched_from_its_beginning_to_its_end() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let (mut watch, folder) =
            launch("allocating", programs::ALLOCATING, compiler, Variant::Plain);
        let first = until(&mut watch, "its counters", |now| now.collector.is_ok());
        let first = first.collector.expect("just so").allocated;
        let allocated =
            |now: &Numbers| now.collector.as_ref().map_or(0, |counted| counted.allocated);
        until(&mut watch, "it allocates", |now| allocated(now) > first + (64 << 20));
        assert_eq!(watch.poll().ended, None);
        fs::write(folder.path().join("stop"), "").expect("room");
        let last = until(&mut watch, "its end", |now| now.ended.is_some());
        let status = last.ended.and_then(|end| end.status).expect("it is our child");
        assert_eq!(status.code(), Some(7));
        let output = fs::read_to_string(folder.path().join("output")).expect("its output");
        assert_eq!(output, "ready\ntrue\n");
        assert!(last.collector.is_ok() && last.cpu.is_ok());
    }
}

#[test]
fn pauses_of_ocaml_5_are_reported() {
    let (mut watch, folder) =
        launch("allocating", programs::ALLOCATING, Compiler::OCaml5, Variant::Plain);
    let minors = |now: &Numbers| now.collector.as_ref().map_or(0, |c| c.minor_collections);
    let now = until(&mut watch, "collections", |now| minors(now) > 200);
    let pauses = now.pauses.clone().expect("it writes runtime_events");
    // Each minor collection is a pause, except those between reading the counters and the rings.
    assert!(pauses.times.count() + 20 > minors(&now) && pauses.lost_events == 0, "{now:?}");
    assert!(pauses.times.percentile(50.0) > 0 && pauses.times.max() < 1 << 40);
    // The file of the rings is long, and must not count as the program's memory.
    let maps = fs::read_to_string(format!("/proc/{}/maps", watch.pid())).expect("it runs");
    let ring = maps.lines().find(|line| line.ends_with(".events")).expect("a ring");
    let ring = std::path::PathBuf::from(&ring[ring.find('/').expect("a path")..]);
    assert!(ring.exists());
    let rights = fs::metadata(ring.parent().expect("a folder")).expect("it is there").mode();
    assert_eq!(rights & 0o077, 0, "nobody else may look");
    let statm = fs::read_to_string(format!("/proc/{}/statm", watch.pid())).expect("it runs");
    let all = statm.split(' ').nth(1).and_then(|n| n.parse::<u64>().ok()).expect("pages") * 4096;
    assert!(watch.poll().resident.clone().expect("known") + (100 << 10) < all);
    fs::write(folder.path().join("stop"), "").expect("room");
    until(&mut watch, "its end", |now| now.ended.is_some());
    drop(watch);
    assert!(!ring.exists() && !ring.parent().expect("a folder").exists());
}

#[test]
fn overwritten_events_are_counted_as_lost() {
    let (mut watch, folder) =
        launch("collecting", programs::COLLECTING, Compiler::OCaml5, Variant::Plain);
    let minors = |now: &Numbers| now.collector.as_ref().map_or(0, |c| c.minor_collections);
    let before = until(&mut watch, "its rings", |now| now.pauses.is_ok());
    // Another observer polls, and we do not.
    let mut other = Watch::attach(watch.pid()).expect("it runs");
    until(&mut other, "collections", |now| minors(now) > minors(&before) + 20_000);
    let pauses = |now: &Numbers| now.pauses.clone().expect("they are there");
    assert!(pauses(watch.poll()).lost_events > 1000);
    // What was not overwritten is reported, and no pause spans what was.
    let now = until(&mut watch, "pauses", |now| pauses(now).times.count() > 100);
    assert!(pauses(&now).times.sum() < now.age, "{now:?}");
    fs::write(folder.path().join("stop"), "").expect("room");
    until(&mut watch, "its end", |now| now.ended.is_some());
}

#[test]
fn pauses_of_ocaml_4_are_reported() {
    for variant in [Variant::Plain, Variant::Bytecode] {
        let (mut watch, folder) =
            launch("allocating", programs::ALLOCATING, Compiler::OCaml4, variant);
        let minors = |now: &Numbers| now.collector.as_ref().map_or(0, |c| c.minor_collections);
        let now = until(&mut watch, "collections", |now| minors(now) > 200);
        let pauses = now.pauses.clone().expect("the agent measures them");
        // A slice follows each minor collection.
        let count = pauses.times.count();
        assert!(count + 20 > minors(&now) && count < 2 * minors(&now) + 20, "{now:?}");
        assert!(pauses.times.percentile(50.0) > 0 && pauses.times.max() < 1 << 40);
        assert!(pauses.times.sum() < now.age);
        fs::write(folder.path().join("stop"), "").expect("room");
        until(&mut watch, "its end", |now| now.ended.is_some());
    }
}

#[test]
fn children_do_not_write_to_the_page() {
    let (mut watch, folder) =
        launch("forking", programs::FORKING, Compiler::OCaml4, Variant::Plain);
    let count = |now: &Numbers| now.pauses.as_ref().map_or(0, |pauses| pauses.times.count());
    // Its child runs collections as long as the program waits.
    until(&mut watch, "its child", |_| folder.path().join("stop.child").exists());
    let before = count(watch.poll());
    until(&mut watch, "the child's end", |_| folder.path().join("stop.ended").exists());
    assert_eq!(count(watch.poll()), before);
    fs::write(folder.path().join("stop"), "").expect("room");
    until(&mut watch, "its end", |now| now.ended.is_some());
}

#[test]
fn sampling_can_be_switched_off_and_on() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let (mut watch, folder) = launch("placing", programs::PLACING, compiler, Variant::Plain);
        let sampled = |now: &Numbers| now.sampled.as_ref().map_or(0, |sampled| sampled.allocations);
        until(&mut watch, "samples", |now| sampled(now) > 1000);
        watch.set_sampling(false).expect("the agent is there");
        // What was sampled before is written first; then nothing more arrives.
        let mut last = (sampled(watch.poll()), Instant::now());
        until(&mut watch, "silence", |now| {
            if sampled(now) != last.0 {
                last = (sampled(now), Instant::now());
            }
            last.1.elapsed() > Duration::from_secs(1)
        });
        watch.set_sampling(true).expect("the agent is there");
        until(&mut watch, "samples again", |now| sampled(now) > last.0 + 1000);
        fs::write(folder.path().join("stop"), "").expect("room");
        until(&mut watch, "its end", |now| now.ended.is_some());
    }
}

#[test]
fn a_program_and_its_children_do_not_see_the_rings() {
    let (mut watch, folder) =
        launch("looking", programs::LOOKING, Compiler::OCaml5, Variant::Plain);
    let last = until(&mut watch, "its end", |now| now.ended.is_some());
    assert_eq!(last.ended.and_then(|end| end.status?.code()), Some(0));
    let output = fs::read_to_string(folder.path().join("output")).expect("its output");
    assert_eq!(output, "0\n0\n");
}

fn site(numbers: &Numbers, part: &str) -> Option<bactrian_live::Site> {
    let sites = &numbers.sampled.as_ref().ok()?.sites;
    sites.iter().find(|site| site.name.contains(part)).cloned()
}

#[test]
fn allocation_sites_are_reported() {
    // All at the same time: a rate takes ten seconds to fall as far as the test waits for.
    std::thread::scope(|scope| {
        for (compiler, variant) in [
            (Compiler::OCaml4, Variant::Plain),
            (Compiler::OCaml4, Variant::Bytecode),
            (Compiler::OCaml5, Variant::Plain),
        ] {
            scope.spawn(move || check_places(compiler, variant));
        }
    });
}

fn check_places(compiler: Compiler, variant: Variant) {
    let (mut watch, folder) = launch("placing", programs::PLACING, compiler, variant);
    // It keeps 20,000 lists of 10 cells from one site, and drops as many from another.
    let kept = 20_000.0 * 10.0 * 24.0;
    let is_near = |site: Option<bactrian_live::Site>| {
        site.is_some_and(|site| site.live > 0.8 * kept && site.live < 1.2 * kept)
    };
    let now = until(&mut watch, "what is alive", |now| {
        let dropped = site(now, "Placing.dropped").map(|site| site.rate);
        is_near(site(now, "Placing.kept")) && dropped.is_some_and(|rate| rate > 1e6)
    });
    let dropped = site(&now, "Placing.dropped").expect("just so");
    assert!(dropped.name.contains("placing.ml:"), "{dropped:?}");
    // The library functions that they call are not the sites.
    assert!(site(&now, "Stdlib").is_none_or(|site| site.live < kept / 10.0), "{now:?}");
    // It no longer allocates there.
    until(&mut watch, "a rate that ends", |now| {
        site(now, "Placing.kept").is_some_and(|site| site.rate < 1e4 && site.live > 0.8 * kept)
    });
    fs::write(folder.path().join("stop"), "").expect("room");
    until(&mut watch, "its end", |now| now.ended.is_some());
}

#[test]
fn a_trace_that_is_not_kept_takes_little_disk_space() {
    let (mut watch, folder) =
        launch_at("placing", programs::PLACING, Compiler::OCaml4, Variant::Plain, 0.05);
    let read = |watch: &mut Watch| {
        watch.poll();
        let length = watch.trace().and_then(|path| fs::metadata(path).ok());
        length.map_or((0, 0), |file| (file.len(), file.blocks() * 512))
    };
    let start = Instant::now();
    while read(&mut watch).0 < 12 << 20 {
        assert!(start.elapsed() < TOO_LONG);
        std::thread::sleep(Duration::from_millis(20));
    }
    let trace = watch.trace().expect("it is followed").to_owned();
    let rights = fs::metadata(trace.parent().expect("a folder")).expect("it is there").mode();
    assert_eq!(rights & 0o077, 0, "nobody else may look");
    fs::write(folder.path().join("stop"), "").expect("room");
    // Everything has been read by then, however fast it was written, and what was read takes no room.
    let last = until(&mut watch, "its end", |now| now.ended.is_some());
    assert!(last.sampled.is_ok_and(|sampled| !sampled.is_behind));
    let (length, taken) = read(&mut watch);
    assert!(length > 12 << 20 && taken < 4 << 20, "{taken} of {length}");
    drop(watch);
    assert!(!trace.exists());
}

#[test]
fn the_trace_of_a_process_is_followed_where_it_is() {
    let (mut watch, folder) =
        launch("placing", programs::PLACING, Compiler::OCaml5, Variant::Plain);
    until(&mut watch, "samples", |now| now.sampled.is_ok());
    // Another observer, which has not started the program.
    let mut other = Watch::attach(watch.pid()).expect("it runs");
    until(&mut other, "samples", |now| site(now, "Placing.dropped").is_some());
    until(&mut other, "pauses", |now| now.pauses.as_ref().is_ok_and(|p| p.times.count() > 10));
    fs::write(folder.path().join("stop"), "").expect("room");
    until(&mut other, "its end", |now| now.ended.is_some());
}

/// Each part of the process's memory is reported, and together they are what the kernel says.
#[test]
fn memory_is_reported_by_use() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let (mut watch, folder) = launch("live_uses", programs::USES, compiler, Variant::Plain);
        let output = folder.path().join("output");
        until(&mut watch, "ready", |_| fs::read_to_string(&output).is_ok_and(|it| it == "ready\n"));
        // The last memory report may be from before it was ready, since memory is measured less often than
        // the rest.
        let mb = 1 << 20;
        let is_told = |numbers: &Numbers| {
            let (Ok(memory), Ok(resident)) = (&numbers.memory, &numbers.resident) else {
                return false;
            };
            memory.external.is_some_and(|bytes| bytes > 40 * mb)
                && is_near(memory.total(), *resident, 4 * mb)
        };
        let numbers = until(&mut watch, "its memory", is_told);
        let memory = numbers.memory.expect("it is told");
        let resident = numbers.resident.expect("it is told");
        let what = format!("{compiler:?}: {memory:?} of {resident}");
        // 40 MB of words, 50 MB of bigarrays, 30 MB that samples do not see.
        assert!(is_near(memory.heap_used, 42 * mb, 6 * mb), "{what}");
        assert!(is_near(memory.external.unwrap_or(0) + memory.c, 80 * mb, 8 * mb), "{what}");
        assert!(memory.c > 20 * mb && memory.code > mb, "{what}");
        fs::write(folder.path().join("stop"), "").expect("room");
        until(&mut watch, "its end", |numbers| numbers.ended.is_some());
    }
}

#[test]
fn unknown_numbers_are_explained() {
    let running = Running::start("counting", programs::COUNTING, Compiler::OCaml4, Variant::Plain);
    let mut watch = Watch::attach(running.pid()).expect("it runs");
    let now = watch.poll();
    assert!(now.sampled.as_ref().is_err_and(|why| why.contains("the agent is not loaded in it")));
    assert!(now.pauses.as_ref().is_err_and(|why| why.contains("OCaml 4.13")), "{now:?}");
    assert!(watch.set_sampling(true).is_err_and(|why| why.contains("bactrian live started")));
    let running = Running::start("counting", programs::COUNTING, Compiler::OCaml5, Variant::Plain);
    let mut watch = Watch::attach(running.pid()).expect("it runs");
    let why = watch.poll().pauses.clone().expect_err("nobody asked for them");
    assert!(why.contains("OCAML_RUNTIME_EVENTS_START=1"), "{why}");
    let mut sleep = std::process::Command::new("sleep").arg("60").spawn().expect("sleep");
    let mut watch = Watch::attach(sleep.id()).expect("it runs");
    let now = until(&mut watch, "sleep", |now| {
        now.collector.as_ref().is_err_and(|why| why.contains("no OCaml runtime"))
    });
    assert!(now.resident.is_ok() && now.threads == Ok(1));
    sleep.kill().expect("our child");
    sleep.wait().expect("our child");
    assert!(Watch::attach(u32::MAX / 2).is_err());
}

#[test]
fn a_snapshot_is_taken_of_a_program_that_goes_on() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let (mut watch, folder) =
            launch_at("placing", programs::PLACING, compiler, Variant::Plain, 0.01);
        let sampled = |now: &Numbers| now.sampled.as_ref().map_or(0, |s| s.allocations);
        let before = until(&mut watch, "samples", |now| sampled(now) > 100_000);
        let path = folder.path().join("one.heap");
        let written = watch.snapshot(&path).expect("it can be frozen");
        assert!(written.path == path && fs::metadata(&path).expect("a file").len() > 10_000);
        until(&mut watch, "more", |now| sampled(now) > sampled(&before) + 100_000);
        fs::write(folder.path().join("stop"), "").expect("room");
        let last = until(&mut watch, "its end", |now| now.ended.is_some());
        assert_eq!(last.ended.and_then(|end| end.status?.code()), Some(0));
    }
}

#[test]
fn a_program_goes_on_when_nobody_watches_any_more() {
    for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
        let (mut watch, folder) = launch("placing", programs::PLACING, compiler, Variant::Plain);
        until(&mut watch, "samples", |now| now.sampled.is_ok() && now.pauses.is_ok());
        let pid = watch.pid();
        drop(watch);
        let mut other = Watch::attach(pid).expect("it runs");
        let allocated = |now: &Numbers| now.collector.as_ref().map_or(0, |c| c.allocated);
        let before = until(&mut other, "its counters", |now| allocated(now) > 0);
        until(&mut other, "it works", |now| allocated(now) > allocated(&before) + (64 << 20));
        fs::write(folder.path().join("stop"), "").expect("room");
        until(&mut other, "its end", |now| now.ended.is_some());
        let output = fs::read_to_string(folder.path().join("output")).expect("its output");
        assert_eq!(output, "20000\n", "{compiler:?}");
    }
}

#[test]
fn the_reason_for_missing_samples_is_reported() {
    // No agent can be loaded into it.
    let (mut watch, folder) =
        launch("allocating", programs::ALLOCATING, Compiler::OCaml4, Variant::Static);
    let now = until(&mut watch, "its counters", |now| now.collector.is_ok());
    let why = now.sampled.expect_err("there is no agent");
    assert!(why.contains("static"), "{why}");
    fs::write(folder.path().join("stop"), "").expect("room");
    until(&mut watch, "its end", |now| now.ended.is_some());
    // It uses the sampler itself.
    let (mut watch, folder) =
        launch("own_sampler", programs::OWN_SAMPLER, Compiler::OCaml4, Variant::Plain);
    until(&mut watch, "a note", |now| {
        let notes = now.sampled.as_ref().map_or(&[][..], |sampled| &sampled.notes);
        notes.iter().any(|note| note.contains("the program started Gc.Memprof itself"))
    });
    fs::write(folder.path().join("stop"), "").expect("room");
    until(&mut watch, "its end", |now| now.ended.is_some());
}

/// Our own child, which one thread of ours waits for, is stopped by another thread: a stop is not an end, and
/// the tracer must learn of it.
#[test]
fn a_program_that_is_frozen_has_not_ended() {
    let (mut watch, folder) =
        launch("allocating", programs::ALLOCATING, Compiler::OCaml4, Variant::Plain);
    until(&mut watch, "it runs OCaml", |numbers| numbers.collector.is_ok());
    let pid = watch.pid();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let freezing = scope.spawn(|| {
            let frozen: Vec<_> = (0..20)
                .map(|_| freeze(pid, Options::default()).map(|frozen| frozen.pid))
                .filter_map(Result::err)
                .collect();
            is_over.store(true, Ordering::Relaxed);
            frozen
        });
        while !is_over.load(Ordering::Relaxed) {
            assert_eq!(watch.poll().ended, None);
        }
        let refused = freezing.join().expect("it does not panic");
        assert!(refused.is_empty(), "{refused:?}");
    });
    fs::write(folder.path().join("stop"), "").expect("room");
    let ended = until(&mut watch, "its end", |numbers| numbers.ended.is_some()).ended;
    assert!(ended.and_then(|end| end.status).and_then(|status| status.code()) == Some(7));
}
