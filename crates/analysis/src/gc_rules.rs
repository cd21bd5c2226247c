//! Rules about GC parameters: what a program's counters show about them, with the numbers that triggered each rule.
//!
//! The rules are pure functions. A heap snapshot, live numbers and the runs of `bactrian gc` provide the facts that they know
//! ([`GcFacts`]). A rule that lacks a number finds nothing.

use schemars::JsonSchema;
use serde::Serialize;

use crate::units::{show_bytes, show_count, show_share};

/// Bytes in a word.
const WORD: f64 = 8.0;
/// With fewer minor collections, a promotion rate means little.
const FEWEST_MINOR: f64 = 20.0;
/// The promotion rate above which the first rule applies.
const HIGH_PROMOTION: f64 = 0.05;
/// If the promoted words are this many times the live words, most promoted blocks die soon.
const DIE_YOUNG: f64 = 4.0;
/// With fewer free bytes in a heap, the second rule does not apply.
const MUCH_FREE: f64 = 16e6;
/// The heap is too large if it is this many times the size that `space_overhead` explains.
const BEYOND_OVERHEAD: f64 = 1.5;
/// With this many times the major cycles that the allocated words explain, custom blocks are likely to be the cause.
const MORE_CYCLES: f64 = 3.0;
/// Custom blocks matter if their memory is at least this fraction of the live words.
const MUCH_CUSTOM: f64 = 0.25;
/// Minor heaps of domains are emptied too early if they are less full than this.
const LITTLE_WORK: f64 = 0.2;
/// Fewer synchronised minor collections cost little.
const MANY_SYNCHRONISED: f64 = 200.0;

/// Facts about a program's collector. Counts are since the program's start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GcFacts {
    /// Words of a minor heap: the parameter `s`.
    pub minor_heap_words: Option<f64>,
    /// The parameter `o`.
    pub space_overhead: Option<f64>,
    /// Words allocated in minor heaps.
    pub minor_words: Option<f64>,
    /// Words promoted from minor heaps.
    pub promoted_words: Option<f64>,
    /// Words allocated in the major heap, including promoted words.
    pub major_words: Option<f64>,
    /// Minor collections.
    pub minor_collections: Option<f64>,
    /// Complete major cycles.
    pub major_collections: Option<f64>,
    /// Major collections that the program requested.
    pub forced_major_collections: Option<f64>,
    /// Words of the major heap.
    pub heap_words: Option<f64>,
    /// Words of the major heap that are not free.
    pub live_words: Option<f64>,
    /// Bytes outside the heap that custom blocks declared.
    pub dependent_bytes: Option<f64>,
    /// Running domains.
    pub domains: Option<f64>,
}

/// A finding of a rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GcFinding {
    /// The rule.
    pub rule: GcRule,
    /// The observation, with the numbers that triggered the rule.
    pub sentence: String,
    /// What to do.
    pub advice: &'static str,
}

/// The rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GcRule {
    /// Many words are promoted, and die soon after.
    PromotedTooEarly,
    /// The heap is much larger than the live words.
    HeapMuchLargerThanLive,
    /// Custom blocks make the collector run more often than allocation does.
    CustomBlocksDriveCollector,
    /// Domains stop each other to collect nearly empty minor heaps.
    DomainsWithLittleWork,
}

impl GcRule {
    /// The name, as in JSON.
    pub fn name(self) -> &'static str {
        match self {
            GcRule::PromotedTooEarly => "promoted-too-early",
            GcRule::HeapMuchLargerThanLive => "heap-much-larger-than-live",
            GcRule::CustomBlocksDriveCollector => "custom-blocks-drive-collector",
            GcRule::DomainsWithLittleWork => "domains-with-little-work",
        }
    }
}

impl GcFacts {
    /// Takes numbers by the names that the runtime's `Gc.stat` and `Gc.control` use, as snapshots have them.
    pub fn from_named(number: impl Fn(&str) -> Option<f64>) -> GcFacts {
        let heap_words = number("heap_words");
        let used = match number("free_list_words") {
            Some(free) => heap_words.map(|heap| (heap - free).max(0.0)),
            None => number("pool_live_words")
                .zip(number("large_words"))
                .map(|(small, large)| small + large),
        };
        GcFacts {
            minor_heap_words: number("minor_heap_size"),
            space_overhead: number("space_overhead"),
            minor_words: number("minor_words"),
            promoted_words: number("promoted_words"),
            major_words: number("major_words"),
            minor_collections: number("minor_collections"),
            major_collections: number("major_collections"),
            forced_major_collections: number("forced_major_collections"),
            heap_words,
            live_words: used,
            dependent_bytes: number("dependent_bytes"),
            // OCaml 4 has one domain, and no counter for it.
            domains: Some(number("domains").unwrap_or(1.0)),
        }
    }

