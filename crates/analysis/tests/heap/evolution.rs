//! The evolution of a heap over snapshots has the same numbers as each snapshot by itself.

use bactrian_analysis::Estimate;
use bactrian_analysis::heap::{
    BlockFilter, ClassBy, ClassFilter, EvolutionOrder, EvolutionShape, EvolutionUnit, Heap,
    HeapSums, classes_of, evolution, evolution_names,
};
use bactrian_snapshot::{
    BlockId, Info, Number, Sample, Snapshot, SnapshotLocation, StackId, StackNode, Statistic,
};

use super::written::{Block, Int, Made, Text, To, bytes_of, modules};

/// A list of `cells` cells with a string each, half of them sampled or all. `second` is also the number of
/// compactions.
fn at(second: u64, cells: u32, is_all: bool) -> Heap {
    let mut blocks: Vec<Made> = Vec::new();
    for cell in 0..cells {
        blocks.push(Block(0, vec![To(cells + cell), Int(0)]));
    }
    blocks.extend((0..cells).map(|cell| Text(u64::from(8 * cell))));
    let mut tables = modules(&["Main"], &[(0, 0, 0)]);
    let file = tables.names.add("main.ml");
    for (line, name) in [(1, "Main.load"), (2, "Main.keep"), (3, "Other.make")] {
        let function = tables.names.add(name);
        let location = SnapshotLocation { function, file, line, start_char: 2, end_char: 9 };
        tables.stacks.push(StackNode { caller: None, location });
    }
    let name = tables.names.add("compactions");
    tables.statistics = vec![Statistic { name, value: Number::Whole(second) }];
    tables.samples = (0..2 * cells)
        .filter(|block| is_all || block % 2 == 0)
        .map(|block| Sample {
            block: BlockId(block),
            allocation: 0,
            samples: if is_all { 1000 } else { 1 },
            stack: Some(StackId(block % 3)),
            time: None,
        })
        .collect();
    let info =
        Info { pid: 7, taken: second * 1_000_000, sequence: second as u32, ..Info::default() };
    let snapshot =
        Snapshot::from_bytes(bytes_of(&blocks, &tables, 100, &info)).expect("a snapshot");
    Heap::new(snapshot, &mut |_| {}).expect("small")
}

fn question(by: ClassBy, filter: BlockFilter) -> EvolutionShape {
    EvolutionShape {
        by,
        filter,
        unit: EvolutionUnit::Bytes,
        order: EvolutionOrder::Average,
        number: 0,
        also: Vec::new(),
    }
}

/// Whether two estimates are equal up to rounding.
fn is_near(one: Estimate, other: Estimate) -> bool {
    let pairs = [(one.value, other.value), (one.low, other.low), (one.high, other.high)];
    pairs.iter().all(|(a, b)| (a - b).abs() <= 1e-9 * a.abs().max(1.0))
}

