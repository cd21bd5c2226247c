//! The promises of tables of types, and of inference with them, checked on arbitrary bytes.

#[path = "../../../crates/types/tests/infer/nonsense.rs"]
mod nonsense;
#[path = "../../../crates/types/tests/infer/world.rs"]
#[allow(dead_code, reason = "shared with the tests of inference")]
mod world;

use bactrian_snapshot::{BlockId, Snapshot};
use bactrian_types::{Allocation, Allocations, Table, Typing};

/// Offsets of a table's length, of its checksum, and of the body that they describe.
const LENGTH_AT: usize = 8;
const SUM_AT: usize = 16;
const BODY_AT: usize = 20;
/// The beginning of a snapshot.
const SNAPSHOT: &[u8] = b"\x89HEAP";
/// Announced blocks cost memory even if they are missing: at most 2,000 for each byte of the file.
const MOST_BLOCKS: u64 = 1 << 16;

/// Takes `bytes` as a table, unchanged and with length and checksum corrected.
pub fn check(bytes: &[u8]) {
    drop(Table::read(bytes));
    let Ok(table) = Table::read(&mended(bytes)) else { return };
    assert_eq!(Table::read(&table.to_bytes()).as_ref(), Ok(&table), "it does not come back");
    // The queries that traces make.
    let is_used = vec![true; table.units.len()];
    let mut allocations = Allocations::new(&table, &is_used);
    for site in &table.sites {
        let characters = (site.start, site.end);
        let (file, words) = (&*site.file, site.words.unwrap_or(2));
        let function = "Main.f";
        allocations.find(&Allocation { function, file, line: site.line, characters, words });
    }
}

/// Takes `bytes` as a table followed by a snapshot, with all checksums corrected; without a snapshot, as
/// numbers from which both are generated.
pub fn check_inference(bytes: &[u8]) {
    let Some(at) = bytes.windows(SNAPSHOT.len()).position(|window| window == SNAPSHOT) else {
        let numbers: Vec<u32> = bytes.iter().map(|&byte| u32::from(byte)).collect();
        let constants = numbers.first().map_or(0, |number| number % 10);
        let mut world = nonsense::program(&numbers);
        return infer(&world.table.clone(), &world.snapshot(constants));
    };
    let Ok(table) = Table::read(&mended(&bytes[..at])) else { return };
    let mut snapshot = bytes[at..].to_vec();
    crate::heaps::hostile::mend(&mut snapshot);
    if let Ok(snapshot) = Snapshot::from_bytes(snapshot)
        && snapshot.blocks() < MOST_BLOCKS
    {
        infer(&table, &snapshot);
    }
}

fn infer(table: &Table, snapshot: &Snapshot) {
    let typing = Typing::infer(table, snapshot, &mut |_| {});
    for block in (0..snapshot.blocks() as u32).map(BlockId) {
        assert!(typing.class(typing.class_of(block)).is_some(), "a class that is not there");
        for field in 0..3 {
            let class = typing.field(block, field).and_then(|field| field.class);
            assert!(class.is_none_or(|class| typing.class(class).is_some()), "a field's class");
        }
        typing.constructor(block);
        typing.origin(block);
        typing.reason(block);
    }
    let coverage = typing.coverage();
    assert!(coverage.typed_words() <= coverage.words());
    assert!(typing.conflicts().len() as u64 <= coverage.conflicts);
    assert_eq!(typing.units().len(), snapshot.tables().modules.len());
}

/// A table with its length and checksum corrected.
fn mended(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if let Some(body) = bytes.get(BODY_AT..) {
        let (length, sum) = (body.len() as u64, crc32fast::hash(body));
        bytes[LENGTH_AT..SUM_AT].copy_from_slice(&length.to_le_bytes());
        bytes[SUM_AT..BODY_AT].copy_from_slice(&sum.to_le_bytes());
    }
    bytes
}

/// Tables followed by snapshots, of programs that make no sense.
pub fn programs() -> Vec<(&'static str, Vec<u8>)> {
    let dice = |seed: u32| (0..120).map(move |at: u32| (at + 1).wrapping_mul(seed) >> 7);
    let program = |seed: u32, constants: u32| {
        let mut world = nonsense::program(&dice(seed).collect::<Vec<_>>());
        let mut bytes = world.table.to_bytes();
        bytes.extend(world.bytes(constants));
        bytes
    };
    let numbers = dice(2_654_435_769).map(|number| number as u8).collect();
    vec![
        ("constants", program(2_246_822_519, 9)),
        ("heap", program(3_266_489_917, 0)),
        ("numbers", numbers),
    ]
}
