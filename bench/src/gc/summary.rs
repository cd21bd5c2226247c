//! What the tables say: whether the recommendation is as good as the grid's best, whether the law predicts, and the grid's means.

use bactrian_advice::model::work_factor;
use bactrian_advice::setting::{Setting, short_words};

use super::table::{GridCell, Line, Part, Table};
use super::{LESS_MEMORY, MORE_TIME, OVERHEADS, SIZES};
use xtask::Outcome;

/// What the public sweep calls the default.
const DEFAULT: Setting = Setting { s: 1 << 18, o: 120 };

pub fn print(tables: &[Table]) -> Outcome {
    println!(
        "| program | runs for the recommendation | memory ≤ 90 % | time ≤ 105 % | time × memory | law: time within 10 % | law: memory within 10 % | promoted words of equal s |"
    );
    println!("|---|--:|--:|--:|--:|--:|--:|--:|");
    for table in tables {
        let goals = [Part::Memory, Part::Slower, Part::Balance];
        let runs = goals.map(|part| table.lines.iter().filter(|line| line.part == part).count());
        let [memory, slower, balance] = goals.map(|part| {
            behind_best(table, part).map_or("?".to_owned(), |behind| behind.to_string())
        });
        let (time, rss) = predicted(table);
        println!(
            "| {} | {} | {memory} | {slower} | {balance} | {time} | {rss} | {} |",
            table.name,
            runs.map(|count| count.to_string()).join(", "),
            promoted(table),
        );
    }
    let (good, all) = rounds_against_each_other(tables);
    println!(
        "\nThe best setting of a whole round of the grid, in the other round: within 3 % of that round's best for {good} of {all} goals."
    );
    println!("\n{}", law_error(tables));
    println!(
        "\nTime and memory against s=256k,o=120, geometric means over {} programs, in per cent:\n",
        tables.len()
    );
    println!("| o | {} |", SIZES.map(short_words).join(" | "));
    println!("|---|{}", "--:|".repeat(SIZES.len()));
    for o in OVERHEADS {
        let cells = SIZES.map(|s| means(tables, Setting { s, o }));
        println!("| {o} | {} |", cells.join(" | "));
    }
    Ok(())
}

fn grid(table: &Table) -> Vec<GridCell> {
    let settings = SIZES.into_iter().flat_map(|s| OVERHEADS.map(|o| Setting { s, o }));
    settings.filter_map(|setting| table.cell(setting)).collect()
}

/// What the program has if nothing is set: each goal's first run.
pub fn present(table: &Table) -> Option<GridCell> {
    let first = table.lines.iter().find(|line| line.part == Part::Memory)?;
    table.runs_at(first.setting)
}

/// How far the recommendation is behind the grid's best for its goal.
fn behind_best(table: &Table, part: Part) -> Option<Behind> {
    let mut of_it = table.lines.iter().filter(|line| line.part == part && line.is_recommended);
    let (present, recommended) = (present(table)?, of_it.next()?);
    // What was recommended may be in the grid or have been run for another goal, too.
    Some(Behind::of(table, part, &present, &table.runs_at(recommended.setting)?))
}

/// How a setting compares with the grid's best for a goal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Behind {
    /// It needs so much more of what should be least.
    By(f64),
    /// It misses the goal, which a cell of the grid attains.
    NotAttained,
    NothingAttains,
}

impl Behind {
    /// `found` is compared with the grid of a table.
    pub fn of(table: &Table, part: Part, present: &GridCell, found: &GridCell) -> Behind {
        Behind::in_grid(&grid(table), part, present, found)
    }

    fn in_grid(cells: &[GridCell], part: Part, present: &GridCell, found: &GridCell) -> Behind {
        let Some(best) = best(cells, part, present) else { return Behind::NothingAttains };
        match part {
            // Within the noise of one number.
            Part::Memory if found.rss > LESS_MEMORY * present.rss * 1.01 => Behind::NotAttained,
            Part::Slower if found.time > (1.0 + MORE_TIME) * present.time * 1.03 => {
                Behind::NotAttained
            }
            _ => Behind::By(wanted(part, found) / wanted(part, best) - 1.0),
        }
    }

    /// As good as the grid's best, within 3 %.
    pub fn is_good(self) -> bool {
        matches!(self, Behind::By(part) if part <= 0.03)
    }
}

impl std::fmt::Display for Behind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Behind::By(part) => write!(f, "{:+.1} %", part * 100.0),
            Behind::NotAttained => f.write_str("not attained"),
            Behind::NothingAttains => f.write_str("nothing attains it"),
        }
    }
}

/// What should be least.
fn wanted(part: Part, cell: &GridCell) -> f64 {
    match part {
        Part::Memory => cell.time,
        Part::Slower => cell.rss,
        Part::Balance | Part::Grid => cell.time * cell.rss,
    }
}

/// The best of these cells for a goal.
fn best<'a>(cells: &'a [GridCell], part: Part, present: &GridCell) -> Option<&'a GridCell> {
    let attains = |cell: &&GridCell| match part {
        Part::Memory => cell.rss <= LESS_MEMORY * present.rss,
        Part::Slower => cell.time <= (1.0 + MORE_TIME) * present.time,
        Part::Balance | Part::Grid => true,
    };
    let by = |a: &&GridCell, b: &&GridCell| wanted(part, a).total_cmp(&wanted(part, b));
    cells.iter().filter(attains).min_by(by)
}

