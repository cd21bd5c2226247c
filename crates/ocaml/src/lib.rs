//! Knowledge of OCaml: bytes in, facts out.
//!
//! **Purpose.** Everything that looks into an OCaml program, from inside (the agent, which has no standard
//! library) or from outside (doctor, the heap walker). Each fact is written down here once, keyed by the
//! version of OCaml if versions differ.
//!
//! **Promises.** No input makes this crate panic, hang or use memory out of proportion to its size. Without the
//! feature `std` it needs no standard library and allocates only to read bytecode and marshalled data; in that
//! case it cannot read ELF files.
//!
//! **Left out:** reading files, and deciding what the facts mean for a program (capture does both).
//!
//! ```
//! # #[cfg(feature = "std")]
//! # fn main() -> Result<(), bactrian_ocaml::OcamlError> {
//! use bactrian_ocaml::executable::{Executable, ExecutableKind};
//!
//! let file = b"#!/usr/bin/ocamlrun\n\0\0\0\0Caml1999X030";
//! let ocaml = Executable::read(file)?.ocaml.expect("bytecode is OCaml");
//! assert_eq!(ocaml.kind, ExecutableKind::Bytecode);
//! assert_eq!(ocaml.version(), Some(bactrian_ocaml::Version::new(4, 13)));
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "std"))]
//! # fn main() {}
//! ```

#![no_std]

extern crate alloc;
#[cfg(feature = "std")]
extern crate std;

pub mod accounting;
pub mod bytecode;
mod collector;
pub mod custom;
mod domain_state;
mod error;
#[cfg(feature = "std")]
pub mod executable;
mod fingerprint;
pub mod frames;
pub mod heap_layout;
pub mod linked_units;
pub mod marshal;
mod runtime;
pub mod runtime_events;
pub mod symbol;
pub mod sys_version;
pub mod value;
mod version;

pub use collector::CollectorLayout;
pub use error::OcamlError;
#[cfg(feature = "std")]
pub use executable::Executable;
pub use fingerprint::{Fingerprint, RuntimeCode, fingerprint};
pub use runtime::{
    ExecutableName, InterpreterLayout, LocationLayout, Polling, RUNTIMES, Runtime, StackLayout,
    TrapLayout, TrapLink, versions,
};
pub use version::Version;
