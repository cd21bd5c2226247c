//! Two programs at equal memory, and at equal time: two builds, or the same program built by two compilers.
//!
//! Comparing what each needs by default compares their defaults: the newer OCaml may be slower and take less memory, or the other
//! way round. So both are compared along their fronts of time against memory.

use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::file::GcResult;
use crate::model::{Cell, Interval};
use crate::setting::Setting;

/// All answers that a result gives: what `bactrian gc --json` prints, and what the page shows.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GcAnswers {
    /// For each program.
    pub answers: Vec<Answer>,
    /// If there are two programs.
    pub comparison: Option<Comparison>,
}

impl GcAnswers {
    /// The answers of a result.
    pub fn of(result: &GcResult) -> GcAnswers {
        let answers = Answer::of(result);
        let comparison = match &answers[..] {
            [first, second] => Some(compare(first, second)),
            _ => None,
        };
        GcAnswers { answers, comparison }
    }
}

/// A comparison of two programs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Comparison {
    /// The least time of each, with the memory that each has at present as the limit.
    pub at_same_memory: Vec<AtSame>,
    /// The least memory of each, with the time that each takes at present as the limit.
    pub at_same_time: Vec<AtSame>,
}

/// What both programs need under the same limit.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AtSame {
    /// The limit: bytes, or seconds.
    pub bound: f64,
    /// Which program's present value this is.
    pub of: String,
    /// The other number of each program; none if it cannot keep the limit.
    pub needs: [Option<Need>; 2],
    /// The number of the second program divided by that of the first.
    pub factor: Option<f64>,
}

/// What a program needs, and with which setting.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Need {
    /// Seconds, or bytes.
    pub number: Interval,
    /// The setting that attains it.
    pub setting: Setting,
    /// Whether that setting was run.
    pub measured: bool,
}

/// Compares two programs of a result.
pub fn compare(first: &Answer, second: &Answer) -> Comparison {
    let both = [first, second];
    let names = ["the first at present", "the second at present"];
    let presents = both.map(|answer| answer.present);
    let rows = |bound: fn(&Cell) -> f64, number: fn(&Cell) -> Interval| {
        let row = |(present, of): (&Cell, &str)| {
            let limit = bound(present);
            let needs = both.map(|answer| least(&answer.grid, limit, bound, number));
            let factor = match needs {
                [Some(a), Some(b)] if a.number.value > 0.0 => Some(b.number.value / a.number.value),
                _ => None,
            };
            AtSame { bound: limit, of: of.to_owned(), needs, factor }
        };
        presents.iter().zip(names).map(row).collect()
    };
    Comparison {
        at_same_memory: rows(|cell| cell.rss.value, |cell| cell.time),
        at_same_time: rows(|cell| cell.time.value, |cell| cell.rss),
    }
}

fn least(
    cells: &[Cell],
    limit: f64,
    bound: fn(&Cell) -> f64,
    number: fn(&Cell) -> Interval,
) -> Option<Need> {
    let within = cells.iter().filter(|cell| bound(cell) <= limit);
    let best = within.min_by(|a, b| number(a).value.total_cmp(&number(b).value))?;
    Some(Need { number: number(best), setting: best.setting, measured: best.is_measured })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choice::Goal;
    use crate::file::tests::result;
    use crate::model::tests::Lawful;

    #[test]
    fn programs_are_compared_at_the_same_memory_and_at_the_same_time() {
        let slow = Lawful { own: 4.0, ..Lawful::USUAL };
        let lean = Lawful { live: 25e6, ..Lawful::USUAL };
        let answer = |program: Lawful| {
            let runs = [120, 40, 300].map(|o| program.run(262_144, o)).to_vec();
            Answer::of(&result(Goal::Balance, runs)).pop().expect("there are runs")
        };
        let usual = answer(Lawful::USUAL);
        let compared = compare(&usual, &answer(slow));
        // The same memory for each o, and two more seconds.
        let [first, _] = &compared.at_same_memory[..] else { panic!("two rows") };
        let [a, b] = first.needs.map(|need| need.expect("it can").number.value);
        assert!((b - a - 2.0).abs() < 1e-6, "{first:?}");
        assert_eq!(compared.at_same_time[0].needs[1].map(|need| need.setting), None);
        // The lean program can have a larger o in the same memory.
        let compared = compare(&usual, &answer(lean));
        let [first, second] = &compared.at_same_memory[..] else { panic!("two rows") };
        assert!(first.factor.is_some_and(|factor| factor < 1.0), "{first:?}");
        // The lean program's present memory is too small for the other.
        assert!(second.needs[0].is_none() && second.needs[1].is_some(), "{second:?}");
    }
}
