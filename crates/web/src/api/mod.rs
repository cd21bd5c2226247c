//! The questions that the page asks, by name: those of `analysis`, and a few that only the page has.

mod files;
mod live;

use bactrian_analysis::question::{QuestionError, RawParameters, find};

use crate::answer::Answer;
use crate::evidence::Evidence;
use crate::query::Query;

/// Answers one kind of question.
pub type Function = fn(&Evidence, &Query) -> Result<Answer, QuestionError>;

/// Questions that are about what is shown, not about evidence.
const OF_THE_PAGE: &[&[(&str, Function)]] = &[files::QUESTIONS, live::QUESTIONS];

/// Answers a question.
///
/// # Errors
/// There is no such question, it is wrong, or it cannot be answered.
pub fn answer(evidence: &Evidence, name: &str, query: &Query) -> Result<Answer, QuestionError> {
    let mut of_the_page = OF_THE_PAGE.iter().flat_map(|room| room.iter());
    if let Some((_, function)) = of_the_page.find(|(known, _)| *known == name) {
        return function(evidence, query);
    }
    Ok(find(name)?.ask(evidence, RawParameters::Pairs(query.pairs()))?.into())
}
