//! Memory that we share with the keeper, the process that writes our traces: a ring buffer, and what it tells of seccomp
//! filters.

pub mod filters;
pub mod ring;
