//! What is known of OCaml: bytes in, facts out.
//!
//! For: everything that has to look into an OCaml program, from inside (the agent, which has no standard
//! library) or from outside (doctor, later the heap walker). Each fact stands here once, keyed by the
//! version of OCaml where versions differ.
//!
//! Promises: no input makes this crate panic, hang or take memory out of proportion to its size. Without
//! the feature `std` it needs no standard library, and allocates only to read bytecode and marshalled data; then
//! it does not read ELF files.
//!
//! Left out: reading files, and judging what the facts mean for a program (capture does both).
//!
//! ```
//! # #[cfg(feature = "std")]
//! # fn main() -> Result<(), bactrian_ocaml::Error> {
//! use bactrian_ocaml::executable::{Executable, Kind};
//!
//! let file = b"#!/usr/bin/ocamlrun\n\0\0\0\0Caml1999X030";
//! let ocaml = Executable::read(file)?.ocaml.expect("bytecode is OCaml");
//! assert_eq!(ocaml.kind, Kind::Bytecode);
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
pub use error::Error;
#[cfg(feature = "std")]
pub use executable::Executable;
pub use fingerprint::{Code, Fingerprint, fingerprint};
pub use runtime::{
    ExecutableName, InterpreterLayout, LocationLayout, Polling, RUNTIMES, Runtime, StackLayout,
    TrapLayout, TrapLink, versions,
};
pub use version::Version;
