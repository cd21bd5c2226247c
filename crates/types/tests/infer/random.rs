//! Heaps and programs that make no sense: inference terminates, and no block has an impossible type.

use bactrian_snapshot::{BlockId, tag};
use bactrian_types::{Collection, TypeClass};
use proptest::prelude::*;

use crate::nonsense::program;

/// Whether a block may be of its reported type, as far as its tag can tell.
fn is_possible(class: &TypeClass, tag: u8) -> bool {
    match (&*class.name, class.collection) {
        ("int", _) => false,
        ("string", _) => tag == tag::STRING,
        ("float", _) => tag == tag::DOUBLE,
        (_, Some(Collection::List)) => tag == 0,
        (_, Some(Collection::Array)) => matches!(tag, 0 | tag::DOUBLE_ARRAY),
        (_, Some(Collection::Lazy)) => matches!(tag, tag::LAZY | tag::FORWARD),
        (name, _) if name.contains(" -> ") && !name.contains('(') => tag == tag::CLOSURE,
        _ => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    #[test]
    fn inference_terminates_on_nonsense(numbers in prop::collection::vec(any::<u32>(), 50..300), constants in 0_u32..10) {
        let mut world = program(&numbers);
        let snapshot = world.snapshot(constants);
        let typing = bactrian_types::Typing::infer(&world.table, &snapshot, &mut |_| {});
        for block in 0..snapshot.blocks() as u32 {
            let known = snapshot.block(BlockId(block)).expect("a group").expect("a block");
            let class = &typing.classes()[typing.class_of(BlockId(block)).index()];
            prop_assert!(is_possible(class, known.tag), "{} of tag {}", class.name, known.tag);
            typing.field(BlockId(block), 1);
            typing.constructor(BlockId(block));
            typing.origin(BlockId(block));
        }
        let again = bactrian_types::Typing::infer(&world.table, &snapshot, &mut |_| {});
        prop_assert_eq!(typing.coverage(), again.coverage());
        prop_assert_eq!(typing.classes(), again.classes());
    }
}
