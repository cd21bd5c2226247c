//! What changed between two traces.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::estimate::Estimate;
use crate::labels::Label;
use crate::top::Top;

/// One label in both traces.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// What it is about.
    #[serde(flatten)]
    pub label: Label,
    /// What it allocates itself, and how that changed.
    #[serde(rename = "self")]
    pub own: Delta,
    /// What is allocated in it and in all it calls, and how that changed.
    pub total: Delta,
}

/// A value before and after.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Delta {
    /// In the first trace.
    pub before: Estimate,
    /// In the second trace.
    pub after: Estimate,
    /// The difference, with the errors of both.
    pub change: Estimate,
    /// Whether the difference is more than sampling explains. Of one value: in 95 of 100 cases. Of the
    /// rows of a table, of which there are many: such that no more than 5 in 100 marked so are chance.
    pub significant: bool,
}

impl Delta {
    /// From one estimate to another.
    pub fn new(before: Estimate, after: Estimate) -> Delta {
        let change = before.change_to(&after);
        Delta { before, after, change, significant: change.is_significant() }
    }
}

/// The changes between two traces.
#[derive(Clone, Debug, Serialize)]
pub struct Diff {
    /// Everything together.
    pub all: Delta,
    /// Significant changes first, then by size of the change in what a label allocates itself.
    pub rows: Vec<Change>,
}

impl Diff {
    /// The rows that changed more than sampling explains.
    pub fn significant(&self) -> impl Iterator<Item = &Change> {
        self.rows.iter().filter(|row| row.is_significant())
    }
}

impl Change {
    /// Whether self or total changed more than sampling explains.
    pub fn is_significant(&self) -> bool {
        self.own.significant || self.total.significant
    }
}

/// Marks the changes that stand out of all rows (Benjamini and Hochberg, at 5 %).
fn mark_significant(rows: &mut [Change], delta: impl Fn(&mut Change) -> &mut Delta) {
    let mut p_values: Vec<_> = rows.iter_mut().map(|row| delta(row).change.p_value()).collect();
    p_values.sort_by(f64::total_cmp);
    let all = p_values.len() as f64;
    let passes = |&(rank, &p): &(usize, &f64)| p <= 0.05 * (rank as f64 + 1.0) / all;
    let limit = p_values.iter().enumerate().rev().find(passes).map_or(-1.0, |(_, &p)| p);
    for row in rows {
        let delta = delta(row);
        delta.significant = delta.change.p_value() <= limit;
    }
}

/// Compares the same question answered for two traces.
pub fn diff(before: &Top, after: &Top) -> Diff {
    // A label that a trace does not have was not sampled there, which is an estimate too: of zero.
    let absent = |top: &Top| top.none;
    let mut labels: BTreeMap<&Label, [Option<(Estimate, Estimate)>; 2]> = BTreeMap::new();
    for (which, top) in [before, after].into_iter().enumerate() {
        for row in &top.rows {
            labels.entry(&row.label).or_default()[which] = Some((row.own, row.total));
        }
    }
    let rows = labels.into_iter().map(|(label, [a, b])| {
        let a = a.unwrap_or((absent(before), absent(before)));
        let b = b.unwrap_or((absent(after), absent(after)));
        Change { label: label.clone(), own: Delta::new(a.0, b.0), total: Delta::new(a.1, b.1) }
    });
    let mut rows: Vec<_> = rows.collect();
    mark_significant(&mut rows, |row| &mut row.own);
    mark_significant(&mut rows, |row| &mut row.total);
    rows.sort_by(|a, b| {
        let rank = |row: &Change| (row.own.significant, row.total.significant);
        let size = |delta: &Delta| delta.change.value.abs();
        rank(b)
            .cmp(&rank(a))
            .then(size(&b.own).total_cmp(&size(&a.own)))
            .then(size(&b.total).total_cmp(&size(&a.total)))
    });
    Diff { all: Delta::new(before.all, after.all), rows }
}
