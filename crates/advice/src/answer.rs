//! The answer: what is recommended, what was measured and predicted, and what no setting can change.

use bactrian_analysis::gc_rules::{self, GcFinding};
use bactrian_analysis::units::{show_bytes, show_number, show_share};
use bactrian_ocaml::Version;
use schemars::JsonSchema;
use serde::Serialize;

use crate::choice::{Choice, Goal, cells, choose, pareto};
use crate::file::{GcResult, Run, Subject};
use crate::map::GcMap;
use crate::measurement::{Measurement, Pauses, TimeBy};
use crate::model::{Cell, Interval, Model, factor};
use crate::plan::Why;
use crate::setting::{Setting, WORD};

/// A shorter run consists mostly of the start of the process.
const NO_TIME: f64 = 0.05;
/// With a larger standard deviation, a difference of times is hard to tell from noise.
const NOISY: f64 = 0.05;
/// A prediction counts as wrong if it widened the law's error by more than this factor.
const WIDENED: f64 = 1.05;
/// The fraction of memory or time above which a sentence is worth its place.
const WORTH: f64 = 0.1;

/// The answer for one program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The version of OCaml, such as `5.3`; empty if unknown.
    pub ocaml: String,
    /// What to optimise.
    pub goal: Goal,
    /// Which time is meant.
    pub time_by: TimeBy,
    /// The fitted law.
    pub model: Model,
    /// The program's present setting.
    pub present: Cell,
    /// The recommendation in a sentence.
    pub sentence: String,
    /// The goal, in words.
    pub wanted: String,
    /// The recommendation; if there is none, [`Answer::notes`] says why.
    pub recommended: Option<Recommendation>,
    /// The runs, in order.
    pub runs: Vec<GcRunRow>,
    /// The settings that no other beats in both time and memory, by memory.
    pub front: Vec<Cell>,
    /// All settings with known or predicted values.
    pub grid: Vec<Cell>,
    /// The same as a map of `s` and `o`.
    pub map: GcMap,
    /// What the rules found in the counters of the first run.
    pub findings: Vec<GcFinding>,
    /// What no setting can change, as far as the numbers show.
    pub limits: Vec<String>,
    /// Reasons to doubt the answer.
    pub notes: Vec<String>,
}

/// A run, with its prediction.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct GcRunRow {
    /// Its purpose.
    pub why: Why,
    /// Its setting.
    pub setting: Setting,
    /// Time in seconds, as [`Answer::time_by`] says.
    pub time: f64,
    /// The interval of the time: how much equal runs differ.
    pub time_interval: Interval,
    /// Elapsed seconds.
    pub wall: f64,
    /// The peak of resident memory, in bytes.
    pub rss: u64,
    /// The interval of the memory.
    pub rss_interval: Interval,
    /// Promoted words, if known.
    pub promoted_words: Option<u64>,
    /// Minor collections.
    pub minor_collections: Option<u64>,
    /// Complete major cycles.
    pub major_collections: Option<u64>,
    /// Whether the counters are from the very end of the run.
    #[serde(rename = "exact")]
    pub is_exact: bool,
    /// Pauses.
    pub pauses: Option<Pauses>,
    /// The model's prediction before the run.
    pub predicted: Option<Cell>,
    /// Whether time and memory were in their predicted intervals; none if nothing was predicted.
    pub as_predicted: Option<bool>,
    /// The exit status, in words.
    pub status: String,
}

/// A recommended setting.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Recommendation {
    /// The setting, with its measured time and memory.
    pub choice: Choice,
    /// The run that verified it, an index of [`Answer::runs`]: the last one with this setting, if the model predicted it.
    pub verified_by: Option<usize>,
    /// Its time divided by the present time.
    pub time_factor: f64,
    /// Its memory divided by the present memory.
    pub rss_factor: f64,
    /// The value for `OCAMLRUNPARAM`.
    pub ocamlrunparam: String,
    /// A stanza for a dune file.
    pub dune: String,
    /// A call of `Gc.set` for the program itself.
    pub gc_set: String,
    /// Bytes of address space that OCaml 5 reserves for minor heaps with this setting.
    pub reservation: Option<u64>,
}

impl Answer {
    /// The answers for the programs of a result. A program without runs has none; in a file that was read, every program has
    /// runs.
    pub fn of(result: &GcResult) -> Vec<Answer> {
        result.subjects.iter().filter_map(|subject| Answer::of_subject(subject, result)).collect()
    }

