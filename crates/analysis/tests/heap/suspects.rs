//! What is probably wrong with heaps; and that nothing is reported about small ones.

use bactrian_analysis::heap::{
    ClassBy, ClassRow, Heap, Series, Severity, Suspect, SuspectKind, classes, suspects,
};
use bactrian_snapshot::*;

use super::written::{
    Block, Closure, Custom, Int, Made, Opaque, Text, To, bytes, bytes_of, bytes_with, modules,
};

fn large(blocks: &[Made], tables: &Tables) -> Heap {
    let snapshot = Snapshot::from_bytes(bytes(blocks, tables, 1 << 16)).expect("a snapshot");
    Heap::new(snapshot, &mut |_| {}).expect("small")
}

fn kinds(found: &[Suspect]) -> Vec<SuspectKind> {
    found.iter().map(|suspect| suspect.kind).collect()
}

#[test]
fn small_heaps_have_no_findings() {
    assert_eq!(kinds(&suspects(&large(&[], &Tables::default()), None)), []);
    assert_eq!(kinds(&suspects(&large(&[Text(3)], &Tables::default()), None)), []);
    let one = large(&[Text(3)], &modules(&["Main"], &[(0, 0, 0)]));
    assert_eq!(kinds(&suspects(&one, None)), []);
}

/// An array of 100 strings allocated one after the other, starting at a given second, in a run of 10 seconds.
fn made_since(seconds: u64) -> Heap {
    let (count, run) = (100, 10_000_000);
    let mut blocks = vec![Block(0, (1..=count).map(To).collect())];
    blocks.extend((0..count).map(|_| Text(1_000)));
    let mut tables = modules(&["Main"], &[(0, 0, 0)]);
    let since = run - seconds * 1_000_000;
    let sample = |number: u64| Sample {
        block: BlockId(number as u32 + 1),
        allocation: number,
        samples: 1,
        stack: None,
        time: Some(since + number * (run - since) / u64::from(count)),
    };
    tables.samples = (0..u64::from(count)).map(sample).collect();
    let info = Info { since_start: Some(run), ..Info::default() };
    let written = bytes_with((Columns::default(), &info), &blocks, &[], &tables, 1 << 16);
    Heap::new(Snapshot::from_bytes(written).expect("a snapshot"), &mut |_| {}).expect("small")
}

#[test]
fn old_and_growing_blocks_are_found_in_one_snapshot() {
    let growing = made_since(8);
    let found = suspects(&growing, None);
    assert_eq!(kinds(&found), [SuspectKind::Owner]);
    let told = &found[0].sentence;
    // 100 strings of 127 words, and the array.
    let wanted = "It is old and still grows: for 8.00 s, by about 12.8 kB per second";
    assert!(told.contains(wanted), "{told}");
    let strings = |heap: &Heap| {
        let table = classes(heap, ClassBy::Type);
        table.rows.iter().find(|row| row.label.name == "string").and_then(ClassRow::growth)
    };
    assert_eq!(strings(&growing), Some(100.0 * 1_016.0 / 8.0));
    // The strings may be complete by now, and not grow further.
    let lately = made_since(2);
    assert!(!suspects(&lately, None)[0].sentence.contains("grows"));
    assert_eq!(strings(&lately), None);
}

#[test]
fn finaliser_cycles_of_any_size_come_first() {
    let blocks = [Closure(0, vec![To(1)]), Block(0, vec![Int(1)]), Text(1_000_000)];
    let mut tables = modules(&["Main"], &[(0, 0, 2)]);
    let (name, file) = (tables.names.add("Main.close"), tables.names.add("main.ml"));
    let location =
        SnapshotLocation { function: name, file, line: 3, ..SnapshotLocation::default() };
    tables.codes = vec![ClosureCode { address: 64, location }];
    let [function, value] = [0, 1].map(|block| Some(Pointer::to(BlockId(block))));
    tables.finalisers = vec![Finaliser { kind: FinaliserKind::First, value, function }];
    let found = suspects(&large(&blocks, &tables), None);
    assert_eq!(kinds(&found), [SuspectKind::FinaliserCycle, SuspectKind::Owner]);
    assert_eq!(found[0].severity, Severity::Certain);
    assert!(found[0].sentence.contains("closure Main.close (main.ml:3)"), "{}", found[0].sentence);
}