/// How good a whole grid is, of one round, as the next round measures it: the noise of 25 single runs. The
/// number of goals for which its best is within 3 % of the other round's best, and of all.
fn rounds_against_each_other(tables: &[Table]) -> (usize, usize) {
    let (mut good, mut all) = (0, 0);
    for table in tables {
        let Some(present) = present(table) else { continue };
        let round = |number: usize| -> Vec<GridCell> {
            let of_it = |line: &&Line| line.part == Part::Grid && line.round == number;
            let cell = |line: &Line| GridCell {
                setting: line.setting,
                time: table.time(line),
                rss: line.rss as f64,
            };
            table.lines.iter().filter(of_it).map(cell).collect()
        };
        let whole = SIZES.len() * OVERHEADS.len();
        for (one, other) in [(round(0), round(1)), (round(1), round(0))] {
            if one.len() < whole || other.len() < whole {
                continue;
            }
            for part in [Part::Memory, Part::Slower, Part::Balance] {
                let chosen = best(&one, part, &present).map(|cell| cell.setting);
                let again = other.iter().find(|cell| Some(cell.setting) == chosen);
                let Some(again) = again else { continue };
                let behind = Behind::in_grid(&other, part, &present, again);
                good += usize::from(behind.is_good());
                all += usize::from(behind != Behind::NothingAttains);
            }
        }
    }
    (good, all)
}

/// What the law, fitted to o = 40 and 120 of the same s, predicts for a cell, and the cell.
struct Predicted {
    time: f64,
    rss: f64,
    /// By how much the law changes the nearer of the two measured cells.
    time_change: f64,
    rss_change: f64,
    cell: GridCell,
}

impl Predicted {
    /// Those of a table.
    fn all(table: &Table) -> Vec<Predicted> {
        let mut all = Vec::new();
        for s in SIZES {
            let of = |o| table.cell(Setting { s, o });
            let (Some(low), Some(high)) = (of(40), of(120)) else { continue };
            let time_slope = (low.time - high.time) / (work_factor(40) - work_factor(120));
            let rss_slope = (high.rss - low.rss) / 80.0;
            for cell in OVERHEADS.iter().filter(|o| ![40, 120].contains(*o)).filter_map(|&o| of(o))
            {
                let o = cell.setting.o;
                let time_change = time_slope * (work_factor(o) - work_factor(120));
                let rss_change = rss_slope * (o as f64 - 120.0);
                all.push(Predicted {
                    time: high.time + time_change,
                    rss: high.rss + rss_change,
                    time_change,
                    rss_change,
                    cell,
                });
            }
        }
        all
    }
}

/// In how many cells the law is within 10 % of what was measured.
fn predicted(table: &Table) -> (String, String) {
    let all = Predicted::all(table);
    let right = |is_right: fn(&Predicted) -> bool| {
        format!("{} of {}", all.iter().filter(|it| is_right(it)).count(), all.len())
    };
    (
        right(|it| (it.time / it.cell.time - 1.0).abs() <= 0.1),
        right(|it| (it.rss / it.cell.rss - 1.0).abs() <= 0.1),
    )
}

/// The error of the law relative to the change that it predicts, which `crates/advice` puts into its intervals. Changes of less
/// than a twentieth are left out: they are noise.
fn law_error(tables: &[Table]) -> String {
    let all: Vec<Predicted> = tables.iter().flat_map(Predicted::all).collect();
    let quantile = |errors: Vec<f64>| {
        let mut errors = errors;
        errors.sort_by(f64::total_cmp);
        let at = (errors.len() * 19).div_ceil(20).saturating_sub(1);
        match errors.get(at) {
            Some(error) => format!("{:.0} % (of {} cells)", error * 100.0, errors.len()),
            None => "?".to_owned(),
        }
    };
    let error = |predicted: f64, measured: f64, change: f64| {
        (change.abs() > measured / 20.0).then(|| ((predicted - measured) / change).abs())
    };
    let time = all.iter().filter_map(|it| error(it.time, it.cell.time, it.time_change));
    let rss = all.iter().filter_map(|it| error(it.rss, it.cell.rss, it.rss_change));
    format!(
        "Error of the law relative to the change, at 95 %: time {}, memory {}.",
        quantile(time.collect()),
        quantile(rss.collect())
    )
}

/// How far apart the promoted words of runs with the same `s` are, whatever their `o`, at most.
fn promoted(table: &Table) -> String {
    let spread = SIZES.into_iter().filter_map(|s| {
        let of_it = table.lines.iter().filter(|line| line.setting.s == s);
        let words = of_it.map(|line| line.promoted_words);
        let (least, most) =
            words.fold((u64::MAX, 0), |(least, most), words| (least.min(words), most.max(words)));
        (most > 0).then(|| (most - least) as f64 / most as f64)
    });
    match spread.max_by(f64::total_cmp) {
        Some(0.0) => "the same".to_owned(),
        Some(spread) => format!("within {:.2} %", spread * 100.0),
        None => "?".to_owned(),
    }
}

fn means(tables: &[Table], setting: Setting) -> String {
    let factors: Vec<(f64, f64)> = tables
        .iter()
        .filter_map(|table| {
            let (cell, present) = (table.cell(setting)?, table.cell(DEFAULT)?);
            Some((cell.time / present.time, cell.rss / present.rss))
        })
        .collect();
    let mean = |of: fn(&(f64, f64)) -> f64| {
        let sum: f64 = factors.iter().map(|factor| of(factor).ln()).sum();
        ((sum / factors.len() as f64).exp() - 1.0) * 100.0
    };
    match factors.is_empty() {
        true => "?".to_owned(),
        false => format!("{:+.1} / {:+.1}", mean(|f| f.0), mean(|f| f.1)),
    }
}
