//! Live numbers: where they come from ([`source`]), what can be asked of them ([`questions`]), what is known at a moment
//! ([`known`]), by what several programs are compared ([`glance`]), what can be drawn as a line ([`measure`], [`lines`]), what memory is used for ([`memory_use`]), how numbers and values are read ([`numbers`], [`words`]),
//! and what to worry about ([`warnings`]).

pub mod glance;
pub mod known;
pub mod lines;
pub mod measure;
pub mod memory_use;
pub mod numbers;
pub mod questions;
pub mod source;
pub mod warnings;
pub mod words;
