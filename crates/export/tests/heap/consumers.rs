//! Exports of heaps in the real tools: each accepts the file and shows Bactrian's blocks, classes, pointers and
//! retained sizes.
//!
//! `cargo xtask consumers` gets the tools, says where they are, and runs these tests.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bactrian_analysis::heap::{ClassKind, Heap, MergedLimits, merged_dominators};
use bactrian_export::HeapFormat;
use bactrian_graph::dominators;
use serde_json::Value;

use crate::tiny::{exported, open};
use crate::tools::{ask_json, ask_node, pprof, script, tools};
use crate::{golden, random, tiny};

/// The heaps to export.
fn heaps() -> [(&'static str, Heap); 2] {
    [("tiny", tiny::tiny()), ("random", open(random::bytes()))]
}

/// Writes an export where tools can open it.
fn file(name: &str, heap: &Heap, format: HeapFormat) -> PathBuf {
    let path =
        Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-heap.{}", format.extension()));
    fs::write(&path, exported(heap, format, false)).expect("the folder for such files is there");
    path
}

fn rows<'a>(json: &'a Value, name: &str) -> &'a [Value] {
    json[name].as_array().expect("it is a list")
}

fn number(json: &Value) -> u64 {
    json.as_u64().unwrap_or_else(|| panic!("{json} is no number"))
}

#[test]
#[ignore = "needs memlab: cargo xtask consumers"]
fn memlab_shows_it() {
    for (name, heap) in heaps() {
        for node in heap_snapshot(name, &heap, "memlab.mjs") {
            let id = number(&node["id"]) as usize;
            if let Some(dominator) =
                heap.dominators().parent.get(id).filter(|_| id != heap.root() as usize)
            {
                assert_eq!(number(&node["dominator"]), u64::from(*dominator), "{name}: {node}");
            }
        }
    }
}

#[test]
#[ignore = "needs Chrome DevTools: cargo xtask consumers"]
fn devtools_shows_it() {
    for (name, heap) in heaps() {
        heap_snapshot(name, &heap, "devtools.mjs");
    }
}

/// Opens a heap with a script that prints a tool's nodes, and compares them with ours.
fn heap_snapshot(name: &str, heap: &Heap, script_name: &str) -> Vec<Value> {
    let folder = Path::new(script_name).with_extension("");
    let file = file(&format!("{name}-{}", folder.display()), heap, HeapFormat::Heapsnapshot);
    let json = ask_node(script_name, &file);
    let nodes = rows(&json, "nodes");
    // Plus a root above ours.
    assert_eq!(nodes.len(), heap.graph().nodes() + 1);
    assert_eq!(number(&nodes[0]["retained"]), 8 * heap.reached_words());
    for node in &nodes[1..] {
        let id = number(&node["id"]) as u32;
        let words = u64::from(heap.weights()[id as usize]);
        assert_eq!(number(&node["size"]), 8 * words, "{name}: {node}");
        let retained = heap.dominators().retained[id as usize];
        assert_eq!(number(&node["retained"]), 8 * retained, "{name}: {node}");
        let called = match (id as usize) < heap.blocks() {
            true => heap.class(id).title(),
            false if id == heap.root() => "(GC roots)".to_owned(),
            false => heap.holder_name(id),
        };
        assert_eq!(node["name"], called.as_str());
        let edges = rows(node, "edges").iter().filter(|edge| edge[0] != "weak");
        let targets: Vec<_> = edges.map(|edge| number(&edge[2]) as u32).collect();
        assert_eq!(targets, heap.graph().successors(id), "{name}: {node}");
    }
    nodes.to_vec()
}

/// The size that VisualVM computes for a block, assuming Java's headers.
fn java_bytes(heap: &Heap, node: u32) -> u64 {
    let words = heap.block(node).expect("it can be read").words;
    let class = heap.class(node);
    let same = heap.class_of().iter().zip(heap.weights());
    let mut same = same.filter(|(other, _)| heap.classes().get(**other as usize) == Some(class));
    let is_of_one_size = same.all(|(_, weight)| u64::from(*weight) == words + 1);
    match class.kind {
        ClassKind::String => {
            (20 + heap.text(node).expect("it is a string").bytes).next_multiple_of(8)
        }
        ClassKind::FloatArray | ClassKind::Ephemeron => 24 + 8 * words,
        ClassKind::Continuation => 24 + 8 * (words + heap.graph().successors(node).len() as u64),
        _ if is_of_one_size && words <= 64 => 16 + 8 * words,
        _ => 24 + 8 * words,
    }
}

