//! Profiles in the formats of other tools.
//!
//! For: looking at what Bactrian found in the viewer one knows already. `docs/exports.md` says what each
//! format holds, how it is opened, and which real tool was used to check it.
//!
//! The caller owes: a [`Profile`] at the detail of [`Format::by`]; its columns are exported in their
//! order, and [`Format::measures`] says which are usual. Output that can take many small writes.
//!
//! Promises: output streams; memory follows the number of distinct stacks and labels, never the size of
//! the output; time follows the stacks and the output. Names are replaced where a format cannot hold
//! them, so that no name breaks a file. Formats of whole numbers sum to the rounded total.
//!
//! Left out: what the numbers mean and how sure they are. Only CSV and JSON have room for the error of
//! an estimate.
//!
//! ```no_run
//! use bactrian_analysis::{Filter, Profile, TraceFile};
//! use bactrian_export::{About, Format, export};
//!
//! let trace = TraceFile::open("queens.ctf".as_ref())?;
//! let format = Format::Pprof;
//! let profile = Profile::new(&trace, &Filter::default(), format.by(), format.measures());
//! let mut file = std::fs::File::create("queens.pb.gz")?;
//! export(format, &profile, &About::of(&trace), &[], &mut file)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod about;
mod csv;
mod firefox;
mod folded;
mod format;
mod frames;
mod functions;
mod heap;
mod json;
mod parquet;
mod path;
mod pprof;
mod protobuf;
mod speedscope;
mod stream;
mod strings;
mod whole;

use std::io::{self, BufWriter, Write};

use bactrian_analysis::Profile;

pub use self::parquet::{WrittenTable, write_parquet, write_table};
pub use about::{About, LivePoint};
pub use format::{Format, UnknownFormat};
pub use heap::{
    HeapFormat, HeapOptions, Picture, UnknownHeapFormat, Written, export_heap, write_graph_dot,
};
pub use json::SCHEMA_VERSION;

/// Writes `profile` to `out`. `timeline` is how much was live over time, earliest first; only the Firefox
/// Profiler shows it.
///
/// # Errors
/// If `out` does not take it.
pub fn export(
    format: Format,
    profile: &Profile,
    about: &About,
    timeline: &[LivePoint],
    out: &mut dyn Write,
) -> io::Result<()> {
    // Formats write in small pieces.
    let mut out = BufWriter::with_capacity(64 << 10, out);
    match format {
        Format::Folded => folded::write(profile, &mut out),
        Format::Pprof => pprof::write(profile, about, &mut out),
        Format::Speedscope => speedscope::write(profile, about, &mut out),
        Format::Firefox => firefox::write(profile, about, timeline, &mut out),
        Format::Csv => csv::write(profile, &mut out),
        Format::Json => json::write(profile, about, &mut out),
    }?;
    out.flush()
}
