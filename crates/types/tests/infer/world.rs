//! Hand-written programs: what the compiler knew of them, and their heaps.

use bactrian_snapshot::{
    BlockId, ClosureCode, CodeId, Columns, CustomId, Frame, FrameId, GroupBuilder, Info, Module,
    ModuleId, Pointer, Root, RootKind, Sample, Snapshot, SnapshotLocation, Space, SpaceKind,
    StackId, StackNode, Tables, ThreadId, Writer, tag,
};
use bactrian_types::{
    Builtin, Captured, Constructor, Declaration, DeclarationId, DeclarationKind, Field, Function,
    Layout, LayoutId, Lines, ModuleField, ModuleItem, Representation, Site, SiteKind, Table, Type,
    TypeId, Typing, Unit, UnitId, Variable,
};

/// A field of a block.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    To(u32),
    Int(i64),
}

pub use Value::{Int, To};

/// A program.
pub struct World {
    pub table: Table,
    pub tables: Tables,
    blocks: Vec<(u8, Vec<Value>)>,
    pub columns: Columns,
    /// The line of the function of all closures.
    pub code_line: u32,
    pub int: TypeId,
    pub string: TypeId,
    pub float: TypeId,
    list: DeclarationId,
    array: DeclarationId,
    lazy: DeclarationId,
}

const DIGEST: Option<[u8; 16]> = Some([7; 16]);
const HEAP: u64 = 0x1000_0000;
const STATIC: u64 = 0x1000;

impl World {
    /// A program with one module, `Main`, without fields.
    pub fn new() -> World {
        let mut world = World {
            table: Table { compiler: "4.13.1".into(), ..Table::default() },
            tables: Tables::default(),
            blocks: Vec::new(),
            columns: Columns { immediates: true, ..Columns::default() },
            code_line: 0,
            int: TypeId(0),
            string: TypeId(0),
            float: TypeId(0),
            list: DeclarationId(0),
            array: DeclarationId(0),
            lazy: DeclarationId(0),
        };
        world.int = world.builtin("int", Builtin::Immediate);
        world.string = world.builtin("string", Builtin::String);
        world.float = world.builtin("float", Builtin::Float);
        world.array = world.declare("array", 1, DeclarationKind::Builtin(Builtin::Array));
        world.lazy = world.declare("lazy_t", 1, DeclarationKind::Builtin(Builtin::Lazy));
        world.list = DeclarationId(world.table.declarations.len() as u32);
        let (a, list) = (world.variable(0), world.list);
        let rest = world.of(Type::Constructed { declaration: list, arguments: vec![a] });
        let constructors =
            vec![constructor("[]", 0, &[]), constructor("::", 0, &[("", a), ("", rest)])];
        world.declare("list", 1, DeclarationKind::Variant(Representation::Boxed, constructors));
        world.table.layouts.push(Layout { name: "Main".into(), fields: Vec::new(), public: 0 });
        world.table.units.push(Unit {
            name: "Main".into(),
            source: "main.ml".into(),
            interface: DIGEST,
            layout: Some(LayoutId(0)),
            ..Unit::default()
        });
        let name = world.tables.names.add("Main");
        world.tables.modules.push(Module {
            name,
            fields: Some(0),
            interface: DIGEST,
            implementation: None,
        });
        world.tables.spaces = vec![
            Space { kind: SpaceKind::Static, start: STATIC, end: HEAP },
            Space { kind: SpaceKind::Major, start: HEAP, end: 1 << 60 },
        ];
        world
    }

    fn builtin(&mut self, name: &str, builtin: Builtin) -> TypeId {
        let declaration = self.declare(name, 0, DeclarationKind::Builtin(builtin));
        self.named(declaration, &[])
    }

    pub fn of(&mut self, of: Type) -> TypeId {
        self.table.types.push(of);
        TypeId(self.table.types.len() as u32 - 1)
    }

    pub fn variable(&mut self, number: u32) -> TypeId {
        self.of(Type::Variable(number))
    }

    pub fn declare(&mut self, name: &str, arity: u32, kind: DeclarationKind) -> DeclarationId {
        let declaration = Declaration { name: name.into(), arity, kind, generic: None };
        self.table.declarations.push(declaration);
        DeclarationId(self.table.declarations.len() as u32 - 1)
    }

