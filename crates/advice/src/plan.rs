//! Decides which run comes next: as few runs as possible, the last of which verifies the recommendation.
//!
//! First the program runs unchanged, twice, for the noise; then with the default `s` and another `o`, for the law; then with larger
//! minor heaps where memory is free, as long as they help, otherwise with a smaller one; then with what the model recommends. If
//! that run is outside its prediction, the model is fitted again, and its new recommendation is run, as long as the budget lasts.
//! When the budget is exhausted, the best setting that was run is recommended.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::choice::{Goal, cells, choose};
use crate::measurement::Measurement;
use crate::model::{Cell, Model};
use crate::setting::{MINOR_HEAP, Setting, WORD};

/// With at most this number of runs, the first is not repeated, and the noise is assumed.
const FEW: usize = 4;
/// The factor by which the minor heap grows or shrinks with each step.
const STEP: u64 = 4;
/// The maximum number of steps.
const STEPS: u64 = 2;
/// A step that saves less than this fraction of the promoted words, or costs time beyond this fraction and the noise, is the
/// last.
const WORTH_A_STEP: f64 = 0.03;
/// Minor heaps that take more than this fraction of the memory are more likely too large than too small.
const MUCH: f64 = 0.125;

/// The budget.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// The maximum number of runs.
    pub runs: usize,
    /// The maximum total time, in seconds.
    pub seconds: f64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { runs: 6, seconds: 600.0 }
    }
}

/// The next run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next {
    /// Its parameters; none: the program runs unchanged.
    pub setting: Option<Setting>,
    /// Its purpose.
    pub why: Why,
    /// The model's prediction.
    pub predicted: Option<Cell>,
}

/// The purpose of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// To measure the program unchanged.
    Present,
    /// To measure how much equal runs differ.
    Noise,
    /// To measure the effect of another `o`.
    Law,
    /// To measure the effect of another minor heap.
    MinorHeap,
    /// To check the model's recommendation.
    Verification,
}

impl Why {
    /// In words.
    pub fn in_words(self) -> &'static str {
        match self {
            Why::Present => "unchanged",
            Why::Noise => "again, to measure noise",
            Why::Law => "another o, to fit the law",
            Why::MinorHeap => "another minor heap",
            Why::Verification => "to verify the recommendation",
        }
    }
}

/// The next run; none if nothing remains to be learned, or the budget is exhausted.
pub fn next(runs: &[Measurement], goal: Goal, budget: Budget) -> Option<Next> {
    let plain = |why| Some(Next { setting: None, why, predicted: None });
    let Some(first) = runs.first() else { return plain(Why::Present) };
    let spent: f64 = runs.iter().map(|run| run.wall).sum();
    let longest = runs.iter().map(|run| run.wall).fold(0.0, f64::max);
    let affordable = ((budget.seconds - spent) / longest.max(1e-3)).max(0.0) as usize;
    let left = budget.runs.saturating_sub(runs.len()).min(affordable);
    if left == 0 {
        return None;
    }
    let all = left + runs.len();
    if runs.len() == 1 && all > FEW {
        return plain(Why::Noise);
    }
    // A program that sets its parameters itself would run with the same ones each time.
    if first.counts.is_none() || !runs.iter().all(Measurement::took_setting) {
        return None;
    }
    let present = first.setting;
    let model = Model::fit(runs);
    let is_run = |setting: Setting| runs.iter().any(|run| run.setting == setting);
    if left > 1 {
        if !model.has_law() {
            let setting = Setting { o: other_overhead(first, goal), ..present };
            return Some(Next { setting: Some(setting), why: Why::Law, predicted: None });
        }
        let mut before = first;
        for s in other_minor_heaps(first, goal) {
            let setting = Setting { s, ..present };
            let Some(run) = runs.iter().find(|run| run.setting == setting) else {
                return Some(Next { setting: Some(setting), why: Why::MinorHeap, predicted: None });
            };
            if !is_worth_a_step(before, run, &model) {
                break;
            }
            before = run;
        }
    }
    let settings: Vec<Setting> = runs.iter().map(|run| run.setting).collect();
    let now = model.predict(present)?;
    let choice = choose(&cells(&model, &settings), &now, goal)?;
    let setting = choice.cell.setting;
    (!is_run(setting)).then_some(Next {
        setting: Some(setting),
        why: Why::Verification,
        predicted: Some(choice.cell),
    })
}

