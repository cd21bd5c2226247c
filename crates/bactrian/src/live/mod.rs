//! Watching a program: where numbers come from (`source/`), what is known of them ([`Session`]), and how they are shown: on
//! the terminal (`view/`), to scripts ([`headless`]), to Prometheus ([`metrics`]).

pub mod headless;
pub mod metrics;
mod session;
mod show;
pub mod source;
pub mod view;

pub use session::{Message, Session, Status, Wish};
