//! The contents of environments in native code, by what functions capture.

use bactrian_snapshot::{BlockId, tag};
use bactrian_types::{Category, TypeId};

use crate::world::{Int, To, World, name};

/// A world with two types that look alike, and a closure that holds a block of that look, a number, and another
/// such block.
fn world() -> (World, [TypeId; 2], [u32; 2]) {
    let mut world = World::new();
    let fields = [("x", world.int), ("label", world.string)];
    let types = [world.record("Main.point", &fields), world.record("Main.page", &fields)];
    let text = world.text();
    let blocks = [0; 2].map(|_| world.block(0, &[Int(1), To(text)]));
    let [one, other] = blocks.map(To);
    let closure = world.block(tag::CLOSURE, &[Int(0), Int(0), one, Int(5), other]);
    world.stack(closure);
    world.code_line = 15;
    (world, types, blocks)
}

#[test]
fn capture_order_distinguishes_types_that_look_alike() {
    let (mut world, [point, page], [one, other]) = world();
    world.function((14, 16), &[Some(page), None, Some(point)]);
    // Other functions are around it, or elsewhere, and capture more or less.
    world.function((10, 20), &[Some(point)]);
    world.function((30, 40), &[Some(point), None, Some(page)]);
    let typing = world.infer();
    assert_eq!(name(&typing, one), "Main.page");
    assert_eq!(name(&typing, other), "Main.point");
    assert_eq!(typing.category(BlockId(one)), Category::Inference);
    assert_eq!(typing.origin(BlockId(one)), Some("variable v0 that Main.f captured"));
}

#[test]
fn two_fitting_functions_give_no_conclusion() {
    let (mut world, [point, page], blocks) = world();
    world.function((14, 16), &[Some(page), None, Some(point)]);
    world.function((15, 15), &[Some(point), None, Some(page)]);
    let typing = world.infer();
    for block in blocks {
        assert_eq!(name(&typing, block), "block of tag 0");
    }
}

#[test]
fn functions_that_do_not_fit_are_ruled_out() {
    let (mut world, [point, page], blocks) = world();
    let list = world.list(world.float);
    world.function((14, 16), &[Some(list), None, Some(point)]);
    let typing = world.infer();
    for block in blocks {
        assert_eq!(name(&typing, block), "block of tag 0");
    }
    // Then the other function fits.
    world.function((15, 15), &[Some(point), None, Some(page)]);
    let typing = world.infer();
    assert_eq!(blocks.map(|block| name(&typing, block)), ["Main.point", "Main.page"]);
}

#[test]
fn far_fields_are_ignored() {
    let mut world = World::new();
    let fields = [("x", world.int), ("label", world.string)];
    let (point, page) = (world.record("Main.point", &fields), world.record("Main.page", &fields));
    let text = world.text();
    let blocks: Vec<u32> = (0..300).map(|_| world.block(0, &[Int(1), To(text)])).collect();
    let code = [Int(0), Int(0)];
    let held = blocks.iter().map(|block| To(*block));
    let fields: Vec<_> = code.into_iter().chain(held).collect();
    let closure = world.block(tag::CLOSURE, &fields);
    world.stack(closure);
    world.code_line = 15;
    let mut captured = [Some(point); 300];
    captured[253] = Some(page);
    world.function((14, 16), &captured);
    let typing = world.infer();
    assert_eq!(name(&typing, blocks[0]), "Main.point");
    assert!(blocks[254..].iter().all(|block| name(&typing, *block) != "Main.page"));
}
