//! The effect of `o`, fitted to measured runs: time and memory at values of `o` that were not run.
//!
//! The law. Marking and sweeping a heap of live size L costs time proportional to the heap, L(1+o/100). A cycle is due when
//! L·o/100 has been allocated in the major heap, so a program that allocates D words there has D/(L·o/100) cycles, and all cycles
//! together cost time proportional to D·(100+o)/o: L cancels. The peak of the memory is a fixed part and L(1+o/100).
//!
//! So there are two unknowns that all values of `s` share: the time per unit of D·(100+o)/o, and the live bytes L at the peak.
//! Both come from pairs of runs with the same `s` and different values of `o`. Everything else depends on `s` in an unknown way,
//! so the model predicts nothing for an `s` that was not run.
//!
//! Intervals have a confidence of 95 % and two parts. The first is noise: how much repeated runs of one setting differ, combined
//! with a prior, so that two runs that happen to agree prove nothing. The second is the error of the law, a fraction of the
//! extrapolated change: in a public sweep of 32 programs on OCaml 5.4 and 5.5, slopes between neighbouring values of `o` differ
//! by about a quarter for time, and by a fifth for memory. If a run is outside its predicted interval, this error is widened
//! until the run would have been inside.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::measurement::{Measurement, TimeBy};
use crate::setting::{Setting, WORD};

/// Half the width of a 95 % interval, in standard deviations.
const WIDTH: f64 = 2.0;
/// The noise assumed before any run is repeated, relative to the number; and the number of repetitions that this assumption is
/// worth.
const PRIOR_TIME_NOISE: f64 = 0.02;
const PRIOR_MEMORY_NOISE: f64 = 0.005;
const PRIOR_WEIGHT: f64 = 2.0;
/// The error of the law for time and for memory, at 95 %, relative to the extrapolated change.
const LAW_TIME: f64 = 0.25;
const LAW_MEMORY: f64 = 0.20;
/// The error of the law is never widened by more than this factor.
const MOST_WIDENED: f64 = 20.0;

/// A number with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// The most likely value.
    pub value: f64,
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Interval {
    fn of(value: f64, deviation: f64) -> Interval {
        let half = WIDTH * deviation;
        Interval { value, low: (value - half).max(0.0), high: value + half }
    }

    /// Whether the interval contains a number.
    pub fn contains(&self, number: f64) -> bool {
        self.low <= number && number <= self.high
    }

    /// Half its width, relative to its value.
    pub fn relative(&self) -> f64 {
        if self.value > 0.0 { (self.high - self.low) / 2.0 / self.value } else { 0.0 }
    }
}

/// Time and memory at a setting.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// The setting.
    pub setting: Setting,
    /// Seconds.
    pub time: Interval,
    /// The peak of resident memory, in bytes.
    pub rss: Interval,
    /// Whether this setting was run.
    #[serde(rename = "measured")]
    pub is_measured: bool,
}

/// The law, fitted to runs.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Model {
    /// Which time it predicts.
    pub time_by: TimeBy,
    /// The standard deviation of the time of repeated runs, relative to the time.
    pub time_noise: f64,
    /// The same for memory.
    pub memory_noise: f64,
    /// The number of repetitions from which the noise was estimated; 0 if it is assumed.
    pub repetitions: u64,
    /// Seconds of marking and sweeping at o = 100 and the first `s`; none if only one value of `o` was run.
    pub major_seconds: Option<f64>,
    /// The live bytes at the peak, as far as memory depends on `o`; none if only one value of `o` was run.
    pub live_bytes: Option<f64>,
    /// The factor by which the error of the law was widened because a run was outside its interval; 1 if none was.
    pub widened: f64,
    #[serde(skip)]
    slopes: Option<Slopes>,
    #[serde(skip)]
    points: Vec<Point>,
}

/// What all values of `s` share.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slopes {
    /// Seconds per unit of work, and its standard deviation.
    time: (f64, f64),
    /// Bytes per unit of o/100.
    memory: (f64, f64),
}

/// A run, reduced to what the law needs.
#[derive(Clone, Copy, Debug)]
struct Point {
    setting: Setting,
    time: f64,
    rss: f64,
    /// Words allocated in the major heap; 1 if unknown.
    allocated: f64,
    /// The number of bytes by which its heap could still have grown.
    room: f64,
}

/// (100+o)/o.
pub fn work_factor(o: u64) -> f64 {
    let o = o.max(1) as f64;
    (100.0 + o) / o
}

