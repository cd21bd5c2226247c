//! What would be freed if some references were missing: those in a field of a type, to a module or one of its
//! values, to all blocks of a class or from a line of the source, or from all roots of a kind.
//!
//! Dominators answer this for one block. Here the heap is traversed again from its roots, without the
//! references, so that the answer includes what two of them hold together: it is freed without both, but not
//! without either one.

use std::cmp::Reverse;

use bactrian_graph::{Bits, Node};
use bactrian_snapshot::FieldValue;
use schemars::JsonSchema;
use serde::Serialize;

use super::field_names::FieldNames;
use super::{Found, Heap, HolderKind, NotFound, WORD};
use crate::parallel;
use crate::sorted_rows::SortRows;
use crate::under_way::{self, Step};

/// The most references that one question can cut; each costs a traversal of the heap.
const MOST_CUTS: usize = 32;

/// The number of nodes between two checks for cancellation.
const NODES_PER_CHECK: usize = 1 << 16;

/// What would be freed without some references. Sizes are in bytes with headers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WhatIf {
    /// Size of all reachable blocks.
    pub total: u64,
    /// What would be freed without all of these references.
    pub freed: Freed,
    /// What would be freed without each of them alone, in the given order.
    pub cuts: Vec<CutRow>,
    /// What would be freed without all of them, by class, the largest first.
    pub rows: Vec<FreedClass>,
}

/// Blocks that would be freed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Freed {
    /// Number of blocks.
    pub blocks: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Their share of all reachable blocks.
    pub share: f64,
}

/// References that are left out.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CutRow {
    /// The references, as they were given.
    pub what: String,
    /// Number of references.
    pub references: u64,
    /// What would be freed without them alone.
    #[serde(flatten)]
    pub freed: Freed,
}

/// Blocks of a class that would be freed.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct FreedClass {
    /// The class's name.
    pub name: String,
    /// Number of blocks.
    pub blocks: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// Computes what would be freed without some references.
///
/// # Errors
/// If one of them does not exist, or there are none, or too many.
pub fn what_if(heap: &Heap, named: &[String]) -> Result<WhatIf, NotFound> {
    if named.is_empty() {
        return Err(NotFound::new(
            "name the references to leave \
             out: a field of a type (--cut Main.entry.session), a value of a module \
             (--cut Main.table), a class, a line (--cut main.ml:12), or finalisers"
                .to_owned(),
        ));
    }
    if named.len() > MOST_CUTS {
        return Err(NotFound::new(format!("more than {MOST_CUTS} cuts in one question")));
    }
    let cuts = named.iter().map(|text| Cut::find(heap, text)).collect::<Result<Vec<_>, _>>()?;
    let step = Step::of(cuts.len() + 2);
    let whole = Reached::of(heap, &[]);
    step.did_one();
    let kept = Reached::of(heap, &cuts.iter().collect::<Vec<_>>());
    step.did_one();
    let row = |(cut, what): (&Cut, &String)| {
        let freed = match cuts.len() {
            1 => whole.without(&kept),
            _ => whole.without(&Reached::of(heap, &[cut])),
        };
        step.did_one();
        CutRow { what: what.clone(), references: cut.references(heap), freed }
    };
    Ok(WhatIf {
        total: whole.words.saturating_mul(WORD),
        freed: whole.without(&kept),
        cuts: cuts.iter().zip(named).map(row).collect(),
        rows: freed_classes(heap, &whole, &kept),
    })
}

fn freed_classes(heap: &Heap, whole: &Reached, kept: &Reached) -> Vec<FreedClass> {
    let mut sums = vec![(0_u64, 0_u64); heap.classes().len()];
    for (node, &class) in (0..).zip(heap.class_of()).take(heap.blocks()) {
        if whole.has(node)
            && !kept.has(node)
            && let Some((blocks, words)) = sums.get_mut(class as usize)
        {
            *blocks += 1;
            *words += u64::from(heap.weights()[node as usize]);
        }
    }
    let named = heap.classes().iter().zip(sums).filter(|(_, (blocks, _))| *blocks > 0);
    let mut rows: Vec<FreedClass> = named
        .map(|(class, (blocks, words))| FreedClass {
            name: class.title(),
            blocks,
            bytes: words.saturating_mul(WORD),
        })
        .collect();
    rows.sort_rows_by(|a, b| (Reverse(a.bytes), &a.name).cmp(&(Reverse(b.bytes), &b.name)));
    rows
}

