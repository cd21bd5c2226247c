//! Arguments shared by several commands.

use std::io::Write;

use bactrian_analysis::question::{Parameters, Rows, parameters};

use crate::failure::Failure;
use crate::output::{Console, FAINT};

/// The short description of a command: the first sentence of its question's description.
pub fn about<Q: Parameters>() -> String {
    let about = parameters::about::<Q>();
    about.split("\n\n").next().unwrap_or_default().to_owned()
}

/// The complete description of a question.
pub fn long_about<Q: Parameters>() -> String {
    parameters::about::<Q>()
}

/// Prints how many rows follow those that were printed.
pub fn say_more(
    rows: &Rows,
    shown: usize,
    all: usize,
    console: &mut Console,
) -> Result<(), Failure> {
    match all.saturating_sub(rows.offset + shown) {
        0 => Ok(()),
        left => Ok(writeln!(console.out(), "{FAINT}{left} more; -n 0 shows all{FAINT:#}")?),
    }
}

/// Converts a percentage to a fraction.
pub fn share(percent: f64) -> Result<f64, Failure> {
    match (0.0..=100.0).contains(&percent) {
        true => Ok(percent / 100.0),
        false => Err(Failure::Usage("--min-share is a percentage, from 0 to 100".to_owned())),
    }
}