    fn of_subject(subject: &Subject, result: &GcResult) -> Option<Answer> {
        let runs = subject.measurements();
        let first = runs.first()?;
        let model = Model::fit(&runs);
        let settings: Vec<Setting> = runs.iter().map(|run| run.setting).collect();
        let grid = cells(&model, &settings);
        let present = model.predict(first.setting)?;
        let mut notes = notes(&runs, &model);
        // Only a setting that was run is recommended. If the model prefers another one, a note says so.
        let measured: Vec<Cell> = grid.iter().filter(|cell| cell.is_measured).copied().collect();
        let choice = choose(&measured, &present, result.goal);
        let preferred = choose(&grid, &present, result.goal);
        if let (Some(choice), Some(preferred)) = (&choice, &preferred)
            && !preferred.cell.is_measured
            && preferred.cell.setting != choice.cell.setting
        {
            notes.push(format!(
                "the model now prefers {}, which was not run: a larger --budget would verify it",
                preferred.cell.setting
            ));
        }
        let can_recommend = runs.iter().all(Measurement::took_setting) && first.counts.is_some();
        let version = Version::parse(&subject.ocaml);
        let recommended = choice.filter(|_| can_recommend && runs.len() > 1).map(|choice| {
            let (setting, present_params) = (choice.cell.setting, &result.ocamlrunparam);
            Recommendation {
                time_factor: factor(choice.cell.time.value, present.time.value),
                rss_factor: factor(choice.cell.rss.value, present.rss.value),
                ocamlrunparam: setting.ocamlrunparam(present_params),
                dune: setting.dune(present_params),
                gc_set: setting.gc_set(),
                reservation: setting.reservation(version, present_params),
                verified_by: verification(&subject.runs, setting),
                choice,
            }
        });
        if let Some(Recommendation { choice: Choice { attains: false, .. }, .. }) = &recommended {
            notes.push(
                "no setting that was run attains the goal: this one comes nearest".to_owned(),
            );
        }
        let recommended_setting = recommended.as_ref().map(|it| it.choice.cell.setting);
        Some(Answer {
            command: subject.command.clone(),
            ocaml: subject.ocaml.clone(),
            goal: result.goal,
            time_by: model.time_by,
            present,
            sentence: sentence(recommended.as_ref()),
            wanted: result.goal.in_words(),
            recommended,
            runs: subject.runs.iter().map(|run| row(run, &model)).collect(),
            front: pareto(&grid),
            map: GcMap::of(&model, &grid, &present, recommended_setting),
            findings: gc_rules::find(&first.facts()),
            limits: limits(first, &model, version),
            notes,
            grid,
            model,
        })
    }
}

/// The last run with this setting, if its time and memory were predicted.
fn verification(runs: &[Run], setting: Setting) -> Option<usize> {
    let at = runs.iter().rposition(|run| run.measured.setting == setting)?;
    runs.get(at)?.predicted.is_some().then_some(at)
}

/// The recommendation in a sentence.
fn sentence(recommended: Option<&Recommendation>) -> String {
    let Some(Recommendation { choice, time_factor, rss_factor, .. }) = recommended else {
        return "Nothing is recommended.".to_owned();
    };
    let setting = choice.cell.setting;
    if choice.keeps_present {
        return format!(
            "Keep {setting}: no setting that was run is better by more than the noise."
        );
    }
    format!(
        "With {setting}, the program takes {} and {} than now.",
        change(*time_factor, "time"),
        change(*rss_factor, "memory")
    )
}

/// A factor in words, before `than now`.
fn change(factor: f64, of: &str) -> String {
    let change = factor - 1.0;
    let more = if change < 0.0 { "less" } else { "more" };
    format!("{} {more} {of}", show_share(change.abs()))
}

