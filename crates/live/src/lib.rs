//! Live numbers: what a running program reports about itself, or what is measured from outside, from moment
//! to moment.
//!
//! Used by observed programs (`bactrian-observe` speaks both protocols with this crate) and by their
//! observers: [`client`] connects, [`Database`] keeps what arrives and finds the values of any moment,
//! [`recording`] writes it to a file and reads it back.
//!
//! All that is known of a program arrives as a sequence of [`Event`]s, whatever the source: our own protocol
//! ([`wire`], described in `docs/protocol/live.md`), that of Ocamlviz ([`ocamlviz`]), a file, or numbers read
//! from outside.
//!
//! Callers must pass events in the order in which they arrived.
//!
//! Guarantees: no input makes this crate panic or allocate memory out of proportion to the input's size.
//! Whatever a slow client misses, or the window has no room for, is counted.
//!
//! Not part of this crate: where the numbers come from (`bactrian-observe`, `bactrian-capture`) and how they
//! are displayed.
//!
//! ```
//! use bactrian_live::{Database, Declaration, Event, Limits, ObserverId, ObserverKind, Stamp, Unit, Value, wire};
//!
//! let events = [
//!     Event::Declare(Declaration {
//!         id: ObserverId(1),
//!         kind: ObserverKind::Point,
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
    Action, Control, Declaration, Dropped, Event, LogLine, Node, ObserverId, ObserverKind, Program,
    Site, Stamp, Table, Tree, Unit, Value,
};
pub use timemap::Timemap;
