//! Types of blocks of real programs, compared with what the programs themselves know, with both compilers.

mod bytecode;
mod plugins;
mod tables;
mod told;
mod truth;
mod values;
