//! Arguments that several commands share.

use std::io::Write;

use bactrian_analysis::{By, Measure, Of, Recursion};
use clap::ValueEnum;

use crate::failure::Failure;
use crate::output::{Console, FAINT};

/// What is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Metric {
    /// Bytes allocated
    #[default]
    Allocated,
    /// Bytes still there when the trace ends
    Live,
    /// Bytes there when most are
    Peak,
    /// Blocks allocated
    Objects,
    /// Bytes that moved from the minor to the major heap
    Promoted,
}

impl Metric {
    /// The measure it names.
    pub fn measure(self) -> Measure {
        match self {
            Metric::Allocated => Measure::bytes(Of::Allocated),
            Metric::Live => Measure::bytes(Of::LiveAtEnd),
            Metric::Peak => Measure::bytes(Of::LiveAtPeak),
            Metric::Objects => Measure::objects(Of::Allocated),
            Metric::Promoted => Measure::bytes(Of::Promoted),
        }
    }
}

/// How a table is printed.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct TableArgs {
    /// How many rows; 0 for all
    #[arg(short, long, visible_alias = "limit", value_name = "ROWS", default_value_t = 20)]
    number: usize,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

impl TableArgs {
    /// How many rows were asked for; 0 for all.
    pub fn number(self) -> usize {
        self.number
    }

    /// Cuts `rows` to the number asked for; tells how many there were.
    pub fn cut<T>(self, rows: &mut Vec<T>) -> usize {
        let all = rows.len();
        if self.number > 0 {
            rows.truncate(self.number);
        }
        all
    }

    /// Says how many rows of `all` were cut.
    pub fn say_more(self, all: usize, console: &mut Console) -> std::io::Result<()> {
        match all.saturating_sub(self.number) {
            left if self.number > 0 && left > 0 => {
                writeln!(console.out(), "{FAINT}{left} more; -n 0 shows all{FAINT:#}")
            }
            _ => Ok(()),
        }
    }
}

/// Whether functions that call themselves are shown call by call.
#[derive(clap::Args, Clone, Copy, Debug)]
pub struct RecursionArg {
    /// Show every call of a function that calls itself, instead of one for all
    #[arg(long)]
    recursion: bool,
}

impl RecursionArg {
    /// What to do with them.
    pub fn choice(self) -> Recursion {
        if self.recursion { Recursion::Keep } else { Recursion::Fold }
    }
}

/// A percentage of everything, as a share.
pub fn share(percent: f64) -> Result<f64, Failure> {
    match (0.0..=100.0).contains(&percent) {
        true => Ok(percent / 100.0),
        false => Err(Failure::Usage("--min-share is a percentage, from 0 to 100".to_owned())),
    }
}

/// What is told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ByArg {
    /// Every place in the source
    Site,
    /// Instructions of bytecode; of native code, return addresses
    Instruction,
    /// Lines of source files
    Line,
    /// Functions
    #[default]
    Function,
    /// Source files
    File,
    /// Modules (compilation units)
    Module,
}

impl ByArg {
    /// What it names.
    pub fn by(self) -> By {
        match self {
            ByArg::Site => By::Site,
            ByArg::Instruction => By::Instruction,
            ByArg::Line => By::Line,
            ByArg::Function => By::Function,
            ByArg::File => By::File,
            ByArg::Module => By::Module,
        }
    }

    /// For headings.
    pub fn title(self) -> &'static str {
        match self {
            ByArg::Site => "site",
            ByArg::Instruction => "instruction",
            ByArg::Line => "line",
            ByArg::Function => "function",
            ByArg::File => "file",
            ByArg::Module => "module",
        }
    }
}
