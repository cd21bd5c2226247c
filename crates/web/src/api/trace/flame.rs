//! Flame graphs: `trace/flame`, `trace/around` a function, and `trace/diff-flame` of two traces.

use bactrian_analysis::{self as analysis, By, Flame, Pattern, Profile};

use super::{Asked, by_of, recursion_of, tables};
use crate::answer::{Answer, Failure};
use crate::command_line::CommandLine;
use crate::evidence::Evidence;
use crate::query::Query;

/// Frames with a smaller share are not seen.
const LEAST_SHARE: f64 = 0.0005;

fn min_share(query: &Query) -> Result<f64, Failure> {
    let share: f64 = query.read_or("min", LEAST_SHARE)?;
    match (0.0..=1.0).contains(&share) {
        true => Ok(share),
        false => Err(Failure::Wrong("min is a share, from 0 to 1".to_owned())),
    }
}

fn profile(asked: &Asked<'_>, query: &Query, by: By) -> Profile {
    asked.questions.profile(&asked.filter, by, recursion_of(query), &[asked.measure])
}

fn notes(asked: &Asked<'_>, profile: &Profile) -> Vec<String> {
    let column = profile.first();
    let mut notes = asked.notes(&profile.losses, Some(&column.estimate(column.total())));
    if profile.tree.cut() > 0 {
        notes.push("there are too many different stacks: some are shown cut".to_owned());
    }
    notes
}

pub fn flame(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asked = Asked::read(evidence, query)?;
    let (_, by) = by_of(query, ("function", By::Function))?;
    let at = query.read_or("at", 0)?;
    let profile = profile(&asked, query, by);
    let flame = Flame::new(&profile, at, min_share(query)?);
    let flame = flame.ok_or_else(|| Failure::Wrong(format!("at={at}: there is no such stack")))?;
    let answer = match by {
        By::Function => {
            let command = asked.command("flame").option("output", "flame.svg");
            let command = command.flag("recursion", query.has("recursion"));
            Answer::new(asked.with_filters(asked.with_metric(command)), flame)
        }
        By::Site => Answer::new(tree_command(&asked, query, None, by), flame),
        _ => Answer::of_page(flame),
    };
    Ok(answer?.with_notes(notes(&asked, &profile)))
}

pub fn around(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asked = Asked::read(evidence, query)?;
    let (_, by) = by_of(query, ("function", By::Function))?;
    let focus = query.need("focus")?;
    let pattern =
        Pattern::parse(focus).map_err(|error| Failure::Wrong(format!("focus={focus}: {error}")))?;
    let profile = profile(&asked, query, by);
    let around = analysis::around(&profile, &pattern, min_share(query)?);
    let answer = match by {
        By::Function | By::Site if !focus.starts_with('-') => {
            Answer::new(tree_command(&asked, query, Some(focus), by), around)
        }
        _ => Answer::of_page(around),
    };
    Ok(answer?.with_notes(notes(&asked, &profile)))
}

fn tree_command(asked: &Asked<'_>, query: &Query, focus: Option<&str>, by: By) -> CommandLine {
    let command = asked.command("tree");
    let command = focus.map_or(command.clone(), |focus| command.word(focus));
    let command = command.flag("sites", by == By::Site);
    let command = command.flag("recursion", query.has("recursion"));
    asked.with_filters(asked.with_metric(command))
}

pub fn diff_flame(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asked = Asked::read(evidence, query)?;
    let (_, before) = evidence.questions(tables::with(query)?)?;
    let (_, by) = by_of(query, ("function", By::Function))?;
    let before = before.profile(&asked.filter, by, recursion_of(query), &[asked.measure]);
    let after = profile(&asked, query, by);
    let flame = Flame::of_both(&before, &after, min_share(query)?);
    let mut said = before.losses.sentences();
    said.extend(notes(&asked, &after));
    Ok(Answer::of_page(flame)?.with_notes(said))
}