fn row(run: &Run, model: &Model) -> GcRunRow {
    let Run { why, predicted, measured } = run;
    let time = measured.time(model.time_by);
    let [time_interval, rss_interval] = model.intervals_of_run(time, measured.rss as f64);
    let counted = |of: fn(&crate::measurement::Counts) -> u64| measured.counts.as_ref().map(of);
    GcRunRow {
        why: *why,
        setting: measured.setting,
        time,
        time_interval,
        wall: measured.wall,
        rss: measured.rss,
        rss_interval,
        promoted_words: counted(|counts| counts.promoted_words),
        minor_collections: counted(|counts| counts.minor_collections),
        major_collections: counted(|counts| counts.major_collections),
        is_exact: measured.is_exact,
        pauses: measured.pauses,
        predicted: *predicted,
        as_predicted: predicted
            .map(|cell| cell.time.contains(time) && cell.rss.contains(measured.rss as f64)),
        status: measured.status.clone(),
    }
}

fn notes(runs: &[Measurement], model: &Model) -> Vec<String> {
    let mut notes = Vec::new();
    let Some(first) = runs.first() else { return notes };
    if let Some(other) = runs.iter().find(|run| run.status != first.status) {
        notes.push(format!(
            "the program did not end in the same way each time ({}; with {}: {}): do not trust the times",
            first.status, other.setting, other.status
        ));
    }
    if runs.iter().any(|run| run.output != first.output) {
        notes.push(
            "the program did not write the same output each time: it may not have done the same work"
                .to_owned(),
        );
    }
    if first.counts.is_none() {
        notes.push("the collector's counters are unknown: nothing can be recommended".to_owned());
    } else if !runs.iter().all(|run| run.is_exact) {
        notes.push(
            "a run did not end by itself: its counters were read up to 50 ms before the end"
                .to_owned(),
        );
    }
    // Other processes make a run longer, but not its processor time. Where that could not be read, it is 0.
    let busy = if first.cpu > 0.0 { first.cpu.min(first.wall) } else { first.wall };
    if busy < NO_TIME {
        notes.push(format!(
            "a run is busy for {:.0} ms, mostly to start the process: no parameter matters",
            busy * 1e3
        ));
    }
    if let Some(run) = runs.iter().find(|run| !run.took_setting()) {
        let asked = run.asked.map_or(String::new(), |asked| asked.to_string());
        notes.push(format!(
            "the program sets its parameters itself: instead of {asked}, it ran with {}. OCAMLRUNPARAM has no effect on it; change \
             its call of Gc.set",
            run.setting
        ));
    }
    if model.time_noise > NOISY {
        notes.push(format!(
            "times of equal runs differ by {}: the machine is busy, or the program varies",
            show_share(model.time_noise)
        ));
    }
    if model.widened > WIDENED {
        notes.push(format!(
            "a run was outside its predicted interval: the model was fitted again, and its intervals are {:.1} times as wide",
            model.widened
        ));
    }
    notes
}

/// What no setting can change.
fn limits(first: &Measurement, model: &Model, version: Option<Version>) -> Vec<String> {
    let mut limits = Vec::new();
    if let Some(pauses) = &first.pauses {
        let share = factor(pauses.total, first.time(model.time_by)).min(1.0);
        limits.push(format!(
            "the collector takes {} of the time: no parameter can save more",
            show_share(share)
        ));
    }
    limits.extend(model.live_bytes.into_iter().flat_map(|live| memory_limits(first, live)));
    if let Some(parts) = first.memory.filter(|parts| parts.c as f64 > WORTH * first.rss as f64) {
        limits.push(format!(
            "{} were allocated by C (bigarrays, libraries)",
            show_bytes(parts.c as f64)
        ));
    }
    if let Some(counts) = &first.counts {
        let direct = counts.major_words.saturating_sub(counts.promoted_words);
        let share = factor(direct as f64, counts.major_words as f64);
        if counts.major_words > 0 && share > 0.3 {
            let marshal = match version.is_some_and(|version| version >= Version::new(5, 0)) {
                true => "large blocks, and data that Marshal reads",
                false => "large blocks",
            };
            limits.push(format!(
                "{} of the words of the major heap were allocated there directly ({marshal}): s does not change that",
                show_share(share)
            ));
        }
        if counts.dependent_bytes as f64 > WORTH * first.rss as f64 {
            limits.push(format!(
                "custom blocks hold {} outside the heap, which depends on custom_major_ratio (M), not on o",
                show_bytes(counts.dependent_bytes as f64)
            ));
        }
        if counts.forced_major_collections > 0 {
            limits.push(format!(
                "the program itself requests {}",
                show_number(counts.forced_major_collections, "major collection")
            ));
        }
    }
    limits
}

