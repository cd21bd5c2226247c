//! Live numbers: how they are read ([`numbers`]), and what to worry about ([`warnings`]).

pub mod numbers;
pub mod warnings;
