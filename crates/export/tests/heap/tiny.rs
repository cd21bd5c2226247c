//! A tiny heap with one block of every kind, and its exports.
//!
//! ```text
//! Main.field 0 -> list [ "camel"; (); (fun) ] -> closure Main.f -> big array of 70 fields, which all point to ..
//! Main.field 1 -> .. the float array; an ephemeron with the string as key and a float as data
//! thread 0     -> in Main.load: a custom block; a continuation that holds the second float
//! C variable   -> the list as well
//! ```

use bactrian_analysis::heap::{Heap, MergedLimits};
use bactrian_export::{HeapFormat, HeapOptions, export_heap};
use bactrian_snapshot::*;

/// The address of the first block; the others follow without gaps.
pub const FIRST: u64 = 0x7f00_0000_1008;

/// The number of fields of the big array.
pub const BIG: u32 = 70;

/// The size of the whole heap in bytes, headers included.
pub const BYTES: u64 = 8 * (3 * 3 + 2 + 4 + (1 + BIG as u64) + 4 + 2 + 5 + 2 + 3 + 3);

/// The number of blocks.
pub const BLOCKS: u64 = 12;

/// The bytes of its snapshot file.
pub fn bytes() -> Vec<u8> {
    let columns = Columns { continuations: true, strings: Some(3), ..Columns::default() };
    let info = Info {
        program: "/bin/tiny".to_owned(),
        host: "zoo".to_owned(),
        ocaml: "5.3.0".to_owned(),
        pid: 42,
        taken: 1_700_000_000_000_000,
        ..Info::default()
    };
    let write = || -> Result<Vec<u8>> {
        let mut writer = Writer::new(Vec::new(), columns, BLOCKS as u32, &info)?;
        let mut group = GroupBuilder::new(columns)?;
        group.start(BlockId(0));
        let mut address = FIRST;
        let mut block = |group: &mut GroupBuilder, words: u64, tag: u8| {
            group.block(address, words, tag);
            address += 8 * (words + 1);
        };
        // 0, 1, 2: cells of the list.
        for (head, tail) in [(Some(3), Some(1)), (None, Some(2)), (Some(4), None)] {
            block(&mut group, 2, 0);
            for target in [head, tail] {
                match target {
                    Some(target) => group.pointer(BlockId(target)),
                    None => group.immediate(0),
                }
            }
        }
        // 3: the string.
        block(&mut group, 1, tag::STRING);
        group.string(2, b"cam");
        // 4: the closure.
        block(&mut group, 3, tag::CLOSURE);
        group.closure(2, &[CodeId(0)]);
        group.pointer(BlockId(5));
        // 5: the big array.
        block(&mut group, u64::from(BIG), 0);
        (0..BIG).for_each(|_| group.pointer(BlockId(6)));
        // 6: the array of floats.
        block(&mut group, 3, tag::DOUBLE_ARRAY);
        // 7, 8, 9: a float, which is the data of the ephemeron; the ephemeron; another float.
        block(&mut group, 1, tag::DOUBLE);
        block(&mut group, 4, tag::ABSTRACT);
        block(&mut group, 1, tag::DOUBLE);
        // 10: the custom block.
        block(&mut group, 2, tag::CUSTOM);
        group.custom(CustomId(0), 4096);
        // 11: the continuation.
        block(&mut group, 2, tag::CONTINUATION);
        writer.group(group.finish()?)?;
        writer.tables(&tables())?;
        writer.finish()
    };
    write().expect("it can be written")
}

fn tables() -> Tables {
    let mut tables = Tables::default();
    tables.modules.push(Module::named(tables.names.add("Main")));
    let place = |tables: &mut Tables, function: &str, line| SnapshotLocation {
        function: tables.names.add(function),
        file: tables.names.add("src/main.ml"),
        line,
        ..SnapshotLocation::default()
    };
    let location = place(&mut tables, "Main.f", 3);
    tables.codes.push(ClosureCode { address: 0x1000, location });
    tables.customs.push(tables.names.add("_bigarr02"));
    let location = place(&mut tables, "Main.load", 12);
    tables.frames.push(Frame { location, return_address: 0x2000, is_inlined: false });
    tables.threads.push(Thread {
        number: 0,
        domain: 0,
        system_id: None,
        name: tables.names.add("main"),
        first_frame: FrameId(0),
        frames: 1,
    });
    let global = |field| RootKind::Global { module: ModuleId(0), field };
    let stack = |slot| RootKind::Stack { thread: ThreadId(0), frame: Some(FrameId(0)), slot };
    let variable = RootKind::CGlobal { address: 0x3000, name: tables.names.add("the_list") };
    let roots = [
        (global(0), 0),
        (global(1), 6),
        (global(1), 8),
        (stack(8), 10),
        (stack(16), 11),
        (variable, 0),
    ];
    let root = |(kind, block)| Root { kind, target: Pointer::to(BlockId(block)) };
    tables.roots = roots.into_iter().map(root).collect();
    tables.ephemerons.push(Ephemeron {
        block: BlockId(8),
        data: WeakSlot::Block(Pointer::to(BlockId(7))),
        keys: vec![WeakSlot::Block(Pointer::to(BlockId(3))), WeakSlot::Dead],
    });
    tables.continuations.push(Continuation {
        block: BlockId(11),
        first_frame: FrameId(0),
        frames: 0,
        held: vec![StackValue { frame: None, slot: 8, target: Pointer::to(BlockId(9)) }],
    });
    tables
}

/// The tiny heap as a graph.
pub fn tiny() -> Heap {
    open(bytes())
}

/// Opens the heap of a snapshot.
pub fn open(bytes: Vec<u8>) -> Heap {
    let snapshot = Snapshot::from_bytes(bytes).expect("it is a snapshot");
    Heap::new(snapshot, &mut |_| ()).expect("it is small enough")
}

/// A heap in a format, with the complete dominator tree.
pub fn exported(heap: &Heap, format: HeapFormat, blocks: bool) -> Vec<u8> {
    let limits = MergedLimits { min_share: 0.0, depth: 100 };
    let mut out = Vec::new();
    let options = HeapOptions { limits, blocks };
    export_heap(format, heap, &options, &mut out).expect("a vector takes everything");
    out
}
