//! Reads a whole snapshot back into the plain form that it was made from.

use bactrian_snapshot::*;

use crate::heaps::{Heap, Known};

/// Reads a whole snapshot back.
pub fn read(snapshot: &Snapshot) -> Result<Heap> {
    let mut blocks = Vec::new();
    for index in 0..snapshot.groups().len() {
        let group = snapshot.group(index)?;
        let start = blocks.len();
        blocks.extend(group.blocks().iter().map(|&block| Known {
            block,
            fields: Vec::new(),
            closure: None,
            custom: None,
            text: None,
            equal: None,
        }));
        let first = group.facts().first;
        let at = |block: BlockId| start + (block.0 - first.0) as usize;
        for field in group.fields()?.iter() {
            let Field { block, index, value } = field?;
            blocks[at(block)].fields.push((index, value));
        }
        for closure in group.closures()? {
            let at = at(closure.block);
            blocks[at].closure = Some(closure);
        }
        for custom in group.customs()? {
            blocks[at(custom.block)].custom = Some(custom);
        }
        for text in group.strings()? {
            let at = at(text.block);
            blocks[at].text = Some(text);
        }
        for Equal { block, first } in group.equals()? {
            blocks[at(block)].equal = Some(first);
        }
    }
    let (columns, info) = (*snapshot.columns(), snapshot.info().clone());
    Ok(Heap { columns, info, blocks, tables: snapshot.tables().clone() })
}
