//! The promises of the reader of heap snapshots, checked on arbitrary bytes in the same way as its own tests do
//! on mutated files.

#[path = "../../../crates/snapshot/tests/snapshot/hostile.rs"]
pub(crate) mod hostile;

/// Reads `bytes` unchanged, and again with all checksums corrected, because no fuzzer finds those by itself.
pub fn check(bytes: &[u8]) {
    hostile::exercise(bytes.to_vec());
    let mut mended = bytes.to_vec();
    hostile::mend(&mut mended);
    hostile::exercise(mended);
}