    /// Promoted words divided by words allocated in minor heaps.
    pub fn promotion_rate(&self) -> Option<f64> {
        let (minor, promoted) = (self.minor_words?, self.promoted_words?);
        (minor > 0.0).then(|| promoted / minor)
    }
}

/// The findings of all rules.
pub fn find(facts: &GcFacts) -> Vec<GcFinding> {
    let rules = [
        promoted_too_early,
        heap_much_larger_than_live,
        custom_blocks_drive_collector,
        domains_with_little_work,
    ];
    rules.iter().filter_map(|rule| rule(facts)).collect()
}

fn promoted_too_early(facts: &GcFacts) -> Option<GcFinding> {
    let rate = facts.promotion_rate()?;
    let (promoted, live) = (facts.promoted_words?, facts.live_words?);
    let is_high = rate >= HIGH_PROMOTION && facts.minor_collections? >= FEWEST_MINOR;
    if !is_high || promoted < DIE_YOUNG * live.max(1.0) {
        return None;
    }
    let size = facts
        .minor_heap_words
        .map_or(String::new(), |words| format!(" from minor heaps of {} words", show_count(words)));
    Some(GcFinding {
        rule: GcRule::PromotedTooEarly,
        sentence: format!(
            "{} of what is allocated is promoted{size}: {}, {:.0} times what is in use, so most of it dies soon after",
            show_share(rate),
            show_bytes(promoted * WORD),
            promoted / live.max(1.0),
        ),
        advice: "A larger minor heap (s) gives values time to die in it: try four times as many words. `bactrian gc -- \
                 PROGRAM` measures the effect.",
    })
}

fn heap_much_larger_than_live(facts: &GcFacts) -> Option<GcFinding> {
    let (heap, live) = (facts.heap_words?, facts.live_words?);
    let overhead = facts.space_overhead?;
    let explained = live * (1.0 + overhead / 100.0);
    if heap < BEYOND_OVERHEAD * explained || (heap - live) * WORD < MUCH_FREE {
        return None;
    }
    Some(GcFinding {
        rule: GcRule::HeapMuchLargerThanLive,
        sentence: format!(
            "the heap is {}, and {} of it is in use: space_overhead {overhead:.0} explains {} at most",
            show_bytes(heap * WORD),
            show_bytes(live * WORD),
            show_bytes(explained * WORD),
        ),
        advice: "It was larger once, or is fragmented. Gc.compact frees the rest (not in OCaml 5.0 and 5.1); a lower \
                 space_overhead (o) keeps the next peak smaller.",
    })
}

fn custom_blocks_drive_collector(facts: &GcFacts) -> Option<GcFinding> {
    let (live, dependent) = (facts.live_words?.max(1.0), facts.dependent_bytes?);
    let cycles = facts.major_collections? - facts.forced_major_collections.unwrap_or(0.0);
    let expected = facts.major_words? / (live * facts.space_overhead?.max(1.0) / 100.0);
    let is_more = cycles >= MORE_CYCLES * expected && cycles >= 10.0;
    if !is_more || dependent < MUCH_CUSTOM * live * WORD {
        return None;
    }
    Some(GcFinding {
        rule: GcRule::CustomBlocksDriveCollector,
        sentence: format!(
            "{} major collections, where the words allocated explain {}: custom blocks hold {} outside the heap, which has \
             {} in use",
            show_count(cycles),
            show_count(expected.ceil()),
            show_bytes(dependent),
            show_bytes(live * WORD),
        ),
        advice: "Bigarrays and the like make the collector run. A higher custom_major_ratio (M) makes it run less often, at \
                 the price of memory outside the heap; s and o hardly matter.",
    })
}

