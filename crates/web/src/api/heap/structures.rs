//! What the heap is made of: equal structures, collections, all of it as a graph.

use bactrian_analysis::heap::{self, AroundQuestion, MOST_SETS, NO_TABLE};

use super::asking::{Asking, not_found};
use crate::answer::{Answer, Failure};
use crate::evidence::Evidence;
use crate::query::Query;

pub fn duplicates(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let mut asking = Asking::new(evidence, query, "duplicates")?;
    let limit = asking.number("number", 20)?;
    let duplicates = heap::told_duplicates(asking.heap, limit);
    asking.answer(duplicates)
}

pub fn collections(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let mut asking = Asking::new(evidence, query, "collections")?;
    let limit = asking.number("number", 20)?;
    let collections = heap::told_collections(asking.heap, limit);
    let collections = collections.ok_or_else(|| Failure::Wrong(NO_TABLE.to_owned()))?;
    asking.answer(collections)
}

/// All of the heap in a few sets, or what is around a block.
pub fn graph(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let mut asking = Asking::new(evidence, query, "graph")?;
    let centre = asking.text("around");
    let most = asking.number("nodes", 50)?;
    if !(1..=MOST_SETS).contains(&most) {
        return Err(Failure::Wrong(format!("nodes is a number from 1 to {MOST_SETS}")));
    }
    let Some(centre) = centre else {
        let reduced = heap::reduced(asking.heap, most);
        return asking.answer(reduced);
    };
    let steps = asking.number("steps", 2)?;
    let centre = asking.heap.find_node(centre).map_err(not_found)?;
    let around = heap::around(asking.heap, &AroundQuestion { centre, steps, most });
    asking.answer(around)
}
