//! Heaps of any size that resemble those of OCaml programs: lists, trees, hash tables, shared structures, some
//! cycles, a few values to which everything points, and a power law of sizes. There are about three pointers
//! per node, most of them to near nodes. Nodes are in the order in which a program might allocate them,
//! slightly shuffled, like addresses.

mod heap;
mod shapes;

use super::file::Written;
use heap::Heap;

const MODULES: usize = 200;
const FIELDS: usize = 30;

/// A heap of all shapes.
pub fn mixed(nodes: usize) -> Written {
    let mut heap = Heap::new(nodes, 42);
    let mut roots: Vec<u32> = (0..MODULES).map(|_| heap.open_node(FIELDS)).collect();
    heap.make_hubs();
    let longest = (nodes / 50).max(100);
    while !heap.is_full() {
        // A power law: most are small, and a few have the maximum size.
        let length = 6.0 / heap.random.unit().max(1e-12).powf(1.15);
        let length = (length as usize).min(longest);
        let mut waiting = heap.waiting();
        let structures = shapes::any(&mut heap, length);
        // Some are garbage by now.
        if heap.random.chance(0.04) {
            heap.forget(waiting);
            continue;
        }
        for structure in structures {
            if heap.attach(structure, waiting) {
                waiting -= 1;
            } else {
                roots.push(structure);
            }
        }
    }
    heap.finish(&roots)
}

/// A list of records and a hash table of the same records, for which simple algorithms are quadratic.
pub fn trap(nodes: usize) -> Written {
    let mut heap = Heap::new(usize::MAX, 7);
    heap.make_hubs();
    // A cell, a record, a bucket and its cell: four nodes each.
    let records = nodes / 3;
    let mut elements = Vec::with_capacity(records);
    let list = shapes::list_of(&mut heap, records, |heap| {
        let record = heap.node(0);
        elements.push(record);
        record
    });
    let table = shapes::table_of(&mut heap, records, |_, at| elements[at]);
    heap.finish(&[list, table])
}
