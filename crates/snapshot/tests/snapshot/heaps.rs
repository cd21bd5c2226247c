//! Made-up heaps: random ones that use every corner of the format. The fuzz seeds are made from them, too.

use bactrian_snapshot::*;

/// A heap as tests see it: all of a snapshot in plain form.
#[derive(Clone, Debug, PartialEq)]
pub struct Heap {
    pub columns: Columns,
    pub info: Info,
    pub blocks: Vec<Known>,
    pub tables: Tables,
}

/// A block and everything recorded of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    pub block: Block,
    /// Index and value of each field that is a value.
    pub fields: Vec<(u64, FieldValue)>,
    pub closure: Option<Closure>,
    pub custom: Option<Custom>,
    pub text: Option<Text>,
    /// The first block with the same contents.
    pub equal: Option<BlockId>,
}

/// Pseudo-random numbers, the same each time (splitmix64).
#[derive(Clone, Debug)]
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }

    /// A number below `limit`; small numbers are more frequent.
    pub fn below(&mut self, limit: u64) -> u64 {
        let bits = self.roll() % 65;
        let number = self.roll();
        if limit == 0 {
            0
        } else if bits == 64 {
            number % limit
        } else {
            (number & ((1 << bits) - 1)) % limit
        }
    }

    pub fn chance(&mut self, one_in: u64) -> bool {
        self.roll().is_multiple_of(one_in)
    }
}

const TAGS: &[u8] =
    &[0, 0, 0, 1, 2, 7, 200, 244, 245, 246, 247, 247, 248, 250, 251, 252, 252, 253, 254, 255];

/// A random heap of `count` blocks.
pub fn random(dice: &mut Dice, count: u32, columns: Columns) -> Heap {
    let mut tables = random_tables(dice, count);
    tables.codes = (0..9)
        .map(|at| ClosureCode { address: at * 16, location: SnapshotLocation::default() })
        .collect();
    tables.customs = (0..3).map(|at| NameId(at % tables.names.len() as u32)).collect();
    let mut address = 0x1000 + 8 * dice.below(1 << 50);
    let mut blocks = Vec::new();
    for id in 0..count {
        let tag = TAGS[dice.below(TAGS.len() as u64) as usize];
        let words = if dice.chance(20) { dice.below(300) } else { dice.below(8) };
        let words = words.max(u64::from(tag == tag::STRING));
        blocks.push(random_block(dice, BlockId(id), (address, words, tag), count, &columns));
        let gap = if dice.chance(3) { dice.below(1 << 30) } else { 0 };
        address += 8 * (words + 1 + gap);
    }
    Heap { columns, info: random_info(dice), blocks, tables }
}

fn random_block(
    dice: &mut Dice,
    id: BlockId,
    (address, words, tag): (u64, u64, u8),
    count: u32,
    columns: &Columns,
) -> Known {
    let block = Block { id, address, words, tag };
    let mut known =
        Known { block, fields: Vec::new(), closure: None, custom: None, text: None, equal: None };
    let first = match Scanned::of(tag, columns) {
        Scanned::All => 0,
        Scanned::None => words,
        Scanned::Environment => {
            let environment = dice.below(words + 1) as u32;
            let codes = (0..dice.below(4)).map(|_| CodeId(dice.below(9) as u32)).collect();
            known.closure = Some(Closure { block: id, environment, codes });
            u64::from(environment)
        }
    };
    for index in first..words {
        known.fields.push((index, random_value(dice, id, count, columns)));
    }
    if tag == tag::CUSTOM {
        let identifier = CustomId(dice.below(3) as u32);
        known.custom = Some(Custom { block: id, identifier, external_bytes: dice.below(u64::MAX) });
    }
    if tag == tag::STRING {
        let tail = dice.below(8);
        let length = columns.strings.map(|most| dice.below(u64::from(most) + 1));
        let prefix = length.map(|length| (0..length).map(|_| dice.roll() as u8).collect());
        known.text = Some(Text { block: id, bytes: words * 8 - 1 - tail, prefix });
    }
    if columns.equals && tag >= tag::ABSTRACT && id.0 > 0 && dice.chance(2) {
        known.equal = Some(BlockId(dice.below(u64::from(id.0)) as u32));
    }
    known
}

