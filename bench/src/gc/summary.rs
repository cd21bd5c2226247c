//! What the tables say: whether the recommendation is as good as the grid's best, whether the law predicts, and the grid's means.

use bactrian_advice::model::work_factor;
use bactrian_advice::setting::{Setting, short_words};

use super::table::{GridCell, Line, Part, Table, median};
use super::{OVERHEADS, SIZES};
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
        let [memory, slower, balance] = goals.map(|part| behind_best(table, part));
        let (time, rss) = predicted(table);
        println!(
            "| {} | {} | {memory} | {slower} | {balance} | {time} | {rss} | {} |",
            table.name,
            runs.map(|count| count.to_string()).join(", "),
            promoted(table),
        );
    }
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

/// How far the recommendation is behind the grid's best for its goal, by medians where the grid has its setting.
fn behind_best(table: &Table, part: Part) -> String {
    let of_it: Vec<&Line> =
        table.lines.iter().filter(|line| line.part == part && line.is_recommended).collect();
    let Some(present) = table.cell(DEFAULT) else { return "?".to_owned() };
    let (Some(time), Some(rss)) = (
        median(of_it.iter().map(|line| table.time(line))),
        median(of_it.iter().map(|line| line.rss as f64)),
    ) else {
        return "?".to_owned();
    };
    let cells = grid(table);
    let within = |limit: f64, of: fn(&GridCell) -> f64, number: fn(&GridCell) -> f64| {
        let within = cells.iter().filter(|cell| of(cell) <= limit).map(number);
        within.min_by(f64::total_cmp)
    };
    let (best, reached, attains) = match part {
        Part::Memory => {
            let limit = 0.9 * present.rss;
            (within(limit, |c| c.rss, |c| c.time), time, rss <= limit)
        }
        Part::Slower => {
            let limit = 1.05 * present.time;
            (within(limit, |c| c.time, |c| c.rss), rss, time <= limit * 1.03)
        }
        Part::Balance | Part::Grid => {
            (within(f64::INFINITY, |c| c.time, |c| c.time * c.rss), time * rss, true)
        }
    };
    match best {
        Some(best) if attains => format!("{:+.1} %", (reached / best - 1.0) * 100.0),
        Some(_) => "not attained".to_owned(),
        None => "nothing attains it".to_owned(),
    }
}

/// In how many cells the law, fitted to o = 40 and 120 of each s, is within 10 % of what was measured.
fn predicted(table: &Table) -> (String, String) {
    let (mut time_right, mut rss_right, mut all) = (0, 0, 0);
    for s in SIZES {
        let of = |o| table.cell(Setting { s, o });
        let (Some(low), Some(high)) = (of(40), of(120)) else { continue };
        for cell in OVERHEADS.iter().filter(|o| ![40, 120].contains(*o)).filter_map(|&o| of(o)) {
            let o = cell.setting.o;
            let work = |o| work_factor(o);
            let slope = (low.time - high.time) / (work(40) - work(120));
            let time = high.time + slope * (work(o) - work(120));
            let rss = high.rss + (high.rss - low.rss) / 80.0 * (o as f64 - 120.0);
            all += 1;
            time_right += u32::from((time / cell.time - 1.0).abs() <= 0.1);
            rss_right += u32::from((rss / cell.rss - 1.0).abs() <= 0.1);
        }
    }
    (format!("{time_right} of {all}"), format!("{rss_right} of {all}"))
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
