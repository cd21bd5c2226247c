//! Exports of heaps: a tiny one as text, odd ones, and in the tools that they are made for.

mod consumers;
mod formats;
mod hprof;
mod odd;
mod random;
mod tiny;

#[path = "../golden/mod.rs"]
mod golden;
#[path = "../tools/mod.rs"]
mod tools;
