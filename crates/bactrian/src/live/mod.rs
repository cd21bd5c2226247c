//! Observing programs: the sources of numbers (`source/`, [`opening`]; several programs: [`group`]), the data
//! ([`Session`]), and its display on the terminal (`crates/terminal`), for scripts ([`headless`]), for
//! Prometheus ([`metrics`]) and on the page ([`shared`]), from which snapshots can be requested
//! ([`snapshots`]).

pub mod group;
pub mod headless;
pub mod late_samples;
pub mod metrics;
pub mod opening;
pub mod shared;
pub mod snapshots;
pub mod source;

pub use bactrian_terminal::{Message, Session, Status, Wish};
