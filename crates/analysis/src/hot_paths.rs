//! The distinct call stacks that allocate most by themselves.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::filter_options::FilterOptions;
use crate::flame::FlameLabel;
use crate::labels::By;
use crate::library::LibraryOptions;
use crate::measure::{Measure, Metric};
use crate::profile::Profile;
use crate::question::{Answer, Evidence, FileNumber, Question, QuestionError, Rows};
use crate::sorted_rows::SortRows;
use crate::stacks_options::StacksOptions;

/// The most frames listed of a stack; outer ones are omitted.
const MAX_FRAMES: usize = 200;

/// A call stack and what it allocates.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HotPath {
    /// Its frames, innermost first.
    pub frames: Vec<FlameLabel>,
    /// Number of outer frames that are left out.
    pub left_out: usize,
    /// What it allocates itself.
    pub own: Estimate,
    /// Share of the total.
    pub share: f64,
}

/// Call stacks, those that allocate most first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HotPaths {
    /// What was measured.
    pub measure: Measure,
    /// The total.
    pub all: Estimate,
    /// Number of call stacks that allocate anything.
    pub row_count: usize,
    /// The requested rows.
    pub rows: Vec<HotPath>,
}

/// Call stacks that allocate or keep most by themselves, each with all its callers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct HotPathsQuestion {
    /// The trace
    pub file: FileNumber,
    /// What to measure
    pub metric: Metric,
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

impl Question for HotPathsQuestion {
    const NAME: &'static str = "trace/paths";
    const COMMAND: Option<&'static str> = Some("paths");
    type Answer = HotPaths;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<HotPaths>, QuestionError> {
        let HotPathsQuestion { metric, library, filter, .. } = self.clone();
        let stacks = StacksOptions { metric, by: By::Site, recursion: false, library, filter };
        let (_, measured) = stacks.of(evidence, self.file)?;
        let number = evidence.at_most(self.rows.number);
        let window = Rows { number, ..self.rows.clone() };
        let answer = hot_paths(&measured.profile, &window);
        Ok(Answer::new(answer, [measured.profile.losses.into()]).with_notes(measured.notes))
    }
}

/// The stacks with the largest values of the first measure.
pub fn hot_paths(profile: &Profile, window: &Rows) -> HotPaths {
    let (tree, column) = (&profile.tree, profile.first());
    let all = column.total();
    let mut stacks: Vec<_> = tree
        .ids()
        .map(|stack| (stack, column.own(stack)))
        .filter(|(_, own)| !own.is_zero())
        .collect();
    if let Some(search) = &window.search {
        let fits: Vec<bool> =
            profile.labels.iter().map(|(_, label)| search.fits(&label.text())).collect();
        stacks.retain(|(stack, _)| {
            tree.labels_innermost_first(*stack).any(|label| fits[label.index()])
        });
    }
    stacks.sort_rows_by(|a, b| b.1.sum().total_cmp(&a.1.sum()).then(a.0.cmp(&b.0)));
    let row_count = window.window(&mut stacks);
    let rows = stacks.into_iter().map(|(stack, own)| {
        let mut labels = tree.labels_innermost_first(stack).map(|id| profile.labels.get(id));
        let by = profile.labels.by();
        let frames =
            labels.by_ref().take(MAX_FRAMES).map(|label| FlameLabel::new(label, by)).collect();
        HotPath {
            frames,
            left_out: labels.count(),
            own: column.estimate(own),
            share: own.sum() / all.sum(),
        }
    });
    HotPaths { measure: column.measure, all: column.estimate(all), row_count, rows: rows.collect() }
}