#[test]
#[ignore = "needs VisualVM and Java: cargo xtask consumers"]
fn visualvm_shows_it() {
    for (name, heap) in heaps() {
        let file = file(name, &heap, HeapFormat::Hprof);
        // Remove its cache for an earlier file with this name.
        let _ = fs::remove_dir_all(file.with_extension("hprof.hwcache"));
        let library = tools().join("visualvm-heap.jar");
        let mut java = Command::new("java");
        let json = ask_json(java.arg("-cp").arg(library).arg(script("Hprof.java")).arg(&file));

        let weights: Vec<u32> = (0..heap.graph().nodes() as u32)
            .map(|node| if (node as usize) < heap.blocks() { java_bytes(&heap, node) } else { 0 })
            .map(|bytes| u32::try_from(bytes).expect("blocks are small"))
            .collect();
        let retained = dominators(heap.graph(), heap.root(), &weights).retained;
        let by_id: HashMap<u64, u32> = (0..heap.blocks() as u32)
            .map(|node| (heap.address(node).expect("it can be read") << 4, node))
            .collect();
        let mut seen = 0;
        for instance in rows(&json, "instances") {
            let Some(&node) = by_id.get(&number(&instance["id"])) else { continue };
            seen += 1;
            let class = &heap.class(node).name;
            let bytes = u64::from(weights[node as usize]);
            assert_eq!(number(&instance["size"]), bytes, "{name}, {class}: {instance}");
            let held = retained[node as usize];
            assert_eq!(number(&instance["retained"]), held, "{name}, {class}: {instance}");
            let pointers = rows(instance, "pointers").iter().map(number).filter(|id| *id != 0);
            let pointers: Vec<_> = pointers.map(|id| by_id[&id]).collect();
            assert_eq!(pointers, heap.graph().successors(node), "{name}, {class}: {instance}");
        }
        assert_eq!(seen, heap.blocks(), "{name}");
        check_classes(&heap, &json, &by_id);
    }
}

/// Classes have as many blocks as ours, and modules hold the same blocks.
fn check_classes(heap: &Heap, json: &Value, by_id: &HashMap<u64, u32>) {
    let classes: HashMap<&str, &Value> = rows(json, "classes")
        .iter()
        .map(|class| (class["name"].as_str().expect("it has a name"), class))
        .collect();
    for (number_of_class, class) in (0..).zip(heap.classes()) {
        let of_class = |of: &&u32| **of == number_of_class;
        let blocks = heap.class_of().iter().take(heap.blocks()).filter(of_class).count();
        let name = match class.kind {
            ClassKind::Holder => continue,
            ClassKind::String => "byte[]".to_owned(),
            ClassKind::FloatArray => "double[]".to_owned(),
            _ => class.title().replace('/', "∕"),
        };
        let shown = classes.get(&*name).or_else(|| classes.get(&*format!("{name}[]")));
        let shown = shown.unwrap_or_else(|| panic!("there is no class {name}"));
        assert_eq!(number(&shown["count"]), blocks as u64, "{name}");
    }
    for holder in heap.holders().iter().filter(|holder| holder.level == 2) {
        let Some(class) = classes.get(&*heap.holder_name(holder.node)) else { continue };
        let held = rows(class, "statics").iter().map(|field| by_id[&number(&field[1])]);
        let below = heap.graph().successors(holder.node).iter();
        let ours = below.flat_map(|field| heap.graph().successors(*field).iter().copied());
        assert_eq!(held.collect::<Vec<_>>(), ours.collect::<Vec<_>>());
    }
    assert!(classes.contains_key("java.lang.Object"));
}

#[test]
#[ignore = "needs pprof: cargo xtask consumers"]
fn pprof_shows_it() {
    for (name, heap) in heaps() {
        let file = file(name, &heap, HeapFormat::Pprof);
        let top = pprof(&file, &["-top", "-unit=B", "-nodecount=10000"]);
        let total = 8 * heap.reached_words();
        assert!(top.contains(&format!("{total}B total")), "{name}:\n{top}");
        let top_blocks = pprof(&file, &["-top", "-sample_index=inuse_objects"]);
        assert!(top_blocks.contains(&format!("{} total", heap.blocks())), "{name}:\n{top_blocks}");
        // What pprof calls cumulative is our retained size.
        let limits = MergedLimits { min_share: 0.0, depth: 100 };
        for entry in merged_dominators(&heap, &limits) {
            let called = heap.describe_merged(entry.kind);
            if called.starts_with("module") && entry.words > 0 {
                let cumulative = format!(" {}B ", 8 * entry.words);
                let line = top.lines().find(|line| line.ends_with(&called));
                assert!(line.is_some_and(|line| line.contains(&cumulative)), "{called} in\n{top}");
            }
        }
    }
    let tiny = file("tiny", &tiny::tiny(), HeapFormat::Pprof);
    golden::check("tiny.heap.pprof.txt", &pprof(&tiny, &["-raw"]));
}