/// A number divided by an earlier one; 1 if that was nothing.
pub(crate) fn factor(now: f64, before: f64) -> f64 {
    if before > 0.0 { now / before } else { 1.0 }
}

impl Point {
    fn work(&self, o: u64) -> f64 {
        self.allocated * work_factor(o)
    }
}

impl Model {
    /// Fits the law to runs.
    pub fn fit(runs: &[Measurement]) -> Model {
        let time_by = TimeBy::of(runs);
        let points: Vec<Point> = runs.iter().map(|run| point(run, time_by)).collect();
        let (time_noise, repetitions) = noise(&points, |p| p.time, PRIOR_TIME_NOISE);
        let (memory_noise, _) = noise(&points, |p| p.rss, PRIOR_MEMORY_NOISE);
        let mut model = Model {
            time_by,
            time_noise,
            memory_noise,
            repetitions,
            major_seconds: None,
            live_bytes: None,
            widened: 1.0,
            slopes: None,
            points,
        };
        model.slopes = model.fit_slopes();
        if let (Some(slopes), Some(first)) = (model.slopes, model.points.first()) {
            model.major_seconds = Some(slopes.time.0 * first.work(100));
            model.live_bytes = Some(slopes.memory.0);
        }
        model.widened = model.widening();
        model
    }

    /// Time and memory at a setting; none if its `s` was not run, or if the law is needed and unknown.
    pub fn predict(&self, setting: Setting) -> Option<Cell> {
        self.predict_from(setting, &self.points, self.widened)
    }

    /// The intervals of the time and memory of one run: how much equal runs differ.
    pub fn intervals_of_run(&self, time: f64, rss: f64) -> [Interval; 2] {
        let of = |value: f64, noise: f64| Interval::of(value, value * noise);
        [of(time, self.time_noise), of(rss, self.memory_noise)]
    }

    /// The lowest and the highest `o` that the law was fitted to; none if it is unknown.
    pub fn fitted(&self) -> Option<[u64; 2]> {
        let has_pair = |point: &&Point| {
            let is_other = |other: &Point| {
                other.setting.s == point.setting.s && other.setting.o != point.setting.o
            };
            self.points.iter().any(is_other)
        };
        let run = || self.points.iter().filter(has_pair).map(|point| point.setting.o);
        Some([run().min()?, run().max()?])
    }

    /// Whether an `o` is near enough to those that the law was fitted to: it changes the work or the heap by a factor of two at most.
    /// What was fitted to 200 and 334 says nothing about 20.
    pub fn reaches(&self, o: u64) -> bool {
        self.fitted().is_some_and(|[low, high]| {
            work_factor(o) <= 2.0 * work_factor(low) && o + 100 <= 2 * (high + 100)
        })
    }

    /// All values of `s` that were run, in order.
    pub fn sizes(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.points.iter().map(|point| point.setting.s).collect();
        sizes.sort_unstable();
        sizes.dedup();
        sizes
    }

    /// Whether the law is known, which takes runs with the same `s` and two values of `o`.
    pub fn has_law(&self) -> bool {
        self.slopes.is_some()
    }

    fn predict_from(&self, setting: Setting, points: &[Point], widened: f64) -> Option<Cell> {
        let same: Vec<&Point> =
            points.iter().filter(|point| point.setting.s == setting.s).collect();
        let exact: Vec<&Point> =
            same.iter().copied().filter(|point| point.setting == setting).collect();
        if !exact.is_empty() {
            let count = exact.len() as f64;
            let mean = |of: fn(&Point) -> f64| exact.iter().map(|p| of(p)).sum::<f64>() / count;
            let (time, rss) = (mean(|p| p.time), mean(|p| p.rss));
            return Some(Cell {
                setting,
                time: Interval::of(time, time * self.time_noise / count.sqrt()),
                rss: Interval::of(rss, rss * self.memory_noise / count.sqrt()),
                is_measured: true,
            });
        }
        let slopes = self.slopes?;
        let (mut time, mut rss) = (Mean::default(), Mean::default());
        for point in same {
            let work = point.work(setting.o) - point.work(point.setting.o);
            let change = slopes.time.0 * work;
            time.add(
                point.time + change,
                square(point.time * self.time_noise)
                    + square(widened * LAW_TIME / WIDTH * change)
                    + square(slopes.time.1 * work),
            );
            let more = (setting.o as f64 - point.setting.o as f64) / 100.0;
            let change = slopes.memory.0 * more;
            rss.add(
                point.rss + change.min(point.room),
                square(point.rss * self.memory_noise)
                    + square(widened * LAW_MEMORY / WIDTH * change)
                    + square(slopes.memory.1 * more),
            );
        }
        let (time, rss) = (time.interval()?, rss.interval()?);
        Some(Cell { setting, time, rss, is_measured: false })
    }

