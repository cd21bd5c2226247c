//! Live numbers: their sources ([`source`]), the questions about them ([`questions`]), everything known at a
//! moment ([`known`]), the numbers by which programs are compared ([`glance`]), the facts for rules about GC
//! parameters ([`gc_facts`]), what can be drawn as a line ([`measure`], [`lines`]), what memory is used for
//! ([`memory_use`]), how numbers and values are displayed ([`numbers`], [`words`]), and warnings
//! ([`warnings`]).

pub mod gc_facts;
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
