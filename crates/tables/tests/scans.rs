//! Reading columns one by one gives the same as reading all of them.

#[allow(dead_code, reason = "shared with the tests of snapshots, which use more of it")]
#[path = "../../snapshot/tests/snapshot/heaps.rs"]
mod heaps;

use std::path::Path;
use std::sync::Arc;

use bactrian_analysis::TraceFile;
use bactrian_analysis::heap::Heap;
use bactrian_snapshot::{Columns, Snapshot};
use bactrian_tables::schema::{ColumnKind, Table};
use bactrian_tables::{Batch, HeapTables, Part, Predicate, Scan, Tables, TraceTables, Values};

fn scanned(tables: &dyn Tables, table: &Table, is_wanted: &dyn Fn(usize) -> bool) -> Vec<Batch> {
    rows_of(tables, &Scan { is_wanted, ..Scan::whole(table) })
}

fn rows_of(tables: &dyn Tables, scan: &Scan<'_>) -> Vec<Batch> {
    let mut batches = Vec::new();
    let taken = tables.scan(scan, &mut |batch| {
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
        // The parts together are the whole.
        let of = 3;
        let parts = (0..of).flat_map(|index| {
            rows_of(tables, &Scan { part: Part { index, of }, ..Scan::whole(table) })
        });
        let parts: Vec<Batch> = parts.collect();
        assert_eq!(
            parts.iter().map(|it| it.rows).sum::<usize>(),
            whole.iter().map(|it| it.rows).sum::<usize>()
        );
        if tables.has_parts(table) && table.name != "edges" {
            assert_eq!(parts, whole, "{}", table.name);
        }
        // A batch accepted by some columns arrives with exactly the wanted ones.
        for accepted in [true, false] {
            let predicate = Predicate {
                needs: &|place| place < 2,
                accepts: &|batch| {
                    assert_eq!(batch.columns.iter().flatten().count(), 2);
                    Ok(accepted)
                },
            };
            let scan = Scan {
                is_wanted: &|place| place > 0,
                predicate: Some(predicate),
                ..Scan::whole(table)
            };
            let expected = scanned(tables, table, &|place| place > 0);
            assert_eq!(rows_of(tables, &scan), if accepted { expected } else { Vec::new() });
        }
        // An error of the sink ends the scan.
        let mut seen = 0;
        let refused = tables.scan(&Scan::whole(table), &mut |_| {
            seen += 1;
            Err(std::io::Error::other("enough"))
        });
        assert_eq!(
            (seen, refused.map_err(|error| error.to_string())),
            (1, Err("enough".to_owned()))
        );
    }
}

fn check_kind(kind: ColumnKind, is_nullable: bool, values: Option<&Values>) {
    let nulls = match (kind, values.expect("it is wanted")) {
        (ColumnKind::Whole, Values::Whole(values)) => {
            values.iter().filter(|it| it.is_none()).count()
        }
        (ColumnKind::Real, Values::Real(values)) => values.iter().filter(|it| it.is_none()).count(),
        (ColumnKind::Truth, Values::Truth(values)) => {
            values.iter().filter(|it| it.is_none()).count()
        }
        (ColumnKind::Text, Values::Text(values)) => values.iter().filter(|it| it.is_none()).count(),
        (kind, values) => panic!("{kind:?}: {values:?}"),
    };
    assert!(nulls == 0 || is_nullable);
}

#[test]
fn heap_columns_can_be_read_one_by_one() {
    for seed in 1..6 {
        let made = heaps::random(&mut heaps::Dice(seed), 2_000, Columns::default());
        let bytes = heaps::write(&made, 150).expect("it can be written");
        let snapshot = Snapshot::from_bytes(bytes).expect("a snapshot");
        let heap = Heap::new(snapshot, &mut |_| ()).expect("a heap");
        check(&HeapTables::new(Arc::new(heap)));
    }
}

#[test]
fn trace_columns_can_be_read_one_by_one() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures");
    for name in ["leaky_cache_v2.ctf", "every_word_v2.ctf"] {
        let trace = TraceFile::open(&folder.join(name)).expect("a trace");
        check(&TraceTables::new(Arc::new(trace)));
    }
}
