//! Memory shared with the keeper, the process that writes our traces: the board, a ring buffer, and reports
//! of seccomp filters.

pub mod board;
pub mod filters;
pub mod ring;
