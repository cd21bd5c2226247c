//! Types of blocks of real programs, compared with what the programs themselves know, on both compilers.

mod tables;
mod told;
mod truth;
mod values;
