//! Findings about faults of real programs.

use bactrian_fixtures::BOTH;

use crate::{Snapshot, ask};

#[test]
fn finaliser_cycle_is_the_first_suspect() {
    for compiler in BOTH {
        let snapshot = Snapshot::of("heap_finaliser_leak", compiler, &["--no-trace"]);
        let found = snapshot.json("suspects", &[]);
        let first = &found["suspects"][0];
        assert_eq!(first["kind"], "finaliser-cycle", "{compiler:?}: {found}");
        let sentence = first["sentence"].as_str().expect("text");
        assert!(sentence.starts_with("43 of 43 finalisers"), "{sentence}");
        assert!(sentence.contains("open_leaky"), "{sentence}");
        assert!(sentence.contains("heap_finaliser_leak.ml:"), "{sentence}");
        assert_eq!(snapshot.ask("suspects", &[]).1, 1, "{compiler:?}");
    }
}

#[test]
fn each_fault_is_found() {
    for compiler in BOTH {
        let snapshot = Snapshot::of("heap_suspects", compiler, &["--no-trace"]);
        let (text, status) = snapshot.ask("suspects", &[]);
        assert_eq!(status, 0, "{compiler:?}: nothing of it is certain");
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        for part in [
            "has 65.5k buckets, of which none is used",
            "50000 fields only 100 point to something",
            "40000 fields point to",
            "100k blocks of tag 0, 2 fields are a chain",
            "hold 20.2 MB outside the heap",
            "module Heap_suspects alone holds",
            "Heap_suspects.on_the_stack",
        ] {
            assert!(text.contains(part), "{compiler:?}: {part} is not in {text}");
        }
    }
}

#[test]
fn a_heap_is_compared_with_itself_and_with_another() {
    let one = Snapshot::of("heap_suspects", BOTH[0], &["--no-trace"]);
    let (text, status) = ask("diff", &[&one.path(), &one.path()], &[]);
    assert_eq!(status, 0, "{text}");
    assert!(text.contains("change 0 B"), "{text}");
    let other = Snapshot::of("heap_finaliser_leak", BOTH[0], &["--no-trace"]);
    let (text, status) = ask("diff", &[&other.path(), &one.path()], &["--max", "1GB"]);
    assert_eq!(status, 1, "{text}");
    assert!(text.contains("the snapshots are of different processes"), "{text}");
    assert!(text.contains("1.00 GB: never at this rate"), "{text}");
}
