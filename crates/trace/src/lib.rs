//! Memtrace traces (`.ctf`): what an OCaml program allocated, promoted and freed, with call stacks.
//!
//! **Purpose.** Reading any trace that memtrace or Bactrian wrote, sound or damaged, as fast as the format
//! allows; writing traces byte for byte as memtrace does. The format is described in
//! `docs/formats/memtrace.md`.
//!
//! **The caller owes** the whole file ([`Input`] maps it, or copies a pipe first), and the same bytes for the
//! index and the reader.
//!
//! **Promises.** No input makes this crate panic, hang or use memory out of proportion to its size. Unreadable
//! parts are skipped and counted in [`Losses`]. Times never go backwards, except between the pieces that a
//! [`Follower`] is given.
//!
//! **Left out:** what the events mean. Estimates, filters and tables are in `bactrian-analysis`.
//!
//! ```
//! use bactrian_trace::{DomainId, Event, Index, Locate, Micros, NewAlloc, Reader, Source};
//! use bactrian_trace::{SourceLocation, Stacks, TraceInfo, Words, Writer};
//!
//! /// Every frame is the same line.
//! struct Here;
//! impl Locate for Here {
//!     fn locate(&self, _code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
//!         let (file, function) = (&b"queens.ml"[..], &b"Queens.place"[..]);
//!         found(&[SourceLocation { file, function, line: 12, start_char: 2, end_char: 30 }]);
//!     }
//! }
//!
//! let info = TraceInfo {
//!     version: 2,
//!     sample_rate: 1e-4,
//!     word_bits: 64,
//!     executable: b"queens.exe".to_vec(),
//!     host: b"here".to_vec(),
//!     runtime_params: Vec::new(),
//!     pid: 1,
//!     context: Vec::new(),
//!     start: 1_700_000_000_000_000,
//! };
//! let mut writer = Writer::new(Vec::new(), info)?;
//! let id = writer.alloc(&NewAlloc {
//!     time: Micros(10),
//!     domain: DomainId(0),
//!     length: Words(2),
//!     samples: 1,
//!     source: Source::Minor,
//!     stack: &[0x1000, 0x2000],
//! }, &Here)?;
//! writer.collect(Micros(25), DomainId(0), id)?;
//! let bytes = writer.finish()?;
//!
//! let index = Index::skim(&bytes)?;
//! let mut reader = Reader::new(&bytes, &index, Stacks::Decode);
//! while let Some(event) = reader.next() {
//!     match event {
//!         Event::Alloc(alloc) => assert_eq!((alloc.length, alloc.stack.len()), (Words(2), 2)),
//!         Event::Promote { .. } => unreachable!(),
//!         Event::Collect { time, id: freed, .. } => assert_eq!((time, freed), (Micros(25), id)),
//!     }
//! }
//! assert!(reader.losses().is_clean());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

// Without the feature `std` only the model and the writer remain. That is what the agent needs: it lives in
// other people's programs and must not bring the standard library there.
#![cfg_attr(not(feature = "std"), no_std)]

extern crate alloc;

#[cfg(feature = "std")]
mod error;
#[cfg(feature = "std")]
mod frames;
#[cfg(feature = "std")]
mod index;
#[cfg(feature = "std")]
mod input;
#[cfg(feature = "std")]
mod last_collection;
#[cfg(feature = "std")]
mod library;
#[cfg(feature = "std")]
mod losses;
mod model;
mod packet;
#[cfg(feature = "std")]
mod reader;
mod recorder;
#[cfg(feature = "std")]
mod single_domain;
mod wire;
mod writer;

#[cfg(feature = "std")]
pub use error::{Result, TraceError};
#[cfg(feature = "std")]
pub use frames::{Frames, Names, TraceLocation};
#[cfg(feature = "std")]
pub use index::{Index, Packet};
#[cfg(feature = "std")]
pub use input::Input;
#[cfg(feature = "std")]
pub use last_collection::{collected_at_end, uncollected};
#[cfg(feature = "std")]
pub use library::{Origin, is_library, origin_of};
#[cfg(feature = "std")]
pub use losses::{Incident, Losses};
pub use model::{
    Alloc, DomainId, Event, FrameId, Micros, NO_FRAMES, NameId, ObjectId, Source, TraceInfo, Words,
    bytecode_code, instruction,
};
#[cfg(feature = "std")]
pub use reader::{Checkpoints, Follower, Parts, Reader, Stacks};
pub use recorder::{Recorder, State};
#[cfg(feature = "std")]
pub use single_domain::write_single_domain;
pub use writer::{
    LastStack, Locate, Making, MakingWords, NewAlloc, NewBlock, Sink, SourceLocation, Writer,
    complete,
};

/// Format versions that can be read.
pub const READS: core::ops::RangeInclusive<u16> = 1..=3;
/// Format versions that can be written.
pub const WRITES: core::ops::RangeInclusive<u16> = 2..=3;
