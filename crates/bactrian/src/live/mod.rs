//! Watching a program: where numbers come from (`source/`, [`opening`]), what is known of them ([`Session`]), and how they are shown: on
//! the terminal (`view/`), to scripts ([`headless`]), to Prometheus ([`metrics`]), on the page
//! ([`shared`]).

pub mod headless;
pub mod late_samples;
pub mod metrics;
pub mod opening;
mod session;
pub mod shared;
mod show;
pub mod source;
pub mod view;

pub use session::{Message, Session, Status, Wish};
