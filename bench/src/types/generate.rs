//! Generates a heap of any size and its table of types: people with names, lists of tags, random friends, and
//! trees. Half of them are held by a global and half by the stack, with samples of one block in a hundred.

use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

use bactrian_snapshot::{
    BlockId, Columns, GROUP_BLOCKS, GroupBuilder, Info, Module, ModuleId, Pointer, Root, RootKind,
    Sample, SnapshotLocation, StackId, StackNode, Tables, ThreadId, Writer, tag,
};
use bactrian_types::{
    Builtin, Constructor, Declaration, DeclarationId, DeclarationKind, Field, Layout, LayoutId,
    ModuleField, ModuleItem, Representation, Site, SiteKind, Table, Type, TypeId, Unit, UnitId,
};

use crate::generate::random::Random;
use xtask::Outcome;

/// Blocks per person.
const PERSON: u32 = 16;
const DIGEST: Option<[u8; 16]> = Some([1; 16]);
/// Source lines of the sampled allocations.
const PERSON_LINE: u32 = 10;
const CELL_LINE: u32 = 20;

const STRING: TypeId = TypeId(0);
const FLOAT: TypeId = TypeId(1);
const VARIABLE: TypeId = TypeId(2);
const VARIABLE_LIST: TypeId = TypeId(3);
const TEXTS: TypeId = TypeId(4);
const TREE: TypeId = TypeId(5);
const MAYBE: TypeId = TypeId(7);
const PEOPLE: TypeId = TypeId(8);
const A_PERSON: TypeId = TypeId(6);

fn table() -> Table {
    let field = |name: &str, of| Field { name: name.into(), is_mutable: false, of };
    let made = |name: &str, tag, arguments| Constructor {
        name: name.into(),
        tag,
        arguments,
        result: None,
    };
    let declare =
        |name: &str, arity, kind| Declaration { name: name.into(), arity, kind, generic: None };
    let variant = |constructors| DeclarationKind::Variant(Representation::Boxed, constructors);
    let constructed = |declaration, arguments: &[TypeId]| Type::Constructed {
        declaration: DeclarationId(declaration),
        arguments: arguments.to_vec(),
    };
    let cell = vec![field("", VARIABLE), field("", VARIABLE_LIST)];
    let node = vec![field("left", TREE), field("key", STRING), field("right", TREE)];
    let person = vec![
        field("name", STRING),
        field("tags", TEXTS),
        field("score", FLOAT),
        field("tree", TREE),
        field("friend", MAYBE),
    ];
    let site = |line, words, of| Site {
        unit: UnitId(0),
        file: "main.ml".into(),
        line,
        start: 0,
        end: 9,
        kind: SiteKind::Record,
        tag: Some(0),
        words: Some(words),
        of,
        name: "".into(),
    };
    Table {
        compiler: "4.13.1".into(),
        units: vec![Unit {
            name: "Main".into(),
            interface: DIGEST,
            layout: Some(LayoutId(0)),
            ..Unit::default()
        }],
        types: vec![
            constructed(0, &[]),
            constructed(1, &[]),
            Type::Variable(0),
            constructed(2, &[VARIABLE]),
            constructed(2, &[STRING]),
            constructed(3, &[]),
            constructed(4, &[]),
            constructed(5, &[A_PERSON]),
            constructed(6, &[A_PERSON]),
        ],
        declarations: vec![
            declare("string", 0, DeclarationKind::Builtin(Builtin::String)),
            declare("float", 0, DeclarationKind::Builtin(Builtin::Float)),
            declare("list", 1, variant(vec![made("[]", 0, vec![]), made("::", 0, cell)])),
            declare("Main.tree", 0, variant(vec![made("Leaf", 0, vec![]), made("Node", 0, node)])),
            declare("Main.person", 0, DeclarationKind::Record(Representation::Boxed, person)),
            declare(
                "option",
                1,
                variant(vec![made("None", 0, vec![]), made("Some", 0, vec![field("", VARIABLE)])]),
            ),
            declare("array", 1, DeclarationKind::Builtin(Builtin::Array)),
        ],
        layouts: vec![Layout {
            name: "Main".into(),
            fields: vec![ModuleField { name: "people".into(), item: ModuleItem::Value(PEOPLE) }],
            public: 1,
        }],
        sites: vec![site(PERSON_LINE, 5, A_PERSON), site(CELL_LINE, 2, VARIABLE_LIST)],
        ..Table::default()
    }
}

