//! The stack tree in JSON, for scripts. Described in `docs/exports.md`.

use std::io::{self, Write};

use bactrian_analysis::{By, Column, Estimate, Label, Measure, Profile, StackId};
use serde::Serialize;

use crate::about::About;
use crate::path::every_stack;
use crate::stream::Stream;

/// Version of this format.
pub const SCHEMA_VERSION: u32 = 1;

#[derive(Serialize)]
struct Document<'a, L, S> {
    schema_version: u32,
    bactrian: &'a str,
    program: Program<'a>,
    /// Whether the trace was read without losses and no stack was dropped.
    complete: bool,
    by: By,
    columns: Vec<ColumnHead>,
    labels: L,
    stacks: S,
}

#[derive(Serialize)]
struct Program<'a> {
    path: &'a str,
    host: &'a str,
    pid: u64,
    /// Seconds since the Unix epoch.
    start: f64,
    /// In seconds.
    duration: f64,
    sample_rate: f64,
    /// In bytes.
    word_size: u64,
}

#[derive(Serialize)]
struct ColumnHead {
    #[serde(flatten)]
    measure: Measure,
    title: String,
    total: Estimate,
}

#[derive(Serialize)]
struct Stack {
    parent: Option<usize>,
    label: Option<usize>,
    /// One for each column.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<Option<[f64; 3]>>,
}

pub fn write(profile: &Profile, about: &About, out: &mut impl Write) -> io::Result<()> {
    let document = Document {
        schema_version: SCHEMA_VERSION,
        bactrian: &about.version,
        program: Program {
            path: &about.program,
            host: &about.host,
            pid: about.pid,
            start: about.start.seconds(),
            duration: about.duration.seconds(),
            sample_rate: about.sample_rate,
            word_size: about.word_size.0,
        },
        complete: profile.losses.is_clean() && profile.tree.cut() == 0,
        by: profile.labels.by(),
        columns: profile.columns.iter().map(column_head).collect(),
        labels: Stream(|| profile.labels.iter().map(|(_, label): (_, &Label)| label)),
        stacks: Stream(|| every_stack(&profile.tree).map(|at| stack(profile, at))),
    };
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)
}

fn column_head(column: &Column) -> ColumnHead {
    let measure = column.measure;
    ColumnHead {
        measure,
        title: measure.title(),
        total: hundredths(column.estimate(column.total())),
    }
}

fn stack(profile: &Profile, stack: StackId) -> Stack {
    let outer = (stack != StackId::ROOT).then(|| profile.tree.parent(stack).index());
    let value = |column: &Column| {
        let own = column.own(stack);
        let Estimate { value, low, high } = hundredths(column.estimate(own));
        (!own.is_zero()).then_some([value, low, high])
    };
    let mut values: Vec<_> = profile.columns.iter().map(value).collect();
    if values.iter().all(Option::is_none) {
        values.clear();
    }
    Stack { parent: outer, label: outer.map(|_| profile.tree.label(stack).index()), values }
}

/// Further digits are meaningless and would be most of the file.
fn hundredths(Estimate { value, low, high }: Estimate) -> Estimate {
    let round = |value: f64| (value * 100.0).round() / 100.0;
    Estimate { value: round(value), low: round(low), high: round(high) }
}

#[cfg(test)]
mod tests {
    /// Scripts rely on the document.
    #[test]
    fn the_document_names_the_version() {
        let document = include_str!("../../../docs/exports.md");
        let line = format!("Schema version: {}", super::SCHEMA_VERSION);
        assert!(document.lines().any(|l| l == line), "docs/exports.md has no line `{line}`");
    }
}
