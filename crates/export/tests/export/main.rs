//! Exports of small traces: as text, with names that mean something to a format, and in the tools that they are
//! made for.

mod agreement;
mod consumers;
mod formats;
mod hostile;
mod traces;

#[path = "../golden/mod.rs"]
mod golden;
#[path = "../tools/mod.rs"]
mod tools;
