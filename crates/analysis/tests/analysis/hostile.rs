//! Small files designed to cost much memory. Each test runs in its own process with a memory limit.

use std::collections::BTreeMap;
use std::env;
use std::process::Command;
use std::sync::Arc;

use bactrian_analysis::{
    By, Direction, Filter, Measure, Of, Profile, Recursion, TraceFile, TraceQuestions, TreeShape,
    call_tree, contents, lifetimes, timeline, top,
};
use bactrian_trace::{Event, Stacks};

use crate::programs::open;
use packets::{event, info, packet};

#[expect(dead_code, reason = "not all that takes packets apart is needed to make them up")]
#[path = "../../../trace/tests/trace/packets.rs"]
mod packets;

/// Set in the process with the memory limit.
const LIMITED: &str = "BACTRIAN_TEST_LIMITED";

/// Runs the rest of the test called `name` with this much memory, about 200 MB of which is address space that
/// threads reserve without using it. Where the system has no such limit, it runs without one.
fn with_memory(megabytes: usize, name: &str, test: impl FnOnce()) {
    if env::var_os(LIMITED).is_some() {
        return test();
    }
    let limited = Command::new("sh")
        .args(["-c", r#"ulimit -v "$0" 2>/dev/null; exec "$@""#, &(megabytes << 10).to_string()])
        .arg(env::current_exe().expect("a test has a file"))
        .args([&format!("hostile::{name}"), "--exact", "--test-threads=1"])
        .env(LIMITED, "yes")
        .output()
        .expect("a shell");
    let said =
        [limited.stdout, limited.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(limited.status.success(), "{}\n{}", limited.status, said.concat());
    assert!(said[0].contains("1 passed"), "no test is called {name}:\n{}", said[0]);
}

/// An allocation whose stack consists of these codewords.
fn alloc(codewords: &[Vec<u8>]) -> Vec<u8> {
    let count = u8::try_from(codewords.len()).expect("at most 255 codewords");
    [&event(101)[..], &[0, count], &codewords.concat()].concat()
}

/// A codeword: a frame that is put into this slot of the cache.
fn miss(slot: u16, code: u64) -> Vec<u8> {
    [&(slot << 2 | 3).to_le_bytes()[..], &code.to_le_bytes()].concat()
}

/// A codeword: the frame in this slot, and 255 times the frame that followed it last.
fn run(slot: u16) -> Vec<u8> {
    [&(slot << 2 | 2).to_le_bytes()[..], &[255]].concat()
}

/// A stack of 65,000 times the same frame, in 800 bytes.
fn deep() -> Vec<Vec<u8>> {
    [vec![miss(0, 9)], vec![run(0); 254]].concat()
}

/// The answers that need a table of objects.
fn ask_about_objects(trace: &TraceFile) -> u64 {
    let everything = Filter::default();
    for of in [Of::LiveAtEnd, Of::LiveAtPeak, Of::Promoted] {
        top(trace, &everything, By::Function, Measure::bytes(of));
    }
    timeline(trace, &everything, 10);
    lifetimes(trace, &everything, By::Function);
    contents(trace, &everything).minor
}

#[test]
fn doubling_ids_allocate_no_large_table() {
    // Each id is as far away as a table would grow to reach it if it doubled its length.
    const PAGE: u64 = 64;
    const OBJECTS: usize = 30;
    with_memory(400, "doubling_ids_allocate_no_large_table", || {
        let pages = std::iter::successors(Some(1023), |page| Some((page + 1) * 2 + 1023));
        let packets = pages.take(OBJECTS).flat_map(|page| {
            let id: u64 = page * PAGE;
            packet(3, 0, id..id + 1, &alloc(&[]))
        });
        let trace = open(info(3).into_iter().chain(packets).collect());
        assert_eq!(ask_about_objects(&trace), OBJECTS as u64);
    });
}

#[test]
fn number_of_stacks_is_proportional_to_the_file() {
    // After the first, each allocation has its own outermost frame, and so 65,000 stacks of its own.
    const ALLOCATIONS: u16 = 60;
    with_memory(800, "number_of_stacks_is_proportional_to_the_file", || {
        let other =
            |n: u16| alloc(&[vec![miss(n, 0x1000 + u64::from(n))], vec![run(0); 254]].concat());
        let body = (1..ALLOCATIONS).fold(alloc(&deep()), |body, n| [body, other(n)].concat());
        let bytes = [info(2), packet(2, 0, 0..u64::from(ALLOCATIONS), &body)].concat();
        let most = bytes.len() + (1 << 20);
        let trace = open(bytes);
        let measures = [Measure::objects(Of::Allocated), Measure::bytes(Of::LiveAtEnd)];
        let profile = Profile::new(&trace, &Filter::default(), By::Site, &measures);
        assert!(profile.tree.len() <= most, "{} stacks", profile.tree.len());
        assert!(profile.tree.cut() > 0);
        // Stacks that do not fit are counted for an outer one, and not lost.
        let samples = profile.columns[1].total().sum();
        assert_eq!(samples, f64::from(ALLOCATIONS));
        for direction in [Direction::Callees, Direction::Callers] {
            let question =
                TreeShape { direction, focus: None, min_share: 0.0, max_levels: usize::MAX };
            call_tree(&profile, &question);
        }
        assert_eq!(profile.pruned(0.01).columns[1].total().sum(), samples);
    });
}

#[test]
fn memory_is_proportional_to_the_file() {
    with_memory(900, "memory_is_proportional_to_the_file", || {
        let far = (0..40u64).flat_map(|n| {
            let id = n.pow(11);
            packet(3, 0, id..id + 1, &alloc(&[]))
        });
        let far = info(3).into_iter().chain(far).collect();
        let other =
            |n: u16| alloc(&[vec![miss(n, 0x1000 + u64::from(n))], vec![run(0); 254]].concat());
        let body = (1..60).fold(alloc(&deep()), |body, n| [body, other(n)].concat());
        // A header may claim anything.
        let stacks = [info(2), packet(2, 0, 0..1 << 40, &body)].concat();
        for (bytes, objects) in [(far, 40), (stacks, 60)] {
            let questions = TraceQuestions::with_memory(Arc::new(open(bytes)), u64::MAX);
            assert_eq!(questions.contents(&Filter::default()).minor, objects);
            for by in [By::Site, By::Function] {
                let allocated = Measure::bytes(Of::Allocated);
                questions.top(&Filter::default(), by, allocated);
                let everything = Filter::default();
                questions.profile(&everything, by, Recursion::Keep, &[allocated]);
            }
        }
    });
}

#[test]
fn domains_share_the_depth_of_stacks() {
    const DOMAINS: u16 = 200;
    with_memory(600, "domains_share_the_depth_of_stacks", || {
        let domain = |domain: u16| {
            let id = u64::from(domain) * 10_000;
            packet(3, domain, id..id + 1, &alloc(&deep()))
        };
        let trace = open([info(3), (0..DOMAINS).flat_map(domain).collect()].concat());
        let mut depths = BTreeMap::new();
        let mut reader = trace.reader(Stacks::Decode);
        while let Some(event) = reader.next() {
            if let Event::Alloc(alloc) = event {
                depths.insert(alloc.domain, alloc.stack.len());
            }
        }
        assert_eq!(depths.len(), usize::from(DOMAINS));
        let frames: usize = depths.values().sum();
        assert!(frames <= usize::from(DOMAINS) << 14, "{frames} frames in all");
        assert_eq!(reader.losses().stacks_too_deep, u64::from(DOMAINS));
        assert_eq!(ask_about_objects(&trace), u64::from(DOMAINS));
    });
}
