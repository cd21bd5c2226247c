//! The promises of the reader of heap snapshots, checked on arbitrary bytes: those that its own tests check on
//! mutated files.

#[path = "../../../crates/snapshot/tests/snapshot/hostile.rs"]
pub(crate) mod hostile;

/// Reads `bytes` as they are, and once more with all checksums set right: no fuzzer finds those by itself.
pub fn check(bytes: &[u8]) {
    hostile::exercise(bytes.to_vec());
    let mut mended = bytes.to_vec();
    hostile::mend(&mut mended);
    hostile::exercise(mended);
}
