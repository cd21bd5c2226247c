//! Differences between two traces.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::filter::Filter;
use crate::filter_options::FilterOptions;
use crate::labels::{By, Label};
use crate::library::LibraryOptions;
use crate::measure::{Measure, Metric};
use crate::question::{Answer, Evidence, FileNumber, Question, QuestionError, Rows};
use crate::sorted_rows::SortRows;
use crate::top::Top;
use crate::units::Time;

/// A row of both traces.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Change {
    /// The function, site, line, file or module.
    #[serde(flatten)]
    pub label: Label,
    /// What it allocates itself.
    #[serde(rename = "self")]
    pub own: Delta,
    /// What it allocates itself and in everything it calls.
    pub total: Delta,
}

/// A value before and after.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Delta {
    /// In the first trace.
    pub before: Estimate,
    /// In the second trace.
    pub after: Estimate,
    /// The difference, with the errors of both traces.
    pub change: Estimate,
    /// Whether the difference is larger than sampling explains. For a single value: with 95 % confidence. For rows of a table:
    /// no more than 5 in 100 of the rows marked are due to chance.
    pub significant: bool,
}

impl Delta {
    /// The change from one estimate to another.
    pub fn new(before: Estimate, after: Estimate) -> Delta {
        let change = before.change_to(&after);
        Delta { before, after, change, significant: change.is_significant() }
    }
}

/// What changed between two traces, significant changes first.
///
/// A change is significant (marked *) if it exceeds what sampling alone would show in a table of this size: no more than 5 in
/// 100 of the changes marked are due to chance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct DiffQuestion {
    /// The earlier trace
    pub before: FileNumber,
    /// The later trace
    pub after: FileNumber,
    /// What to group by
    pub by: By,
    /// What to measure
    pub metric: Metric,
    /// What to sort by
    pub sort: DiffSort,
    /// Which rows
    #[serde(flatten)]
    pub rows: Rows,
    /// Which code to show
    #[serde(flatten)]
    pub library: LibraryOptions,
    /// Which objects
    #[serde(flatten)]
    pub filter: FilterOptions,
}

impl Default for DiffQuestion {
    fn default() -> DiffQuestion {
        DiffQuestion {
            before: FileNumber(0),
            after: FileNumber(1),
            by: By::default(),
            metric: Metric::default(),
            sort: DiffSort::default(),
            rows: Rows::default(),
            library: LibraryOptions::default(),
            filter: FilterOptions::default(),
        }
    }
}

/// What rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("x-value" = "ORDER"))]
pub enum DiffSort {
    /// Significant changes first, then the largest change of what a row allocates itself
    #[default]
    Significant,
    /// Growth of what a row allocates itself
    #[serde(rename = "self")]
    Own,
    /// Growth of what a row allocates itself and in everything it calls
    Total,
    /// What a row allocated itself in the first trace
    Before,
    /// What a row allocates itself in the second trace
    After,
    /// Its name
    Name,
}

/// What changed between two traces.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiffAnswer {
    /// What rows are grouped by.
    pub by: By,
    /// What was measured.
    pub measure: Measure,
    /// The objects that are counted.
    pub filter: Filter,
    /// How long each trace is.
    pub durations: [Time; 2],
    /// The total.
    pub all: Delta,
    /// Number of rows.
    pub row_count: usize,
    /// Number of rows, of all, that changed more than sampling explains.
    pub significant: usize,
    /// The requested rows.
    pub rows: Vec<Change>,
}

impl Question for DiffQuestion {
    const NAME: &'static str = "trace/diff";
    const COMMAND: Option<&'static str> = Some("diff");
    type Answer = DiffAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<DiffAnswer>, QuestionError> {
        let [before, after] = [evidence.trace(self.before)?, evidence.trace(self.after)?];
        let filter = self.filter.filter_with(self.library)?;
        let measure = self.metric.measure(|| before.keeps_little() && after.keeps_little());
        let first = before.top(&filter, self.by, measure);
        let second = after.top(&filter, self.by, measure);
        let mut diff = diff(&first, &second);
        let significant = diff.significant().count();
        let grew = |a: &Delta, b: &Delta| b.change.value.total_cmp(&a.change.value);
        match self.sort {
            DiffSort::Significant => {}
            DiffSort::Own => diff.rows.sort_rows_by(|a, b| grew(&a.own, &b.own)),
            DiffSort::Total => diff.rows.sort_rows_by(|a, b| grew(&a.total, &b.total)),
            DiffSort::Before => {
                diff.rows.sort_rows_by(|a, b| b.own.before.value.total_cmp(&a.own.before.value));
            }
            DiffSort::After => {
                diff.rows.sort_rows_by(|a, b| b.own.after.value.total_cmp(&a.own.after.value));
            }
            DiffSort::Name => diff.rows.sort_rows_by(|a, b| a.label.cmp(&b.label)),
        }
        let row_count = evidence.cut(&self.rows, &mut diff.rows, |row| row.label.text());
        let notes = after.notes(&filter, Some(&second.all));
        let Diff { all, rows } = diff;
        let by = self.by;
        let durations = [&before, &after].map(|trace| Time(trace.trace().index().duration()));
        let answer =
            DiffAnswer { by, measure, filter, durations, all, row_count, significant, rows };
        let losses = [first.losses.clone().into(), second.losses.clone().into()];
        Ok(Answer::new(answer, losses).with_notes(notes))
    }
}

/// Changes between two traces.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Diff {
    /// The total.
    pub all: Delta,
    /// Significant changes first, then by the change of what a row allocates itself.
    pub rows: Vec<Change>,
}

impl Diff {
    /// The rows with a change that sampling error does not explain.
    pub fn significant(&self) -> impl Iterator<Item = &Change> {
        self.rows.iter().filter(|row| row.is_significant())
    }
}

impl Change {
    /// Whether the change of self or total is larger than sampling error explains.
    pub fn is_significant(&self) -> bool {
        self.own.significant || self.total.significant
    }
}

/// Which changes are significant among all of them (Benjamini and Hochberg, at 5 %).
pub(crate) fn significant(changes: &[Estimate]) -> Vec<bool> {
    let mut sorted: Vec<_> = changes.iter().map(Estimate::p_value).collect();
    sorted.sort_by(f64::total_cmp);
    let all = sorted.len() as f64;
    let passes = |&(rank, &p): &(usize, &f64)| p <= 0.05 * (rank as f64 + 1.0) / all;
    let limit = sorted.iter().enumerate().rev().find(passes).map_or(-1.0, |(_, &p)| p);
    changes.iter().map(|change| change.p_value() <= limit).collect()
}

/// Marks the significant changes among all rows.
fn mark_significant(rows: &mut [Change], delta: impl Fn(&mut Change) -> &mut Delta) {
    let changes: Vec<_> = rows.iter_mut().map(|row| delta(row).change).collect();
    for (row, is_significant) in rows.iter_mut().zip(significant(&changes)) {
        delta(row).significant = is_significant;
    }
}

/// Compares the answers to the same question for two traces.
pub fn diff(before: &Top, after: &Top) -> Diff {
    // A label that is missing in a trace was not sampled there: an estimate of zero.
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
    rows.sort_rows_by(|a, b| {
        let rank = |row: &Change| (row.own.significant, row.total.significant);
        let size = |delta: &Delta| delta.change.value.abs();
        rank(b)
            .cmp(&rank(a))
            .then(size(&b.own).total_cmp(&size(&a.own)))
            .then(size(&b.total).total_cmp(&size(&a.total)))
    });
    Diff { all: Delta::new(before.all, after.all), rows }
}
