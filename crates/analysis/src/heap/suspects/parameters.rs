//! Parameters of the collector that do not fit what it counts, by the rules that all views share.

use bactrian_snapshot::Number;

use super::{Look, Severity, Suspect, SuspectKind};
use crate::gc_rules::{self, GcFacts, GcRule};

impl Look<'_> {
    /// What the rules find in the collector's numbers at the moment of the snapshot. What is alive is known exactly here.
    pub(super) fn gc_parameters(&self) -> Vec<Suspect> {
        let tables = self.heap.tables();
        let facts = GcFacts::from_named(|wanted| {
            let mut all = tables.statistics.iter();
            let found = all.find(|statistic| tables.names.get(statistic.name) == wanted)?;
            Some(match found.value {
                Number::Whole(number) => number as f64,
                Number::Real(number) => number,
            })
        });
        let facts = GcFacts { live_words: Some(self.total as f64), ..facts };
        let free = facts.heap_words.map_or(0, |words| (words as u64).saturating_sub(self.total));
        let suspect = |finding: gc_rules::GcFinding| {
            let words = match finding.rule {
                GcRule::HeapMuchLargerThanLive => free,
                _ => 0,
            };
            let sentence = format!("{}. {}", finding.sentence, finding.advice);
            let next = ("summary", String::new());
            self.suspect(SuspectKind::GcParameters, Severity::Possible, words, next, sentence)
        };
        gc_rules::find(&facts).into_iter().map(suspect).collect()
    }
}
