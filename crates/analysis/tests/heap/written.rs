//! Heaps written by hand: blocks with their fields, and tables.

use bactrian_analysis::heap::Heap;
use bactrian_snapshot::*;

/// A block.
#[derive(Clone, Debug)]
pub enum Made {
    /// A block with this tag and these fields.
    Block(u8, Vec<Value>),
    /// A closure with this code and this environment.
    Closure(u32, Vec<Value>),
    /// A string of this many bytes.
    Text(u64),
    /// A custom block: its identifier, and the bytes it holds outside the heap.
    Custom(u32, u64),
    /// A block without values: its tag and its words.
    Opaque(u8, u64),
}

/// A field.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A pointer to a block.
    To(u32),
    /// An immediate.
    Int(i64),
    /// A pointer out of the heap.
    Out,
}

pub use Made::*;
pub use Value::*;

/// The bytes of a snapshot of these blocks, in groups of `group`.
pub fn bytes(blocks: &[Made], tables: &Tables, group: usize) -> Vec<u8> {
    bytes_of(blocks, tables, group, &Info::default())
}

/// Likewise, with this information about the process.
pub fn bytes_of(blocks: &[Made], tables: &Tables, group: usize, info: &Info) -> Vec<u8> {
    let columns = Columns { continuations: true, ..Columns::default() };
    bytes_with((columns, info), blocks, &[], tables, group)
}

/// Likewise, with these columns; some blocks have the contents of earlier ones.
pub fn bytes_with(
    (columns, info): (Columns, &Info),
    blocks: &[Made],
    equals: &[(u32, u32)],
    tables: &Tables,
    group: usize,
) -> Vec<u8> {
    let write = || -> Result<Vec<u8>> {
        let count = blocks.len() as u32;
        let mut writer = Writer::new(Vec::new(), columns, count, info)?;
        let mut builder = GroupBuilder::new(columns)?;
        let (mut address, mut id) = (0x1008, 0);
        for part in blocks.chunks(group) {
            builder.start(BlockId(id));
            for made in part {
                address += 8 * (put(&mut builder, address, made) + 1);
                if let Some((_, first)) = equals.iter().find(|(block, _)| *block == id) {
                    builder.equals(BlockId(*first));
                }
                id += 1;
            }
            writer.group(builder.finish()?)?;
        }
        writer.tables(tables)?;
        writer.finish()
    };
    write().expect("it can be written")
}

fn put(builder: &mut GroupBuilder, address: u64, made: &Made) -> u64 {
    let fields = |builder: &mut GroupBuilder, fields: &[Value]| {
        for field in fields {
            match *field {
                To(block) => builder.pointer(BlockId(block)),
                Int(value) => builder.immediate(value),
                Out => builder.outside(),
            }
        }
    };
    match made {
        Block(tag, values) => {
            builder.block(address, values.len() as u64, *tag);
            fields(builder, values);
            values.len() as u64
        }
        Closure(code, values) => {
            let words = values.len() as u64 + 2;
            builder.block(address, words, tag::CLOSURE);
            builder.closure(2, &[CodeId(*code)]);
            fields(builder, values);
            words
        }
        Text(length) => {
            let words = length / 8 + 1;
            builder.block(address, words, tag::STRING);
            builder.string((words * 8 - 1 - length) as u8, b"");
            words
        }
        Custom(identifier, external) => {
            builder.block(address, 2, tag::CUSTOM);
            builder.custom(CustomId(*identifier), *external);
            2
        }
        Opaque(tag, words) => {
            builder.block(address, *words, *tag);
            *words
        }
    }
}

/// The heap of these blocks.
pub fn heap(blocks: &[Made], tables: &Tables) -> Heap {
    let snapshot = Snapshot::from_bytes(bytes(blocks, tables, 2)).expect("a snapshot");
    Heap::new(snapshot, &mut |_| {}).expect("small")
}

/// Tables with modules of these names; each root is given as module, field and block.
pub fn modules(names: &[&str], roots: &[(u32, u32, u32)]) -> Tables {
    let mut tables = Tables::default();
    for name in names {
        let name = tables.names.add(name);
        tables.modules.push(Module::named(name));
    }
    for &(module, field, block) in roots {
        let kind = RootKind::Global { module: ModuleId(module), field };
        tables.roots.push(Root { kind, target: Pointer::to(BlockId(block)) });
    }
    tables
}

/// A chain of closures, each with its own function.
pub fn closures(count: u32) -> Heap {
    let mut tables = modules(&["Main"], &[(0, 0, 0)]);
    let code =
        |n: u32| ClosureCode { address: u64::from(n) * 16, location: SnapshotLocation::default() };
    tables.codes = (0..count).map(code).collect();
    let closure = |n: u32| Closure(n, vec![if n + 1 < count { To(n + 1) } else { Int(0) }]);
    let blocks: Vec<_> = (0..count).map(closure).collect();
    let snapshot = Snapshot::from_bytes(bytes(&blocks, &tables, 1 << 16)).expect("a snapshot");
    Heap::new(snapshot, &mut |_| {}).expect("small")
}
