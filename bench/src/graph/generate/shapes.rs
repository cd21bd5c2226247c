//! Data structures.

use super::heap::Heap;

/// A structure of about `length` elements; two of them if they share their elements.
pub fn any(heap: &mut Heap, length: usize) -> Vec<u32> {
    let unit = heap.random.unit();
    if unit < 0.20 {
        vec![list(heap, length)]
    } else if unit < 0.32 {
        list_and_table(heap, length)
    } else if unit < 0.54 {
        tree(heap, length)
    } else if unit < 0.68 {
        vec![table_of(heap, length, |heap, _| heap.element())]
    } else if unit < 0.86 {
        vec![shared(heap, length * 3)]
    } else if unit < 0.91 {
        vec![ring(heap, length)]
    } else if unit < 0.95 {
        tree_with_parents(heap, length)
    } else {
        vec![tangle(heap, length.min(20_000))]
    }
}

fn list(heap: &mut Heap, length: usize) -> u32 {
    list_of(heap, length, Heap::element)
}

/// A list, and a hash table of the same records.
fn list_and_table(heap: &mut Heap, length: usize) -> Vec<u32> {
    let mut elements = Vec::new();
    let list = list_of(heap, length, |heap| {
        let element = heap.element();
        elements.push(element);
        element
    });
    vec![list, table_of(heap, elements.len(), |_, at| elements[at])]
}

/// Cells with an element and the next cell.
pub fn list_of(heap: &mut Heap, length: usize, mut element: impl FnMut(&mut Heap) -> u32) -> u32 {
    let first = heap.node(2);
    let mut cell = first;
    for at in 0..length {
        let value = element(heap);
        heap.set(cell, 0, value);
        if at + 1 == length || heap.is_full() {
            break;
        }
        let next = heap.node(2);
        heap.set(cell, 1, next);
        cell = next;
    }
    first
}

/// A record, an array of buckets, and cells with a key, a value and the next cell.
pub fn table_of(
    heap: &mut Heap,
    length: usize,
    mut value: impl FnMut(&mut Heap, usize) -> u32,
) -> u32 {
    let table = heap.node(2);
    let size = (length * 3 / 4).max(1);
    let buckets = heap.node(size);
    heap.set(table, 0, buckets);
    for at in 0..length {
        if heap.is_full() {
            break;
        }
        let cell = heap.node(3);
        let bucket = heap.random.below(size);
        if let Some(next) = heap.get(buckets, bucket) {
            heap.set(cell, 2, next);
        }
        heap.set(buckets, bucket, cell);
        let value = value(heap, at);
        heap.set(cell, 1, value);
        heap.fill(cell, 0);
    }
    table
}

/// A balanced tree with a key and a value in each node. Its depth is logarithmic, so recursion is safe.
fn tree(heap: &mut Heap, length: usize) -> Vec<u32> {
    if length == 0 || heap.is_full() {
        return Vec::new();
    }
    let left = tree(heap, length / 2);
    let node = heap.node(4);
    left.into_iter().for_each(|left| heap.set(node, 0, left));
    let key = heap.element();
    heap.set(node, 1, key);
    heap.fill(node, 2);
    let right = tree(heap, length - 1 - length / 2);
    right.into_iter().for_each(|right| heap.set(node, 3, right));
    vec![node]
}

/// The same tree with a pointer from each node to its parent.
fn tree_with_parents(heap: &mut Heap, length: usize) -> Vec<u32> {
    if length == 0 || heap.is_full() {
        return Vec::new();
    }
    let node = heap.node(4);
    let element = heap.element();
    heap.set(node, 1, element);
    for (field, length) in [(2, (length - 1) / 2), (3, length / 2)] {
        for child in tree_with_parents(heap, length) {
            heap.set(child, 0, node);
            heap.set(node, field, child);
        }
    }
    vec![node]
}

/// Nodes that share recently made ones, like terms and formulas.
fn shared(heap: &mut Heap, length: usize) -> u32 {
    let first = heap.node(0);
    let mut last = first;
    for _ in 1..length {
        if heap.is_full() {
            break;
        }
        let fields = 2 + heap.random.below(3);
        let node = heap.node(fields);
        heap.set(node, 0, last);
        for field in 1..fields {
            let back = 1 + heap.random.geometric(60.0) as u32;
            heap.set(node, field, node.saturating_sub(back).max(first));
        }
        last = node;
    }
    last
}

/// A circular doubly linked list.
fn ring(heap: &mut Heap, length: usize) -> u32 {
    let first = heap.node(3);
    let mut cell = first;
    for _ in 0..length {
        let element = heap.element();
        heap.set(cell, 2, element);
        if heap.is_full() {
            break;
        }
        let next = heap.node(3);
        heap.set(cell, 1, next);
        heap.set(next, 0, cell);
        cell = next;
    }
    heap.set(cell, 1, first);
    heap.set(first, 0, cell);
    first
}

/// Objects that point to each other.
fn tangle(heap: &mut Heap, length: usize) -> u32 {
    let first = heap.nodes() as u32;
    let objects: Vec<u32> = (0..length.max(1)).map(|_| heap.node(3)).collect();
    for (at, &object) in objects.iter().enumerate() {
        heap.set(object, 0, objects[(at + 1) % objects.len()]);
        let other = objects[heap.random.below(objects.len())];
        heap.set(object, 1, other);
        let hub = heap.hub();
        heap.set(object, 2, hub);
    }
    first
}
