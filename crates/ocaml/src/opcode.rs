//! Opcodes of bytecode that the agent needs; the same in all versions from 4.11 to 5.5.

/// Loads the top of the stack: where a function has its argument.
pub const ACC0: i32 = 0;
/// Returns from a function.
pub const RETURN: i32 = 40;
/// Calls a primitive with one argument.
pub const C_CALL1: i32 = 93;
