//! Warnings: rules over what is known of a program. Each produces a sentence about what was observed and one
//! about what to do.
//!
//! A warning must be worth reading. So rules look at minutes, not moments, and ignore values that are noisy
//! but flat, or that grew only during the program's start.

mod losses;
mod memory;
mod observers;
mod parameters;
mod pauses;
mod trend;

use bactrian_live::{Database, Series};

/// A warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The rule that produced it, as a word for programs.
    pub name: &'static str,
    /// The observer it is about, or empty.
    pub subject: String,
    /// When it began, in nanoseconds since the program's start.
    pub since: u64,
    /// What was observed.
    pub sentence: String,
    /// What to do.
    pub advice: &'static str,
}

/// A rule, which finds warnings for a moment.
enum Rule {
    /// A rule about the whole program.
    Whole(fn(&Database, u64) -> Vec<Warning>),
    /// A rule about one observer, of which there may be thousands.
    Each(fn(&Database, &Series, u64) -> Option<Warning>),
}

/// All rules, the most important first.
const RULES: [Rule; 12] = [
    Rule::Whole(memory::rising_live_size),
    Rule::Whole(memory::growing_outside_the_heap),
    Rule::Whole(pauses::long_pauses),
    Rule::Whole(pauses::time_in_the_collector),
    Rule::Whole(parameters::gc_parameters),
    Rule::Each(observers::growing_table),
    Rule::Each(observers::long_chains),
    Rule::Each(observers::growing_tag),
    Rule::Whole(memory::memory_outside_the_heap),
    Rule::Each(observers::failing),
    Rule::Whole(losses::lost_events),
    Rule::Whole(losses::dropped_moments),
];

/// All warnings for a moment, from data up to that moment.
pub fn find(database: &Database, at: u64) -> Vec<Warning> {
    let mut search = Search::begin(database, at);
    search.go_on(database, usize::MAX);
    search.warnings()
}

/// A search, which may proceed in steps.
#[derive(Debug)]
struct Search {
    at: u64,
    /// The number of observers examined so far.
    done: usize,
    /// The warnings of each rule.
    found: [Vec<Warning>; RULES.len()],
}

impl Search {
    fn begin(database: &Database, at: u64) -> Search {
        let found = RULES.each_ref().map(|rule| match rule {
            Rule::Whole(rule) => rule(database, at),
            Rule::Each(_) => Vec::new(),
        });
        Search { at, done: 0, found }
    }

    /// Examines at most `most` observers. Returns whether the search is complete.
    fn go_on(&mut self, database: &Database, most: usize) -> bool {
        let mut observers = database.series().skip(self.done);
        let there = observers.by_ref().take(most).inspect(|_| self.done += 1);
        for series in there.filter(|series| !series.is_past(self.at)) {
            for (rule, found) in RULES.iter().zip(&mut self.found) {
                if let Rule::Each(rule) = rule {
                    found.extend(rule(database, series, self.at));
                }
            }
        }
        observers.next().is_none()
    }

    fn warnings(self) -> Vec<Warning> {
        self.found.into_iter().flat_map(few).collect()
    }
}

/// The interval between searches, in nanoseconds: warnings are about minutes.
const EVERY: u64 = 1_000_000_000;
/// The number of observers examined per frame, which takes a few milliseconds.
const AT_ONCE: usize = 32;

/// Searches for warnings incrementally, one step per frame.
#[derive(Debug, Default)]
pub struct Seeker {
    under_way: Option<Search>,
    /// The moment of the last search that was begun.
    last: Option<u64>,
}

impl Seeker {
    /// Continues the search; returns the warnings when it is complete.
    pub fn seek(&mut self, database: &Database, at: u64) -> Option<Vec<Warning>> {
        if self.under_way.is_none() && self.is_due(at) {
            self.under_way = Some(Search::begin(database, at));
            self.last = Some(at);
        }
        let is_done = self.under_way.as_mut()?.go_on(database, AT_ONCE);
        self.under_way.take_if(|_| is_done).map(Search::warnings)
    }

    /// Whether there is anything to search for at a moment.
    pub fn is_seeking(&self, at: u64) -> bool {
        self.under_way.is_some() || self.is_due(at)
    }

    fn is_due(&self, at: u64) -> bool {
        self.last.is_none_or(|last| at.abs_diff(last) >= EVERY)
    }
}

/// The number of warnings of a rule listed one by one; the others are only counted.
const NAMED: usize = 5;

fn few(mut warnings: Vec<Warning>) -> Vec<Warning> {
    let more = warnings.len().saturating_sub(NAMED);
    warnings.truncate(NAMED);
    if let Some(last) = warnings.last_mut().filter(|_| more > 0) {
        last.sentence.push_str(&format!(" (and {more} more like it)"));
    }
    warnings
}

