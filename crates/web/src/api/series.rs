//! `series`: how the heap evolves over all snapshots that are shown.

use bactrian_analysis::heap::{
    ClassBy, EvolutionFilter, EvolutionOrder, EvolutionQuestion, EvolutionUnit, HeapSums,
    evolution, evolution_names,
};
use serde_json::json;

use super::{Function, Question};
use crate::answer::{Answer, Failure};
use crate::command_line::CommandLine;
use crate::evidence::Evidence;
use crate::query::Query;

pub const QUESTIONS: &[(&str, Function)] = &[("series", series), ("series/names", names)];

/// So many rows are told one by one, unless another number is asked for.
const FIRST: usize = 20;
/// And never more than this.
const MOST: usize = 200;
/// So many names complete what is typed.
const NAMES: usize = 30;

fn series(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let (files, sums) = in_order(evidence)?;
    let question = question(query, sums.len())?;
    let answer = evolution(&sums, &question);
    let notes: Vec<String> = answer.notes.iter().map(|&note| note.to_owned()).collect();
    let lost = files.iter().zip(&sums).flat_map(|(&at, sums)| {
        let name = evidence.files()[at].path.display().to_string();
        sums.losses().sentences().into_iter().map(move |sentence| format!("{name}: {sentence}"))
    });
    let command = command(evidence, &files, query);
    Ok(Answer::new(command, answer)?.with_notes(notes).with_notes(lost.collect::<Vec<_>>()))
}

/// Completion of what is typed: names of rows, the first in the order that is asked for first.
fn names(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let (_, sums) = in_order(evidence)?;
    let question = question(query, sums.len())?;
    let text = query.get("like").unwrap_or_default();
    Answer::of_page(json!({ "names": evolution_names(&sums, &question, text, NAMES) }))
}

/// All snapshots in the order in which they were taken: their places, and what is counted of them.
fn in_order(evidence: &Evidence) -> Result<(Vec<usize>, Vec<&HeapSums>), Failure> {
    let mut all = Vec::new();
    for at in evidence.snapshots() {
        all.push((at, evidence.sums(at)?.1));
    }
    all.sort_by(|(_, one), (_, other)| one.point().taken.total_cmp(&other.point().taken));
    Ok(all.into_iter().unzip())
}

fn question(query: &Query, snapshots: usize) -> Result<EvolutionQuestion, Failure> {
    let wrong = |name: &str, text: &str| Failure::Wrong(format!("{name}={text} is not understood"));
    let text = |name: &str| query.get(name).map(str::to_owned);
    let number = query.read_or("n", FIRST)?;
    Ok(EvolutionQuestion {
        by: match query.get("by").unwrap_or("type") {
            "type" => ClassBy::Type,
            "module" => ClassBy::Module,
            "function" => ClassBy::Function,
            "site" => ClassBy::Site,
            other => return Err(wrong("by", other)),
        },
        filter: EvolutionFilter {
            class: text("type"),
            module: text("module"),
            function: text("function"),
            site: text("site"),
        },
        unit: match query.get("unit").unwrap_or("bytes") {
            "bytes" | "words" => EvolutionUnit::Bytes,
            "blocks" => EvolutionUnit::Blocks,
            other => return Err(wrong("unit", other)),
        },
        order: match query.get("sort").unwrap_or("average") {
            "average" => EvolutionOrder::Average,
            "growth" => EvolutionOrder::Growth,
            place => match place.parse::<usize>() {
                Ok(place) if (1..=snapshots).contains(&place) => EvolutionOrder::At(place - 1),
                _ => return Err(wrong("sort", place)),
            },
        },
        number: if number == 0 { MOST } else { number.min(MOST) },
        also: query
            .iter()
            .filter(|(name, _)| *name == "also")
            .take(MOST)
            .map(|(_, value)| value.to_owned())
            .collect(),
    })
}

fn command(evidence: &Evidence, files: &[usize], query: &Query) -> CommandLine {
    let mut command = CommandLine::new("heap evolution");
    for &at in files {
        command = command.file(&evidence.files()[at].path);
    }
    for name in ["by", "type", "module", "function", "site", "unit", "sort"] {
        if let Some(value) = query.get(name) {
            command = command.option(name, value);
        }
    }
    for (_, value) in query.iter().filter(|(name, _)| *name == "also") {
        command = command.option("also", value);
    }
    match query.get("n") {
        Some(number) => command.option("number", number),
        None => command,
    }
}

/// Each way to tell blocks apart, and from the largest module and function the way down.
pub fn reported(evidence: &Evidence) -> Vec<Question> {
    if evidence.snapshots().len() < 2 {
        return Vec::new();
    }
    let mut questions = vec![ask(&[], 1)];
    questions.extend(["module", "function", "site"].map(|by| ask(&[("by", by)], 1)));
    for by in ["type", "module", "function", "site"] {
        let by = if by == "type" { None } else { Some(("by", by)) };
        for other in [("sort", "growth"), ("unit", "blocks"), ("unit", "words")] {
            let pairs: Vec<_> = by.into_iter().chain([other]).collect();
            questions.push(ask(&pairs, 2));
        }
    }
    questions.extend(way_down(evidence));
    questions
}

fn ask(pairs: &[(&str, &str)], rank: u8) -> Question {
    Question {
        name: "series",
        query: Query::of(pairs.iter().copied()),
        what: "how the heap evolves over snapshots".to_owned(),
        rank,
    }
}

/// So many rows of each picture can be clicked in a report.
const CLICKABLE: usize = 5;

fn way_down(evidence: &Evidence) -> Vec<Question> {
    let Ok((_, sums)) = in_order(evidence) else { return Vec::new() };
    let rows = |by: ClassBy, filter: &EvolutionFilter| -> Vec<String> {
        let question = EvolutionQuestion {
            by,
            filter: filter.clone(),
            unit: EvolutionUnit::Bytes,
            order: EvolutionOrder::Average,
            number: CLICKABLE,
            also: Vec::new(),
        };
        evolution(&sums, &question).rows.into_iter().map(|row| row.title).collect()
    };
    let mut questions = Vec::new();
    for module in rows(ClassBy::Module, &EvolutionFilter::default()) {
        questions.push(ask(&[("by", "function"), ("module", &module)], 2));
        let mut filter =
            EvolutionFilter { module: Some(module.clone()), ..EvolutionFilter::default() };
        for function in rows(ClassBy::Function, &filter) {
            let within = [("module", &*module), ("function", &*function)];
            questions.push(ask(&[[("by", "site")].as_slice(), &within].concat(), 3));
            filter.function = Some(function.clone());
            for site in rows(ClassBy::Site, &filter) {
                questions.push(ask(&[within.as_slice(), &[("site", &*site)]].concat(), 3));
            }
            filter.function = None;
        }
    }
    questions
}
