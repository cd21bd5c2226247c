//! Allocations by instruction, from a trace.

use std::collections::BTreeMap;
use std::path::Path;

use bactrian_analysis::{Filter, TraceFile};
use bactrian_ocaml::bytecode::{Pc, Program};

use crate::commands::instructions::{Header, Instructions, instructions};
use crate::failure::Failure;
use crate::output::Console;

/// Instructions with this share of all words or more are highlighted.
const HOT: f64 = 0.1;

/// Allocated words by instruction.
#[derive(Debug)]
pub struct Profile {
    words: BTreeMap<Pc, f64>,
    /// The result for the whole trace.
    pub of_trace: Instructions,
}

impl Profile {
    /// Sums a trace by the instructions of a program.
    pub fn new(trace: &TraceFile, program: &Program<'_>, header: Header) -> Profile {
        let of_trace = instructions(trace, &Filter::default(), header, Some(program));
        let words = of_trace.rows.iter().filter_map(|row| Some((Pc(row.instruction?), row.words)));
        Profile { words: words.collect(), of_trace }
    }

    /// The words of the whole trace.
    pub fn all(&self) -> f64 {
        self.of_trace.all
    }

    /// The words that an instruction allocated.
    pub fn words(&self, at: Pc) -> Option<f64> {
        self.words.get(&at).copied()
    }

    /// The words that this program's instructions allocated.
    pub fn sum(&self) -> f64 {
        self.words.values().fold(0.0, |all, words| all + words)
    }

    /// Whether this many words are highlighted.
    pub fn is_hot(&self, words: f64) -> bool {
        words > 0.0 && words >= HOT * self.all()
    }

    /// Warns if trace and program do not match.
    pub fn warn(&self, program: &Path, console: &mut Console) -> Result<(), Failure> {
        self.of_trace.warn(program, true, console)
    }
}