/// References that are cut.
enum Cut {
    /// All references to these sorted nodes.
    To(Vec<Node>),
    /// From the first to the second node of each pair, sorted. A block that points to the other through a
    /// second field as well is not included.
    Between(Vec<(Node, Node)>),
}

impl Cut {
    /// Resolves a text.
    fn find(heap: &Heap, text: &str) -> Result<Cut, NotFound> {
        let is_kind = |kind: HolderKind| kind.title() == text;
        let mut kinds = heap.holders().iter().filter(|holder| holder.level == 1);
        if let Some(holder) = kinds.find(|holder| is_kind(holder.kind)) {
            return Ok(Cut::To(vec![holder.node]));
        }
        if let Some(blocks) = allocated_in(heap, text) {
            return match blocks.is_empty() {
                true => Err(NotFound::new(format!(
                    "no block that was sampled was allocated in {text}; `bactrian heap sites` lists the lines"
                ))),
                false => Ok(Cut::To(blocks)),
            };
        }
        match heap.find(text) {
            Ok(Found::Node(node)) => return Ok(Cut::To(vec![node])),
            // A part of a name could match more than is meant.
            Ok(Found::Classes(classes)) if heap.is_named(&classes, text) => {
                let is_one = |class: &u32| classes.binary_search(class).is_ok();
                let blocks = (0..).zip(heap.class_of()).filter(|(_, class)| is_one(class));
                return Ok(Cut::To(blocks.map(|(node, _)| node).collect()));
            }
            _ => {}
        }
        // Type names contain dots, as do names of constructor fields.
        for (dot, _) in text.rmatch_indices('.') {
            let (class, field) = (&text[..dot], &text[dot + 1..]);
            if let Ok(Found::Classes(classes)) = heap.find(class)
                && heap.is_named(&classes, class)
            {
                return fields_named(heap, &classes, class, field);
            }
        }
        Err(NotFound::new(format!(
            "`{text}` is neither a field of a type (Main.entry.session), nor a module or a value of one, a class, a line \
             (main.ml:12) or a kind of roots; `bactrian heap types` lists types, `bactrian heap fields` their fields"
        )))
    }

    fn references(&self, heap: &Heap) -> u64 {
        match self {
            // One scan over all edges costs less than reversing the graph.
            Cut::To(nodes) => {
                let mut is_one = Bits::new(heap.graph().nodes());
                nodes.iter().for_each(|&node| is_one.set(node as usize));
                let targets = heap.graph().targets().iter();
                targets.filter(|&&target| is_one.has(target as usize)).count() as u64
            }
            Cut::Between(pairs) => pairs.len() as u64,
        }
    }
}

impl Heap {
    /// Whether these classes have exactly this name.
    fn is_named(&self, classes: &[u32], name: &str) -> bool {
        let mut known = classes.iter().filter_map(|&class| self.classes().get(class as usize));
        known.all(|class| class.name == name)
    }
}

/// Sampled blocks that a line allocated, sorted; None if the text is not a line.
fn allocated_in(heap: &Heap, text: &str) -> Option<Vec<Node>> {
    let (file, line) = text.rsplit_once(':')?;
    let line: u32 = line.parse().ok()?;
    let names = &heap.tables().names;
    let is_file =
        |name: &str| name.strip_suffix(file).is_some_and(|d| d.is_empty() || d.ends_with('/'));
    let is_there = |node: Node| {
        heap.site(node).is_some_and(|site| site.line == line && is_file(names.get(site.file)))
    };
    let mut blocks: Vec<Node> = heap.tables().samples.iter().map(|sample| sample.block.0).collect();
    blocks.retain(|&node| is_there(node));
    blocks.sort_unstable();
    blocks.dedup();
    Some(blocks)
}

