//! Single blocks, and what a text that somebody types stands for.

use bactrian_analysis::heap::{self, Found, ValueLimits};
use serde_json::json;

use super::asking::Asking;
use super::asking::not_found;
use crate::answer::{Answer, Failure};
use crate::evidence::Evidence;
use crate::query::Query;

/// Names of classes that are told of a text that is part of many.
const MOST_NAMES: usize = 50;

pub fn show(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let mut asking = Asking::new(evidence, query, "show")?;
    let block = asking.operand("block")?;
    let node = asking.heap.find_node(block).map_err(not_found)?;
    let limit = asking.number("number", 20)?;
    let limits =
        ValueLimits { depth: asking.number("depth", 4)?, items: asking.number("items", 10)? };
    let shown = heap::show(asking.heap, node, limit, &limits);
    asking.answer(shown)
}

/// A block or root, or classes by their names; only the page asks for it.
pub fn find(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asking = Asking::new(evidence, query, "show")?;
    match asking.find(query.need("what")?)? {
        Found::Node(node) => Answer::of_page(json!({ "node": node })),
        Found::Classes(classes) => {
            let all = asking.heap.classes();
            let named = classes.iter().filter_map(|&class| all.get(class as usize));
            let names: Vec<&str> = named.take(MOST_NAMES).map(|class| &*class.name).collect();
            Answer::of_page(json!({ "classes": names, "class_count": classes.len() }))
        }
    }
}
