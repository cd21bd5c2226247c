//! Live numbers: what a running program says about itself, or is seen to do, from moment to moment.
//!
//! For: programs that are observed (`bactrian-observe` speaks both protocols with what is here), and whoever watches
//! them: [`client`] connects, [`Database`] keeps what came and finds what was at any moment, [`recording`] takes it to a
//! file and back.
//!
//! Everything that is known of a program arrives as a sequence of [`Event`]s, whatever it came from: our own protocol
//! ([`wire`], described in `docs/protocol/live.md`), that of Ocamlviz ([`ocamlviz`]), a file, or numbers read from
//! outside.
//!
//! The caller owes: events in the order in which they came.
//!
//! Promises: no bytes from outside make this crate panic or take memory out of proportion to their number. What a
//! client or a window had no room for is counted.
//!
//! Left out: where numbers come from (`bactrian-observe`, `bactrian-capture`), and how they are shown.
//!
//! ```
//! use bactrian_live::{Database, Declaration, Event, Kind, Limits, ObserverId, Stamp, Unit, Value, wire};
//!
//! let events = [
//!     Event::Declare(Declaration {
//!         id: ObserverId(1),
//!         kind: Kind::Point,
//!         name: "requests".into(),
//!         labels: Vec::new(),
//!         unit: Unit::None,
//!         period_ms: 100,
//!     }),
//!     Event::Tick(Stamp { at: 1_000_000_000, cpu: 0 }),
//!     Event::Update(ObserverId(1), Value::Count(7)),
//! ];
//! let mut bytes = Vec::new();
//! for event in &events {
//!     wire::put_event(&mut bytes, event);
//! }
//!
//! let mut database = Database::new(Limits::default());
//! let mut frames = wire::Frames::default();
//! frames.push(&bytes);
//! while let Some(frame) = frames.next()? {
//!     if let Some(event) = wire::take_event(&frame)? {
//!         database.add(event);
//!     }
//! }
//! let requests = database.series().find(|series| series.declaration.name == "requests");
//! let found = requests.and_then(|series| series.at(1_000_000_000));
//! assert_eq!(found.map(|(_, value)| value), Some(&Value::Count(7)));
//! # Ok::<(), wire::Malformed>(())
//! ```

pub mod client;
mod database;
mod histogram;
mod model;
pub mod names;
pub mod ocamlviz;
pub mod place;
pub mod recording;
mod timemap;
pub mod wire;

pub use database::{Database, Limits, Run, Series};
pub use histogram::Histogram;
pub use model::{
    Action, Control, Declaration, Dropped, Event, Kind, LogLine, Node, ObserverId, Program, Site,
    Stamp, Table, Tree, Unit, Value,
};
pub use timemap::Timemap;
