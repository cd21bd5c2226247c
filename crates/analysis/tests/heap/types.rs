//! Heaps with types: what is shown, and what is saved in the index.

use std::fs;
use std::path::Path;

use bactrian_analysis::heap::{
    ClassBy, ClassFilter, ClassTable, Heap, OpenOptions, Types, ValueLimits, classes, classes_of,
    collections, fields, value,
};
use bactrian_snapshot::tag;
use bactrian_types::{DeclarationKind, Representation, SiteKind};

use super::hostile;
use super::world::{Int, To, World, constructor, named_fields};

/// A tree and a list that share a text, with the compiler's types.
fn forest() -> World {
    let mut world = World::new();
    let tree = bactrian_types::DeclarationId(world.table.declarations.len() as u32);
    let of = world.named(tree, &[]);
    let node = [("left", of), ("label", world.string), ("right", of)];
    let constructors = vec![constructor("Leaf", 0, &[]), constructor("Node", 0, &node)];
    world.declare("Main.tree", 0, DeclarationKind::Variant(Representation::Boxed, constructors));
    let text = world.text();
    let own = world.text();
    let below = world.block(0, &[Int(0), To(own), Int(0)]);
    let top = world.block(0, &[To(below), To(text), Int(0)]);
    let cells = world.cells(&[text, text, text]);
    let texts = world.list(world.string);
    world.value("tree", of, top);
    world.value("texts", texts, cells);
    world
}

fn open(world: &mut World) -> Heap {
    let types = Types::new(world.table.clone());
    Heap::with_types(world.snapshot(0), Some(&types), &mut |_| {}).expect("small")
}

fn rows(table: &ClassTable) -> Vec<(String, u64)> {
    table.rows.iter().map(|row| (row.label.name.clone(), row.blocks.value as u64)).collect()
}

#[test]
fn classes_are_types_with_a_type_table() {
    let heap = open(&mut forest());
    let found = rows(&classes(&heap, ClassBy::Type));
    let expected = [("string list", 3), ("Main.tree", 2), ("string", 2)];
    assert_eq!(found, expected.map(|(name, blocks)| (name.to_owned(), blocks)));
    let tags = rows(&classes(&heap, ClassBy::Tag));
    assert_eq!(tags.iter().map(|(_, blocks)| blocks).collect::<Vec<_>>(), [&5, &2]);
    let own = heap.find("Main.tree").expect("a class, though a field of the module has that name");
    let filter = match own {
        bactrian_analysis::heap::Found::Classes(classes) => classes,
        bactrian_analysis::heap::Found::Node(_) => Vec::new(),
    };
    let filter = ClassFilter { classes: Some(filter), ..ClassFilter::default() };
    assert_eq!(rows(&classes_of(&heap, ClassBy::Type, &filter)).len(), 1);
    assert!(hostile::ask_everything(&heap) > 0);
}

#[test]
fn fields_count_what_they_alone_retain() {
    let heap = open(&mut forest());
    let class = heap.class_of()[3];
    let found = fields(&heap, &[class]);
    let row = |name: &str| found.rows.iter().find(|row| row.field == name).expect("a field");
    assert_eq!((found.blocks, found.shallow, found.retained), (2, 64, 80));
    // One label is in the list, too.
    let label = row("label");
    assert_eq!((label.pointers, label.shared, label.retained), (2, 1, 16));
    assert_eq!((row("left").same, row("left").immediates, row("left").retained), (1, 1, 0));
    assert_eq!(row("right").immediates, 2);
}

#[test]
fn lists_with_a_shared_tail_count_its_cells_once() {
    let mut world = World::new();
    let of = world.list(world.int);
    let end = world.block(0, &[Int(3), Int(0)]);
    let one = world.block(0, &[Int(1), To(end)]);
    let other = world.block(0, &[Int(2), To(end)]);
    for (name, block) in [("one", one), ("other", other)] {
        world.value(name, of, block);
    }
    let heap = open(&mut world);
    let found = collections(&heap).expect("there are types");
    let [row] = &found.rows[..] else { panic!("{found:?}") };
    assert_eq!((row.count, row.elements, row.largest, row.bytes), (2, 3, 2, 72));
    let limits = ValueLimits::default();
    assert_eq!(value(&heap, one, &limits).as_deref(), Some("[1; 3]"));
}

