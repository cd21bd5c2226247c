//! Classes, and every block on request, for scripts and spreadsheets. The JSON is described in
//! `docs/exports.md`.

use std::io::{self, Write};

use bactrian_analysis::heap::{
    ClassBy, ClassKind, Heap, MergedLimits, Visit, WORD, classes, every_block, merged_dominators,
};
use bactrian_graph::NONE;
use serde::Serialize;
use serde_json::json;

/// Version of the JSON format.
pub const HEAP_SCHEMA_VERSION: u32 = 2;

/// A row for a block.
#[derive(Serialize)]
struct BlockRow<'a> {
    number: u32,
    address: String,
    class: &'a str,
    tag: u8,
    bytes: u64,
    retained: Option<u64>,
    dominator: Option<u32>,
}

impl<'a> BlockRow<'a> {
    fn of(heap: &'a Heap, visit: &Visit<'_>) -> BlockRow<'a> {
        let number = visit.block.id.0;
        let dominators = heap.dominators();
        let dominator = dominators.parent.get(number as usize).copied();
        // Nothing holds an unreachable block.
        let dominator = dominator.filter(|dominator| *dominator != NONE);
        let retained = dominators.retained.get(number as usize).filter(|_| dominator.is_some());
        BlockRow {
            number,
            address: format!("{:#x}", visit.block.address),
            class: &heap.class(number).name,
            tag: visit.block.tag,
            bytes: visit.block.words.saturating_add(1).saturating_mul(WORD),
            retained: retained.map(|words| words.saturating_mul(WORD)),
            dominator,
        }
    }
}

/// Writes a table (RFC 4180): a row for each class, or for each block. Returns the number of classes.
pub fn csv(heap: &Heap, with_blocks: bool, out: &mut dyn Write) -> io::Result<usize> {
    let table = classes(heap, ClassBy::Type);
    if with_blocks {
        write!(out, "number,address,class,tag,bytes,retained bytes,dominator\r\n")?;
        every_block(heap, |visit| {
            let row = BlockRow::of(heap, &visit);
            let BlockRow { number, address, tag, bytes, .. } = &row;
            let [retained, dominator] = [row.retained, row.dominator.map(u64::from)]
                .map(|value| value.map_or_else(String::new, |value| value.to_string()));
            let class = quoted(row.class);
            write!(out, "{number},{address},{class},{tag},{bytes},{retained},{dominator}\r\n")
        })?;
    } else {
        write!(out, "class,place,kind,blocks,bytes,retained bytes\r\n")?;
        for row in &table.rows {
            let place = quoted(row.label.file.as_deref().unwrap_or_default());
            let retained = row.retained.map_or_else(String::new, |bytes| bytes.to_string());
            let (class, kind) = (quoted(&row.label.name), row.kind.map_or("", ClassKind::name));
            let (blocks, bytes) = (row.blocks.value, row.shallow.value);
            write!(out, "{class},{place},{kind},{blocks:.0},{bytes:.0},{retained}\r\n")?;
        }
    }
    Ok(table.rows.len())
}

fn quoted(text: &str) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    format!("\"{}\"", text.replace('"', "\"\""))
}

/// Writes JSON: classes, the merged dominator tree, and blocks on request. Returns the number of classes.
pub fn json(
    heap: &Heap,
    limits: &MergedLimits,
    with_blocks: bool,
    out: &mut dyn Write,
) -> io::Result<usize> {
    let info = heap.snapshot().info();
    let head = json!({
        "schema_version": HEAP_SCHEMA_VERSION,
        "bactrian": env!("CARGO_PKG_VERSION"),
        "program": {
            "path": info.program,
            "host": info.host,
            "pid": info.pid,
            "ocaml": info.ocaml,
            "taken": info.taken as f64 / 1e6,
        },
        "complete": heap.losses().is_clean(),
        "blocks_total": heap.blocks(),
        "bytes_held": heap.reached_words().saturating_mul(WORD),
    });
    let head = head.to_string();
    write!(out, "{},\n\"classes\":[", head.strip_suffix('}').unwrap_or(&head))?;
    let table = classes(heap, ClassBy::Type);
    let mut rows = Rows { out, is_first: true };
    for row in &table.rows {
        rows.row(&json!({
            "class": row.label.name,
            "place": row.label.file,
            "kind": row.kind,
            "blocks": row.blocks.value as u64,
            "bytes": row.shallow.value as u64,
            "retained": row.retained,
        }))?;
    }
    rows.next("dominators")?;
    for entry in merged_dominators(heap, limits) {
        rows.row(&json!({
            "parent": entry.parent,
            "what": heap.describe_merged(entry.kind),
            "own_blocks": entry.own_blocks,
            "own_bytes": entry.own_words.saturating_mul(WORD),
            "blocks": entry.blocks,
            "bytes": entry.words.saturating_mul(WORD),
        }))?;
    }
    if with_blocks {
        rows.next("blocks")?;
        every_block(heap, |visit| rows.row(&BlockRow::of(heap, &visit)))?;
    }
    writeln!(rows.out, "]}}")?;
    Ok(table.rows.len())
}

/// The elements of an array, one per line.
struct Rows<'a> {
    out: &'a mut dyn Write,
    is_first: bool,
}

impl Rows<'_> {
    fn row(&mut self, row: &impl Serialize) -> io::Result<()> {
        let comma = if std::mem::take(&mut self.is_first) { "" } else { "," };
        writeln!(self.out, "{comma}")?;
        Ok(serde_json::to_writer(&mut *self.out, row)?)
    }

    /// Ends the array and begins the next.
    fn next(&mut self, name: &str) -> io::Result<()> {
        self.is_first = true;
        write!(self.out, "],\n\"{name}\":[")
    }
}

#[cfg(test)]
mod tests {
    /// Scripts rely on the document.
    #[test]
    fn the_document_names_the_version() {
        let document = include_str!("../../../../docs/exports.md");
        let line = format!("Schema version of heaps: {}", super::HEAP_SCHEMA_VERSION);
        assert!(document.lines().any(|l| l == line), "docs/exports.md has no line `{line}`");
    }
}