#[test]
fn series_has_the_numbers_of_each_single_snapshot() {
    let module = || Some("Main".to_owned());
    let filters = [
        BlockFilter::default(),
        BlockFilter { module: module(), ..BlockFilter::default() },
        BlockFilter { function: Some("Main.load".into()), ..BlockFilter::default() },
        BlockFilter { site: Some("main.ml:2".into()), ..BlockFilter::default() },
        BlockFilter { class: Some("string".into()), ..BlockFilter::default() },
        BlockFilter { class: Some("string".into()), module: module(), ..Default::default() },
    ];
    for is_all in [false, true] {
        let heaps = [at(1, 5, is_all), at(2, 20, is_all), at(3, 40, is_all)];
        let sums: Vec<_> = heaps.iter().map(HeapSums::of).collect();
        let sums: Vec<_> = sums.iter().collect();
        for by in [ClassBy::Type, ClassBy::Module, ClassBy::Function, ClassBy::Site] {
            for filter in &filters {
                let all = evolution(&sums, &question(by, filter.clone()));
                assert!(!all.rows.is_empty());
                for (place, heap) in heaps.iter().enumerate() {
                    let of = |class: &String| -> Vec<u32> {
                        let classes = (0..).zip(heap.classes());
                        classes.filter(|(_, c)| c.name == *class).map(|(n, _)| n).collect()
                    };
                    let alone = ClassFilter {
                        classes: filter.class.as_ref().map(of),
                        module: filter.module.clone(),
                        function: filter.function.clone(),
                        site: filter.site.clone(),
                        raw: false,
                    };
                    let table = classes_of(heap, by, &alone);
                    for expected in &table.rows {
                        let row = all.rows.iter().find(|row| row.label == expected.label);
                        let row = row.unwrap_or_else(|| panic!("{:?}", expected.label));
                        assert!(is_near(row.bytes[place], expected.shallow), "{by:?} {filter:?}");
                        assert!(is_near(row.blocks[place], expected.blocks), "{by:?} {filter:?}");
                    }
                    let there = all.rows.iter().filter(|row| row.blocks[place].value > 0.0);
                    assert_eq!(there.count(), table.rows.len(), "{by:?} {filter:?}");
                    assert_eq!(all.exact, table.exact);
                }
            }
        }
    }
}

#[test]
fn first_rows_are_listed_and_the_others_summed() {
    let heaps = [at(1, 5, true), at(2, 20, true)];
    let sums: Vec<_> = heaps.iter().map(HeapSums::of).collect();
    let sums: Vec<_> = sums.iter().collect();
    let mut ask = question(ClassBy::Function, BlockFilter::default());
    let all = evolution(&sums, &ask);
    assert_eq!((all.row_count, all.rows.len(), all.rest.is_none()), (3, 3, true));
    assert_eq!(all.snapshots[1].compactions, Some(2));
    assert_eq!(all.all.bytes[1].value, all.snapshots[1].bytes as f64);
    let names: Vec<_> = all.rows.iter().map(|row| row.title.clone()).collect();
    ask.number = 1;
    ask.also = vec![names[2].clone(), "nobody".to_owned()];
    let few = evolution(&sums, &ask);
    assert_eq!(few.rows.len(), 2);
    assert_eq!(few.rest.expect("one is left").bytes, all.rows[1].bytes);
    assert_eq!(few.all.bytes, all.all.bytes);
    let rate = all.all.rate.expect("two times");
    assert_eq!(rate, all.all.growth);
    for order in [EvolutionOrder::Growth, EvolutionOrder::At(0)] {
        ask.order = order;
        ask.number = 0;
        let rows = evolution(&sums, &ask).rows;
        let key = |row: &bactrian_analysis::heap::EvolutionRow| match order {
            EvolutionOrder::At(at) => row.bytes[at].value,
            _ => row.growth,
        };
        assert!(rows.is_sorted_by(|one, other| key(one) >= key(other)));
    }
    assert_eq!(evolution_names(&sums, &ask, "LOAD", 9), ["Main.load"]);
    assert_eq!(evolution_names(&sums, &ask, "", 2).len(), 2);
}

#[test]
fn sites_are_unknown_without_samples() {
    let mut heap = at(1, 3, false);
    let nothing = question(ClassBy::Site, BlockFilter::default());
    let found = evolution(&[&HeapSums::of(&heap)], &nothing);
    assert!(!found.exact && found.notes.iter().any(|note| note.contains("estimated")));
    heap = super::written::heap(&[Text(3)], &modules(&["Main"], &[(0, 0, 0)]));
    let found = evolution(&[&HeapSums::of(&heap)], &nothing);
    assert!(found.rows.is_empty() && found.all.bytes[0].value == 0.0);
    assert!(found.notes.iter().any(|note| note.contains("no samples")), "{:?}", found.notes);
    assert!(evolution(&[], &nothing).rows.is_empty());
}