    pub fn record(&mut self, name: &str, fields: &[(&str, TypeId)]) -> TypeId {
        let kind = DeclarationKind::Record(Representation::Boxed, named_fields(fields));
        let declaration = self.declare(name, 0, kind);
        self.named(declaration, &[])
    }

    pub fn named(&mut self, declaration: DeclarationId, arguments: &[TypeId]) -> TypeId {
        self.of(Type::Constructed { declaration, arguments: arguments.to_vec() })
    }

    pub fn list(&mut self, of: TypeId) -> TypeId {
        self.named(self.list, &[of])
    }

    pub fn array(&mut self, of: TypeId) -> TypeId {
        self.named(self.array, &[of])
    }

    pub fn lazy(&mut self, of: TypeId) -> TypeId {
        self.named(self.lazy, &[of])
    }

    /// Adds a block and returns its number.
    pub fn block(&mut self, tag: u8, fields: &[Value]) -> u32 {
        self.blocks.push((tag, fields.to_vec()));
        self.blocks.len() as u32 - 1
    }

    pub fn text(&mut self) -> u32 {
        self.block(tag::STRING, &[Int(0)])
    }

    /// Adds a list of these blocks and returns its first cell.
    pub fn cells(&mut self, elements: &[u32]) -> u32 {
        let mut rest = Int(0);
        for &element in elements.iter().rev() {
            rest = To(self.block(0, &[To(element), rest]));
        }
        match rest {
            To(block) => block,
            Int(_) => 0,
        }
    }

    /// Adds a field of `Main` that holds a block.
    pub fn global(&mut self, name: &str, item: ModuleItem, block: u32) {
        let layout = &mut self.table.layouts[0];
        layout.fields.push(ModuleField { name: name.into(), item });
        layout.public += 1;
        let field = layout.public - 1;
        self.tables.modules[0].fields = Some(field + 1);
        let kind = RootKind::Global { module: ModuleId(0), field };
        self.tables.roots.push(Root { kind, target: Pointer::to(BlockId(block)) });
    }

    pub fn value(&mut self, name: &str, of: TypeId, block: u32) {
        self.global(name, ModuleItem::Value(of), block);
    }

    /// Adds a stack slot that holds a block.
    pub fn stack(&mut self, block: u32) {
        let kind = RootKind::Stack { thread: ThreadId(0), frame: None, slot: 0 };
        self.tables.roots.push(Root { kind, target: Pointer::to(BlockId(block)) });
    }

    /// Adds a variable that is in scope from one line to another, possibly the parameter of a function.
    pub fn local(&mut self, of: TypeId, (first, last): (u32, u32), of_parameter: bool) {
        let stamp = self.table.variables.len() as u32;
        self.table.variables.push(Variable {
            unit: UnitId(0),
            stamp,
            name: format!("v{stamp}").into(),
            item: ModuleItem::Value(of),
            scope: Some(Lines { file: "main.ml".into(), first, last, of_parameter }),
        });
    }

    /// Adds a function from one line to another, with the types of its captured variables.
    pub fn function(&mut self, (first, last): (u32, u32), captured: &[Option<TypeId>]) {
        let one = |(at, of): (usize, &Option<TypeId>)| Captured {
            name: format!("v{at}").into(),
            of: *of,
        };
        self.table.functions.push(Function {
            unit: UnitId(0),
            file: "main.ml".into(),
            first,
            last,
            captured: captured.iter().enumerate().map(one).collect(),
        });
    }

    /// Adds a frame that calls from a line and holds a block.
    pub fn frame(&mut self, line: u32, block: u32) {
        let file = self.tables.names.add("main.ml");
        let function = self.tables.names.add("Main.f");
        let location = SnapshotLocation { function, file, line, start_char: 4, end_char: 10 };
        let return_address = self.tables.frames.len() as u64;
        self.tables.frames.push(Frame { location, return_address, is_inlined: false });
        let frame = Some(FrameId(return_address as u32));
        let kind = RootKind::Stack { thread: ThreadId(0), frame, slot: 0 };
        self.tables.roots.push(Root { kind, target: Pointer::to(BlockId(block)) });
    }

