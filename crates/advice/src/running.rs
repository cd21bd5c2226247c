//! What can be said of a program that is not run again: from the counters that it has now.
//!
//! The law of `o` needs no second run to give bounds. What is alive lies between what the law takes the heap for, heap/(1+o/100), and what of it
//! is not free; so the heap at another `o` lies between the law applied to both. The collector's share of the time bounds what
//! another `o` costs or saves. Of `s` nothing follows but that bound.

use bactrian_analysis::gc_rules::{self, GcFacts, GcFinding};
use bactrian_analysis::units::{show_bytes, show_share};
use schemars::JsonSchema;
use serde::Serialize;

use crate::choice::OVERHEADS;
use crate::model::{Interval, work_factor};
use crate::setting::{Setting, WORD, short_words};

/// The share of the minor words that is promoted from which on a larger minor heap is worth an experiment.
const WORTH_AN_EXPERIMENT: f64 = 0.02;

/// What a running program's counters say.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunningAnswer {
    /// The parameter `s`, if it is known.
    pub s: Option<u64>,
    /// The parameter `o`, if it is known.
    pub o: Option<u64>,
    /// Bytes of the major heap.
    pub heap: Option<u64>,
    /// The share of what is allocated in minor heaps that is promoted.
    pub promotion_rate: Option<f64>,
    /// The share of the time that the collector takes, if pauses are measured.
    pub collector_share: Option<f64>,
    /// What the law says of other values of `o`.
    pub rows: Vec<OverheadRow>,
    /// What the rules have found.
    pub findings: Vec<GcFinding>,
    /// What cannot be said, and why.
    pub unknown: Vec<String>,
    /// Which short experiment would tell.
    pub experiment: String,
}

/// The heap and the time at a value of `o`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct OverheadRow {
    /// `space_overhead`.
    pub o: u64,
    /// Bytes of the major heap; these are bounds.
    pub heap: Interval,
    /// Work of marking and sweeping as a factor of now.
    pub work: f64,
    /// Bounds of the time as a factor of now, if the collector's share is known.
    pub time: Option<Interval>,
}

/// What follows from counters.
pub fn answer(facts: &GcFacts, collector_share: Option<f64>) -> RunningAnswer {
    let whole = |number: f64| number.max(0.0) as u64;
    let (s, o) = (facts.minor_heap_words.map(whole), facts.space_overhead.map(whole));
    let promotion_rate = facts.promotion_rate();
    let rows = match (o.filter(|o| *o > 0), facts.heap_words, facts.live_words) {
        (Some(o), Some(heap), Some(used)) => {
            OVERHEADS.iter().map(|&other| row(o, other, heap, used, collector_share)).collect()
        }
        _ => Vec::new(),
    };
    let mut unknown = vec![match (promotion_rate, collector_share) {
        (Some(rate), Some(share)) => format!(
            "what another s does: {} is promoted now, and how much a larger minor heap would promote depends on lifetimes that \
             only a run shows. It can save {} of the time at most, all that the collector takes",
            show_share(rate),
            show_share(share)
        ),
        (Some(rate), None) => format!(
            "what another s does: {} is promoted now, and how much a larger minor heap would promote depends on lifetimes that \
             only a run shows",
            show_share(rate)
        ),
        (None, _) => "what another s does: how much is promoted is not known".to_owned(),
    }];
    if o.is_none() {
        unknown.push(
            "what another o does: the present one is not known (a recording of an older version)"
                .to_owned(),
        );
    }
    if collector_share.is_none() {
        unknown.push(
            "how much time the collector takes: pauses are measured in programs that bactrian live has started".to_owned(),
        );
    }
    RunningAnswer {
        s,
        o,
        heap: facts.heap_words.map(|words| whole(words).saturating_mul(WORD)),
        promotion_rate,
        collector_share,
        rows,
        findings: gc_rules::find(facts),
        unknown,
        experiment: experiment(s, o, promotion_rate),
    }
}

fn row(now: u64, o: u64, heap: f64, used: f64, share: Option<f64>) -> OverheadRow {
    let grown = |o: u64| 1.0 + o as f64 / 100.0;
    let ends = [heap / grown(now), used.min(heap)];
    let (least, most) = (ends[0].min(ends[1]), ends[0].max(ends[1]));
    let bytes = |words: f64| words * grown(o) * WORD as f64;
    let work = work_factor(o) / work_factor(now);
    let time = share.map(|share| {
        let change = share.clamp(0.0, 1.0) * (work - 1.0);
        Interval {
            value: 1.0 + change / 2.0,
            low: 1.0 + change.min(0.0),
            high: 1.0 + change.max(0.0),
        }
    });
    let heap =
        Interval { value: bytes((least + most) / 2.0), low: bytes(least), high: bytes(most) };
    OverheadRow { o, heap, work, time }
}

fn experiment(s: Option<u64>, o: Option<u64>, rate: Option<f64>) -> String {
    let larger = Setting { s: s.unwrap_or(262_144).saturating_mul(4), o: o.unwrap_or(120) };
    match rate {
        Some(rate) if rate < WORTH_AN_EXPERIMENT => format!(
            "only {} is promoted: a larger s can bring little, and no experiment is needed for that. For o, set another one and watch \
             `bactrian live`",
            show_share(rate)
        ),
        _ => format!(
            "start the program once with OCAMLRUNPARAM=s={} (a minor heap of {}) and compare the promotion rate after the same work with \
             `bactrian gc PID`; or, with work that can be repeated, `bactrian gc -- PROGRAM` does all of this",
            short_words(larger.s),
            show_bytes((larger.s * WORD) as f64)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: GcFacts = GcFacts {
        minor_heap_words: Some(262_144.0),
        space_overhead: Some(120.0),
        minor_words: Some(1e9),
        promoted_words: Some(2e8),
        major_words: Some(2e8),
        minor_collections: Some(4_000.0),
        major_collections: Some(20.0),
        forced_major_collections: Some(0.0),
        heap_words: Some(2.2e7),
        live_words: Some(1.5e7),
        dependent_bytes: Some(0.0),
        domains: Some(1.0),
    };

    #[test]
    fn the_law_bounds_another_o() {
        let answer = answer(&FACTS, Some(0.3));
        assert_eq!((answer.s, answer.o), (Some(262_144), Some(120)));
        let row = |o| *answer.rows.iter().find(|row| row.o == o).expect("it is looked at");
        let now = row(120);
        assert!((now.work - 1.0).abs() < 1e-9 && now.heap.contains(2.2e7 * 8.0), "{now:?}");
        assert!(row(40).heap.high < now.heap.high && row(40).work > 1.0);
        let time = row(40).time.expect("the share is known");
        assert!((time.low, time.high.round()) == (1.0, 1.0) && time.high > 1.2, "{time:?}");
        assert!(answer.unknown[0].contains("30"), "{:?}", answer.unknown);
        assert!(answer.experiment.contains("s=1M"), "{}", answer.experiment);
    }

    #[test]
    fn what_is_not_known_is_said() {
        let answer = answer(&GcFacts::default(), None);
        assert!(answer.rows.is_empty() && answer.unknown.len() == 3, "{answer:?}");
        let calm = GcFacts { promoted_words: Some(1e6), ..FACTS };
        assert!(super::answer(&calm, None).experiment.contains("no experiment"));
    }
}
