//! Live numbers: what is known at a moment ([`known`]), what can be drawn as a line ([`measure`], [`lines`]), how numbers are
//! read ([`numbers`]), and what to worry about ([`warnings`]).

pub mod known;
pub mod lines;
pub mod measure;
pub mod numbers;
pub mod warnings;
