//! Replays every input of every corpus through every check that starts from it, so that fixed findings stay
//! fixed.

use std::fs;
use std::path::{Path, PathBuf};

use bactrian_fuzz_checks::{TARGETS, Target};

fn corpora() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../corpus")
}

fn replay(target: &Target) {
    let folder = corpora().join(target.corpus);
    let listed = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut inputs: Vec<_> = listed.map(|entry| entry.expect("an input").path()).collect();
    inputs.sort();
    assert!(!inputs.is_empty(), "{}: no inputs", folder.display());
    for input in inputs {
        // The test prints this only if the check fails.
        eprintln!("{}: {}", target.name, input.display());
        (target.check)(&fs::read(&input).expect("an input"));
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let name = stringify!($name);
                replay(TARGETS.iter().find(|target| target.name == name).expect("a target"));
            }
        )*

        #[test]
        fn every_target_is_replayed() {
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(names, [$(stringify!($name)),*]);
        }
    };
}

targets! {
    trace_read trace_rewrite trace_answers filter_options executable_read symbol_name marshal_read bytecode_read
    heap_read heap_answers heap_index core_read runtime_events types_read types_infer gc_result live_wire
    live_ocamlviz language_server
}

#[test]
fn every_corpus_has_a_target() {
    for entry in fs::read_dir(corpora()).expect("corpora").flatten() {
        let name = entry.file_name();
        let is_known = TARGETS.iter().any(|target| name == target.corpus);
        assert!(is_known, "{}: no target starts from it", entry.path().display());
    }
}
