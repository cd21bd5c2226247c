//! Expected output, in `tests/golden/`.

use std::fs;
use std::path::Path;

/// Compares with a golden file; on a difference, saves the new output for inspection.
pub fn check(name: &str, found: &str) {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if fs::read_to_string(&golden).is_ok_and(|expected| expected == found) {
        return;
    }
    let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&new, found).expect("the folder for such files is there");
    panic!("to see the difference:\n  diff {} {}", golden.display(), new.display());
}
