//! Contradictory calls are rejected, and nothing wrong is written.

use bactrian_snapshot::*;

fn check(build: impl FnOnce(&mut GroupBuilder), expected: &str) {
    let columns = Columns { equals: true, ..Columns::default() };
    let mut builder = GroupBuilder::new(columns).expect("there is memory");
    builder.start(BlockId(0));
    build(&mut builder);
    match builder.finish() {
        Err(SnapshotError::Misuse(what)) => assert!(what.contains(expected), "{what}"),
        other => panic!("{other:?} where it should complain of {expected:?}"),
    }
    // The builder can continue.
    builder.start(BlockId(0));
    builder.block(8, 0, 0);
    assert!(builder.finish().is_ok());
}

#[test]
fn contradictory_calls_are_rejected() {
    check(|_| {}, "without blocks");
    check(|group| group.block(8, 1, 0), "fewer fields");
    check(|group| group.block(8, 1, tag::STRING), "fewer fields or facts");
    check(|group| group.block(8, 1, tag::CLOSURE), "fewer fields or facts");
    check(|group| group.block(12, 0, 0), "not one of a word");
    check(|group| group.immediate(1), "more fields");
    check(
        |group| {
            group.block(8, 1, 0);
            group.outside();
            group.outside();
        },
        "more fields",
    );
    check(
        |group| {
            group.block(16, 0, 0);
            group.block(8, 0, 0);
        },
        "order of addresses",
    );
    check(
        |group| {
            group.block(8, 2, tag::CLOSURE);
            group.closure(3, &[]);
        },
        "after its end",
    );
    check(
        |group| {
            group.block(8, 0, tag::CUSTOM);
            group.string(0, b"");
        },
        "not what its tag says",
    );
    check(
        |group| {
            group.block(8, 0, 0);
            group.block(16, 0, 0);
            group.equals(BlockId(0));
        },
        "or has values",
    );
    for first in [1, 2] {
        check(
            |group| {
                group.block(8, 0, tag::DOUBLE);
                group.block(16, 0, tag::DOUBLE);
                group.equals(BlockId(first));
            },
            "not before it",
        );
    }
    check(
        |group| (0..=u64::from(GROUP_BLOCKS)).for_each(|at| group.block(8 + at * 8, 0, 0)),
        "too many blocks",
    );
}

#[test]
fn groups_out_of_order_are_rejected() {
    let columns = Columns::default();
    let mut builder = GroupBuilder::new(columns).expect("there is memory");
    let mut group = |first: u32, address: u64| {
        builder.start(BlockId(first));
        builder.block(address, 0, 0);
        builder.finish().expect("it fits together")
    };
    let mut writer = Writer::new(Vec::new(), columns, 3, &Info::default()).expect("memory");
    assert!(matches!(writer.group(group(1, 8)), Err(SnapshotError::Misuse(_))));
    writer.group(group(0, 16)).expect("it is the first");
    assert!(matches!(writer.group(group(1, 8)), Err(SnapshotError::Misuse(_))));
    writer.group(group(1, 24)).expect("it is the second");
    assert!(matches!(writer.finish(), Err(SnapshotError::Misuse(_))));
}
