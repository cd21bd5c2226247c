//! Bytecode: the instructions of OCaml's abstract machine, and the executables that contain them.
//!
//! An instruction is an opcode and its operands, each a 32-bit word. The interpreter, its debug information and
//! profiles identify an instruction by its *number*, the count of words before it ([`Pc`]).
//!
//! [`Program::read`] finds the code of an executable, decodes all of it, and collects everything that gives it
//! names: global variables, C primitives, functions, source locations. The instruction set itself needs no
//! standard library.

mod debug;
#[cfg(feature = "std")]
mod embedded;
mod functions;
mod globals;
mod instruction;
mod names;
mod opcode;
mod program;
mod sections;
mod text;
mod variables;

pub use debug::{DebugEvents, DebugUnit, Event, EventKind, EventLocation};
pub use functions::{Function, FunctionKind};
pub use globals::Globals;
pub use instruction::{CodeSection, Instruction, Instructions, Pc};
pub use opcode::{Allocates, INSTRUCTION_SETS, InstructionSet, Opcode, Operands};
pub use program::{InstructionLocation, Program};
#[cfg(feature = "std")]
pub(crate) use sections::version_of;
pub use sections::{Section, Sections, version_of_file};
pub use variables::{Variable, Variables};
