//! The promises of heaps as graphs, checked on arbitrary bytes in the same way as their own tests do on mutated
//! files.

#[path = "../../../crates/snapshot/tests/snapshot/heaps.rs"]
mod heaps;
#[path = "../../../crates/analysis/tests/heap/hostile.rs"]
mod hostile;

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use bactrian_analysis::heap::{Heap, OpenOptions};
use bactrian_snapshot::{Columns, Snapshot};

/// A snapshot in a folder of its own, and the bytes of a sound index of it with everything except the totals of
/// tags, which are long and uninteresting.
pub fn sound() -> &'static (PathBuf, Vec<u8>) {
    static SOUND: OnceLock<(PathBuf, Vec<u8>)> = OnceLock::new();
    SOUND.get_or_init(|| {
        let folder = std::env::temp_dir().join(format!("bactrian-fuzz-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("room");
        let path = folder.join("a.heap");
        let mut heap = heaps::random(&mut heaps::Dice(1), 9, Columns::default());
        heap.tables.roots.truncate(3);
        let bytes = heaps::write(&heap, 9).expect("a sound heap");
        fs::write(&path, bytes).expect("room");
        let options = OpenOptions { indexes: Some(hostile::indexes(&path)), types: None };
        let heap = Heap::open(&path, &options, &mut |_| {}).expect("sound");
        heap.held(&[heap.root()]);
        heap.class_totals();
        heap.shortest();
        heap.reversed();
        heap.keep();
        let index = fs::read(hostile::index_of(&path).expect("an index")).expect("an index");
        (path, index)
    })
}

/// Takes `bytes` as an index, with all checksums corrected.
pub fn check(bytes: &[u8]) {
    let (path, index) = sound();
    let mut mended = bytes.to_vec();
    hostile::mend_index(&mut mended, index);
    hostile::exercise_index(path, &mended);
}

/// Takes `bytes` as a snapshot with all checksums corrected, and asks everything about its heap.
pub fn check_heap(bytes: &[u8]) {
    let mut mended = bytes.to_vec();
    crate::heaps::hostile::mend(&mut mended);
    let Ok(snapshot) = Snapshot::from_bytes(mended) else { return };
    // Announced blocks cost memory even if they are missing: at most 2,000 for each byte of the file.
    if let Ok(heap) = Heap::new(snapshot, &mut |_| {})
        && heap.blocks() < 1 << 16
    {
        hostile::ask_everything(&heap);
    }
}
