//! The questions that the page asks, by name. Each is answered by one function, from what `analysis` says.

mod files;
mod heap;
mod live;
mod overview;
mod series;
mod trace;

use crate::answer::{Answer, Failure};
use crate::evidence::Evidence;
use crate::query::Query;

/// Answers one kind of question.
pub type Function = fn(&Evidence, &Query) -> Result<Answer, Failure>;

/// Names of questions and who answers them, room by room.
const ROOMS: &[&[(&str, Function)]] = &[
    files::QUESTIONS,
    overview::QUESTIONS,
    trace::QUESTIONS,
    heap::QUESTIONS,
    series::QUESTIONS,
    live::QUESTIONS,
];

/// Who writes down what a report has of each room.
const REPORTED: &[fn(&Evidence) -> Vec<Question>] = &[
    files::reported,
    overview::reported,
    trace::reported,
    heap::reported,
    series::reported,
    live::reported,
];

/// Something that the page asks for, so that a report should have its answer.
#[derive(Clone, Debug)]
pub struct Question {
    /// Its name.
    pub name: &'static str,
    /// Its parameters, as the page would write them.
    pub query: Query,
    /// What it shows, for people: said if there is no room for it.
    pub what: String,
    /// Those with a lower rank are taken first: 0 is what every page needs, 1 the first picture of a view, 2 what one click
    /// leads to, 3 the rest.
    pub rank: u8,
}

/// Answers a question.
///
/// # Errors
/// There is no such question, it is wrong, or it cannot be answered.
pub fn answer(evidence: &Evidence, name: &str, query: &Query) -> Result<Answer, Failure> {
    let mut all = ROOMS.iter().flat_map(|room| room.iter());
    match all.find(|(known, _)| *known == name) {
        Some((_, function)) => function(evidence, query),
        None => Err(Failure::Unknown(format!("{name}: there is no such question"))),
    }
}

/// What a report of these files has the answers of, the most wanted first.
pub fn reported(evidence: &Evidence) -> Vec<Question> {
    let mut all: Vec<Question> = REPORTED.iter().flat_map(|room| room(evidence)).collect();
    all.sort_by_key(|question| question.rank);
    all
}
