//! Memory that we share with the keeper, the process that writes our traces: the board, a ring buffer, and what it tells of
//! seccomp filters.

pub mod board;
pub mod filters;
pub mod ring;
