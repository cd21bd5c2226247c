//! What the counters of a running program say, without running it again.
//!
//! The law of `o` gives bounds without a second run. The live words lie between heap/(1+o/100), which is what the law derives
//! from the size of the heap, and the words of the heap that are not free; so the heap at another `o` lies between the law
//! applied to both. The collector's share of the time bounds what another `o` costs or saves. About `s`, nothing follows beyond
//! that bound.

use bactrian_analysis::gc_rules::{self, GcFacts, GcFinding};
use bactrian_analysis::units::{show_bytes, show_share};
use schemars::JsonSchema;
use serde::Serialize;

use crate::choice::OVERHEADS;
use crate::model::{Interval, work_factor};
use crate::setting::{Setting, WORD, short_words};

/// With a smaller share of promoted words, a larger minor heap is not worth an experiment.
const WORTH_AN_EXPERIMENT: f64 = 0.02;

/// What a running program's counters say.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunningAnswer {
    /// The parameter `s`, if known.
    pub s: Option<u64>,
    /// The parameter `o`, if known.
    pub o: Option<u64>,
    /// The size of the major heap in bytes.
    pub heap: Option<u64>,
    /// Promoted words divided by words allocated in minor heaps.
    pub promotion_rate: Option<f64>,
    /// The collector's share of the time, if pauses are measured.
    pub collector_share: Option<f64>,
    /// What the law says about other values of `o`.
    pub rows: Vec<OverheadRow>,
    /// What the rules found.
    pub findings: Vec<GcFinding>,
    /// What the counters cannot show, and why.
    pub unknown: Vec<String>,
    /// The short experiment that would show it.
    pub experiment: String,
}

/// The heap and the time at a value of `o`.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct OverheadRow {
    /// `space_overhead`.
    pub o: u64,
    /// The size of the major heap in bytes, with bounds.
    pub heap: Interval,
    /// The work of marking and sweeping, relative to now.
    pub work: f64,
    /// Bounds of the time relative to now, if the collector's share is known.
    pub time: Option<Interval>,
}

/// What follows from the counters.
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
            "the effect of another s: {} is promoted now, and how much a larger minor heap would promote depends on lifetimes that \
             only a run shows. It can save at most {} of the time, the collector's share",
            show_share(rate),
            show_share(share)
        ),
        (Some(rate), None) => format!(
            "the effect of another s: {} is promoted now, and how much a larger minor heap would promote depends on lifetimes that \
             only a run shows",
            show_share(rate)
        ),
        (None, _) => "the effect of another s: how much is promoted is unknown".to_owned(),
    }];
    if o.is_none() {
        unknown.push(
            "the effect of another o: the present one is unknown (the recording is of an older version)"
                .to_owned(),
        );
    }
    if collector_share.is_none() {
        unknown.push(
            "the collector's share of the time: pauses are measured only in programs that bactrian live started".to_owned(),
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
            "only {} is promoted: a larger s can gain little, and no experiment is needed. For o, set another value and watch \
             `bactrian live`",
            show_share(rate)
        ),
        _ => format!(
            "start the program once with OCAMLRUNPARAM=s={} (a minor heap of {}), and compare the promotion rate after the same work with \
             `bactrian gc PID`. If the work can be repeated, `bactrian gc -- PROGRAM` does all of this",
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
    fn unknown_effects_are_listed() {
        let answer = answer(&GcFacts::default(), None);
        assert!(answer.rows.is_empty() && answer.unknown.len() == 3, "{answer:?}");
        let calm = GcFacts { promoted_words: Some(1e6), ..FACTS };
        assert!(super::answer(&calm, None).experiment.contains("no experiment"));
    }
}
