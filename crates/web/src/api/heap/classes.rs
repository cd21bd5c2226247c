//! Blocks by type, tag and place of allocation; fields of types.

use bactrian_analysis::heap::{self, ClassBy, ClassFilter, ClassSort};

use super::asking::{Asking, not_found};
use crate::answer::{Answer, Failure};
use crate::evidence::Evidence;
use crate::query::Query;

pub fn classes(evidence: &Evidence, query: &Query, by: ClassBy) -> Result<Answer, Failure> {
    let verb = match by {
        ClassBy::Type => "types",
        ClassBy::Tag => "tags",
        ClassBy::Site => "sites",
        ClassBy::Function => "functions",
        ClassBy::Module => "modules",
    };
    let mut asking = Asking::new(evidence, query, verb)?;
    let classes = asking.text("type").map(|text| asking.heap.find_classes(text)).transpose();
    let filter = ClassFilter {
        classes: classes.map_err(not_found)?,
        module: asking.text("module").map(str::to_owned),
        function: asking.text("function").map(str::to_owned),
        site: asking.text("site").map(str::to_owned),
    };
    let sort = match asking.text("sort") {
        None | Some("shallow") => ClassSort::Shallow,
        Some("dominated") => ClassSort::Dominated,
        Some("blocks") => ClassSort::Blocks,
        Some(other) => return Err(Failure::Wrong(format!("sort={other} is not understood"))),
    };
    let limit = asking.number("number", 20)?;
    let table = heap::told_classes(asking.heap, by, &filter, sort, limit);
    let note = table.table.note.map(str::to_owned);
    Ok(asking.answer(table)?.with_notes(note))
}

pub fn fields(evidence: &Evidence, query: &Query) -> Result<Answer, Failure> {
    let mut asking = Asking::new(evidence, query, "fields")?;
    let classes = asking.operand("type")?;
    let classes = asking.heap.find_classes(classes).map_err(not_found)?;
    let limit = asking.number("number", 20)?;
    let fields = heap::told_fields(asking.heap, &classes, limit);
    asking.answer(fields)
}
