//! Heap snapshots in the formats of other tools.

mod addresses;
mod dot;
mod format;
mod graph;
mod heapsnapshot;
mod hprof;
mod pprof;
mod tables;

use std::io::{self, BufWriter, Write};

use bactrian_analysis::heap::{Heap, MergedLimits};

pub use format::{HeapFormat, UnknownHeapFormat};
pub use graph::{Picture, write_graph_dot};

/// Options besides the format.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeapOptions {
    /// How much of the dominator tree to write, for formats that contain it.
    pub limits: MergedLimits,
    /// Whether to write every block, for formats in which that is optional.
    pub blocks: bool,
}

/// What was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Written {
    /// All blocks.
    Blocks {
        /// The number of blocks that were too long for the format and were cut.
        cut: u64,
    },
    /// The merged dominator tree.
    Entries {
        /// The number of entries that were written.
        shown: usize,
        /// The number of all entries.
        all: usize,
    },
    /// The table of classes, with this number of rows.
    Classes(usize),
}

/// Writes a heap to `out`. Uses at most some four bytes per block in addition to the heap's own memory.
///
/// # Errors
/// If `out` does not take it.
pub fn export_heap(
    format: HeapFormat,
    heap: &Heap,
    options: &HeapOptions,
    out: &mut dyn Write,
) -> io::Result<Written> {
    // The writers make many small writes.
    let mut out = BufWriter::with_capacity(64 << 10, out);
    let written = match format {
        HeapFormat::Hprof => Written::Blocks { cut: hprof::write(heap, &mut out)? },
        HeapFormat::Heapsnapshot => {
            heapsnapshot::write(heap, &mut out)?;
            Written::Blocks { cut: 0 }
        }
        HeapFormat::Pprof => {
            let all = pprof::write(heap, &options.limits, &mut out)?;
            Written::Entries { shown: all, all }
        }
        HeapFormat::Dot => {
            let (shown, all) = dot::write(heap, &options.limits, &mut out)?;
            Written::Entries { shown, all }
        }
        HeapFormat::Json => {
            Written::Classes(tables::json(heap, &options.limits, options.blocks, &mut out)?)
        }
        HeapFormat::Csv => Written::Classes(tables::csv(heap, options.blocks, &mut out)?),
    };
    out.flush()?;
    Ok(written)
}
