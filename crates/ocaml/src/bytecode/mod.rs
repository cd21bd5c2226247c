//! Bytecode: the instructions of OCaml's abstract machine, and the executables that hold them.
//!
//! An instruction is an opcode and its operands, each a word of 32 bits; the interpreter, its debug
//! information and profiles tell instructions by *number*, how many words stand before them ([`Pc`]).
//!
//! [`Program::read`] finds the code of an executable, decodes all of it, and puts together what gives it
//! names: global variables, C primitives, functions, places in the source. The instruction set itself needs no
//! standard library.

#[cfg(feature = "std")]
mod debug;
#[cfg(feature = "std")]
mod embedded;
#[cfg(feature = "std")]
mod functions;
#[cfg(feature = "std")]
mod globals;
#[cfg(feature = "std")]
mod instruction;
#[cfg(feature = "std")]
mod names;
mod opcode;
#[cfg(feature = "std")]
mod program;
#[cfg(feature = "std")]
mod sections;
#[cfg(feature = "std")]
mod text;

#[cfg(feature = "std")]
pub use debug::{DebugEvents, DebugUnit, Event, EventKind, Location};
#[cfg(feature = "std")]
pub use functions::{Function, FunctionKind};
#[cfg(feature = "std")]
pub use globals::Globals;
#[cfg(feature = "std")]
pub use instruction::{Code, Instruction, Instructions, Pc};
pub use opcode::{Allocates, INSTRUCTION_SETS, InstructionSet, Opcode, Operands};
#[cfg(feature = "std")]
pub use program::{Place, Program};
#[cfg(feature = "std")]
pub(crate) use sections::version_of;
#[cfg(feature = "std")]
pub use sections::{Section, Sections};