fn random_value(dice: &mut Dice, id: BlockId, count: u32, columns: &Columns) -> FieldValue {
    let near = i64::from(id.0) - 4 + dice.below(9) as i64;
    let block = match dice.chance(2) {
        true => BlockId(near.clamp(0, i64::from(count) - 1) as u32),
        false => BlockId(dice.below(u64::from(count)) as u32),
    };
    match dice.below(8) {
        0..3 => FieldValue::Pointer(Pointer::to(block)),
        3 => FieldValue::Outside,
        4 => FieldValue::Pointer(Pointer { block, infix: 1 + dice.below(1000) as u32 }),
        _ => {
            let value = dice.below(u64::MAX) as i64;
            let value = if dice.chance(3) { value.wrapping_neg() } else { value };
            FieldValue::Immediate(columns.immediates.then_some(value))
        }
    }
}

fn random_info(dice: &mut Dice) -> Info {
    Info {
        writer: "bactrian 0.1.0".to_owned(),
        program: "./server".to_owned(),
        arguments: vec!["--port".to_owned(), "80".to_owned()],
        pid: dice.below(1 << 32) as u32,
        host: "here".to_owned(),
        ocaml: "4.13.1".to_owned(),
        code: if dice.chance(2) { CodeKind::Native } else { CodeKind::Bytecode },
        taken: dice.below(u64::MAX),
        since_start: dice.chance(2).then(|| dice.below(u64::MAX)),
        reason: if dice.chance(2) { Reason::Peak } else { Reason::Call },
        name: dice.chance(2).then(|| "after loading".to_owned()),
        sequence: 3,
        way: SnapshotMethod::Core,
        pause: dice.chance(2).then(|| dice.below(u64::MAX)),
        skipped: Skipped { copies: dice.below(9), memory: dice.below(9), disk: dice.below(9) },
        trace: None,
    }
}

fn random_tables(dice: &mut Dice, count: u32) -> Tables {
    let mut tables = Tables::default();
    if count == 0 {
        return tables;
    }
    let names: Vec<_> =
        ["Main", "Stdlib.List", "été", "caml_named"].map(|name| tables.names.add(name)).to_vec();
    let name = |dice: &mut Dice| names[dice.below(names.len() as u64) as usize];
    let location = SnapshotLocation {
        function: name(dice),
        file: name(dice),
        line: dice.below(1 << 20) as u32,
        start_char: 2,
        end_char: 30,
    };
    let pointer = |dice: &mut Dice| Pointer {
        block: BlockId(dice.below(u64::from(count)) as u32),
        infix: dice.below(3) as u32,
    };
    tables.spaces = vec![
        Space { kind: SpaceKind::Static, start: 0x1000, end: 0x2000 },
        Space { kind: SpaceKind::Major, start: 0x2000, end: 1 << 60 },
    ];
    tables.memory = Memory { resident_bytes: Some(dice.below(u64::MAX)), ..Memory::default() };
    tables.statistics = vec![
        Statistic { name: name(dice), value: Number::Whole(dice.below(u64::MAX)) },
        Statistic { name: name(dice), value: Number::Real(1.5) },
    ];
    tables.modules =
        vec![Module { fields: Some(3), interface: Some([7; 16]), ..Module::named(name(dice)) }];
    tables.frames =
        vec![
            Frame { location, return_address: dice.below(u64::MAX), is_inlined: dice.chance(2) };
            4
        ];
    let (first_frame, domain) = (FrameId(0), 0);
    let system_id = dice.chance(2).then_some(77);
    tables.threads =
        vec![Thread { number: 0, domain, system_id, name: name(dice), first_frame, frames: 3 }];
    let (module, thread, field) = (ModuleId(0), ThreadId(0), dice.below(1 << 32) as u32);
    let (frame, address) = (Some(FrameId(2)), dice.below(u64::MAX));
    let what = name(dice);
    let kinds = [
        RootKind::Global { module, field },
        RootKind::DynamicGlobal { module, field },
        RootKind::Stack { thread, frame, slot: 0x7ffe_0000_1000 },
        RootKind::Stack { thread, frame: None, slot: 24 },
        RootKind::Local { thread },
        RootKind::CGlobal { address, name: NameId(0) },
        RootKind::Finaliser { kind: FinaliserKind::Pending, part: FinaliserPart::Value },
        RootKind::ThreadField { thread, what },
        RootKind::Hook { what },
        RootKind::Sampler { what },
        RootKind::Unknown { address },
    ];
    tables.roots = kinds.map(|kind| Root { kind, target: pointer(dice) }).to_vec();
    tables.finalisers = vec![
        Finaliser { kind: FinaliserKind::First, value: Some(pointer(dice)), function: None },
        Finaliser { kind: FinaliserKind::Last, value: None, function: Some(pointer(dice)) },
    ];
    let keys =
        vec![WeakSlot::Empty, WeakSlot::Other, WeakSlot::Block(pointer(dice)), WeakSlot::Dead];
    tables.ephemerons =
        vec![Ephemeron { block: pointer(dice).block, data: WeakSlot::Block(pointer(dice)), keys }];
    let held =
        vec![StackValue { frame: Some(FrameId(3)), slot: 0x7f00_0000_0010, target: pointer(dice) }];
    let block = pointer(dice).block;
    tables.continuations = vec![Continuation { block, first_frame: FrameId(3), frames: 1, held }];
    let fiber = |address, owner| FiberStack { address, bytes: 608, owner };
    // A file with an odd number of blocks counts as older than this table.
    tables.fibers = count.is_multiple_of(2).then(|| {
        vec![
            fiber(0x5555_0000_1000, FiberOwner::Continuation(block)),
            fiber(0x5555_0000_1270, FiberOwner::Thread(thread)),
            fiber(address, FiberOwner::Cache { domain: 1 }),
        ]
    });
    // A program with an even number of blocks is bytecode and loads plugins, which no real one does.
    tables.variables = count.is_multiple_of(2).then(|| {
        let all = vec![Variable { module: name(dice), name: name(dice), stamp: 277 }];
        let field = FieldVariable { field: 3, variable: VariableId(0) };
        let environments = vec![Environment { code: CodeId(0), fields: vec![field] }];
        let slots = vec![SlotVariable { slot: 0x7f00_0000_0010, variable: VariableId(0) }];
        Variables { all, environments, slots }
    });
    tables.sampling = count
        .is_multiple_of(3)
        .then(|| Sampling { rate_bits: 1e-3_f64.to_bits(), halved: count % 8 });
    tables.size_classes.extend(count.is_multiple_of(2).then(|| SizeClass {
        most_words: 4,
        used_blocks: 10,
        used_words: 33,
        free_blocks: 1,
        free_words: u64::from(count),
    }));
    tables.plugins.extend(count.is_multiple_of(2).then(|| "/opt/plugin.cmxs".to_owned()));
    tables.labels = vec![Label { block: pointer(dice).block, name: name(dice) }];
    tables.stacks = vec![
        StackNode { caller: None, location },
        StackNode { caller: Some(StackId(0)), location },
    ];
    tables.samples = vec![Sample {
        block: pointer(dice).block,
        allocation: dice.below(u64::MAX),
        samples: 1,
        stack: Some(StackId(1)),
        time: dice.chance(2).then(|| dice.below(u64::MAX)),
    }];
    tables.gaps = vec!["the stack of thread 3 could not be read: it is in C code".to_owned()];
    tables.oddities = vec![Oddity { what: name(dice), count: 2 }];
    tables
}

