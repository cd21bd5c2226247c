//! Chooses the setting that serves a goal best, among the settings that were run and those that the model predicts.

use bactrian_analysis::units::{show_bytes, show_share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::model::{Cell, Model};
use crate::setting::Setting;

/// The values of `o` that are considered.
pub const OVERHEADS: [u64; 11] = [20, 30, 40, 60, 80, 100, 120, 150, 200, 300, 400];

/// What to optimise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// The least time with at most this number of bytes.
    Memory(u64),
    /// The least memory with at most this fraction of additional time.
    Slower(f64),
    /// The least product of time and memory.
    Balance,
}

impl Goal {
    /// The goal, in words.
    pub fn in_words(self) -> String {
        match self {
            Goal::Memory(bytes) => format!("the least time in {}", show_bytes(bytes as f64)),
            Goal::Slower(part) => format!("the least memory, at most {} slower", show_share(part)),
            Goal::Balance => "the least time × memory".to_owned(),
        }
    }
}

/// Reads a percentage, such as `5%`, as a fraction.
///
/// # Errors
/// How to write one.
pub fn percent(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.trim().trim_end_matches('%').trim().parse().ok();
    let number = number.filter(|number| (0.0..=10_000.0).contains(number));
    number.map(|number| number / 100.0).ok_or_else(|| "write a percentage, such as 5%".to_owned())
}

/// The chosen setting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Choice {
    /// The setting, with its time and memory.
    pub cell: Cell,
    /// Whether it attains the goal. If not, no setting does, and this one comes nearest.
    #[serde(rename = "attains_goal")]
    pub attains: bool,
    /// Whether it is the present setting, because no other is better by more than the noise.
    pub keeps_present: bool,
}

/// All settings with known or predicted values: those that were run, and each `s` that was run with each `o` that is considered and
/// within reach of the model.
pub fn cells(model: &Model, run: &[Setting]) -> Vec<Cell> {
    let mut settings: Vec<Setting> = run.to_vec();
    for s in model.sizes() {
        let overheads = OVERHEADS.into_iter().filter(|&o| model.reaches(o));
        settings.extend(overheads.map(|o| Setting { s, o }));
    }
    settings.sort_unstable();
    settings.dedup();
    settings.into_iter().filter_map(|setting| model.predict(setting)).collect()
}

/// The cells that no other beats in both time and memory, by memory.
pub fn pareto(cells: &[Cell]) -> Vec<Cell> {
    let mut sorted: Vec<Cell> = cells.to_vec();
    sorted.sort_by(|a, b| {
        let by_memory = a.rss.value.total_cmp(&b.rss.value);
        by_memory.then(a.time.value.total_cmp(&b.time.value))
    });
    let mut best = f64::INFINITY;
    sorted.retain(|cell| {
        let is_better = cell.time.value < best;
        if is_better {
            best = cell.time.value;
        }
        is_better
    });
    sorted
}

