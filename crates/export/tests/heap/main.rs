//! Exports of heaps: a tiny one as text, odd ones, and in the tools that they are for.

mod consumers;
mod formats;
mod golden;
mod hprof;
mod odd;
mod random;
mod tiny;
