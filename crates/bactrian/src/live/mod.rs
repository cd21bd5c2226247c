//! Watching a program: where numbers come from (`source/`, [`opening`]; several programs: [`group`]), what is known of them ([`Session`]), and how they are shown: on
//! the terminal (`crates/terminal`), to scripts ([`headless`]), to Prometheus ([`metrics`]), on the page
//! ([`shared`]), from which snapshots can be asked for ([`snapshots`]).

pub mod group;
pub mod headless;
pub mod late_samples;
pub mod metrics;
pub mod opening;
pub mod shared;
pub mod snapshots;
pub mod source;

pub use bactrian_terminal::{Message, Session, Status, Wish};
