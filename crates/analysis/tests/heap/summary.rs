//! What the words of a heap are used for.

use bactrian_analysis::heap::{Heap, StackSum, ValueLimits, show, summary};
use bactrian_snapshot::*;

use super::written::{
    Block, Closure, Custom, Int, Opaque, Out, Text, To, bytes_with, heap, modules,
};

#[test]
fn words_by_use_sum_up_to_all_words() {
    let mut tables = modules(&["Main"], &[(0, 0, 0)]);
    tables.spaces = vec![
        Space { kind: SpaceKind::Major, start: 0x1000, end: 0x1048 },
        Space { kind: SpaceKind::Minor, start: 0x1048, end: 0x10000 },
    ];
    tables.memory = Memory {
        resident_bytes: Some(10_000),
        mapped_heap_words: Some(100),
        free_words: Some(60),
        fragment_words: Some(20),
        unreachable_words: Some(1),
        ..Memory::default()
    };
    for (name, bytes) in [("major heap, mapped bytes", 800), ("major heap, resident bytes", 700)] {
        let name = tables.names.add(name);
        tables.statistics.push(Statistic { name, value: Number::Whole(bytes) });
    }
    let blocks = [
        Block(0, vec![To(1), To(2), Out, Int(1), Int(0)]),
        Closure(0, vec![Int(2), To(3)]),
        Text(9),
        Custom(0, 64),
        Opaque(tag::DOUBLE, 1),
        Opaque(tag::ABSTRACT, 2),
    ];
    // If the snapshot does not record immediates, none is known to be empty.
    let answer = summary(&heap(&blocks, &tables));
    let immediates = answer.uses.iter().find(|row| row.what == "immediates");
    assert_eq!(immediates.map(|row| row.words), Some(3));
    let columns = Columns { immediates: true, ..Columns::default() };
    let bytes = bytes_with((columns, &Info::default()), &blocks, &[], &tables, 2);
    let snapshot = Snapshot::from_bytes(bytes).expect("a snapshot");
    let answer = summary(&Heap::new(snapshot, &mut |_| {}).expect("small"));
    let uses: Vec<_> = answer.uses.iter().map(|row| (row.what, row.words)).collect();
    assert_eq!(
        uses,
        [
            ("headers", 6),
            ("pointers", 3),
            ("pointers out of the heap", 1),
            ("immediates", 2),
            ("empty", 1),
            ("strings", 2),
            ("floats", 1),
            ("code of closures", 2),
            ("custom data", 2),
            ("abstract data", 2),
        ]
    );
    assert_eq!((answer.blocks, answer.bytes), (6, 8 * 22));
    assert_eq!((answer.string_bytes, answer.external_bytes), (9, 64));
    assert_eq!(answer.spaces.iter().map(|row| row.blocks).sum::<u64>(), 6);
    let major = &answer.major;
    assert_eq!((major.mapped, major.live), (Some(800), 88));
    assert_eq!(major.rest, Some(800 - 88 - 8 - 480 - 160));
    assert_eq!((major.slack, major.fragmentation), (Some(0.89), Some(0.25)));
    assert_eq!(answer.process.heap_resident, Some(700));
    assert_eq!(answer.process.beyond_live, Some(10_000 - 176 - 64));
}

#[test]
fn fiber_stacks_are_summed_by_owner() {
    let mut tables = modules(&["Main"], &[(0, 0, 0)]);
    let blocks = [Block(0, vec![To(1), To(2)]), Opaque(tag::CONTINUATION, 2), Text(9)];
    let opened = heap(&blocks, &tables);
    assert_eq!(summary(&opened).fiber_stacks, None, "an older file does not tell");
    assert_eq!(opened.weights()[..3], [3, 3, 3]);

    tables.memory.resident_bytes = Some(100_000);
    let fiber = |address, bytes, owner| FiberStack { address, bytes, owner };
    tables.fibers = Some(vec![
        fiber(0x9000, 608, FiberOwner::Continuation(BlockId(1))),
        fiber(0xa000, 2192, FiberOwner::Continuation(BlockId(1))),
        // Only a damaged file contains this: block 2 is not a continuation.
        fiber(0xb000, 8, FiberOwner::Continuation(BlockId(2))),
        fiber(0xc000, 32_864, FiberOwner::Thread(ThreadId(0))),
        fiber(0xd000, 608, FiberOwner::Cache { domain: 0 }),
    ]);
    let opened = heap(&blocks, &tables);
    let answer = summary(&opened);
    let stacks = answer.fiber_stacks.expect("known");
    let sum = |stacks, bytes| StackSum { stacks, bytes };
    assert_eq!((stacks.all, stacks.suspended), (sum(5, 36_280), sum(3, 2808)));
    assert_eq!((stacks.running, stacks.cached), (sum(1, 32_864), sum(1, 608)));
    assert_eq!(answer.bytes, 72, "they are outside the heap");
    assert_eq!(answer.process.beyond_live, Some(100_000 - 72 - 36_280));
    // The weight of a continuation, and of what retains it, includes its stacks.
    assert_eq!(opened.weights()[..3], [3, 3 + 350, 3]);
    assert_eq!((opened.retained_words(0), opened.retained_words(1)), (359, 353));
    let limits = ValueLimits { depth: 0, items: 0 };
    let shown = show(&opened, 1, 0, &limits);
    assert_eq!((shown.shallow, shown.fiber_stacks), (8 * 353, 2800));
}

#[test]
fn an_empty_heap_has_a_summary() {
    let answer = summary(&heap(&[], &Tables::default()));
    assert_eq!((answer.blocks, answer.bytes, answer.uses.len()), (0, 0, 0));
}

#[test]
fn impossible_memory_statistics_do_not_overflow() {
    let mut tables = modules(&["Main"], &[(0, 0, 0)]);
    tables.memory = Memory {
        resident_bytes: Some(1 << 63),
        mapped_heap_words: Some(0),
        free_words: Some(u64::MAX),
        fragment_words: Some(u64::MAX),
        unreachable_words: Some(u64::MAX),
        ..Memory::default()
    };
    let answer = summary(&heap(&[Text(3)], &tables));
    assert_eq!(answer.process.beyond_live, Some(i64::MAX - 15));
    assert_eq!(answer.major.rest, Some(i64::MIN));
}
