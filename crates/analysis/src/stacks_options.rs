//! Parameters shared by several questions about traces.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::TraceQuestions;
use crate::filter::Filter;
use crate::filter_options::FilterOptions;
use crate::labels::By;
use crate::library::LibraryOptions;
use crate::measure::{Measure, Metric};
use crate::profile::Profile;
use crate::question::{Evidence, FileNumber, QuestionError};
use crate::stack_tree::Recursion;

/// What to measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct MetricOption {
    /// What to measure
    pub metric: Metric,
}

/// Call stacks with what they allocate or keep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub struct StacksOptions {
    /// What to measure
    pub metric: Metric,
    /// What to group by
    pub by: By,
    /// Show every call of a recursive function, instead of merging them into one
    pub recursion: bool,
    /// Which code to show
    #[serde(flatten)]
    pub library: LibraryOptions,
    /// Which objects
    #[serde(flatten)]
    pub filter: FilterOptions,
}

impl StacksOptions {
    /// How to treat recursive calls.
    pub fn recursion(&self) -> Recursion {
        if self.recursion { Recursion::Keep } else { Recursion::Fold }
    }

    /// The profile of a trace, with its notes.
    pub(crate) fn profile(
        &self,
        trace: &TraceQuestions,
        measure: Measure,
    ) -> Result<Measured, QuestionError> {
        let filter = self.filter.filter_with(self.library)?;
        let profile = trace.profile(&filter, self.by, self.recursion(), &[measure]);
        let column = profile.first();
        let all = column.estimate(column.total());
        let mut notes = trace.notes(&filter, Some(&all));
        if profile.tree.cut() > 0 {
            notes.push(
                "there are too many different call stacks: some are shown \
                truncated"
                    .to_owned(),
            );
        }
        Ok(Measured { profile, filter, notes })
    }

    /// Likewise, for the trace with this number.
    pub(crate) fn of(
        &self,
        evidence: &dyn Evidence,
        file: FileNumber,
    ) -> Result<(Arc<TraceQuestions>, Measured), QuestionError> {
        let trace = evidence.trace(file)?;
        let measure = self.metric.measure(|| trace.keeps_little());
        let measured = self.profile(&trace, measure)?;
        Ok((trace, measured))
    }
}

/// A profile, with the filter and the notes.
pub(crate) struct Measured {
    pub profile: Profile,
    pub filter: Filter,
    pub notes: Vec<String>,
}
