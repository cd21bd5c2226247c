//! What a snapshot of a heap holds, by class and root: a few kilobytes without the graph, so that the heaps of many machines can
//! be compared.

use std::io;
use std::path::Path;
use std::sync::Arc;

use bactrian_analysis::heap::{ClassKind, Heap, HeldClass, held_classes};
use bactrian_export::write_table;
use bactrian_snapshot::Info;
use bactrian_tables::schema::{SUMMARIES, Table};
use bactrian_tables::{Columns, Scan, Sink, Tables, Values};

use crate::layout::heap_summary;
use crate::origin::Origin;
use crate::store::Store;

/// The maximum number of rows of a summary; smaller rows are added up.
const MOST_ROWS: usize = 1000;
/// Rows whose shallow and retained sizes are both less than this share of the heap are added up too. Names take most of the space, and most classes are
/// small: of a compiler's heap, 245 of 4,000 rows have four fifths of the bytes.
const SMALLEST: f64 = 1e-3;
/// The class of rows that were added up.
const OTHERS: &str = "[others]";

/// The summary of a snapshot.
pub struct HeapSummary {
    info: Info,
    rows: Vec<HeldClass>,
    origin: Origin,
    path: Option<String>,
}

impl HeapSummary {
    /// The summary of a heap. `path` is that of its snapshot, if that is kept.
    pub fn of(heap: &Heap, origin: Origin, path: Option<&Path>) -> HeapSummary {
        let info = heap.snapshot().info().clone();
        HeapSummary::new(info, held_classes(heap, MOST_ROWS, SMALLEST), origin, path)
    }

    /// A summary with these rows.
    pub fn new(
        info: Info,
        rows: Vec<HeldClass>,
        mut origin: Origin,
        path: Option<&Path>,
    ) -> HeapSummary {
        origin.complete(Path::new(&info.program));
        origin.host = host(&origin, &info).to_owned();
        let path = path.and_then(|path| std::path::absolute(path).ok());
        let path = path.and_then(|path| origin.redact.path(&path));
        HeapSummary { info, rows, origin, path }
    }

    /// The name of a snapshot's summary in a store. It is different for each snapshot, so that none is there twice.
    pub fn name(info: &Info, origin: &Origin) -> String {
        heap_summary(host(origin, info), info.pid, info.taken)
    }

    /// Puts it into a store and returns its size in bytes.
    ///
    /// # Errors
    /// If the store cannot be written to.
    pub fn put(&self, store: &dyn Store) -> io::Result<usize> {
        let mut bytes = Vec::new();
        write_table(self, &SUMMARIES, &mut bytes)?;
        store.put(&HeapSummary::name(&self.info, &self.origin), &bytes)?;
        Ok(bytes.len())
    }

    /// The class of a row. Names that may be those of a user's types and functions are redacted if requested.
    fn class(&self, row: &HeldClass) -> Arc<str> {
        let Some(class) = &row.class else { return OTHERS.into() };
        match row.kind {
            Some(ClassKind::Type | ClassKind::Closure | ClassKind::Custom) => {
                self.origin.redact.name(class).into()
            }
            _ => class.as_str().into(),
        }
    }
}

fn host<'o>(origin: &'o Origin, info: &'o Info) -> &'o str {
    if origin.host.is_empty() { &info.host } else { &origin.host }
}

impl Tables for HeapSummary {
    fn tables(&self) -> &'static [&'static Table] {
        &[&SUMMARIES]
    }

    fn has_parts(&self, _: &Table) -> bool {
        false
    }

    fn scan(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        if scan.part.index > 0 {
            return Ok(());
        }
        let HeapSummary { info, rows, origin, path } = self;
        let same = |text: Option<&str>| {
            let text: Option<Arc<str>> = text.map(Arc::from);
            Values::text(rows.iter().map(|_| text.clone()))
        };
        let number = |number: u64| Values::whole(rows.iter().map(|_| Some(number)));
        let of = |of: fn(&HeldClass) -> u64| Values::whole(rows.iter().map(|row| Some(of(row))));
        Columns::offer(scan, sink, rows.len(), |columns| {
            columns
                .next("time", || number(info.taken / 1_000_000))
                .next("service", || same(Some(&origin.service)))
                .next("version", || same(origin.version.as_deref()))
                .next("host", || same(Some(&origin.host)))
                .next("pid", || number(info.pid.into()))
                .next("build_id", || same(Some(&origin.build_id)))
                .next("ocaml", || same(Some(&info.ocaml)))
                .next("labels", || same(Some(&origin.labels())))
                .next("snapshot", || number(info.taken))
                .next("path", || same(path.as_deref()))
                .next("class", || Values::text(rows.iter().map(|row| Some(self.class(row)))))
                .next("kind", || {
                    let kind = |row: &HeldClass| row.kind.map_or("other", ClassKind::name).into();
                    Values::text(rows.iter().map(|row| Some(kind(row))))
                })
                .next("root", || {
                    let root = |root: &String| origin.redact.name(root).into();
                    Values::text(rows.iter().map(|row| row.root.as_ref().map(root)))
                })
                .next("reachable", || {
                    Values::Truth(rows.iter().map(|row| Some(row.is_reachable)).collect())
                })
                .next("blocks", || of(|row| row.blocks))
                .next("bytes", || of(|row| row.bytes))
                .next("retained", || of(|row| row.retained))
        })
    }
}