    /// Adds an allocation site on a line.
    pub fn site(&mut self, line: u32, kind: SiteKind, shape: (u8, u32), of: TypeId, name: &str) {
        self.table.sites.push(Site {
            unit: UnitId(0),
            file: "main.ml".into(),
            line,
            start: 4,
            end: 3000,
            kind,
            tag: Some(shape.0),
            words: Some(shape.1),
            of,
            name: name.into(),
        });
    }

    /// Adds a sample of a block on a line. Call this in order of blocks.
    pub fn sample(&mut self, line: u32, block: u32) {
        let file = self.tables.names.add("main.ml");
        let function = self.tables.names.add("Main.f");
        // Debug information is capped at this column.
        let location = SnapshotLocation { function, file, line, start_char: 4, end_char: 1023 };
        self.tables.stacks.push(StackNode { caller: None, location });
        let stack = Some(StackId(self.tables.stacks.len() as u32 - 1));
        let block = BlockId(block);
        self.tables.samples.push(Sample { block, allocation: 0, samples: 1, stack, time: None });
    }

    /// A snapshot; the first `constants` blocks are in static data.
    pub fn snapshot(&mut self, constants: u32) -> Snapshot {
        Snapshot::from_bytes(self.bytes(constants)).expect("a snapshot")
    }

    /// The bytes of its file.
    pub fn bytes(&mut self, constants: u32) -> Vec<u8> {
        let name = self.tables.names.add("Main.f");
        let file = self.tables.names.add("main.ml");
        let line = self.code_line;
        let location =
            SnapshotLocation { function: name, file, line, ..SnapshotLocation::default() };
        self.tables.codes = vec![ClosureCode { address: 0, location }];
        self.tables.customs = ["_i", "_j", "_bigarr02"].map(|id| self.tables.names.add(id)).into();
        let count = self.blocks.len() as u32;
        let info = Info::default();
        let mut writer = Writer::new(Vec::new(), self.columns, count, &info).expect("a writer");
        let mut group = GroupBuilder::new(self.columns).expect("a group");
        group.start(BlockId(0));
        let mut address = STATIC + 8;
        for (at, (tag, fields)) in self.blocks.iter().enumerate() {
            if at as u32 == constants {
                address = HEAP + 8;
            }
            group.block(address, fields.len() as u64, *tag);
            address += 8 * (fields.len() as u64 + 1);
            match *tag {
                tag::STRING => group.string(1, b""),
                tag::CUSTOM => group.custom(CustomId(fields.len() as u32 - 1), 0),
                tag::CLOSURE => group.closure(2, &[CodeId(0)]),
                _ => {}
            }
            let first = if *tag == tag::CLOSURE { 2 } else { 0 };
            let fields = if *tag >= tag::ABSTRACT { &[][..] } else { &fields[first..] };
            for field in fields {
                match *field {
                    To(block) => group.pointer(BlockId(block)),
                    Int(value) => group.immediate(value),
                }
            }
        }
        if count > 0 {
            writer.group(group.finish().expect("blocks")).expect("a group");
        }
        writer.tables(&self.tables).expect("tables");
        writer.finish().expect("bytes")
    }

    pub fn infer(&mut self) -> Typing {
        self.infer_with(0)
    }

    pub fn infer_with(&mut self, constants: u32) -> Typing {
        let snapshot = self.snapshot(constants);
        Typing::infer(&self.table, &snapshot, &mut |_| {})
    }
}

pub fn named_fields(fields: &[(&str, TypeId)]) -> Vec<Field> {
    let field = |&(name, of): &(&str, TypeId)| Field { name: name.into(), is_mutable: false, of };
    fields.iter().map(field).collect()
}

pub fn constructor(name: &str, tag: u32, arguments: &[(&str, TypeId)]) -> Constructor {
    Constructor { name: name.into(), tag, arguments: named_fields(arguments), result: None }
}

/// The name of a block's class.
pub fn name(typing: &Typing, block: u32) -> &str {
    &typing.classes()[typing.class_of(BlockId(block)).index()].name
}