/// The best cell. `present` is the program's present setting.
pub fn choose(cells: &[Cell], present: &Cell, goal: Goal) -> Option<Choice> {
    let least = |cells: &mut dyn Iterator<Item = &Cell>, by: &dyn Fn(&Cell) -> f64| {
        cells.min_by(|a, b| by(a).total_cmp(&by(b))).copied()
    };
    let time = |cell: &Cell| cell.time.value;
    let memory = |cell: &Cell| cell.rss.value;
    let product = |cell: &Cell| time(cell) * memory(cell);
    let (found, nearest) = match goal {
        Goal::Memory(limit) => {
            let within = |cell: &&Cell| cell.rss.high <= limit as f64;
            (least(&mut cells.iter().filter(within), &time), least(&mut cells.iter(), &memory))
        }
        Goal::Slower(part) => {
            let most = present.time.value * (1.0 + part);
            let within = |cell: &&Cell| cell.time.value <= most;
            (least(&mut cells.iter().filter(within), &memory), least(&mut cells.iter(), &time))
        }
        Goal::Balance => (least(&mut cells.iter(), &product), None),
    };
    let attains = found.is_some();
    let cell = found.or(nearest)?;
    let gain = match goal {
        // Whether the present setting attains the goal is decided without noise.
        Goal::Memory(limit) if present.rss.value > limit as f64 => f64::INFINITY,
        Goal::Memory(_) => present.time.value / time(&cell).max(f64::MIN_POSITIVE) - 1.0,
        Goal::Slower(_) => present.rss.value / memory(&cell).max(f64::MIN_POSITIVE) - 1.0,
        Goal::Balance => product(present) / product(&cell).max(f64::MIN_POSITIVE) - 1.0,
    };
    // The product of two numbers has the noise of both.
    let noise = match goal {
        Goal::Memory(_) => present.time.relative(),
        Goal::Slower(_) => present.rss.relative(),
        Goal::Balance => present.time.relative() + present.rss.relative(),
    };
    let keeps_present = cell.setting == present.setting || gain <= noise;
    let cell = if keeps_present { *present } else { cell };
    Some(Choice { cell, attains, keeps_present })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Interval;
    use crate::model::tests::Lawful;

    fn cell(s: u64, o: u64, time: f64, rss: f64) -> Cell {
        let exact = |value: f64| Interval { value, low: value * 0.99, high: value * 1.01 };
        Cell { setting: Setting { s, o }, time: exact(time), rss: exact(rss), is_measured: true }
    }

    fn some() -> Vec<Cell> {
        vec![
            cell(1, 120, 10.0, 100.0),
            cell(1, 40, 12.0, 80.0),
            cell(1, 200, 9.0, 130.0),
            cell(4, 120, 7.0, 110.0),
            cell(4, 40, 8.0, 90.0),
            cell(4, 200, 6.8, 140.0),
        ]
    }

    fn chosen(goal: Goal) -> Choice {
        let cells = some();
        choose(&cells, &cells[0], goal).expect("there are cells")
    }

    #[test]
    fn the_front_contains_only_cells_that_none_beats() {
        let front: Vec<_> = pareto(&some()).iter().map(|cell| cell.setting).collect();
        let expected = [(1, 40), (4, 40), (4, 120), (4, 200)];
        assert_eq!(front, expected.map(|(s, o)| Setting { s, o }));
    }

    #[test]
    fn a_memory_limit_applies_to_the_upper_end_of_the_interval() {
        let choice = chosen(Goal::Memory(105));
        assert_eq!(choice.cell.setting, Setting { s: 4, o: 40 });
        assert!(choice.attains && !choice.keeps_present);
        // 110 is below the limit, the upper end of its interval is not.
        assert_eq!(chosen(Goal::Memory(110)).cell.setting, Setting { s: 4, o: 40 });
        assert_eq!(chosen(Goal::Memory(112)).cell.setting, Setting { s: 4, o: 120 });
        let nearest = chosen(Goal::Memory(10));
        assert!(!nearest.attains);
        assert_eq!(nearest.cell.setting, Setting { s: 1, o: 40 });
    }

    #[test]
    fn the_least_memory_is_chosen_within_a_time_limit() {
        assert_eq!(chosen(Goal::Slower(0.0)).cell.setting, Setting { s: 4, o: 40 });
        assert_eq!(chosen(Goal::Slower(0.25)).cell.setting, Setting { s: 1, o: 40 });
        assert_eq!(chosen(Goal::Balance).cell.setting, Setting { s: 4, o: 40 });
    }

    #[test]
    fn a_gain_below_the_noise_is_not_recommended() {
        let cells = [cell(1, 120, 10.0, 100.0), cell(4, 120, 9.95, 100.0)];
        let choice = choose(&cells, &cells[0], Goal::Memory(200)).expect("there are cells");
        assert!(choice.keeps_present);
        assert_eq!(choice.cell.setting, Setting { s: 1, o: 120 });
    }

    #[test]
    fn cells_cover_every_s_that_was_run() {
        let program = Lawful::USUAL;
        let runs = [program.run(1 << 18, 120), program.run(1 << 18, 77), program.run(1 << 20, 120)];
        let settings: Vec<_> = runs.iter().map(|run| run.setting).collect();
        let cells = cells(&Model::fit(&runs), &settings);
        // All but 20 and 400, which are out of reach.
        assert_eq!(cells.len(), 2 * (OVERHEADS.len() - 2) + 1);
        assert_eq!(cells.iter().filter(|cell| cell.is_measured).count(), 3);
    }
}
