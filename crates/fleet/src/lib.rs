//! Profiles of many machines. [`Profiler`] cuts a trace into profiles of a minute, which become rows of the fleet's tables in a
//! store that every engine reads ([`Folder`], [`Run`]). [`Shipper`] does this while the trace grows.

mod heap_summary;
mod layout;
mod meter;
mod origin;
mod profiler;
mod push;
pub mod questions;
mod redact;
pub mod roll_up;
mod ship;
mod stack_ids;
mod store;
mod tables;

pub use heap_summary::HeapSummary;
pub use layout::Run;
pub use meter::{Meter, PauseCounts, RuntimeCounts};
pub use origin::Origin;
pub use profiler::{Counts, FrameText, NewStack, Profile, Profiler};
pub use push::{HttpClient, PushServer, Pusher};
pub use redact::Redact;
pub use ship::{ShipError, Shipped, Shipper};
pub use store::{Folder, Store};
pub use tables::Recorded;
