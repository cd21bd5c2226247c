//! What is known of OCaml: bytes in, facts out.
//!
//! For: everything that has to look into an OCaml program, from inside (the agent, which has no standard
//! library) or from outside (doctor, later the heap walker). Each fact stands here once, keyed by the
//! version of OCaml where versions differ.
//!
//! Promises: no input makes this crate panic, hang or take memory out of proportion to its size.

#![no_std]

#[cfg(feature = "std")]
extern crate std;

#[cfg(feature = "std")]
mod error;
#[cfg(feature = "std")]
pub mod executable;
mod fingerprint;
mod runtime;
pub mod symbol;
pub mod value;
mod version;

#[cfg(feature = "std")]
pub use error::Error;
#[cfg(feature = "std")]
pub use executable::Executable;
pub use fingerprint::{Code, Fingerprint, fingerprint};
pub use runtime::{LocationLayout, RUNTIMES, Runtime, StackLayout};
pub use version::Version;