/// Writes a heap in groups of `group` blocks.
pub fn write(heap: &Heap, group: usize) -> Result<Vec<u8>> {
    let mut builder = GroupBuilder::new(heap.columns)?;
    let mut writer = Writer::new(Vec::new(), heap.columns, heap.blocks.len() as u32, &heap.info)?;
    for blocks in heap.blocks.chunks(group) {
        builder.start(blocks[0].block.id);
        blocks.iter().for_each(|known| put(&mut builder, known));
        writer.group(builder.finish()?)?;
    }
    writer.tables(&heap.tables)?;
    writer.finish()
}

fn put(builder: &mut GroupBuilder, known: &Known) {
    builder.block(known.block.address, known.block.words, known.block.tag);
    if let Some(closure) = &known.closure {
        builder.closure(closure.environment, &closure.codes);
    }
    for (_, value) in &known.fields {
        match value {
            FieldValue::Immediate(value) => builder.immediate(value.unwrap_or(7)),
            FieldValue::Pointer(Pointer { block, infix: 0 }) => builder.pointer(*block),
            FieldValue::Pointer(Pointer { block, infix }) => builder.infix(*block, *infix),
            FieldValue::Outside => builder.outside(),
            FieldValue::Missing => unreachable!("no heap is written with parts missing"),
        }
    }
    if let Some(custom) = &known.custom {
        builder.custom(custom.identifier, custom.external_bytes);
    }
    if let Some(text) = &known.text {
        let tail = known.block.words * 8 - 1 - text.bytes;
        builder.string(tail as u8, text.prefix.as_deref().unwrap_or(b"secret"));
    }
    if let Some(first) = known.equal {
        builder.equals(first);
    }
}
