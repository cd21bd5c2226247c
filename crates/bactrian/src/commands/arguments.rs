//! Arguments that several commands share.

use std::io::Write;

use bactrian_analysis::question::{Parameters, Rows, parameters};

use crate::failure::Failure;
use crate::output::{Console, FAINT};

/// What a command is for: the first sentence of what its question is for.
pub fn about<Q: Parameters>() -> String {
    let about = parameters::about::<Q>();
    about.split("\n\n").next().unwrap_or_default().to_owned()
}

/// All that there is to say of a question.
pub fn long_about<Q: Parameters>() -> String {
    parameters::about::<Q>()
}

/// Says how many rows come after those that were printed.
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

/// A percentage of everything, as a share.
pub fn share(percent: f64) -> Result<f64, Failure> {
    match (0.0..=100.0).contains(&percent) {
        true => Ok(percent / 100.0),
        false => Err(Failure::Usage("--min-share is a percentage, from 0 to 100".to_owned())),
    }
}