#[cfg(test)]
mod tests {
    use bactrian_live::{
        Declaration, Dropped, Event, Histogram, Limits, ObserverId, ObserverKind, Stamp, Table,
        Unit, Value, names,
    };

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn declare(id: u32, kind: ObserverKind, name: &str) -> Event {
        Event::Declare(Declaration {
            id: ObserverId(id),
            kind,
            name: name.into(),
            labels: Vec::new(),
            unit: Unit::None,
            period_ms: 500,
        })
    }

    /// A program with one observer that gets a value every half second.
    fn program(
        kind: ObserverKind,
        name: &str,
        seconds: u64,
        value: impl Fn(f64) -> Value,
    ) -> Database {
        let mut database = Database::new(Limits::default());
        database.add(declare(1, kind, name));
        for half in 0..=2 * seconds {
            database.add(Event::Tick(Stamp { at: half * SECOND / 2, cpu: 0 }));
            database.add(Event::Update(ObserverId(1), value(half as f64 / 2.0)));
        }
        database
    }

    fn found(database: &Database) -> Vec<&'static str> {
        find(database, database.last()).into_iter().map(|warning| warning.name).collect()
    }

    /// A process whose C memory grows, and whose live size grows by `live` megabytes per second.
    fn growing_process(live: f64) -> Database {
        let mut database = Database::new(Limits::default());
        let observed = [names::LIVE, names::RSS, names::C_MEMORY, names::CODE];
        for (id, name) in (1..).zip(observed) {
            database.add(declare(id, ObserverKind::Gauge, name));
        }
        for second in 0..=200 {
            let time = second as f64;
            database.add(Event::Tick(Stamp { at: second * SECOND, cpu: 0 }));
            let megabytes = [20.0 + live * time, 100.0 + (1.0 + live) * time, 30.0 + time, 9.0];
            for (id, megabytes) in (1..).zip(megabytes) {
                database.add(Event::Update(ObserverId(id), Value::Float(megabytes * 1e6)));
            }
        }
        database
    }

    #[test]
    fn incremental_search_finds_the_same_warnings() {
        let mut database = live(300, |time| 20.0 + time * 0.2);
        for id in 10..1_000 {
            database.add(declare(id, ObserverKind::Float, &format!("observer {id}")));
            if id % 300 == 0 {
                database.add(Event::Update(ObserverId(id), Value::Failed("why".to_owned())));
            }
        }
        let (mut seeker, mut pieces, at) = (Seeker::default(), 0, database.last());
        let sought = loop {
            pieces += 1;
            if let Some(warnings) = seeker.seek(&database, at) {
                break warnings;
            }
            assert!(seeker.is_seeking(at));
        };
        assert_eq!(sought, find(&database, at));
        assert!(sought.len() == 4 && pieces > 10, "{} in {pieces}", sought.len());
        // Not again until a second has passed.
        assert_eq!((seeker.seek(&database, at + 5), seeker.is_seeking(at + 5)), (None, false));
        assert!(seeker.is_seeking(at + EVERY) && seeker.seek(&database, at + EVERY).is_none());
        // A search for another moment starts when this one is complete.
        let moments: Vec<_> =
            (0..100).filter_map(|_| seeker.seek(&database, at - 60 * EVERY)).collect();
        assert!(moments.len() == 2 && !seeker.is_seeking(at - 60 * EVERY));
    }

    #[test]
    fn growth_outside_the_heap_is_reported_by_category() {
        let database = growing_process(0.0);
        let warnings = find(&database, database.last());
        let grows = warnings.iter().find(|warning| warning.name == "growing outside the heap");
        let sentence = &grows.expect("it grows").sentence;
        assert!(sentence.contains("C and stacks of fibers: 200 MB more"), "{sentence}");
        // The growth of the live size explains it.
        assert!(!found(&growing_process(1.0)).contains(&"growing outside the heap"));
    }

    fn live(seconds: u64, megabytes: impl Fn(f64) -> f64) -> Database {
        program(ObserverKind::Gauge, names::LIVE, seconds, |time| {
            Value::Float(megabytes(time) * 1e6)
        })
    }

    /// A program that promotes a part of what it allocates, of which little stays.
    fn promoting(part: f64) -> Database {
        let mut database = Database::new(Limits::default());
        let observed = [names::ALLOCATED, names::PROMOTED, names::MINOR_COLLECTIONS, names::LIVE];
        for (id, name) in (1..).zip(observed) {
            database.add(declare(id, ObserverKind::Gauge, name));
        }
        for second in 0..=30 {
            database.add(Event::Tick(Stamp { at: second * SECOND, cpu: 0 }));
            let allocated = 1e8 * second as f64;
            let numbers = [allocated, part * allocated, 10.0 * second as f64, 2e6];
            for (id, number) in (1..).zip(numbers) {
                database.add(Event::Update(ObserverId(id), Value::Float(number)));
            }
        }
        database
    }

    #[test]
    fn early_promotion_is_warned_of_once_the_program_has_started() {
        assert_eq!(found(&promoting(0.2)), ["promoted-too-early"]);
        assert_eq!(found(&promoting(0.01)), [""; 0]);
        assert_eq!(find(&promoting(0.2), 5 * SECOND), []);
    }

    /// Deterministic noise between 0 and 1.
    fn noise(time: f64) -> f64 {
        let mixed = ((time * 2.0) as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((mixed ^ (mixed >> 32)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    #[test]
    fn leak_is_found_below_the_sawtooth_of_collections() {
        let leak = live(300, |time| 20.0 + time * 0.2 + (time % 7.0) * 3.0);
        let warnings = find(&leak, leak.last());
        assert_eq!(warnings.len(), 1);
        let sentence = &warnings[0].sentence;
        // 200 kB/s, as far as the sawtooth permits.
        assert!(sentence.starts_with("live memory grows: 20"), "{sentence}");
        assert!(sentence.contains(" kB/s for 5 min"), "{sentence}");
        assert!(sentence.contains("doubles every"), "{sentence}");
        // No warning before there is enough data.
        assert_eq!(find(&leak, 30 * SECOND), []);
    }

    /// A program that keeps more and more, with a major collection every `every` seconds.
    fn collected(seconds: u64, every: f64, megabytes: impl Fn(f64) -> f64) -> Database {
        let mut database = Database::new(Limits::default());
        for (id, name, kind) in [
            (1, names::LIVE, ObserverKind::Gauge),
            (2, names::MAJOR_COLLECTIONS, ObserverKind::Counter),
        ] {
            database.add(declare(id, kind, name));
        }
        for half in 0..=2 * seconds {
            let time = half as f64 / 2.0;
            database.add(Event::Tick(Stamp { at: half * SECOND / 2, cpu: 0 }));
            database.add(Event::Update(ObserverId(1), Value::Float(megabytes(time) * 1e6)));
            let collections = (time / every) as u64;
            database.add(Event::Update(ObserverId(2), Value::Count(collections)));
        }
        database
    }

    #[test]
    fn steady_growth_that_survives_collections_is_found_in_ten_seconds() {
        let leak = collected(10, 2.0, |time| 20.0 + 2.0 * time + (time % 2.0));
        assert_eq!(found(&leak), ["rising live size"]);
        assert_eq!(find(&leak, 5 * SECOND), [], "there was not enough to see");
        // Without a collection it is unknown how much is garbage.
        assert_eq!(found(&collected(10, 41.0, |time| 20.0 + 2.0 * time)), [""; 0]);
        for (what, megabytes) in [
            ("flat", (|_| 50.0) as fn(f64) -> f64),
            ("noise", |time| 50.0 + 40.0 * noise(time)),
            ("saw teeth", |time| 20.0 + (time % 2.0) * 9.0),
            ("it shrinks", |time| 500.0 - time * 5.0),
            ("it has started", |time| 100.0 * (time / 3.0).min(1.0)),
        ] {
            for seconds in [10, 20, 45] {
                assert_eq!(found(&collected(seconds, 2.0, megabytes)), [""; 0], "{what} {seconds}");
            }
        }
    }

    #[test]
    fn flat_noise_is_no_leak() {
        let check = |what: &str, megabytes: &dyn Fn(f64) -> f64| {
            for seconds in [70, 150, 300, 600] {
                assert_eq!(found(&live(seconds, megabytes)), [""; 0], "{what}, {seconds} s");
            }
        };
        check("flat", &|_| 50.0);
        check("noise", &|time| 50.0 + 40.0 * noise(time));
        check("saw teeth", &|time| 20.0 + (time % 11.0) * 9.0);
        check("slow saw teeth", &|time| 20.0 + (time % 41.0) * 2.0);
        check("a wave", &|time| 50.0 + 30.0 * (time / 15.0).sin());
        check("it shrinks", &|time| 500.0 - time * 0.5);
        check("a step, then flat", &|time| if time < 20.0 { 5.0 } else { 80.0 + noise(time) });
        check("it starts, then is flat", &|time| {
            100.0 * (time / 30.0).min(1.0) + 5.0 * noise(time)
        });
        check("it creeps, by 2 %", &|time| 100.0 + time * 0.005);
        check("it is tiny", &|time| 0.1 + time * 0.001);
    }

    #[test]
    fn no_pattern_of_noise_is_a_leak() {
        let cries = (0..200).filter(|seed| {
            let shift = f64::from(*seed) * 1000.0;
            !found(&live(120, |time| 50.0 + 40.0 * noise(time + shift))).is_empty()
        });
        assert_eq!(cries.count(), 0);
    }

    #[test]
    fn tables_that_grow_or_are_badly_spread_are_found() {
        let table = |buckets, bindings, longest| {
            Value::Table(Table { buckets, bindings, empty: buckets / 3, longest })
        };
        let check = |expected: &[&str], value: &dyn Fn(f64) -> Value| {
            assert_eq!(found(&program(ObserverKind::Table, "cache", 120, value)), expected);
        };
        check(&["growing table"], &|time| table(1 << 16, 10_000 + (time * 100.0) as u64, 6));
        check(&["long chains"], &|_| table(1024, 2000, 700));
        check(&["long chains"], &|_| table(16, 2000, 130));
        check(&[], &|_| table(1024, 2000, 9));
        check(&[], &|_| table(1 << 20, 2 << 20, 14));
        check(&[], &|_| table(1, 3, 3));
        check(&[], &|time| table(1024, 1500 + (500.0 * noise(time)) as u64, 9));
    }

    #[test]
    fn a_tag_that_only_grows_is_found() {
        let tag = |count: f64| Value::Tag { count: Some(count as u64), bytes: None };
        let grows = program(ObserverKind::Tag, "sessions", 120, |time| tag(500.0 + time * 10.0));
        assert_eq!(found(&grows), ["growing tag"]);
        let flat =
            program(ObserverKind::Tag, "sessions", 120, |time| tag(500.0 + noise(time) * 300.0));
        assert_eq!(found(&flat), [""; 0]);
    }

    #[test]
    fn long_pauses_are_those_of_the_last_minute() {
        let pauses = |pause_at: &'static dyn Fn(u64) -> u64| {
            program(ObserverKind::Histogram, names::PAUSES, 120, move |time| {
                let mut histogram = Histogram::default();
                (0..(time * 2.0) as u64).for_each(|number| histogram.record(pause_at(number)));
                Value::Histogram(histogram)
            })
        };
        assert_eq!(found(&pauses(&|_| 2_000_000)), [""; 0]);
        assert_eq!(
            found(&pauses(&|number| 1 + 25_000_000 * u64::from(number % 20 == 0))),
            ["long pauses"]
        );
        // They were long once, but that is over.
        assert_eq!(found(&pauses(&|number| if number < 60 { 25_000_000 } else { 1000 })), [""; 0]);
        let much = found(&pauses(&|_| 150_000_000));
        assert_eq!(much, ["long pauses", "time in the collector"]);
    }

    #[test]
    fn an_observer_that_fails_says_why() {
        let fails = program(ObserverKind::Int, "depth", 10, |time| {
            if time < 5.0 { Value::Int(1) } else { Value::Failed("Not_found".into()) }
        });
        let warnings = find(&fails, fails.last());
        assert_eq!((warnings[0].name, warnings[0].since), ("failing observer", 5 * SECOND));
        assert!(warnings[0].sentence.contains("Not_found"));
        assert_eq!(find(&fails, 4 * SECOND), []);
    }

    #[test]
    fn many_warnings_of_one_rule_are_summarised() {
        let mut database = program(ObserverKind::Int, "0", 1, |_| Value::Failed("no".into()));
        for number in 2..=100 {
            database.add(declare(number, ObserverKind::Int, &number.to_string()));
            database.add(Event::Update(ObserverId(number), Value::Failed("no".into())));
        }
        let warnings = find(&database, database.last());
        assert_eq!(warnings.len(), NAMED);
        assert!(warnings[NAMED - 1].sentence.ends_with("(and 95 more like it)"));
    }

    #[test]
    fn losses_are_reported() {
        let mut database = live(10, |_| 1.0);
        database.add(Event::Dropped(Dropped { ticks: 3, lines: 0 }));
        assert_eq!(found(&database), ["dropped moments"]);
        let lost = program(ObserverKind::Counter, names::LOST_EVENTS, 10, |time| {
            Value::Count(time as u64)
        });
        assert_eq!(found(&lost), ["lost events"]);
        let before = program(ObserverKind::Counter, names::LOST_EVENTS, 90, |_| Value::Count(7));
        assert_eq!(found(&before), [""; 0], "none came lately");
    }

    #[test]
    fn memory_outside_the_heap_is_reported() {
        let database = |rss: f64| {
            let mut database =
                program(ObserverKind::Gauge, names::HEAP, 10, |_| Value::Float(100e6));
            database.add(declare(2, ObserverKind::Gauge, names::RSS));
            database.add(Event::Update(ObserverId(2), Value::Float(rss)));
            database
        };
        assert_eq!(found(&database(180e6)), [""; 0]);
        assert_eq!(found(&database(450e6)), ["memory outside the heap"]);
    }
}
