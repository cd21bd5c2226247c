//! Warnings about the parameters of the collector, by the rules that all views share.

use bactrian_live::{Database, names};

use super::Warning;
use crate::gc_rules::{self, GcFinding, GcRule};
use crate::live::gc_facts::gc_facts;

/// Before this much time has passed a program is starting, in nanoseconds.
const STARTING: u64 = 10_000_000_000;

/// What the rules find in counters since the start.
pub fn gc_parameters(database: &Database, at: u64) -> Vec<Warning> {
    if at.saturating_sub(database.first()) < STARTING {
        return Vec::new();
    }
    let warning = |GcFinding { rule, sentence, advice }: GcFinding| Warning {
        name: rule.name(),
        subject: match rule {
            GcRule::PromotedTooEarly => names::PROMOTED,
            GcRule::HeapMuchLargerThanLive => names::HEAP,
            GcRule::CustomBlocksDriveCollector => names::MAJOR_COLLECTIONS,
            GcRule::DomainsWithLittleWork => names::MINOR_COLLECTIONS,
        }
        .to_owned(),
        since: database.first(),
        sentence,
        advice,
    };
    gc_rules::find(&gc_facts(database, at)).into_iter().map(warning).collect()
}
