//! The promises of the reader of core files, checked on arbitrary bytes.

use std::path::Path;

use bactrian_capture::memory::{Bytes, Core, Memory};

/// The minimum size of a thread's note in bytes.
const SHORTEST_THREAD: usize = 112 + 22 * 8;

/// Reads `bytes` as a core file whose mapped files are all the same bytes, and checks what must hold for any
/// input.
pub fn check(bytes: &[u8]) {
    let file = || -> Box<dyn Bytes> { Box::new(bytes.to_vec()) };
    let Ok(core) = Core::read(file(), file(), &|_: &Path| Some(file())) else { return };
    assert!(core.threads().len() * SHORTEST_THREAD <= bytes.len());
    assert_eq!(core.threads().len(), core.calls().len());
    assert!(core.regions().is_sorted_by_key(|region| region.range.start));
    for region in core.regions() {
        let mut there = [0; 64];
        if core.read(region.range.start, &mut there) {
            // Bytes are the same whether they are read together or one by one.
            for (at, byte) in (region.range.start..).zip(there) {
                let mut alone = [0];
                assert!(core.read(at, &mut alone) && alone == [byte], "{at:x}");
            }
        }
    }
}
