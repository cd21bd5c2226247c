//! Measures the size of snapshots and the time per block, on a made-up heap of lists, maps, tables and strings:
//! `cargo run --release -p bactrian-snapshot --example measure [MILLIONS]`.

#![expect(clippy::print_stdout, reason = "that is what it is for")]

use std::time::Duration;

use bactrian_snapshot::*;

/// A block as the walker would find it.
enum Made {
    /// `(key, rest)`, where the rest is the previous block of this kind.
    Cons(i64, u32),
    /// A node of a balanced map: left, key, value, right, height.
    Node(u32, u32, u32, u32, i64),
    /// A string with this length in bytes.
    Text(u64),
    /// A boxed float.
    Float,
    /// A long array of pointers.
    Table(Vec<u32>),
}

fn main() -> Result<()> {
    let millions: usize = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(4);
    let heap = make(millions * 1_000_000);
    for (name, columns) in [
        ("pointers", Columns::default()),
        ("and immediates", Columns { immediates: true, ..Columns::default() }),
    ] {
        measure(name, &heap, columns)?;
    }
    Ok(())
}

/// Processor time of this thread, since other processes may be busy too.
fn processor_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = text.split(' ').next().and_then(|text| text.parse().ok());
    Duration::from_nanos(first.unwrap_or(0))
}

fn measure(name: &str, heap: &[Made], columns: Columns) -> Result<()> {
    let count = heap.len();
    let mut builder = GroupBuilder::new(columns)?;
    let mut writer = Writer::new(Vec::new(), columns, count as u32, &Info::default())?;
    let (mut address, mut words, mut id) = (0x7f00_0000_0000_u64, 0, 0);
    let start = processor_time();
    let mut packing = Duration::ZERO;
    for group in heap.chunks(GROUP_BLOCKS as usize) {
        builder.start(BlockId(id));
        for made in group {
            let size = put(&mut builder, address, made);
            words += size + 1;
            // Every twentieth block is followed by a freed one.
            address += 8 * (size + 1) + if id % 20 == 0 { 24 } else { 0 };
            id += 1;
        }
        let before = processor_time();
        writer.group(builder.finish()?)?;
        packing += processor_time() - before;
    }
    writer.tables(&Tables::default())?;
    let bytes = writer.finish()?;
    let per_million = |time: Duration| time.as_secs_f64() * 1e9 / count as f64;
    let per_block = bytes.len() as f64 / count as f64;
    let share = bytes.len() as f64 / (words * 8) as f64 * 100.0;
    let written = processor_time() - start;
    let start = processor_time();
    let snapshot = Snapshot::from_bytes(bytes)?;
    let mut sum = 0_u64;
    for index in 0..snapshot.groups().len() {
        for edge in snapshot.group(index)?.fields()?.edges() {
            sum += u64::from(edge?.to.block.0);
        }
    }
    println!(
        "{name:<16}{per_block:.2} bytes per block, {share:.1} % of the heap; ms per million blocks: \
         building {:.1}, packing {:.1}, reading pointers {:.1} (sum {sum})",
        per_million(written - packing),
        per_million(packing),
        per_million(processor_time() - start),
    );
    Ok(())
}

fn put(group: &mut GroupBuilder, address: u64, made: &Made) -> u64 {
    let pointer = |group: &mut GroupBuilder, target: u32| match target {
        0 => group.immediate(0),
        target => group.pointer(BlockId(target)),
    };
    match made {
        Made::Cons(key, rest) => {
            group.block(address, 2, 0);
            group.immediate(*key);
            pointer(group, *rest);
            2
        }
        Made::Node(left, key, value, right, height) => {
            group.block(address, 5, 0);
            [left, key, value, right].into_iter().for_each(|&target| pointer(group, target));
            group.immediate(*height);
            5
        }
        Made::Text(bytes) => {
            let words = bytes / 8 + 1;
            group.block(address, words, tag::STRING);
            group.string((words * 8 - 1 - bytes) as u8, b"");
            words
        }
        Made::Float => {
            group.block(address, 1, tag::DOUBLE);
            1
        }
        Made::Table(targets) => {
            group.block(address, targets.len() as u64, 0);
            targets.iter().for_each(|&target| pointer(group, target));
            targets.len() as u64
        }
    }
}

/// A third each of a list, of a map from strings to floats whose nodes are in the order of random insertions,
/// and of buckets of a table.
fn make(count: usize) -> Vec<Made> {
    let mut heap = vec![Made::Float];
    let mut state = 1_u64;
    let mut random = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    let mut list = 0;
    let mut nodes = vec![0_u32];
    let mut buckets = vec![0_u32; 1 << 16];
    while heap.len() < count {
        let next = heap.len() as u32;
        match random() % 3 {
            0 => {
                heap.push(Made::Cons((random() % 1000) as i64, list));
                list = next;
            }
            1 => {
                heap.push(Made::Text(3 + random() % 12));
                heap.push(Made::Float);
                // An insertion makes nodes anew from the leaf upwards, so children are near or far.
                let near = nodes[nodes.len() - 1 - (random() as usize % nodes.len().min(16))];
                let far = nodes[random() as usize % nodes.len()];
                heap.push(Made::Node(near, next, next + 1, far, (random() % 20) as i64));
                nodes.push(next + 2);
            }
            _ => {
                let bucket = random() as usize % buckets.len();
                heap.push(Made::Cons(random() as i64 % 100_000, buckets[bucket]));
                buckets[bucket] = next;
            }
        }
    }
    heap.push(Made::Table(buckets));
    heap
}
