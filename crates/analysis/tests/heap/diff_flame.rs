//! The differential flame graph of two heaps.

use bactrian_analysis::heap::{Heap, HeapDiffFlame, HolderTrees};
use bactrian_analysis::{Cancelled, UnderWay};
use proptest::prelude::*;

use super::written::{Block, Int, Made, Text, To, closures, heap, modules};

fn compared(before: &Heap, after: &Heap) -> HeapDiffFlame {
    let mut trees = HolderTrees::default();
    let sizes = [before, after].map(|heap| trees.take_in(heap));
    trees.compare(&sizes[0], &sizes[1])
}

/// Frames as lines: depth, name, retained size before and after, shallow size before and after, blocks likewise.
fn lines(flame: &HeapDiffFlame) -> Vec<String> {
    let mut depths: Vec<usize> = Vec::new();
    let line = |at: usize| {
        let depth = if at == 0 { 0 } else { depths[flame.parent[at] as usize] + 1 };
        depths.push(depth);
        let name = &flame.labels[flame.label[at] as usize].name;
        let (before, after) = (flame.before[at], flame.total[at]);
        let (own_before, own) = (flame.own_before[at], flame.own[at]);
        let (blocks_before, blocks) = (flame.blocks_before[at], flame.blocks[at]);
        format!(
            "{depth} {name}: {before} to {after}, own {own_before} to {own}, \
             {blocks_before} to {blocks} blocks"
        )
    };
    (0..flame.parent.len()).map(line).collect()
}

/// For each frame, what the frames below it retain together.
fn below(flame: &HeapDiffFlame, sizes: &[u64]) -> Vec<u64> {
    let mut below = vec![0; sizes.len()];
    for at in 1..sizes.len() {
        below[flame.parent[at] as usize] += sizes[at];
    }
    below
}

/// A module's list of so many cells.
fn list(cells: u32) -> Vec<Made> {
    (0..cells)
        .map(|n| Block(0, vec![Int(1), if n + 1 < cells { To(n + 1) } else { Int(0) }]))
        .collect()
}

#[test]
fn classes_are_matched_by_their_path_from_the_roots_and_not_by_address() {
    // The string of the first heap is gone; the second has another one elsewhere, and a longer list.
    let before = [vec![Text(20)], vec![Block(0, vec![Int(1), Int(0)])]].concat();
    let before = heap(&before, &modules(&["Main", "Other"], &[(0, 0, 1), (1, 0, 0)]));
    let after = [list(3), vec![Text(3)]].concat();
    let after = heap(&after, &modules(&["Main"], &[(0, 0, 0), (0, 1, 3)]));
    let expected = [
        "0 all roots: 56 to 88, own 0 to 0, 0 to 0 blocks",
        "1 globals: 56 to 88, own 0 to 0, 0 to 0 blocks",
        "2 module Main: 24 to 88, own 0 to 0, 0 to 0 blocks",
        "3 field 0 of Main: 24 to 72, own 0 to 0, 0 to 0 blocks",
        "4 tag 0, 2 fields: 24 to 72, own 24 to 72, 1 to 3 blocks",
        "3 field 1 of Main: 0 to 16, own 0 to 0, 0 to 0 blocks",
        "4 string: 0 to 16, own 0 to 16, 0 to 1 blocks",
        "2 module Other: 32 to 0, own 0 to 0, 0 to 0 blocks",
        "3 field 0 of Other: 32 to 0, own 0 to 0, 0 to 0 blocks",
        "4 string: 32 to 0, own 32 to 0, 1 to 0 blocks",
    ];
    assert_eq!(lines(&compared(&before, &after)), expected);
}

#[test]
fn deep_and_small_frames_are_bounded_and_counted() {
    // A class for each block: what is too deep is one frame.
    let (before, after) = (closures(1_000), closures(2_000));
    let flame = compared(&before, &after);
    assert!(flame.parent.len() <= 41, "{}", flame.parent.len());
    assert_eq!((flame.before[0], flame.total[0]), (32_000, 64_000));
    let last = lines(&flame).pop().expect("frames");
    assert!(last.starts_with("40 smaller or deeper: "), "{last}");
    // A string that is one part in ten thousand of both heaps is left out, and its holder says so.
    let with = |cells: u32| {
        let blocks = [list(cells), vec![Text(3)]].concat();
        heap(&blocks, &modules(&["Main"], &[(0, 0, 0), (0, 1, cells)]))
    };
    let flame = compared(&with(10_000), &with(20_000));
    assert_eq!((flame.parent.len(), flame.more[2]), (5, 1));
    assert_eq!((flame.total[2], flame.total[3]), (480_016, 480_000));
}

#[test]
fn merging_of_a_large_heap_can_be_cancelled() {
    let blocks = list(100_000);
    let heap = heap(&blocks, &modules(&["Main"], &[(0, 0, 0)]));
    let answer = UnderWay::default();
    let merged = answer.run(|| {
        answer.cancel();
        HolderTrees::default().take_in(&heap)
    });
    assert_eq!(merged.err(), Some(Cancelled));
}

/// Some blocks with a few tags, pointing to any of them, and roots in two modules.
fn any_heap() -> impl Strategy<Value = Heap> {
    let field = prop_oneof![any::<prop::sample::Index>().prop_map(Some), Just(None)];
    let block = (0u8..3, prop::collection::vec(field, 1..4));
    let roots = prop::collection::vec((0u32..2, 0u32..3, any::<prop::sample::Index>()), 0..5);
    (prop::collection::vec(block, 1..40), roots).prop_map(|(blocks, roots)| {
        let count = blocks.len();
        let value = |to: Option<prop::sample::Index>| match to {
            Some(to) => To(to.index(count) as u32),
            None => Int(1),
        };
        let made = blocks.into_iter();
        let made: Vec<_> =
            made.map(|(tag, fields)| Block(tag, fields.into_iter().map(value).collect())).collect();
        let roots: Vec<_> = roots
            .into_iter()
            .map(|(module, field, to)| (module, field, to.index(count) as u32))
            .collect();
        heap(&made, &modules(&["Main", "Other"], &roots))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn heap_compared_with_itself_has_not_changed(heap in any_heap()) {
        let flame = compared(&heap, &heap);
        prop_assert_eq!(flame.before, flame.total);
        prop_assert_eq!(flame.own_before, flame.own);
        prop_assert_eq!(flame.blocks_before, flame.blocks);
    }

    #[test]
    fn sizes_add_up_and_swapping_swaps_them(before in any_heap(), after in any_heap()) {
        let flame = compared(&before, &after);
        prop_assert_eq!(flame.before[0], before.reached_words() * 8);
        prop_assert_eq!(flame.total[0], after.reached_words() * 8);
        for (sizes, own) in [(&flame.before, &flame.own_before), (&flame.total, &flame.own)] {
            // Heaps this small have all their frames.
            let below = below(&flame, sizes);
            for at in 0..sizes.len() {
                prop_assert_eq!(below[at] + own[at], sizes[at], "frame {}", at);
            }
        }
        let swapped = compared(&after, &before);
        let sums = |sizes: &[u64]| -> Vec<u64> {
            let mut sizes = sizes.to_vec();
            sizes.sort_unstable();
            sizes
        };
        prop_assert_eq!(sums(&swapped.before), sums(&flame.total));
        prop_assert_eq!(sums(&swapped.total), sums(&flame.before));
    }
}
