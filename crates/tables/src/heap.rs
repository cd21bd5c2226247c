//! The tables of a heap. Blocks are read from the snapshot group by group and joined with data from the graph.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, OnceLock};

use bactrian_analysis::heap::{ClassKind, Heap, SoleRoots, Visit, blocks_of};
use bactrian_graph::{NONE, Node};
use bactrian_snapshot::Block;

use crate::batch::{Columns, Values};
use crate::schema::{self, Table};
use crate::{Scan, Sink, Tables};

const WORD: u64 = 8;
/// The batch size of tables that are not read in groups.
const BATCH: usize = 1 << 16;
/// The values of [`Heap::space`], and one for everything else.
const SPACES: [&str; 4] = ["minor", "major", "static", "unknown"];

/// The tables of a heap.
pub struct HeapTables {
    heap: Arc<Heap>,
    /// The names of classes.
    classes: Arc<[Arc<str>]>,
    roots: OnceLock<Roots>,
    sampled: OnceLock<HashMap<Node, Sampled>>,
}

/// Which root alone holds each block.
struct Roots {
    of: SoleRoots,
    names: Arc<[Arc<str>]>,
}

/// What a block's sample says.
struct Sampled {
    site: Option<Arc<str>>,
    age: Option<f64>,
}

impl HeapTables {
    /// The tables of a heap.
    pub fn new(heap: Arc<Heap>) -> HeapTables {
        let classes = heap.classes().iter().map(|class| class.title().into()).collect();
        HeapTables { heap, classes, roots: OnceLock::new(), sampled: OnceLock::new() }
    }

    fn class(&self, node: Node) -> u32 {
        self.heap.class_of().get(node as usize).copied().unwrap_or(0)
    }

    fn dominator(&self, node: Node) -> Option<Node> {
        let parent = self.heap.dominators().parent.get(node as usize).copied();
        parent.filter(|parent| *parent != NONE)
    }

    fn roots(&self) -> &Roots {
        self.roots.get_or_init(|| {
            let of = SoleRoots::of(&self.heap);
            let names = of.names().iter().map(|name| name.as_str().into()).collect();
            Roots { of, names }
        })
    }

    fn sampled(&self) -> &HashMap<Node, Sampled> {
        self.sampled.get_or_init(|| {
            let mut sites: HashMap<String, Arc<str>> = HashMap::new();
            let told = self.heap.sampled_blocks().map(|(node, site, age)| {
                let site = site.map(|site| {
                    Arc::clone(sites.entry(site).or_insert_with_key(|site| site.as_str().into()))
                });
                (node, Sampled { site, age: age.map(|age| age.0.seconds()) })
            });
            told.collect()
        })
    }

    fn blocks(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let heap = &*self.heap;
        let kinds: Arc<[Arc<str>]> =
            heap.shapes().iter().map(|shape| shape.kind.name().into()).collect();
        let is_type: Vec<bool> =
            heap.classes().iter().map(|class| class.kind == ClassKind::Type).collect();
        let spaces: Arc<[Arc<str>]> = SPACES.iter().map(|name| (*name).into()).collect();
        let snapshot = heap.snapshot();
        for index in scan.part.range(snapshot.groups().len()) {
            // Unreadable groups are counted in the heap's losses.
            let Ok(group) = snapshot.group(index) else { continue };
            let blocks = group.blocks();
            let ids = || blocks.iter().map(|block| block.id.0);
            let is_reached = |id: Node| self.dominator(id).is_some();
            let of =
                |of: fn(&Block) -> u64| Values::whole(blocks.iter().map(|block| Some(of(block))));
            Columns::offer(scan, sink, blocks.len(), |columns| {
                columns
                    .next("id", || of(|block| block.id.0.into()))
                    .next("address", || of(|block| block.address))
                    .next("class", || {
                        Values::named(&self.classes, ids().map(|id| Some(self.class(id))))
                    })
                    .next("type", || {
                        let class = |id| Some(self.class(id)).filter(|it| is_type[*it as usize]);
                        let types = ids().map(class);
                        Values::named(&self.classes, types)
                    })
                    .next("kind", || {
                        let shape = |id: Node| heap.shape_of().get(id as usize).copied();
                        Values::named(&kinds, ids().map(shape))
                    })
                    .next("tag", || of(|block| block.tag.into()))
                    .next("words", || of(|block| block.words.saturating_add(1)))
                    .next("retained", || {
                        let bytes = |id| heap.retained_words(id).saturating_mul(WORD);
                        Values::whole(ids().map(|id| is_reached(id).then(|| bytes(id))))
                    })
                    .next("reachable", || {
                        Values::Truth(ids().map(|id| Some(is_reached(id))).collect())
                    })
                    .next("idom", || {
                        let is_block = |node: &Node| (*node as usize) < heap.blocks();
                        let above = |id| self.dominator(id).filter(is_block).map(u64::from);
                        Values::whole(ids().map(above))
                    })
                    .next("root", || {
                        let Roots { of, names } = self.roots();
                        Values::named(names, ids().map(|id| of.place(id)))
                    })
                    .next("site", || {
                        Values::text(ids().map(|id| self.sampled().get(&id)?.site.clone()))
                    })
                    .next("age", || {
                        Values::Real(ids().map(|id| self.sampled().get(&id)?.age).collect())
                    })
                    .next("generation", || {
                        let space = |block: &Block| {
                            let name = heap.space(block.address);
                            SPACES.iter().position(|it| *it == name).unwrap_or(SPACES.len() - 1)
                        };
                        Values::named(&spaces, blocks.iter().map(|it| Some(space(it) as u32)))
                    })
            })?;
        }
        Ok(())
    }

