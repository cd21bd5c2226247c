//! Who holds what: roots, dominators, paths, finalisers.

use bactrian_analysis::heap::{self, DominatorsQuestion, RootsQuestion, ShapesQuestion};

use super::asking::{Asking, not_found};
use crate::answer::{Answer, Failure};
use crate::evidence::Evidence;
use crate::query::Query;

pub fn roots(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let mut asking = Asking::new(evidence, query, "roots")?;
    let depth = asking.number("depth", 2)?;
    if !(1..=3).contains(&depth) {
        return Err(Failure::Wrong("roots have one to three levels".to_owned()));
    }
    let limit = asking.number("number", 10)?;
    let roots = heap::roots(asking.heap, &RootsQuestion { depth, limit });
    asking.answer(roots)
}

/// What roots point to, for the page, while the rest is computed.
pub fn first_roots(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asking = Asking::new(evidence, query, "roots")?;
    Answer::of_page(heap::first_roots(asking.heap, 10))
}

pub fn dominators(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let mut asking = Asking::new(evidence, query, "dominators")?;
    let of = asking.text("of").map(|text| asking.find(text)).transpose()?;
    let question = DominatorsQuestion {
        of,
        below: asking.texts("below"),
        by_block: asking.flag("blocks"),
        depth: asking.number("depth", 7)?,
        limit: asking.number("number", 10)?,
        min_share: asking.percentage("min-share", 1.0)?,
    };
    let tree = heap::dominators(asking.heap, &question).map_err(not_found)?;
    asking.answer(tree)
}

pub fn paths(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let mut asking = Asking::new(evidence, query, "paths")?;
    let of = asking.operand("what")?;
    let of = asking.find(of)?;
    let question = ShapesQuestion {
        limit: asking.number("number", 10)?,
        depth: asking.number("depth", 20)?,
        min_share: asking.percentage("min-share", 1.0)?,
    };
    let paths = heap::told_paths(asking.heap, &of, &question);
    asking.answer(paths)
}

pub fn finalisers(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let asking = Asking::new(evidence, query, "finalisers")?;
    let finalisers = heap::finalisers(asking.heap);
    asking.answer(finalisers)
}
