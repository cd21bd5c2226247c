//! Finalisers that can never run.

use bactrian_analysis::heap::{Heap, finalisers};
use bactrian_snapshot::*;

use super::written::{Block, Closure, Int, Made, Text, To, bytes, heap, modules};

/// Finalisers from pairs of function and value.
fn finalised(roots: &[(u32, u32, u32)], pairs: &[(u32, u32)]) -> Tables {
    let mut tables = modules(&["Main"], roots);
    let function = tables.names.add("Main.close");
    let location = SnapshotLocation { function, ..SnapshotLocation::default() };
    tables.codes = vec![ClosureCode { address: 64, location }];
    let pointer = |block: u32| Some(Pointer::to(BlockId(block)));
    let kind = FinaliserKind::First;
    for &(function, value) in pairs {
        let (function, value) = (pointer(function), pointer(value));
        tables.finalisers.push(Finaliser { kind, value, function });
    }
    tables
}

#[test]
fn leaking_finalisers_are_found_with_their_cycle() {
    let blocks = [
        // Directly, and in use.
        Closure(0, vec![To(1)]),
        Block(0, vec![Int(1)]),
        // Through another block, and not in use; twice.
        Closure(0, vec![To(3)]),
        Block(1, vec![Int(0), To(4)]),
        Block(0, vec![To(8)]),
        Closure(0, vec![To(6)]),
        Block(1, vec![Int(0), To(7)]),
        Block(0, vec![To(8)]),
        Text(100),
        // No leak.
        Closure(0, vec![Int(1)]),
        Block(0, vec![To(9)]),
    ];
    let roots = [(0, 0, 1), (0, 1, 10)];
    let heap = heap(&blocks, &finalised(&roots, &[(0, 1), (2, 4), (5, 7), (9, 10)]));
    let found = finalisers(&heap);
    assert_eq!((found.first, found.leaking), (4, 3));
    let string = 14 * 8;
    // Two closures, two blocks in between, two values, one string; of the first only the closure.
    let shared = 2 * (32 + 24 + 16) + string;
    assert_eq!(found.bytes, shared + 32);
    let [shared_group, direct] = &found.groups[..] else { panic!("{:?}", found.groups) };
    assert_eq!((shared_group.count, shared_group.in_use, shared_group.bytes), (2, 0, shared));
    assert_eq!((direct.count, direct.in_use, direct.of), (1, 1, 4));
    let way: Vec<_> =
        shared_group.cycle.iter().map(|step| format!("{}/{}", step.step, step.what)).collect();
    let expected = [
        "/closure Main.close",
        "field 2/block of tag 1 with 2 fields",
        "field 1/block of tag 0 with 1 field",
    ];
    assert_eq!(way, expected);
}

/// Finalisers whose functions and values both have large neighbourhoods; every second function reaches its
/// value.
fn crowded(finalisers: u32) -> Heap {
    const MANY: u32 = 30_000;
    let mut blocks: Vec<Made> = Vec::new();
    // A chain of blocks that every function holds, and one that every value holds.
    let chain = |n: u32, next: u32| if n + 1 < MANY { To(next) } else { Int(0) };
    (0..MANY).for_each(|n| blocks.push(Block(0, vec![Int(1), chain(n, n + 1)])));
    let values = 2 * MANY + finalisers;
    for n in 0..MANY {
        let last = if n + 1 < MANY { To(MANY + n + 1) } else { To(values + finalisers) };
        blocks.push(Block(0, vec![Int(1), last]));
    }
    for n in 0..finalisers {
        let value = if n % 2 == 0 { Int(0) } else { To(values + finalisers + 1 + n) };
        blocks.push(Closure(0, vec![To(0), value]));
    }
    (0..finalisers).for_each(|_| blocks.push(Block(0, vec![Int(1)])));
    // All values.
    blocks.push(Block(0, (0..finalisers).map(|n| To(values + n)).collect()));
    // Between function and value: more than a short search visits.
    for n in 0..finalisers {
        blocks.push(Block(0, vec![To(0), To(values + n)]));
    }
    let pairs: Vec<_> = (0..finalisers).map(|n| (2 * MANY + n, values + n)).collect();
    let written = bytes(&blocks, &finalised(&[(0, 0, MANY)], &pairs), 1 << 16);
    Heap::new(Snapshot::from_bytes(written).expect("a snapshot"), &mut |_| {}).expect("small")
}

#[test]
fn many_finalisers_with_large_neighbourhoods_are_decided() {
    let heap = crowded(130);
    let found = finalisers(&heap);
    assert_eq!((found.first, found.leaking, found.groups.len()), (130, 65, 1));
    assert_eq!(found.groups[0].in_use, 65);
}

#[test]
fn reachability_in_random_heaps_matches_a_plain_search() {
    let mut seed = 7_u64;
    let mut dice = |most: u32| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u32 % most
    };
    for _ in 0..200 {
        let count = 2 + dice(12);
        let edges: Vec<Vec<u32>> =
            (0..count).map(|_| (0..dice(3)).map(|_| dice(count)).collect()).collect();
        let block = |targets: &Vec<u32>| Closure(0, targets.iter().map(|&to| To(to)).collect());
        let blocks: Vec<_> = edges.iter().map(block).collect();
        let pairs: Vec<_> = (0..5).map(|_| (dice(count), dice(count))).collect();
        let reaches = |&(from, to): &(u32, u32)| {
            let (mut seen, mut waiting) = (vec![false; count as usize], vec![from]);
            while let Some(node) = waiting.pop() {
                if !std::mem::replace(&mut seen[node as usize], true) {
                    waiting.extend(&edges[node as usize]);
                }
            }
            seen[to as usize]
        };
        let expected = pairs.iter().filter(|pair| reaches(pair)).count() as u64;
        let heap = heap(&blocks, &finalised(&[(0, 0, 0)], &pairs));
        assert_eq!(finalisers(&heap).leaking, expected, "{edges:?} {pairs:?}");
    }
}

#[test]
fn heap_without_finalisers_has_no_findings() {
    let found = finalisers(&heap(&[], &Tables::default()));
    assert_eq!((found.first, found.leaking, found.bytes), (0, 0, 0));
}

#[test]
fn all_questions_are_answered_about_damaged_heaps() {
    let blocks = [
        Closure(0, vec![To(1), Int(5)]),
        Block(0, vec![To(2), To(0), Int(1)]),
        Block(1, vec![To(1)]),
        Text(30),
        Block(0, (0..20).map(|n| if n % 3 == 0 { To(n % 4) } else { Int(0) }).collect()),
    ];
    let whole = bytes(&blocks, &finalised(&[(0, 0, 4), (0, 2, 1)], &[(0, 1), (0, 3)]), 2);
    let mut asked = 0;
    for at in 0..whole.len() {
        for change in [1, 0x80] {
            let mut damaged = whole.clone();
            damaged[at] ^= change;
            let Ok(snapshot) = Snapshot::from_bytes(damaged) else { continue };
            let Ok(heap) = Heap::new(snapshot, &mut |_| {}) else { continue };
            super::hostile::ask_everything(&heap);
            asked += 1;
        }
    }
    assert!(asked > whole.len(), "{asked} of {}", whole.len());
}
