//! What memtrace's own tools assume about a trace: where it does not hold, `identify` fails an assertion, and
//! `hotspots` and the viewer raise. The tools are not available here, so the trace is examined directly.

use std::collections::HashSet;
use std::fs;

use bactrian_fixtures::{BOTH, Variant, program};
use bactrian_trace::{Event, Index, Reader, Source, Stacks};

use crate::runs::{Place, Run, difference};
use crate::traces::{info, is_clean};

#[test]
fn a_trace_has_nothing_that_memtrace_would_not_write() {
    for compiler in BOTH {
        for variant in [Variant::Plain, Variant::Debug, Variant::Custom] {
            let what = format!("{compiler:?} {variant:?}");
            let place = Place::new();
            // The debug runtime prints a greeting otherwise.
            let executable = program("bigarrays", compiler, variant);
            let run = Run::new(&executable, &[]).with("OCAMLRUNPARAM", "v=0,s=100k");
            let trace = place.trace("trace.ctf");
            let observed = place.run(&run.observed(&["--exact"], &trace));
            assert_eq!(difference(&place.run(&run), &observed), "", "{what}");
            let info = info(&trace, &[]).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            is_clean(&info).unwrap_or_else(|reason| panic!("{what}: {reason}"));
            // All of the runtime's parameters, not only those that were given.
            let parameters = info["result"]["runtime_parameters"].as_str().expect("a string");
            let expected = ["b=0", "o=120", "s=102400", "v=0"];
            let has = |wanted: &&str| parameters.split(',').any(|one| one == *wanted);
            assert!(expected.iter().all(has), "{what}: {parameters}");
            check(&fs::read(&trace).expect("a trace"), &what);
        }
    }
}

fn check(bytes: &[u8], what: &str) {
    let index = Index::skim(bytes).expect("a readable trace");
    let mut reader = Reader::new(bytes, &index, Stacks::Decode);
    let (mut external, mut promoted) = (HashSet::new(), 0);
    while let Some(event) = reader.next() {
        match event {
            Event::Alloc(alloc) => {
                assert!(!alloc.stack.is_empty(), "{what}: {alloc:?}");
                if alloc.source == Source::External {
                    external.insert(alloc.id);
                }
            }
            // Data of bigarrays stays outside the heap.
            Event::Promote { id, .. } => {
                promoted += 1;
                assert!(!external.contains(&id), "{what}: memory outside the heap is promoted");
            }
            Event::Collect { .. } => {}
        }
    }
    assert!(external.len() >= 500 && promoted > 0, "{what}: {} and {promoted}", external.len());
}
