//! Contents of strings: only in a snapshot on request.

use std::fs;
use std::path::PathBuf;

use crate::heaps::{beginnings, snapshot};
use crate::programs::{KINDS, Kind, Waiting};
use crate::runs::{Place, Run};

/// A string in `heap_strings`, and a run of letters that many of its strings contain.
const SECRET: &[u8] = b"the-secret-4711";
const LETTERS: &[u8] = b"ZZZZZZZZZZZZZZZZ";

fn taken(kind: Kind, place: &Place, more: &[&str]) -> PathBuf {
    let run = Run::new(kind.program("heap_strings"), &[]);
    let mut options = vec!["--snapshots", "exit", "--no-trace"];
    options.extend(more);
    let seen = place.run(&run.observed(&options, &place.trace("run")));
    let said = String::from_utf8_lossy(&seen.stderr);
    assert_eq!(seen.end, "exit status 0", "{said}");
    let path = place.trace("run.1.heap");
    assert!(path.exists(), "{kind:?}: {said}");
    path
}

fn holds(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len()).any(|window| window == part)
}

#[test]
fn no_string_contents_by_default() {
    for kind in KINDS {
        let place = Place::new();
        let path = taken(kind, &place, &[]);
        let bytes = fs::read(&path).expect("a snapshot");
        assert!(!holds(&bytes, SECRET) && !holds(&bytes, LETTERS), "{kind:?}");
        // Columns are compressed, so searching the bytes proves little.
        assert_eq!(beginnings(&path), Vec::<Vec<u8>>::new(), "{kind:?}");
    }
}

#[test]
fn requested_length_of_string_contents_is_kept() {
    for kind in KINDS {
        for length in [1, 6, 100] {
            let place = Place::new();
            let path = taken(kind, &place, &["--strings", &length.to_string()]);
            let beginnings = beginnings(&path);
            assert!(beginnings.iter().all(|text| text.len() <= length), "{kind:?} {length}");
            let secret = &SECRET[..length.min(SECRET.len())];
            assert!(beginnings.iter().any(|text| text == secret), "{kind:?} {length}");
        }
    }
}

#[test]
fn snapshot_from_outside_has_no_string_contents() {
    for kind in KINDS {
        let folder = tempfile::tempdir().expect("a folder");
        let program = Waiting::plain(&kind.program("heap_strings")).expect("a program");
        let process = program.process.to_string();
        let (without, with) = (folder.path().join("without.heap"), folder.path().join("with.heap"));
        snapshot(&[&process], &without).expect("a snapshot");
        snapshot(&[&process, "--strings", "20"], &with).expect("a snapshot");
        program.end().expect("a plain end");
        assert_eq!(beginnings(&without), Vec::<Vec<u8>>::new(), "{kind:?}");
        assert!(beginnings(&with).iter().any(|text| text == SECRET), "{kind:?}");
    }
}