/// Pointers in a field of the blocks of some classes.
fn fields_named(heap: &Heap, classes: &[u32], class: &str, field: &str) -> Result<Cut, NotFound> {
    let class_of = heap.class_of();
    let is_one = |node: Node| {
        class_of.get(node as usize).is_some_and(|class| classes.binary_search(class).is_ok())
    };
    let mut names = FieldNames::new(heap, field);
    let mut pairs = Vec::new();
    let groups: Vec<usize> = (0..heap.snapshot().groups().len()).collect();
    let read = |&index: &usize| pointers_of_group(heap, index, &is_one);
    parallel::map_then(&groups, read, |_, pointers| {
        for of_block in pointers.chunk_by(|a, b| a.0 == b.0) {
            let is_wanted: Vec<bool> =
                of_block.iter().map(|&(node, field, _)| names.is_wanted(node, field)).collect();
            let by_others = |to: Node| {
                let mut others = of_block.iter().zip(&is_wanted);
                others.any(|(other, wanted)| !wanted && other.2 == to)
            };
            for (&(from, _, to), _) in of_block.iter().zip(&is_wanted).filter(|(_, w)| **w) {
                if !by_others(to) {
                    pairs.push((from, to));
                }
            }
        }
    });
    if !names.is_met() {
        return Err(NotFound::new(format!(
            "no block of {class} points to another through a field `{field}`; its fields with \
             pointers: {}",
            names.met()
        )));
    }
    pairs.sort_unstable();
    pairs.dedup();
    Ok(Cut::Between(pairs))
}

/// The pointers of the wanted blocks of a group: source, field, target. Unreadable fields are skipped.
fn pointers_of_group(
    heap: &Heap,
    index: usize,
    is_one: &(dyn Fn(Node) -> bool + Sync),
) -> Vec<(Node, u64, Node)> {
    let Ok(group) = heap.snapshot().group(index) else { return Vec::new() };
    if !group.blocks().iter().any(|block| is_one(block.id.0)) {
        return Vec::new();
    }
    let Ok(fields) = group.fields() else { return Vec::new() };
    let mut found = Vec::new();
    for field in fields.iter().map_while(Result::ok) {
        if let FieldValue::Pointer(to) = field.value
            && is_one(field.block.0)
        {
            found.push((field.block.0, field.index, to.block.0));
        }
    }
    found
}

/// What is reachable from the roots.
struct Reached {
    nodes: Bits,
    blocks: u64,
    words: u64,
}

impl Reached {
    /// What is reachable without these references.
    fn of(heap: &Heap, cuts: &[&Cut]) -> Reached {
        let graph = heap.graph();
        let (mut is_gone, mut is_source) = (Bits::new(graph.nodes()), Bits::new(graph.nodes()));
        let mut pairs: Vec<(Node, Node)> = Vec::new();
        for cut in cuts {
            match cut {
                Cut::To(gone) => gone.iter().for_each(|&node| is_gone.set(node as usize)),
                Cut::Between(between) => pairs.extend(between),
            }
        }
        pairs.sort_unstable();
        pairs.iter().for_each(|&(from, _)| is_source.set(from as usize));
        let mut reached = Reached { nodes: Bits::new(graph.nodes()), blocks: 0, words: 0 };
        let mut waiting = vec![heap.root()];
        waiting.retain(|&root| !is_gone.has(root as usize));
        waiting.iter().for_each(|&root| reached.nodes.set(root as usize));
        let mut seen = 0_usize;
        while let Some(node) = waiting.pop() {
            seen += 1;
            if seen.is_multiple_of(NODES_PER_CHECK) {
                under_way::check();
            }
            reached.blocks += u64::from((node as usize) < heap.blocks());
            reached.words += heap.weights().get(node as usize).copied().map_or(0, u64::from);
            let has_cut = is_source.has(node as usize);
            for &to in graph.successors(node) {
                let is_cut = has_cut && pairs.binary_search(&(node, to)).is_ok();
                if !is_cut && !reached.has(to) && !is_gone.has(to as usize) {
                    reached.nodes.set(to as usize);
                    waiting.push(to);
                }
            }
        }
        reached
    }

    fn has(&self, node: Node) -> bool {
        self.nodes.has(node as usize)
    }

    /// What is reachable here and not in `kept`.
    fn without(&self, kept: &Reached) -> Freed {
        let words = self.words - kept.words;
        Freed {
            blocks: self.blocks - kept.blocks,
            bytes: words.saturating_mul(WORD),
            share: words as f64 / (self.words as f64).max(1.0),
        }
    }
}