/// What no setting can change in the peak of memory, if `live` are the live bytes that the law was fitted to.
///
/// The law holds for a heap in a steady state. The memory of a program that only accumulates data hardly depends on `o`, so the
/// fit finds next to nothing alive, and the heap itself shows how much there is.
fn memory_limits(first: &Measurement, live: f64) -> Vec<String> {
    let (overhead, rss) = (first.setting.o as f64 / 100.0, first.rss as f64);
    let counted = first.counts.map_or(0, |counts| counts.top_heap_words * WORD) as f64;
    let heap = if counted > 0.0 { counted } else { live * (1.0 + overhead) };
    let fixed = heap - live * overhead;
    let mut limits = Vec::new();
    if fixed > WORTH * heap {
        limits.push(format!(
            "{} of the heap ({} at its peak) are alive or fragmented whatever o is: `bactrian snapshot` and `bactrian heap roots` show \
             what holds them",
            show_bytes(fixed),
            show_bytes(heap)
        ));
    }
    let outside = rss - heap - (first.setting.s * WORD) as f64;
    if outside > WORTH * rss {
        limits.push(format!(
            "{} of {} are outside the OCaml heap: code, stacks, C memory",
            show_bytes(outside),
            show_bytes(rss)
        ));
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::tests::result;
    use crate::model::tests::Lawful;

    const K256: u64 = 262_144;

    fn answer(goal: Goal, runs: Vec<Measurement>) -> Answer {
        Answer::of(&result(goal, runs)).pop().expect("there are runs")
    }

    fn runs() -> Vec<Measurement> {
        let program = Lawful::USUAL;
        vec![
            program.run(K256, 120),
            program.run(K256, 40),
            program.run(1 << 20, 120),
            program.run(1 << 20, 200),
        ]
    }

    #[test]
    fn the_recommended_setting_was_run() {
        for goal in [Goal::Memory(150_000_000), Goal::Slower(0.05), Goal::Balance] {
            let answer = answer(goal, runs());
            let recommended = answer.recommended.expect("something is");
            assert!(recommended.choice.cell.is_measured, "{goal:?}");
            assert!(recommended.ocamlrunparam.starts_with("b,s="), "{recommended:?}");
            assert!(recommended.reservation.is_some_and(|bytes| bytes >= 1 << 28));
        }
    }

    #[test]
    fn runs_that_differ_are_reported() {
        let mut other = runs();
        other[1].status = "exit status: 2".to_owned();
        other[2].output = [9, 9];
        let notes = answer(Goal::Balance, other).notes.join("\n");
        assert!(
            notes.contains("exit status: 2") && notes.contains("same output each time"),
            "{notes}"
        );
        let notes = answer(Goal::Balance, runs()).notes.join("\n");
        assert!(!notes.contains("same"), "{notes}");
    }

    #[test]
    fn a_program_that_sets_its_own_parameters_gets_no_recommendation() {
        let mut own = runs();
        own[2].setting = own[0].setting;
        let answer = answer(Goal::Balance, own);
        assert!(answer.recommended.is_none());
        assert!(answer.notes.iter().any(|note| note.contains("Gc.set")), "{:?}", answer.notes);
    }

    #[test]
    fn limits_of_tuning_have_numbers() {
        let mut all = runs();
        all[0].pauses = Some(Pauses { total: 0.6, ..Pauses::default() });
        let limits = answer(Goal::Balance, all).limits.join("\n");
        assert!(limits.contains("the collector takes 2"), "{limits}");
        assert!(limits.contains("50.0 MB of the heap (110 MB at its peak) are alive"), "{limits}");
        assert!(limits.contains("20.0 MB of"), "{limits}");
    }

    #[test]
    fn data_that_accumulates_counts_as_alive_although_memory_does_not_follow_o() {
        let growing = |o| {
            let mut run = Lawful { live: 0.0, fixed: 70e6, ..Lawful::USUAL }.run(K256, o);
            run.counts.as_mut().expect("counts").top_heap_words = 60_000_000 / WORD;
            run
        };
        let limits = answer(Goal::Balance, vec![growing(120), growing(40)]).limits.join("\n");
        assert!(limits.contains("60.0 MB of the heap (60.0 MB at its peak) are alive"), "{limits}");
        assert!(limits.contains("10.0 MB of 72.1 MB are outside"), "{limits}");
    }
}