/// The larger minor heaps that may be worth a run, smallest first.
pub fn larger_minor_heaps(present: u64) -> impl Iterator<Item = u64> {
    let steps = (1..=STEPS).map(move |step| present.saturating_mul(STEP.pow(step as u32)));
    steps.filter(|s| MINOR_HEAP.contains(s))
}

/// The other minor heaps that may be worth a run, the nearest first.
fn other_minor_heaps(first: &Measurement, goal: Goal) -> Vec<u64> {
    let present = first.setting.s;
    let mut sizes: Vec<u64> = match goal {
        Goal::Memory(limit) if first.rss <= limit => {
            let fits = |s: &u64| minor_bytes(first, s.saturating_sub(present)) < limit / 2;
            larger_minor_heaps(present).filter(fits).collect()
        }
        _ if minor_bytes(first, present) as f64 > MUCH * first.rss as f64 => {
            (1..=STEPS).map(|step| present / STEP.pow(step as u32)).collect()
        }
        // In the grids of bench/gc, the setting that saves most memory often has half of the default minor heap, never more than
        // twice the default: a minor heap that fits into the processor's cache costs no time.
        _ => vec![present / 2],
    };
    sizes.retain(|s| MINOR_HEAP.contains(s));
    sizes
}

/// What the minor heaps of all domains take, if each has this number of words.
fn minor_bytes(first: &Measurement, s: u64) -> u64 {
    let domains = first.counts.map_or(1, |counts| counts.domains.max(1));
    s.saturating_mul(WORD).saturating_mul(domains)
}

/// A second `o`, far enough from the present one to show a difference, in the direction of the goal.
fn other_overhead(first: &Measurement, goal: Goal) -> u64 {
    let wants_less_memory = match goal {
        Goal::Memory(limit) => first.rss > limit,
        Goal::Slower(_) => true,
        Goal::Balance => false,
    };
    let o = first.setting.o;
    if wants_less_memory {
        (o / 3).max(20).min(o.saturating_sub(1)).max(1)
    } else {
        o.saturating_mul(5) / 3 + 1
    }
}

