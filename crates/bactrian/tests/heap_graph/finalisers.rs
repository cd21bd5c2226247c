//! A reproduction of a web framework's leak: connections whose finalisers hold them.

use bactrian_fixtures::BOTH;

use crate::Snapshot;

#[test]
fn exactly_the_faulty_finalisers_are_found_with_the_line_of_their_closure() {
    let source = include_str!("../../../../programs/heap_finaliser_leak.ml");
    let line = source.lines().position(|line| line.contains("let close (")).expect("there") + 1;
    for compiler in BOTH {
        let snapshot = Snapshot::of("heap_finaliser_leak", compiler, &["--no-trace"]);
        let found = snapshot.json("finalisers", &[]);
        assert_eq!(found["first"], 73, "{compiler:?}");
        assert_eq!(found["leaking"], 43, "{compiler:?}");
        let groups = found["groups"].as_array().expect("groups");
        assert_eq!(groups.len(), 1, "{compiler:?}: {groups:?}");
        let group = &groups[0];
        assert_eq!((&group["count"], &group["in_use"]), (&43.into(), &3.into()), "{compiler:?}");
        // Each of 40 connections has a buffer of 1,000 bytes.
        assert!(group["bytes"].as_u64() > Some(40_000), "{compiler:?}: {group}");
        let function = group["function"].as_str().expect("a name");
        assert!(function.contains("open_leaky"), "{function}");
        // Debug information begins with the first expression that needs it, here the second line of the
        // function.
        let places =
            [line, line + 1, line + 2].map(|line| format!("(heap_finaliser_leak.ml:{line})"));
        assert!(places.iter().any(|place| function.ends_with(place)), "{function}");
        let steps = group["cycle"].as_array().expect("steps");
        let fields: Vec<_> = steps.iter().filter_map(|step| step["step"].as_str()).collect();
        // The closure's log, the list that it is about, the list's first connection.
        assert_eq!(fields, ["", "field 2", "field 1", "field 0"], "{compiler:?}");
        let (text, status) = snapshot.ask("finalisers", &[]);
        assert_eq!(status, 1);
        assert!(text.contains("43 can never run"), "{text}");
    }
}