    fn edges(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let mut rows: Vec<(Node, Option<u64>, Node)> = Vec::with_capacity(BATCH);
        let mut offer = |rows: &mut Vec<(Node, Option<u64>, Node)>| {
            Columns::offer(scan, sink, rows.len(), |columns| {
                columns
                    .next("from", || Values::whole(rows.iter().map(|row| Some(row.0.into()))))
                    .next("field", || Values::whole(rows.iter().map(|row| row.1)))
                    .next("to", || Values::whole(rows.iter().map(|row| Some(row.2.into()))))
            })?;
            rows.clear();
            Ok(())
        };
        let groups = scan.part.range(self.heap.snapshot().groups().len());
        blocks_of(&self.heap, groups, |Visit { block, fields, others, .. }| {
            let from = block.id.0;
            rows.extend(fields.iter().map(|(field, to)| (from, Some(*field), *to)));
            rows.extend(others.iter().map(|to| (from, None, *to)));
            if rows.len() >= BATCH { offer(&mut rows) } else { Ok(()) }
        })?;
        if rows.is_empty() { Ok(()) } else { offer(&mut rows) }
    }

    fn root_pointers(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let heap = &*self.heap;
        let mut rows: Vec<(Node, Arc<str>, Arc<str>, Node)> = Vec::new();
        for (holder, kind) in heap.holders().kinds() {
            let kind: Arc<str> = kind.title().into();
            let name: Arc<str> = heap.describe(holder).into();
            let targets = heap.graph().successors(holder).iter();
            let blocks = targets.filter(|to| (**to as usize) < heap.blocks());
            rows.extend(blocks.map(|to| (holder, Arc::clone(&kind), Arc::clone(&name), *to)));
        }
        for rows in rows.chunks(BATCH) {
            Columns::offer(scan, sink, rows.len(), |columns| {
                columns
                    .next("holder", || Values::whole(rows.iter().map(|row| Some(row.0.into()))))
                    .next("kind", || Values::text(rows.iter().map(|row| Some(Arc::clone(&row.1)))))
                    .next("name", || Values::text(rows.iter().map(|row| Some(Arc::clone(&row.2)))))
                    .next("to", || Values::whole(rows.iter().map(|row| Some(row.3.into()))))
            })?;
        }
        Ok(())
    }

    fn class_totals(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let heap = &*self.heap;
        let totals = heap.class_totals();
        let rows: Vec<usize> =
            (0..totals.len().min(self.classes.len())).filter(|at| totals[*at].blocks > 0).collect();
        let sum = |words: u64| Some(words.saturating_mul(WORD));
        let classes = || rows.iter().map(|at| Some(*at as u32));
        Columns::offer(scan, sink, rows.len(), |columns| {
            columns
                .next("class", || Values::named(&self.classes, classes()))
                .next("kind", || {
                    Values::text(rows.iter().map(|at| Some(heap.classes()[*at].kind.name().into())))
                })
                .next("blocks", || Values::whole(rows.iter().map(|at| Some(totals[*at].blocks))))
                .next("bytes", || Values::whole(rows.iter().map(|at| sum(totals[*at].words))))
                .next("retained", || Values::whole(rows.iter().map(|at| sum(totals[*at].retained))))
        })
    }

    fn strings(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        let snapshot = self.heap.snapshot();
        for index in scan.part.range(snapshot.groups().len()) {
            let Ok(group) = snapshot.group(index) else { continue };
            let strings = group.strings().unwrap_or_default();
            if strings.is_empty() {
                continue;
            }
            Columns::offer(scan, sink, strings.len(), |columns| {
                columns
                    .next("id", || {
                        Values::whole(strings.iter().map(|text| Some(text.block.0.into())))
                    })
                    .next("length", || Values::whole(strings.iter().map(|text| Some(text.bytes))))
                    .next("text", || {
                        let text = |bytes: &Vec<u8>| String::from_utf8_lossy(bytes).into();
                        Values::text(strings.iter().map(|it| it.prefix.as_ref().map(text)))
                    })
            })?;
        }
        Ok(())
    }
}

impl Tables for HeapTables {
    fn tables(&self) -> &'static [&'static Table] {
        schema::OF_HEAPS
    }

    fn has_parts(&self, table: &Table) -> bool {
        ["blocks", "edges", "strings"].contains(&table.name)
    }

    fn scan(&self, scan: &Scan<'_>, sink: &mut Sink<'_>) -> io::Result<()> {
        match scan.table.name {
            "blocks" => self.blocks(scan, sink),
            "edges" => self.edges(scan, sink),
            "strings" => self.strings(scan, sink),
            _ if scan.part.index > 0 => Ok(()),
            "roots" => self.root_pointers(scan, sink),
            "classes" => self.class_totals(scan, sink),
            name => Err(io::Error::other(format!("a heap has no table {name}"))),
        }
    }
}