fn domains_with_little_work(facts: &GcFacts) -> Option<GcFinding> {
    let (domains, collections) = (facts.domains?, facts.minor_collections?);
    let (minor, size) = (facts.minor_words?, facts.minor_heap_words?);
    if domains < 2.0 || collections < MANY_SYNCHRONISED {
        return None;
    }
    let filled = minor / (collections * domains * size.max(1.0));
    if filled >= LITTLE_WORK {
        return None;
    }
    Some(GcFinding {
        rule: GcRule::DomainsWithLittleWork,
        sentence: format!(
            "{} minor collections stopped {domains:.0} domains each, whose minor heaps were {} full on average",
            show_count(collections),
            show_share(filled),
        ),
        advice: "All domains stop when one minor heap is full. Fewer domains, or a larger minor heap (s), stop them less often.",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: GcFacts = GcFacts {
        minor_heap_words: Some(262_144.0),
        space_overhead: Some(120.0),
        minor_words: Some(1e9),
        promoted_words: Some(1e7),
        major_words: Some(1e7),
        minor_collections: Some(4_000.0),
        major_collections: Some(5.0),
        forced_major_collections: Some(0.0),
        heap_words: Some(4e6),
        live_words: Some(2e6),
        dependent_bytes: Some(0.0),
        domains: Some(1.0),
    };

    fn found(facts: GcFacts) -> Vec<GcRule> {
        find(&facts).into_iter().map(|finding| finding.rule).collect()
    }

    #[test]
    fn a_healthy_program_has_no_finding() {
        assert_eq!(found(USUAL), []);
        assert_eq!(found(GcFacts::default()), []);
    }

    #[test]
    fn promotion_counts_only_when_survivors_die() {
        let much = GcFacts { promoted_words: Some(2e8), ..USUAL };
        assert_eq!(found(much), [GcRule::PromotedTooEarly]);
        let sentence = &find(&much)[0].sentence;
        assert!(sentence.starts_with("20") && sentence.contains("100 times"), "{sentence}");
        let kept = GcFacts { live_words: Some(1.9e8), heap_words: Some(3e8), ..much };
        assert_eq!(found(kept), []);
        assert_eq!(found(GcFacts { minor_collections: Some(3.0), ..much }), []);
    }

    #[test]
    fn a_heap_is_too_large_beyond_what_the_overhead_explains() {
        let empty = GcFacts { heap_words: Some(4e7), ..USUAL };
        assert_eq!(found(empty), [GcRule::HeapMuchLargerThanLive]);
        assert_eq!(found(GcFacts { space_overhead: Some(2_000.0), ..empty }), []);
        let small = GcFacts { heap_words: Some(4e5), live_words: Some(1e4), ..USUAL };
        assert!(!found(small).contains(&GcRule::HeapMuchLargerThanLive));
    }

    #[test]
    fn custom_blocks_are_blamed_only_with_their_memory() {
        let often = GcFacts { major_collections: Some(400.0), ..USUAL };
        assert_eq!(found(often), []);
        let custom = GcFacts { dependent_bytes: Some(1e8), ..often };
        assert_eq!(found(custom), [GcRule::CustomBlocksDriveCollector]);
        let asked = GcFacts { forced_major_collections: Some(398.0), ..custom };
        assert_eq!(found(asked), []);
    }

    #[test]
    fn domains_stop_each_other_for_nearly_empty_minor_heaps() {
        let domains = GcFacts { domains: Some(8.0), ..USUAL };
        assert_eq!(found(domains), [GcRule::DomainsWithLittleWork]);
        assert_eq!(found(GcFacts { minor_words: Some(7e9), ..domains }), []);
        assert_eq!(found(GcFacts { minor_collections: Some(10.0), ..domains }), []);
    }

    #[test]
    fn numbers_are_taken_by_the_names_of_the_runtime() {
        let of_4 = GcFacts::from_named(|name| match name {
            "heap_words" => Some(100.0),
            "free_list_words" => Some(30.0),
            "space_overhead" => Some(80.0),
            _ => None,
        });
        assert_eq!((of_4.live_words, of_4.space_overhead), (Some(70.0), Some(80.0)));
        assert_eq!((of_4.domains, of_4.minor_words), (Some(1.0), None));
        let of_5 = GcFacts::from_named(|name| match name {
            "pool_live_words" => Some(5.0),
            "large_words" => Some(6.0),
            "domains" => Some(3.0),
            _ => None,
        });
        assert_eq!((of_5.live_words, of_5.domains), (Some(11.0), Some(3.0)));
    }
}