#[test]
fn empty_containers_are_distinguished() {
    let blocks = [
        // A table without bindings, options with few values, an array of one repeated block, numbers that the
        // snapshot does not record.
        Block(0, vec![Int(0), To(1), Int(0), Int(1)]),
        Block(0, vec![Int(0); 4096]),
        Block(0, (0..5_000).map(|n| if n % 1_000 == 0 { To(5) } else { Int(0) }).collect()),
        Block(0, vec![To(5); 3_000]),
        Block(0, vec![Int(7); 6_000]),
        Text(3),
    ];
    let roots = [(0, 0, 0), (0, 1, 2), (0, 2, 3), (0, 3, 4)];
    let found = suspects(&large(&blocks, &modules(&["Main"], &roots)), None);
    let of = |kind: SuspectKind| -> Vec<_> {
        found.iter().filter(|one| one.kind == kind).map(|one| &*one.sentence).collect()
    };
    let tables = of(SuspectKind::EmptyTable);
    assert_eq!(tables.len(), 1, "{found:?}");
    assert!(
        tables[0].starts_with("The hash table @0") && tables[0].contains("none is used"),
        "{tables:?}"
    );
    let [options, same] = &of(SuspectKind::EmptyContainer)[..] else { panic!("{found:?}") };
    assert!(options.contains("only 5 point to something"), "{options}");
    assert!(same.contains("point to @5 string of 3 bytes"), "{same}");
    assert!(found[0].next == ("paths", "@2".to_owned()), "{found:?}");
}

#[test]
fn stacks_ephemerons_and_outside_memory_are_reported() {
    let mut tables = modules(&["Main"], &[(0, 0, 2), (0, 1, 4)]);
    let thread = Thread {
        number: 0,
        domain: 0,
        system_id: None,
        name: NameId(0),
        first_frame: FrameId(0),
        frames: 0,
    };
    tables.threads = vec![thread];
    let kind = RootKind::Stack { thread: ThreadId(0), frame: None, slot: 8 };
    tables.roots.push(Root { kind, target: Pointer::to(BlockId(0)) });
    let held = vec![StackValue { frame: None, slot: 8, target: Pointer::to(BlockId(3)) }];
    let first_frame = FrameId(0);
    tables.continuations = vec![Continuation { block: BlockId(2), first_frame, frames: 0, held }];
    tables.customs = vec![tables.names.add("_bigarr02")];
    let blocks =
        [Text(50_000), Text(10), Opaque(tag::CONTINUATION, 1), Text(60_000), Custom(0, 30_000_000)];
    let found = suspects(&large(&blocks, &tables), None);
    for kind in [SuspectKind::Stack, SuspectKind::Continuation, SuspectKind::External] {
        assert!(kinds(&found).contains(&kind), "{found:?}");
    }
}

#[test]
fn long_lists_are_reported_with_their_start() {
    let count = 200_000;
    let cell = |n: u32| Block(0, vec![Int(1), if n + 1 < count { To(n + 1) } else { Int(0) }]);
    let blocks: Vec<_> = (0..count).map(cell).collect();
    let found = suspects(&large(&blocks, &modules(&["Main"], &[(0, 0, 0)])), None);
    let chain = found.iter().find(|one| one.kind == SuspectKind::Chain).expect("a chain");
    assert!(chain.sentence.starts_with("200k blocks of tag 0, 2 fields"), "{}", chain.sentence);
    assert_eq!(chain.next.1, "@0");
    let owner = found.iter().find(|one| one.kind == SuspectKind::Owner).expect("an owner");
    assert!(
        owner.sentence.starts_with("@0 block of tag 0 with 2 fields alone holds"),
        "{}",
        owner.sentence
    );
}

#[test]
fn growth_in_every_snapshot_is_a_likely_leak() {
    let heap = |second: u64, bytes: u64| {
        let tables = modules(&["Main"], &[(0, 0, 0)]);
        let info = Info { taken: second * 1_000_000, ..Info::default() };
        let written = bytes_of(&[Text(bytes)], &tables, 10, &info);
        Heap::new(Snapshot::from_bytes(written).expect("a snapshot"), &mut |_| {}).expect("small")
    };
    let mut series = Series::default();
    series.add(heap(0, 100_000), false);
    series.add(heap(1, 200_000), false);
    let last = heap(2, 300_000);
    series.add_uncompared(&last);
    let found = suspects(&last, Some(&series.finish()));
    assert_eq!(found[0].kind, SuspectKind::Growth, "{found:?}");
    let sentence = "string grew in every one of 3 snapshots, from 100 kB to 300 kB, about 100 kB per second: it doubles in 3.00 s";
    assert_eq!(found[0].sentence, sentence);
}

#[test]
fn parameters_that_do_not_fit_the_counters_are_found() {
    let heap = |heap_words: u64, space_overhead: u64| {
        let mut tables = modules(&["Main"], &[(0, 0, 0)]);
        for (name, value) in [("heap_words", heap_words), ("space_overhead", space_overhead)] {
            let name = tables.names.add(name);
            tables.statistics.push(Statistic { name, value: Number::Whole(value) });
        }
        large(&[Text(1_000)], &tables)
    };
    let found = suspects(&heap(10_000_000, 120), None);
    let last = found.last().expect("something is found");
    assert_eq!(last.kind, SuspectKind::GcParameters);
    assert!(last.sentence.starts_with("the heap is 80"), "{}", last.sentence);
    let usual = suspects(&heap(1_000, 120), None);
    assert!(!kinds(&usual).contains(&SuspectKind::GcParameters), "{usual:?}");
}
