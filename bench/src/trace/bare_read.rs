//! The minimum cost of reading a trace: decodes every event with its stack and does nothing with it.

use std::ops::ControlFlow;
use std::path::Path;

use bactrian_trace::{Index, Input, Reader, Stacks};

use xtask::Outcome;

pub fn run(file: &Path) -> Outcome {
    let problem = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let input = Input::open(file).map_err(|error| problem(&error))?;
    let index = Index::skim(&input).map_err(|error| problem(&error))?;
    let mut events = 0u64;
    Reader::new(&input, &index, Stacks::Decode).for_each(|_, _| {
        events += 1;
        ControlFlow::Continue(())
    });
    println!("{events}");
    Ok(())
}
