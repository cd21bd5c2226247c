//! The names of measures and of what is told apart, as the command line has them.

use bactrian_analysis::{By, Measure, Of, Recursion};
use clap::ValueEnum;

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

/// What is told apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ByArg {
    /// Every place in the source
    Site,
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
            ByArg::Function => By::Function,
            ByArg::File => By::File,
            ByArg::Module => By::Module,
        }
    }

    /// For headings.
    pub fn title(self) -> &'static str {
        match self {
            ByArg::Site => "site",
            ByArg::Function => "function",
            ByArg::File => "file",
            ByArg::Module => "module",
        }
    }
}
