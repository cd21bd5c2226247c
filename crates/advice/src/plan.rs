//! Which run comes next: as few as possible, the last of them to verify what will be recommended.
//!
//! First the program as it is, twice, for the noise; then the default `s` with another `o`, for the law; then larger minor heaps, as long as
//! they bring something; then what the model recommends. If that turns out otherwise, the model is fitted anew, and what it
//! recommends then is run, as long as the budget lasts. A budget that is exhausted leaves the best of what was run.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::choice::{Goal, cells, choose};
use crate::measurement::Measurement;
use crate::model::{Cell, Model};
use crate::setting::{MINOR_HEAP, Setting, WORD};

/// How many runs there may be without a repetition of the first: then noise is assumed.
const FEW: usize = 4;
/// How much larger the minor heap becomes with each step.
const STEP: u64 = 4;
/// How many steps are taken.
const STEPS: u64 = 2;
/// A larger minor heap that brings less, in time and in promoted words, is the last that is tried.
const WORTH_A_STEP: f64 = 0.03;

/// What may be spent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Budget {
    /// Runs in all.
    pub runs: usize,
    /// Seconds in all.
    pub seconds: f64,
}

impl Default for Budget {
    fn default() -> Budget {
        Budget { runs: 6, seconds: 600.0 }
    }
}

/// A run that is to be done.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Next {
    /// With these parameters; none: as it is.
    pub setting: Option<Setting>,
    /// What for.
    pub why: Why,
    /// What the model says of it.
    pub predicted: Option<Cell>,
}

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The program as it is.
    Present,
    /// The same again: how much runs differ.
    Noise,
    /// What another `o` does.
    Law,
    /// What a larger minor heap does.
    MinorHeap,
    /// Whether the model is right about what will be recommended.
    Verification,
}

impl Why {
    /// In words.
    pub fn in_words(self) -> &'static str {
        match self {
            Why::Present => "as it is",
            Why::Noise => "again, for the noise",
            Why::Law => "another o, for the law",
            Why::MinorHeap => "a larger minor heap",
            Why::Verification => "verifies the recommendation",
        }
    }
}

/// What to run next; none if all is known that the budget allows.
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
    // A program that sets its parameters itself would do the same again and again.
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
        let steps = (1..=STEPS).map(|step| present.s.saturating_mul(STEP.pow(step as u32)));
        let mut before = first;
        for s in steps.filter(|s| MINOR_HEAP.contains(s) && fits(first, *s, goal)) {
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

/// A second `o`, far enough from the present one to see a difference, in the direction of the goal.
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

/// Whether a minor heap of this size leaves room for anything else.
fn fits(first: &Measurement, s: u64, goal: Goal) -> bool {
    let domains = first.counts.map_or(1, |counts| counts.domains.max(1));
    let more = s.saturating_sub(first.setting.s).saturating_mul(WORD).saturating_mul(domains);
    match goal {
        Goal::Memory(limit) => more < limit / 2,
        // It could not be paid back by a smaller heap.
        Goal::Slower(_) | Goal::Balance => more < first.rss.saturating_mul(2),
    }
}

/// Whether the last step brought something, so that the next may, too.
fn is_worth_a_step(before: &Measurement, after: &Measurement, model: &Model) -> bool {
    let promoted = |run: &Measurement| run.counts.map_or(0, |counts| counts.promoted_words) as f64;
    let time = |run: &Measurement| run.time(model.time_by);
    let fewer = 1.0 - promoted(after) / promoted(before).max(1.0);
    let faster = 1.0 - time(after) / time(before).max(f64::MIN_POSITIVE);
    fewer > WORTH_A_STEP && faster > -WORTH_A_STEP.max(2.0 * model.time_noise)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::Lawful;

    /// Runs what is planned, on a program that keeps the law but for what `off` says.
    fn play(
        goal: Goal,
        budget: Budget,
        off: impl Fn(Setting) -> (f64, f64),
    ) -> (Vec<Measurement>, Vec<Why>) {
        let (mut runs, mut whys) = (Vec::new(), Vec::new());
        while let Some(Next { setting, why, .. }) = next(&runs, goal, budget) {
            let setting = setting.unwrap_or(Setting { s: 262_144, o: 120 });
            runs.push(Lawful::USUAL.run_off(setting, off(setting)));
            whys.push(why);
            assert!(runs.len() <= budget.runs, "{whys:?}");
        }
        (runs, whys)
    }

    const LAWFUL: fn(Setting) -> (f64, f64) = |_| (1.0, 1.0);

    #[test]
    fn six_runs_end_with_a_verification() {
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
        // What is predicted for another o is far off, but where it was measured.
        let off = |setting: Setting| match setting.o {
            20..=119 => (1.6, 1.0),
            _ => (1.0, 1.0),
        };
        let goal = Goal::Memory(110_000_000);
        let budget = Budget { runs: 10, seconds: 1e6 };
        let (_, whys) = play(goal, budget, off);
        assert!(whys.contains(&Why::Verification), "{whys:?}");
    }

    #[test]
    fn a_small_budget_has_no_repetition_but_a_verification() {
        let (_, whys) = play(Goal::Slower(0.5), Budget { runs: 3, seconds: 1e6 }, LAWFUL);
        assert_eq!(whys, [Why::Present, Why::Law, Why::Verification]);
        let (_, whys) = play(Goal::Balance, Budget { runs: 1, seconds: 1e6 }, LAWFUL);
        assert_eq!(whys, [Why::Present]);
    }

    #[test]
    fn time_limits_runs_as_well() {
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
