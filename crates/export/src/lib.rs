//! Profiles in the formats of other tools.
//!
//! **Purpose.** Looking at Bactrian's results in a familiar viewer. `docs/exports.md` says what each format
//! contains, how to open it, and which real tool was used to check it.
//!
//! **The caller owes** a [`Profile`] at the detail of [`Format::by`], whose columns are exported in order
//! ([`Format::measures`] says which are usual), and an output that can take many small writes.
//!
//! **Promises.** Output is streamed; memory depends on the number of distinct stacks and labels, never on the
//! size of the output; time depends on the stacks and the output. Names are replaced where a format cannot
//! represent them, so that no name breaks a file. In formats with integers, values sum to the rounded total.
//!
//! **Left out:** what the numbers mean and how certain they are. Only CSV and JSON have room for the error of
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
mod stack_profile;
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
pub use stack_profile::{StackFrame, StackProfile, otlp_request};

/// Writes `profile` to `out`. `timeline` is live memory over time, earliest first; only the Firefox Profiler
/// shows it.
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
    // The writers make many small writes.
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
