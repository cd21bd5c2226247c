//! The page: traces, heap snapshots, series of them and live programs, to look at and click through.
//!
//! The page itself is in `ui/`; the build script has it made and this crate carries it. It asks questions by name
//! ([`api`]), and the answers are those of the command line's `--json`, so that a number is the same wherever it is shown.
//! [`serve`] answers them over HTTP, on loopback, to whoever knows the token; [`write_report`] leads the
//! page through its views and writes it, with the answers that it asked for, into one file.
//!
//! Promises: who does not know the token learns nothing; the browser is given slices, never whole files; questions change
//! nothing. One request does: it takes a snapshot of a program that is shown ([`growing`]), where whoever serves the page has
//! given a way to do so.

mod answer;
mod api;
mod evidence;
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
pub use growing::{NewSnapshot, SnapshotTaker};
pub use metrics::Metrics;
pub use pictures::{FlameAbout, flame_svg, graph_svg, heap_flame_svg};
pub use report::{Report, ReportOptions, write_report};
pub use server::{ServeError, Server, serve};
pub use snapshots::HeapOpener;
pub use sql::QueryEngine;
pub use typescript::page_types;