/// Writes a table and a heap of about this many blocks.
pub fn write(blocks: u32, table: &Path, heap: &Path) -> Outcome {
    let written = || -> Result<(), Box<dyn std::error::Error>> {
        fs::write(table, self::table().to_bytes())?;
        let people = (blocks / PERSON).max(2);
        let count = people * PERSON + 2;
        let columns = Columns { immediates: true, ..Columns::default() };
        let file = BufWriter::new(File::create(heap)?);
        let mut writer = Writer::new(file, columns, count, &Info::default())?;
        let mut builder = Builder {
            group: GroupBuilder::new(columns)?,
            address: 0x1008,
            next: 0,
            encoded: Vec::new(),
        };
        builder.group.start(BlockId(0));
        let mut random = Random::new(11);
        for person in 0..people {
            builder.person(person, people, &mut random)?;
            for group in builder.encoded.drain(..) {
                writer.group(group)?;
            }
        }
        let half = people / 2;
        builder.block(u64::from(half), 0)?;
        (0..half).for_each(|at| builder.group.pointer(BlockId(at * PERSON)));
        builder.block(u64::from(people - half), 0)?;
        (half..people).for_each(|at| builder.group.pointer(BlockId(at * PERSON)));
        builder.encoded.push(builder.group.finish()?);
        for group in builder.encoded.drain(..) {
            writer.group(group)?;
        }
        writer.tables(&tables(people))?;
        writer.finish()?;
        Ok(())
    };
    written().map_err(|error| format!("{}: {error}", heap.display()))
}

struct Builder {
    group: GroupBuilder,
    address: u64,
    next: u32,
    encoded: Vec<bactrian_snapshot::EncodedGroup>,
}

impl Builder {
    fn block(&mut self, words: u64, tag: u8) -> Result<(), bactrian_snapshot::SnapshotError> {
        if self.group.blocks() == GROUP_BLOCKS {
            self.encoded.push(self.group.finish()?);
            self.group.start(BlockId(self.next));
        }
        self.group.block(self.address, words, tag);
        self.address += 8 * (words + 1);
        self.next += 1;
        Ok(())
    }

    fn text(&mut self) -> Result<(), bactrian_snapshot::SnapshotError> {
        self.block(2, tag::STRING)?;
        self.group.string(3, b"");
        Ok(())
    }

    /// A person: the record, name, score, three tags in a list, a tree of three nodes with keys, a friend.
    fn person(
        &mut self,
        at: u32,
        people: u32,
        random: &mut Random,
    ) -> Result<(), bactrian_snapshot::SnapshotError> {
        let first = at * PERSON;
        let to = |builder: &mut Builder, at: u32| builder.group.pointer(BlockId(first + at));
        self.block(5, 0)?;
        for inner in [1, 3, 2, 9, 15] {
            to(self, inner);
        }
        self.text()?;
        self.block(1, tag::DOUBLE)?;
        for cell in [3, 5, 7] {
            self.block(2, 0)?;
            to(self, cell + 1);
            if cell < 7 {
                to(self, cell + 2);
            } else {
                self.group.immediate(0);
            }
            self.text()?;
        }
        for node in [9, 11, 13] {
            self.block(3, 0)?;
            if node < 13 {
                to(self, node + 2);
            } else {
                self.group.immediate(0);
            }
            to(self, node + 1);
            self.group.immediate(0);
            self.text()?;
        }
        // Friends are random, but of the same half.
        let half = people / 2;
        let (from, among) = if at < half { (0, half) } else { (half, people - half) };
        let friend = from + random.below(among as usize) as u32;
        self.block(1, 0)?;
        self.group.pointer(BlockId(friend * PERSON));
        Ok(())
    }
}

fn tables(people: u32) -> Tables {
    let mut tables = Tables::default();
    let name = tables.names.add("Main");
    let module = Module { name, fields: Some(1), interface: DIGEST, implementation: None };
    tables.modules.push(module);
    let kind = RootKind::Global { module: ModuleId(0), field: 0 };
    let held = people * PERSON;
    tables.roots.push(Root { kind, target: Pointer::to(BlockId(held)) });
    let kind = RootKind::Stack { thread: ThreadId(0), frame: None, slot: 0 };
    tables.roots.push(Root { kind, target: Pointer::to(BlockId(held + 1)) });
    let (file, function) = (tables.names.add("main.ml"), tables.names.add("Main.f"));
    for line in [PERSON_LINE, CELL_LINE] {
        let location = SnapshotLocation { function, file, line, start_char: 0, end_char: 9 };
        tables.stacks.push(StackNode { caller: None, location });
    }
    for at in (0..people).step_by(7) {
        for (block, stack) in [(at * PERSON, 0), (at * PERSON + 3, 1)] {
            tables.samples.push(Sample {
                block: BlockId(block),
                allocation: u64::from(block),
                samples: 1,
                stack: Some(StackId(stack)),
                time: None,
            });
        }
    }
    tables
}
