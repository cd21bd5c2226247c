//! The page: traces, heap snapshots, series of them, live programs, fleets and GC parameters, to view and click through.
//!
//! The page's sources are in `ui/`; the build script has it built, and this crate embeds it. The page asks
//! questions by name ([`api`]), and the answers equal the command line's `--json`, so that a number is the
//! same wherever it is shown. [`serve`] answers over HTTP on loopback for clients that know the token.
//! [`write_report`] takes the page through its views and writes it, with the answers that it asked for, into
//! one file.
//!
//! Guarantees: clients without the token learn nothing; the browser gets slices, never whole files; questions
//! change nothing. One request does change something: it takes a snapshot of a shown program ([`growing`]),
//! where the caller has provided a way to do so.

mod answer;
mod api;
mod evidence;
mod fleet;
mod gc;
mod growing;
mod metrics;
mod page;
mod pictures;
mod query;
mod report;
mod scheduler;
mod script;
mod server;
mod snapshots;
mod sql;
mod tour;
mod typescript;

pub use evidence::{Evidence, File, Progress};
pub use fleet::FleetEngine;
pub use growing::{NewSnapshot, SnapshotTaker};
pub use metrics::Metrics;
pub use pictures::{FlameAbout, flame_svg, graph_svg, heap_flame_svg};
pub use report::{Report, ReportOptions, write_report};
pub use server::{ServeError, Server, serve};
pub use snapshots::HeapOpener;
pub use sql::QueryEngine;
pub use typescript::page_types;
