//! Exports of small traces: as text, with names that mean something to a format, and in the tools that
//! they are for.

mod agreement;
mod consumers;
mod formats;
mod golden;
mod hostile;
mod traces;