    /// Slopes by least squares, with a separate intercept for each `s`.
    fn fit_slopes(&self) -> Option<Slopes> {
        let (mut time, mut memory) = (Slope::default(), Slope::default());
        for s in self.sizes() {
            let group: Vec<&Point> = self.points.iter().filter(|p| p.setting.s == s).collect();
            time.add(group.iter().map(|p| (p.work(p.setting.o), p.time)));
            memory.add(group.iter().map(|p| (p.setting.o as f64 / 100.0, p.rss)));
        }
        let of = |slope: Slope, noise: f64, number: fn(&Point) -> f64| {
            let mean =
                self.points.iter().map(number).sum::<f64>() / self.points.len().max(1) as f64;
            // Less work cannot take longer, and a larger `o` cannot take less memory: a negative slope is noise.
            let value = (slope.xy / slope.xx).max(0.0);
            (slope.xx > 0.0).then(|| (value, mean * noise / slope.xx.sqrt()))
        };
        Some(Slopes {
            time: of(time, self.time_noise, |p| p.time)?,
            memory: of(memory, self.memory_noise, |p| p.rss)?,
        })
    }

    /// The factor by which the error of the law must be widened so that each run is in the interval predicted from all other runs
    /// with its `s`.
    fn widening(&self) -> f64 {
        let mut widest = 1.0_f64;
        for point in &self.points {
            let others: Vec<Point> = self
                .points
                .iter()
                .filter(|other| other.setting != point.setting)
                .copied()
                .collect();
            let Some(cell) = self.predict_from(point.setting, &others, 1.0) else { continue };
            for (interval, number) in [(cell.time, point.time), (cell.rss, point.rss)] {
                let half = (interval.high - interval.value).max(f64::MIN_POSITIVE);
                widest = widest.max((number - interval.value).abs() / half);
            }
        }
        widest.min(MOST_WIDENED)
    }
}

fn point(run: &Measurement, time_by: TimeBy) -> Point {
    let allocated = run.counts.map_or(1.0, |counts| (counts.major_words as f64).max(1.0));
    let room = run.counts.map_or(f64::MAX, |counts| {
        (counts.major_words.saturating_sub(counts.top_heap_words) * WORD) as f64
    });
    Point { setting: run.setting, time: run.time(time_by), rss: run.rss as f64, allocated, room }
}

/// The standard deviation of repeated runs relative to the number, combined with the prior, and the number of repetitions.
fn noise(points: &[Point], number: fn(&Point) -> f64, prior: f64) -> (f64, u64) {
    let (mut sum, mut repetitions) = (PRIOR_WEIGHT * square(prior), 0_u64);
    let mut settings: Vec<Setting> = points.iter().map(|point| point.setting).collect();
    settings.sort_unstable();
    settings.dedup();
    for setting in settings {
        let group: Vec<f64> = points
            .iter()
            .filter(|point| point.setting == setting)
            .map(|point| number(point).max(f64::MIN_POSITIVE).ln())
            .collect();
        let mean = group.iter().sum::<f64>() / group.len() as f64;
        sum += group.iter().map(|value| square(value - mean)).sum::<f64>();
        repetitions += group.len() as u64 - 1;
    }
    ((sum / (PRIOR_WEIGHT + repetitions as f64)).sqrt(), repetitions)
}

fn square(number: f64) -> f64 {
    number * number
}

/// The sums from which a slope is computed.
#[derive(Clone, Copy, Default)]
struct Slope {
    xx: f64,
    xy: f64,
}

impl Slope {
    /// Adds a group of points with its own intercept.
    fn add(&mut self, points: impl Iterator<Item = (f64, f64)> + Clone) {
        let (mut count, mut x_sum, mut y_sum) = (0.0, 0.0, 0.0);
        for (x, y) in points.clone() {
            (count, x_sum, y_sum) = (count + 1.0, x_sum + x, y_sum + y);
        }
        for (x, y) in points {
            let dx = x - x_sum / count;
            self.xx += dx * dx;
            self.xy += dx * (y - y_sum / count);
        }
    }
}

/// A mean weighted by the inverse of the variance.
#[derive(Default)]
struct Mean {
    weight: f64,
    sum: f64,
}

