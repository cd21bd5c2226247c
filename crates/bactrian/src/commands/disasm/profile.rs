//! What the instructions of a program allocated, from a trace.

use std::collections::BTreeMap;
use std::path::Path;

use bactrian_analysis::{Filter, TraceFile};
use bactrian_ocaml::bytecode::{Pc, Program};

use crate::commands::instructions::{Header, Instructions, instructions};
use crate::failure::Failure;
use crate::output::Console;

/// Instructions with this share of all words or more stand out.
const HOT: f64 = 0.1;

/// Words that instructions allocated.
#[derive(Debug)]
pub struct Profile {
    words: BTreeMap<Pc, f64>,
    /// What the whole trace says.
    pub of_trace: Instructions,
}

impl Profile {
    /// Adds up a trace by the instructions of a program.
    pub fn new(trace: &TraceFile, program: &Program<'_>, header: Header) -> Profile {
        let of_trace = instructions(trace, &Filter::default(), header, Some(program));
        let words = of_trace.rows.iter().filter_map(|row| Some((Pc(row.instruction?), row.words)));
        Profile { words: words.collect(), of_trace }
    }

    /// Words of the whole trace.
    pub fn all(&self) -> f64 {
        self.of_trace.all
    }

    /// Words that an instruction allocated.
    pub fn words(&self, at: Pc) -> Option<f64> {
        self.words.get(&at).copied()
    }

    /// Words of all its instructions.
    pub fn sum(&self) -> f64 {
        self.words.values().fold(0.0, |all, words| all + words)
    }

    /// Whether so many words are much.
    pub fn is_hot(&self, words: f64) -> bool {
        words > 0.0 && words >= HOT * self.all()
    }

    /// Says what does not fit together.
    pub fn warn(&self, program: &Path, console: &mut Console) -> Result<(), Failure> {
        self.of_trace.warn(program, true, console)
    }
}
