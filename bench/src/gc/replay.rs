//! Plays the advisor against the tables that are kept: what it wants to run is looked up in the grid. This takes no time and has no
//! noise of its own, so it shows what a change of the plan is worth; whether the plan is good, the measured runs say.

use bactrian_advice::measurement::{Counts, Measurement};
use bactrian_advice::model::work_factor;
use bactrian_advice::plan::{Budget, next};
use bactrian_advice::setting::{Setting, WORD};

use super::summary::{Behind, present};
use super::table::{GridCell, Part, Table};
use super::{OVERHEADS, SIZES, goals_of, recommended};
use xtask::Outcome;

pub fn print(tables: &[Table]) -> Outcome {
    println!("| program | memory ≤ 90 % | time ≤ 105 % | time × memory |");
    println!("|---|--:|--:|--:|");
    let (mut good, mut all) = (0, 0);
    for table in tables {
        let Some(played) = play(table) else { continue };
        println!("| {} | {} |", table.name, played.each_ref().map(Played::shown).join(" | "));
        good += played.iter().filter(|it| it.behind.is_good()).count();
        all += played.iter().filter(|it| it.behind != Behind::NothingAttains).count();
    }
    println!("\n{good} of {all} within 3 % of the grid's best.");
    Ok(())
}

struct Played {
    setting: Setting,
    behind: Behind,
}

impl Played {
    fn shown(&self) -> String {
        format!("{} with {}", self.behind, self.setting)
    }
}

/// What is recommended for each goal; none if the grid is incomplete, or does not contain the present setting.
fn play(table: &Table) -> Option<[Played; 3]> {
    let present = present(table)?;
    let is_whole =
        SIZES.iter().all(|&s| OVERHEADS.iter().all(|&o| table.cell(Setting { s, o }).is_some()));
    if !is_whole || !SIZES.contains(&present.setting.s) {
        return None;
    }
    // The grid's own, as everything else here.
    let present = look_up(table, present.setting)?;
    Some(goals_of(present.rss).map(|(part, goal)| {
        let mut runs: Vec<Measurement> = Vec::new();
        while let Some(next) = next(&runs, goal, Budget { runs: 6, seconds: 1e9 }) {
            let setting = next.setting.unwrap_or(present.setting);
            runs.extend(run(table, setting));
        }
        let setting = recommended(&runs, goal).unwrap_or(present.setting);
        let cell = look_up(table, setting).unwrap_or(present);
        let behind = Behind::of(table, part, &present, &cell);
        Played { setting, behind }
    }))
}

fn run(table: &Table, setting: Setting) -> Option<Measurement> {
    let cell = look_up(table, setting)?;
    let nearest = table.lines.iter().filter(|line| line.part == Part::Grid).min_by_key(|line| {
        (line.setting.s.abs_diff(setting.s), line.setting.o.abs_diff(setting.o))
    })?;
    Some(Measurement {
        asked: Some(setting),
        setting,
        wall: cell.time,
        cpu: cell.time,
        rss: cell.rss as u64,
        status: String::new(),
        output: [0, 0],
        is_exact: true,
        counts: Some(Counts {
            minor_words: nearest.minor_collections * nearest.setting.s,
            promoted_words: nearest.promoted_words,
            major_words: nearest.major_words,
            minor_collections: nearest.minor_collections,
            major_collections: nearest.major_collections,
            top_heap_words: nearest.top_heap_words,
            domains: nearest.domains,
            ..Counts::default()
        }),
        pauses: None,
        memory: None,
        samples: Vec::new(),
    })
}

/// Time and memory, between the cells of the grid or continued from the nearest two: time is linear in the work of the collector,
/// memory in `o`. A larger minor heap than the grid's takes its own memory, and no less time.
fn look_up(table: &Table, setting: Setting) -> Option<GridCell> {
    let largest = *SIZES.last()?;
    let s = SIZES.into_iter().filter(|&s| s <= setting.s).max().unwrap_or(SIZES[0]);
    let above = OVERHEADS.into_iter().position(|o| o >= setting.o).unwrap_or(OVERHEADS.len());
    let above = above.clamp(1, OVERHEADS.len() - 1);
    let cell = |o: u64| table.cell(Setting { s, o });
    let (low, high) = (cell(OVERHEADS[above - 1])?, cell(OVERHEADS[above])?);
    let between = |of: fn(&GridCell) -> f64, x: fn(u64) -> f64| {
        let slope = (of(&high) - of(&low)) / (x(high.setting.o) - x(low.setting.o));
        of(&low) + slope * (x(setting.o) - x(low.setting.o))
    };
    let more = (setting.s.saturating_sub(largest) * WORD) as f64;
    Some(GridCell {
        setting,
        time: between(|cell| cell.time, work_factor).max(0.01),
        rss: between(|cell| cell.rss, |o| o as f64) + more,
    })
}