#[test]
fn counting_a_cyclic_list_ends() {
    let mut world = World::new();
    let of = world.list(world.int);
    let ring = world.block(0, &[Int(1), To(1)]);
    world.block(0, &[Int(2), To(ring)]);
    world.value("ring", of, ring);
    let heap = open(&mut world);
    assert_eq!(value(&heap, ring, &ValueLimits::default()).as_deref(), Some("[1; 2; <cycle @0>]"));
    assert!(collections(&heap).expect("there are types").rows.is_empty());
}

#[test]
fn closures_are_classified_by_function_and_also_have_types() {
    let mut world = World::new();
    let function = world.of(bactrian_types::Type::Arrow {
        label: "".into(),
        argument: world.int,
        result: world.int,
    });
    let closure = world.block(tag::CLOSURE, &[Int(0), Int(0)]);
    world.value("f", function, closure);
    let heap = open(&mut world);
    let class = heap.class(closure);
    assert_eq!((&*class.name, class.type_name.as_deref()), ("closure Main.f", Some("int -> int")));
    let shown = value(&heap, closure, &ValueLimits::default());
    assert_eq!(shown.as_deref(), Some("<fun Main.f>"));
}

#[test]
fn types_and_sites_narrow_each_other() {
    let mut world = World::new();
    let pair = world.record("Main.pair", &[("a", world.int), ("b", world.int)]);
    world.site(5, SiteKind::Record, (0, 2), pair, "");
    let block = world.block(0, &[Int(1), Int(2)]);
    let text = world.text();
    world.stack(block);
    world.stack(text);
    world.sample(5, block);
    world.sample(9, text);
    let heap = open(&mut world);
    let from = |filter: ClassFilter, by| rows(&classes_of(&heap, by, &filter));
    let site = ClassFilter { site: Some("main.ml:5".to_owned()), ..ClassFilter::default() };
    let names: Vec<_> = from(site, ClassBy::Type).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["Main.pair"]);
    let classes = Some(vec![heap.class_of()[block as usize]]);
    let of_type = ClassFilter { classes, ..ClassFilter::default() };
    assert_eq!(from(of_type.clone(), ClassBy::Site).len(), 1);
    let nowhere = ClassFilter { function: Some("Main.g".to_owned()), ..of_type };
    assert!(from(nowhere, ClassBy::Type).is_empty());
}

/// Everything reported about the types of a heap.
fn told(path: &Path, world: &World) -> String {
    let types = Some(Types::new(world.table.clone()));
    let options = OpenOptions { indexes: Some(hostile::indexes(path)), types };
    let heap = Heap::open(path, &options, &mut |_| {}).expect("a snapshot");
    let shown = value(&heap, 3, &ValueLimits::default());
    let told = format!(
        "{:?} {:?} {shown:?} {:?}",
        classes(&heap, ClassBy::Type),
        collections(&heap),
        heap.coverage()
    );
    heap.keep();
    told
}

#[test]
fn index_belongs_to_one_type_table() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("forest.heap");
    let mut world = forest();
    fs::write(&path, world.bytes(0)).expect("room");
    let first = told(&path, &world);
    assert!(first.contains("Node { left = Node {"), "{first}");
    let place = hostile::index_of(&path).expect("it was kept");
    let index = fs::read(&place).expect("it was kept");
    assert_eq!(told(&path, &world), first);
    let unchanged = fs::read(&place).expect("it is there");
    assert_eq!(index, unchanged, "nothing was computed anew");
    let mut other = forest();
    let DeclarationKind::Variant(_, constructors) =
        &mut other.table.declarations.last_mut().expect("one").kind
    else {
        panic!("the last declaration is the tree");
    };
    constructors[1].name = "Fork".into();
    constructors[1].arguments = named_fields(&[("l", other.string)]);
    assert!(!told(&path, &other).contains("Node"));
    // Damage is detected, wherever it is.
    for at in (0..index.len()).step_by(37) {
        let mut damaged = index.clone();
        damaged[at] ^= 4;
        fs::write(&place, damaged).expect("room");
        assert_eq!(told(&path, &world), first, "byte {at}");
    }
}
