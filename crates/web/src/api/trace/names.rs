//! `trace/names`: names of functions and files, for completion.

use super::Asked;
use crate::answer::{Answer, Failure};
use crate::evidence::Evidence;
use crate::query::Query;

const MOST: usize = 20;

pub fn names(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asked = Asked::read(evidence, query)?;
    Answer::of_page(asked.questions.names(query.get("prefix").unwrap_or_default(), MOST))
}
