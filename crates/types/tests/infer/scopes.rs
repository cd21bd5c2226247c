//! The contents of frames and environments of native code, by what is in scope.

use bactrian_snapshot::{BlockId, tag};
use bactrian_types::{Category, DeclarationKind, SiteKind, Type};

use crate::world::{Int, To, World, name};

#[test]
fn a_frame_holds_the_only_variable_that_it_can_be() {
    let mut world = World::new();
    let texts = world.list(world.string);
    let point = world.record("Main.point", &[("x", world.int), ("label", world.string)]);
    world.local(point, (10, 20), true);
    world.local(texts, (12, 20), false);
    let text = world.text();
    let block = world.block(0, &[Int(1), To(text)]);
    let list = world.cells(&[text]);
    // No variable in scope looks like this.
    let triple = world.block(0, &[Int(1), Int(2), Int(3)]);
    let elsewhere = world.block(0, &[Int(1), To(text)]);
    for block in [block, list, triple] {
        world.frame(15, block);
    }
    world.frame(30, elsewhere);
    let typing = world.infer();
    assert_eq!(name(&typing, block), "Main.point");
    assert_eq!(name(&typing, list), "string list");
    assert_eq!(typing.category(BlockId(block)), Category::Inference);
    assert_eq!(
        typing.origin(BlockId(block)),
        Some("the only variable in its scope that it can be")
    );
    assert_eq!(name(&typing, triple), "block of tag 0");
    assert_eq!(name(&typing, elsewhere), "block of tag 0");
}

#[test]
fn two_variables_that_look_alike_give_no_conclusion() {
    let mut world = World::new();
    let fields = [("x", world.int), ("label", world.string)];
    let (point, page) = (world.record("Main.point", &fields), world.record("Main.page", &fields));
    world.local(point, (10, 20), true);
    world.local(page, (14, 16), false);
    let text = world.text();
    let [both, one] = [0; 2].map(|_| world.block(0, &[Int(1), To(text)]));
    world.frame(15, both);
    world.frame(18, one);
    let typing = world.infer();
    assert_eq!(name(&typing, both), "block of tag 0");
    assert_eq!(name(&typing, one), "Main.point");
}

#[test]
fn variables_that_fit_anything_give_no_conclusion() {
    let mut world = World::new();
    let point = world.record("Main.point", &[("x", world.int), ("label", world.string)]);
    let any = world.variable(0);
    let hidden = world.declare("Main.hidden", 0, DeclarationKind::Abstract("hidden".into()));
    let hidden = world.named(hidden, &[]);
    world.local(point, (10, 40), true);
    world.local(any, (10, 20), true);
    world.local(hidden, (30, 40), true);
    let text = world.text();
    let blocks = [15, 35].map(|line| (line, world.block(0, &[Int(1), To(text)])));
    for (line, block) in blocks {
        world.frame(line, block);
    }
    let typing = world.infer();
    for (_, block) in blocks {
        assert_eq!(name(&typing, block), "block of tag 0");
    }
}

#[test]
fn targets_of_a_block_must_fit_too() {
    let mut world = World::new();
    let (texts, numbers) = (world.list(world.string), world.list(world.float));
    world.local(texts, (10, 20), true);
    world.local(numbers, (10, 20), true);
    let text = world.text();
    let list = world.cells(&[text, text, text]);
    world.frame(15, list);
    // What is known of it contradicts both.
    let point = world.record("Main.point", &[("x", world.int), ("y", world.int)]);
    let known = world.block(0, &[Int(1), Int(2)]);
    world.value("known", point, known);
    let points = world.cells(&[known]);
    world.frame(15, points);
    let typing = world.infer();
    assert_eq!(name(&typing, list), "string list");
    assert_eq!(name(&typing, points), "block of tag 0");
}

#[test]
fn a_frame_may_hold_what_is_computed_in_its_function() {
    let mut world = World::new();
    let fields = [("x", world.int), ("label", world.string)];
    let (point, page) = (world.record("Main.point", &fields), world.record("Main.page", &fields));
    world.local(point, (10, 20), true);
    world.site(19, SiteKind::Other, (0, 2), page, "");
    let text = world.text();
    let block = world.block(0, &[Int(1), To(text)]);
    world.frame(15, block);
    assert_eq!(name(&world.infer(), block), "block of tag 0");
}

#[test]
fn all_environments_of_a_function_hold_the_same() {
    let mut world = World::new();
    let pair = world.of(Type::Tuple(vec![world.int, world.string]));
    let texts = world.list(world.string);
    // The line of the function is unknown, so it may be any line.
    world.local(pair, (10, 20), true);
    world.local(texts, (30, 40), true);
    let text = world.text();
    let pairs: Vec<u32> = (0..3).map(|n| world.block(0, &[Int(n), To(text)])).collect();
    let mut closures = Vec::new();
    for &pair in &pairs {
        closures.push(world.block(tag::CLOSURE, &[Int(0), Int(0), To(pair)]));
    }
    let all = world.cells(&closures);
    world.stack(all);
    let typing = world.infer();
    for &pair in &pairs {
        assert_eq!(name(&typing, pair), "int * string");
    }
}

#[test]
fn nonsensical_lines_give_no_conclusion() {
    let mut world = World::new();
    let point = world.record("Main.point", &[("x", world.int), ("label", world.string)]);
    world.local(point, (20, 10), true);
    let text = world.text();
    let block = world.block(0, &[Int(1), To(text)]);
    for line in [0, 15, u32::MAX] {
        world.frame(line, block);
    }
    assert_eq!(name(&world.infer(), block), "block of tag 0");
}