impl Mean {
    fn add(&mut self, value: f64, variance: f64) {
        let weight = 1.0 / variance.max(f64::MIN_POSITIVE.sqrt());
        self.weight += weight;
        self.sum += weight * value;
    }

    fn interval(&self) -> Option<Interval> {
        let value = self.sum / self.weight;
        (self.weight > 0.0 && value.is_finite())
            .then(|| Interval::of(value.max(0.0), (1.0 / self.weight).sqrt()))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measurement::Counts;

    /// A program that obeys the law: its own seconds, seconds per word of marking and sweeping, fixed and live bytes.
    #[derive(Clone, Copy, Debug)]
    pub(crate) struct Lawful {
        pub(crate) own: f64,
        pub(crate) per_word: f64,
        pub(crate) fixed: f64,
        pub(crate) live: f64,
    }

    impl Lawful {
        pub(crate) const USUAL: Lawful =
            Lawful { own: 2.0, per_word: 1e-8, fixed: 20e6, live: 50e6 };

        /// Words allocated in the major heap: fewer with a larger minor heap.
        fn allocated(s: u64) -> u64 {
            (4e7 * (262_144.0 / s as f64).sqrt()) as u64
        }

        pub(crate) fn truth(&self, Setting { s, o }: Setting) -> (f64, f64) {
            let allocated = Lawful::allocated(s) as f64;
            let time = self.own + self.per_word * allocated * work_factor(o);
            (time, self.fixed + (s * WORD) as f64 + self.live * (1.0 + o as f64 / 100.0))
        }

        /// A run whose time and memory are off by these factors.
        pub(crate) fn run_off(&self, setting: Setting, by: (f64, f64)) -> Measurement {
            let (time, rss) = self.truth(setting);
            let words = Lawful::allocated(setting.s);
            Measurement {
                asked: Some(setting),
                setting,
                wall: time * by.0,
                cpu: time * by.0,
                rss: (rss * by.1) as u64,
                status: "exit status: 0".to_owned(),
                output: [1, 2],
                is_exact: true,
                counts: Some(Counts {
                    minor_words: 1_000_000_000,
                    promoted_words: words,
                    major_words: words,
                    minor_collections: 1_000_000_000 / setting.s,
                    major_collections: 10,
                    domains: 1,
                    ..Counts::default()
                }),
                pauses: None,
                memory: None,
                samples: Vec::new(),
            }
        }

        pub(crate) fn run(&self, s: u64, o: u64) -> Measurement {
            self.run_off(Setting { s, o }, (1.0, 1.0))
        }
    }

    const K256: u64 = 262_144;

    #[test]
    fn a_program_that_obeys_the_law_is_predicted() {
        let program = Lawful::USUAL;
        let runs = [program.run(K256, 120), program.run(K256, 40), program.run(1 << 20, 120)];
        let model = Model::fit(&runs);
        for s in [K256, 1 << 20] {
            for o in [20, 60, 80, 200, 400] {
                let setting = Setting { s, o };
                let cell = model.predict(setting).expect("its s was run");
                let (time, rss) = program.truth(setting);
                assert!((cell.time.value / time - 1.0).abs() < 1e-6, "{cell:?} but {time}");
                assert!((cell.rss.value / rss - 1.0).abs() < 1e-6, "{cell:?} but {rss}");
                assert!(!cell.is_measured);
            }
        }
        assert_eq!(model.predict(Setting { s: 1 << 22, o: 120 }), None, "s is never modelled");
        assert_eq!(model.sizes(), [K256, 1 << 20]);
        assert!((model.widened - 1.0).abs() < 1e-9);
    }

    #[test]
    fn settings_far_from_those_that_were_run_are_out_of_reach() {
        let program = Lawful::USUAL;
        let reach = |low, high| {
            let model = Model::fit(&[program.run(K256, low), program.run(K256, high)]);
            [20, 30, 40, 60, 80, 200, 300, 400].map(|o| model.reaches(o))
        };
        assert_eq!(reach(40, 120), [true, true, true, true, true, true, true, false]);
        assert_eq!(reach(200, 334), [false, false, false, true, true, true, true, true]);
        assert!(!Model::fit(&[program.run(K256, 120)]).reaches(120), "there is no law");
    }

    #[test]
    fn without_a_second_o_there_is_no_law() {
        let program = Lawful::USUAL;
        let model = Model::fit(&[program.run(K256, 120), program.run(1 << 20, 120)]);
        assert!(!model.has_law());
        assert_eq!(model.predict(Setting { s: K256, o: 80 }), None);
        let measured = model.predict(Setting { s: K256, o: 120 }).expect("it was run");
        assert!(measured.is_measured);
    }

    #[test]
    fn intervals_widen_with_the_distance_and_with_noise() {
        let program = Lawful::USUAL;
        let calm = [program.run(K256, 120), program.run(K256, 120), program.run(K256, 80)];
        let calm = Model::fit(&calm);
        let width = |model: &Model, o| {
            model.predict(Setting { s: K256, o }).expect("its s was run").time.relative()
        };
        assert!(width(&calm, 120) < width(&calm, 60));
        assert!(width(&calm, 60) < width(&calm, 20));
        let setting = Setting { s: K256, o: 120 };
        let noisy =
            [program.run(K256, 120), program.run_off(setting, (1.2, 1.0)), program.run(K256, 80)];
        assert!(width(&Model::fit(&noisy), 120) > 3.0 * width(&calm, 120));
    }

    #[test]
    fn a_run_outside_its_interval_widens_the_law() {
        let program = Lawful::USUAL;
        let off = program.run_off(Setting { s: K256, o: 400 }, (1.5, 1.6));
        let runs = [program.run(K256, 120), program.run(K256, 80), off];
        let model = Model::fit(&runs);
        assert!(model.widened > 1.5, "{}", model.widened);
    }

    #[test]
    fn a_heap_does_not_grow_beyond_what_is_allocated() {
        let program = Lawful { live: 50e6, ..Lawful::USUAL };
        let mut runs = [program.run(K256, 120), program.run(K256, 80)];
        for run in &mut runs {
            if let Some(counts) = &mut run.counts {
                counts.top_heap_words = counts.major_words - 1_000;
            }
        }
        let cell = Model::fit(&runs).predict(Setting { s: K256, o: 1_000 }).expect("its s was run");
        assert!(cell.rss.value <= runs[0].rss as f64 + 8_000.0, "{cell:?}");
    }

    proptest! {
        /// Whatever was measured, an interval is ordered and finite, and contains its value.
        #[test]
        fn intervals_are_in_order(
            runs in prop::collection::vec(
                (0_u64..3, 1_u64..1000, 0.0..1e6_f64, 0_u64..1 << 50, 0_u64..1 << 60), 1..8),
            o in 1_u64..10_000,
        ) {
            let runs: Vec<Measurement> = runs
                .into_iter()
                .map(|(s, o, time, rss, words)| {
                    let setting = Setting { s: K256 << s, o };
                    let mut run = Lawful::USUAL.run_off(setting, (1.0, 1.0));
                    (run.cpu, run.wall, run.rss) = (time, time, rss);
                    run.counts = Some(Counts { major_words: words, ..Counts::default() });
                    run
                })
                .collect();
            let model = Model::fit(&runs);
            for s in model.sizes() {
                if let Some(cell) = model.predict(Setting { s, o }) {
                    for Interval { value, low, high } in [cell.time, cell.rss] {
                        prop_assert!(low <= value && value <= high && high.is_finite(), "{cell:?}");
                    }
                }
            }
        }

        /// With a few per cent of noise, the truth is usually in the interval.
        #[test]
        fn truth_is_in_the_interval(
            own in 0.1..100.0_f64, per_word in 1e-10..1e-7_f64, live in 1e6..1e8_f64,
            noise in prop::array::uniform4(-0.02..0.02_f64), o in 30_u64..300,
        ) {
            let program = Lawful { own, per_word, live, fixed: 5e6 };
            let setting = |o| Setting { s: K256, o };
            let runs = [
                program.run_off(setting(120), (1.0 + noise[0], 1.0 + noise[0] / 5.0)),
                program.run_off(setting(120), (1.0 + noise[1], 1.0 + noise[1] / 5.0)),
                program.run_off(setting(40), (1.0 + noise[2], 1.0 + noise[2] / 5.0)),
                program.run_off(setting(200), (1.0 + noise[3], 1.0 + noise[3] / 5.0)),
            ];
            let cell = Model::fit(&runs).predict(setting(o)).expect("its s was run");
            let (time, rss) = program.truth(setting(o));
            // Noise is uniform and bounded here, so an interval of twice the width always contains the truth.
            let near = |it: Interval, truth: f64| (it.value - truth).abs() <= (it.high - it.low);
            prop_assert!(near(cell.time, time), "{cell:?} but {time}");
            prop_assert!(near(cell.rss, rss), "{cell:?} but {rss}");
        }
    }
}
