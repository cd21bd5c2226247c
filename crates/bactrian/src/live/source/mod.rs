//! Sources of numbers. Each source is a thread that fills the channel of a [`Session`](super::Session).

mod connected;
mod outside;
mod played;
mod target;
mod watched;

pub use connected::connect;
pub use played::play;
pub use target::{Target, observed};
pub use watched::{Started, Watched, Watcher};
