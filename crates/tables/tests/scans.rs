//! What is asked for column by column is what is asked for at once.

#[allow(dead_code, reason = "shared with the tests of snapshots, which use more of it")]
#[path = "../../snapshot/tests/snapshot/heaps.rs"]
mod heaps;

use std::path::Path;

use bactrian_analysis::TraceFile;
use bactrian_analysis::heap::Heap;
use bactrian_snapshot::{Columns, Snapshot};
use bactrian_tables::schema::{Kind, Table};
use bactrian_tables::{Batch, HeapTables, Tables, TraceTables, Values};

fn scanned(tables: &dyn Tables, table: &Table, is_wanted: &dyn Fn(usize) -> bool) -> Vec<Batch> {
    let mut batches = Vec::new();
    let taken = tables.scan(table, is_wanted, &mut |batch| {
        batches.push(batch);
        Ok(())
    });
    taken.expect("nobody refuses it");
    batches
}

fn check(tables: &dyn Tables) {
    for table in tables.tables() {
        let whole = scanned(tables, table, &|_| true);
        assert!(whole.iter().any(|batch| batch.rows > 0), "{} is empty", table.name);
        for (place, column) in table.columns.iter().enumerate() {
            let alone = scanned(tables, table, &|at| at == place);
            assert_eq!(alone.len(), whole.len());
            for (alone, whole) in alone.iter().zip(&whole) {
                assert_eq!(alone.rows, whole.rows);
                assert_eq!(alone.columns[place], whole.columns[place], "{}", column.name);
                assert_eq!(alone.columns.iter().flatten().count(), 1);
                check_kind(column.kind, column.is_nullable, whole.columns[place].as_ref());
            }
        }
        // Who has enough is not given more.
        let mut seen = 0;
        let refused = tables.scan(table, &|_| true, &mut |_| {
            seen += 1;
            Err(std::io::Error::other("enough"))
        });
        assert_eq!(
            (seen, refused.map_err(|error| error.to_string())),
            (1, Err("enough".to_owned()))
        );
    }
}

fn check_kind(kind: Kind, is_nullable: bool, values: Option<&Values>) {
    let nulls = match (kind, values.expect("it is wanted")) {
        (Kind::Whole, Values::Whole(values)) => values.iter().filter(|it| it.is_none()).count(),
        (Kind::Real, Values::Real(values)) => values.iter().filter(|it| it.is_none()).count(),
        (Kind::Truth, Values::Truth(values)) => values.iter().filter(|it| it.is_none()).count(),
        (Kind::Text, Values::Text(values)) => values.iter().filter(|it| it.is_none()).count(),
        (kind, values) => panic!("{kind:?}: {values:?}"),
    };
    assert!(nulls == 0 || is_nullable);
}

#[test]
fn columns_of_a_heap_can_be_had_one_by_one() {
    for seed in 1..6 {
        let made = heaps::random(&mut heaps::Dice(seed), 2_000, Columns::default());
        let bytes = heaps::write(&made, 150).expect("it can be written");
        let snapshot = Snapshot::from_bytes(bytes).expect("a snapshot");
        let heap = Heap::new(snapshot, &mut |_| ()).expect("a heap");
        check(&HeapTables::new(&heap));
    }
}

#[test]
fn columns_of_a_trace_can_be_had_one_by_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures");
    for name in ["leaky_cache_v2.ctf", "every_word_v2.ctf"] {
        let trace = TraceFile::open(&folder.join(name)).expect("a trace");
        check(&TraceTables::new(&trace));
    }
}