/// Whether the last step helped, so that the next one may help too.
fn is_worth_a_step(before: &Measurement, after: &Measurement, model: &Model) -> bool {
    let promoted = |run: &Measurement| run.counts.map_or(0, |counts| counts.promoted_words) as f64;
    let time = |run: &Measurement| run.time(model.time_by);
    let fewer = 1.0 - promoted(after) / promoted(before).max(1.0);
    let smaller = 1.0 - after.rss as f64 / before.rss.max(1) as f64;
    let faster = 1.0 - time(after) / time(before).max(f64::MIN_POSITIVE);
    let bearable = WORTH_A_STEP.max(2.0 * model.time_noise);
    match after.setting.s > before.setting.s {
        true => fewer > WORTH_A_STEP && faster > -bearable,
        false => smaller > WORTH_A_STEP && faster > -bearable.max(smaller),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::Lawful;

    const USUAL: Setting = Setting { s: 262_144, o: 120 };

    /// Makes the planned runs, with a program that obeys the law except for the factors `off`.
    fn play(
        goal: Goal,
        budget: Budget,
        off: impl Fn(Setting) -> (f64, f64),
    ) -> (Vec<Measurement>, Vec<Why>) {
        play_from(USUAL, goal, budget, off)
    }

    /// The same for a program that has other parameters unless it is given some.
    fn play_from(
        present: Setting,
        goal: Goal,
        budget: Budget,
        off: impl Fn(Setting) -> (f64, f64),
    ) -> (Vec<Measurement>, Vec<Why>) {
        let (mut runs, mut whys) = (Vec::new(), Vec::new());
        while let Some(Next { setting, why, .. }) = next(&runs, goal, budget) {
            let setting = setting.unwrap_or(present);
            runs.push(Lawful::USUAL.run_off(setting, off(setting)));
            whys.push(why);
            assert!(runs.len() <= budget.runs, "{whys:?}");
        }
        (runs, whys)
    }

    const LAWFUL: fn(Setting) -> (f64, f64) = |_| (1.0, 1.0);

    #[test]
    fn the_sixth_run_verifies_the_recommendation() {
        for goal in [Goal::Memory(120_000_000), Goal::Slower(0.05), Goal::Balance] {
            let (runs, whys) = play(goal, Budget::default(), LAWFUL);
            assert_eq!(whys[..3], [Why::Present, Why::Noise, Why::Law], "{goal:?}");
            let model = Model::fit(&runs);
            let settings: Vec<_> = runs.iter().map(|run| run.setting).collect();
            let now = model.predict(settings[0]).expect("it was run");
            let choice = choose(&cells(&model, &settings), &now, goal).expect("there are cells");
            assert!(settings.contains(&choice.cell.setting), "{goal:?} {whys:?} {choice:?}");
        }
    }

    #[test]
    fn a_refuted_prediction_is_followed_by_another_run() {
        // The prediction for another o is far off, except where it was measured.
        let off = |setting: Setting| match setting.o {
            20..=119 => (1.6, 1.0),
            _ => (1.0, 1.0),
        };
        let goal = Goal::Memory(110_000_000);
        let budget = Budget { runs: 10, seconds: 1e6 };
        let (_, whys) = play(goal, budget, off);
        assert!(whys.contains(&Why::Verification), "{whys:?}");
    }

    /// As in Coq, which gives itself 256 MB of minor heap unless `OCAMLRUNPARAM` is set.
    #[test]
    fn minor_heaps_that_are_most_of_the_memory_are_made_smaller() {
        let present = Setting { s: 1 << 25, o: 120 };
        let (_, rss) = Lawful::USUAL.truth(present);
        for goal in [Goal::Memory((0.9 * rss) as u64), Goal::Slower(0.05), Goal::Balance] {
            let (runs, whys) = play_from(present, goal, Budget::default(), LAWFUL);
            assert!(whys.contains(&Why::MinorHeap), "{goal:?} {whys:?}");
            let least = runs.iter().map(|run| run.rss).min().expect("there are runs");
            assert!((least as f64) < 0.6 * rss, "{goal:?} {runs:?}");
            assert!(runs.iter().all(|run| run.setting.s <= present.s), "{goal:?} {runs:?}");
        }
        // Memory that is free may be used.
        let goal = Goal::Memory(rss as u64 * 100);
        let (runs, _) = play_from(present, goal, Budget::default(), LAWFUL);
        assert!(runs.iter().all(|run| run.setting.s >= present.s), "{runs:?}");
    }

    #[test]
    fn memory_is_saved_with_a_smaller_minor_heap_unless_it_is_free() {
        let rss = Lawful::USUAL.truth(USUAL).1 as u64;
        let sizes = |goal| {
            let (runs, _) = play(goal, Budget::default(), LAWFUL);
            let mut sizes: Vec<u64> = runs.iter().map(|run| run.setting.s).collect();
            sizes.sort_unstable();
            sizes.dedup();
            sizes
        };
        for goal in [Goal::Memory(rss / 10 * 9), Goal::Slower(0.05), Goal::Balance] {
            assert_eq!(sizes(goal), [USUAL.s / 2, USUAL.s], "{goal:?}");
        }
        assert_eq!(sizes(Goal::Memory(rss * 2)), [USUAL.s, USUAL.s * 4, USUAL.s * 16]);
    }

    #[test]
    fn a_small_budget_skips_the_repetition_and_not_the_verification() {
        let (_, whys) = play(Goal::Slower(0.5), Budget { runs: 3, seconds: 1e6 }, LAWFUL);
        assert_eq!(whys, [Why::Present, Why::Law, Why::Verification]);
        let (_, whys) = play(Goal::Balance, Budget { runs: 1, seconds: 1e6 }, LAWFUL);
        assert_eq!(whys, [Why::Present]);
    }

    #[test]
    fn the_time_limit_ends_the_runs() {
        let one = Lawful::USUAL.run(262_144, 120).wall;
        let budget = Budget { runs: 100, seconds: 3.5 * one };
        let (_, whys) = play(Goal::Slower(0.5), budget, LAWFUL);
        assert!(whys.len() <= 3, "{whys:?}");
    }

    #[test]
    fn a_program_that_sets_its_own_parameters_is_not_run_again_and_again() {
        let own = Setting { s: 1 << 20, o: 80 };
        let mut runs = vec![Lawful::USUAL.run(own.s, own.o), Lawful::USUAL.run(own.s, own.o)];
        runs[0].asked = None;
        runs[1].asked = Some(Setting { s: 1 << 22, o: 80 });
        assert_eq!(next(&runs, Goal::Balance, Budget::default()), None);
    }
}
