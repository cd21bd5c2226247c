//! What instructions allocated, from a trace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bactrian_analysis::{By, Estimate, Filter, Measure, Of, Top, TraceFile, top};
use bactrian_ocaml::bytecode::{Pc, Program};
use bactrian_trace::Losses;

use crate::commands::instructions::Header;
use crate::failure::Failure;
use crate::output::{Console, show_error};

/// Instructions with this share of all words or more stand out.
const HOT: f64 = 0.1;

/// Words that instructions allocated.
#[derive(Debug)]
pub struct Profile {
    words: BTreeMap<Pc, f64>,
    /// Words of the whole trace.
    pub all: f64,
    /// How much sampling leaves open, in words: `exact` or `±3.1 %`.
    pub error: String,
    pub losses: Losses,
    /// Numbers that are those of no instruction of the program, or of one in another function.
    strange: usize,
    is_of_bytecode: bool,
}

impl Profile {
    /// Adds up a trace by the instructions of a program.
    pub fn new(trace: &TraceFile, program: &Program<'_>, header: Header) -> Profile {
        let ask = |measure| top(trace, &Filter::default(), By::Instruction, measure);
        let bytes = ask(Measure::bytes(Of::Allocated));
        let bytes_of_word = f64::from(trace.info().word_bits) / 8.0;
        let mut profile = Profile {
            words: BTreeMap::new(),
            all: bytes.all.value / bytes_of_word,
            error: show_error(&bytes.all),
            losses: bytes.losses.clone(),
            strange: 0,
            is_of_bytecode: false,
        };
        profile.add(program, &bytes, 1.0 / bytes_of_word);
        if header == Header::WithoutHeader {
            // Bytes count a header for each block.
            let objects = ask(Measure::objects(Of::Allocated));
            profile.all -= objects.all.value;
            profile.add(program, &objects, -1.0);
        }
        profile
    }

    /// Adds a number of each instruction, times a factor.
    fn add(&mut self, program: &Program<'_>, answer: &Top, factor: f64) {
        let mut strange = BTreeSet::new();
        for row in &answer.rows {
            let Some(number) = row.label.instruction else { continue };
            self.is_of_bytecode = true;
            let Estimate { value, .. } = row.own;
            if value <= 0.0 {
                continue;
            }
            // The interpreter says where it is when it is in the middle of an instruction or just after it.
            let place = u32::try_from(number).ok().map(Pc);
            let found = place.and_then(|place| program.before(place));
            let name = row.label.name.as_str();
            let function = found.and_then(|found| program.function_at(found.at));
            let is_known = function.is_some_and(|function| function.name == name)
                || found.and_then(|found| program.primitive_of(&found)) == Some(name)
                || name.is_empty()
                || name.starts_with('[');
            match found {
                Some(found) if is_known => {
                    *self.words.entry(found.at).or_default() += value * factor;
                }
                _ => drop(strange.insert(number)),
            }
        }
        self.strange = strange.len();
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
        words > 0.0 && words >= HOT * self.all
    }

    /// Says what does not fit together.
    pub fn warn(&self, program: &Path, console: &mut Console) -> Result<(), Failure> {
        if !self.is_of_bytecode {
            console
                .warn("the trace tells no instructions of bytecode: bactrian record writes them")?;
        } else if self.strange > 0 {
            let (program, strange) = (program.display(), self.strange);
            console.warn(&format!(
                "{strange} instructions of the trace are not those of {program}: is it of another \
                 build?"
            ))?;
        }
        Ok(())
    }
}
