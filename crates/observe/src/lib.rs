//! Makes a program observable while it runs.
//!
//! Used by Rust programs, through the primitives here ([`Point`], [`Time`], [`Value`], ...), whose values
//! `bactrian live` and the clients of Ocamlviz display; and by libraries that do the same for other
//! languages, through [`server()`] and its [`Handle`]s.
//!
//! The caller has no duties. The server starts with the first observer; environment variables say where it
//! listens ([`settings`]). A program without clients pays for its counting and nothing else.
//!
//! Guarantees: no client and nothing in the environment makes the program hang, panic, exit or grow without
//! bound. What could not be sent is counted. The child of a fork is not observed and holds none of our
//! descriptors.
//!
//! Not part of this crate: displaying and storing values, which is the client's task, and what can be
//! measured without the program's help (`bactrian-capture`).
//!
//! ```
//! use bactrian_observe::{Counter, Point, Time, Value, log};
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicI64, Ordering};
//!
//! let rounds = Point::new("rounds");
//! let sorting = Time::new("sorting");
//! let length = Arc::new(AtomicI64::new(0));
//! let shown = Arc::clone(&length);
//! Value::int("length", move || shown.load(Ordering::Relaxed));
//!
//! for round in 0..10 {
//!     rounds.hit();
//!     let mut numbers: Vec<i64> = (0..100).map(|number| number * 7919 % 101).collect();
//!     sorting.time(|| numbers.sort_unstable());
//!     length.store(numbers.len() as i64, Ordering::Relaxed);
//!     log!("round {round} is done");
//! }
//! assert_eq!(rounds.count(), 10);
//! ```

pub mod cells;
pub mod clock;
mod descriptors;
mod log;
mod name;
mod primitives;
mod process;
mod registry;
mod server;
pub mod settings;

pub use bactrian_live::{ObserverId, Unit};
pub use name::Name;
pub use primitives::{
    Counter, Gauge, Histogram, Point, RunningSpan, RunningTime, Span, Table, Tag, Time, Tree,
    Value, log_line, marker, wait_for_clients,
};
pub use registry::{Handle, Origin};
pub use server::{Places, Reply, Server, server};
