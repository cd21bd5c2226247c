//! Converts what was found beside the blocks into the tables of a snapshot: roots by block numbers, frames
//! and threads in lists, each name once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;

use bactrian_ocaml::linked_units::LinkedUnit;
use bactrian_ocaml::symbol;
use bactrian_snapshot::{
    BlockId, Continuation, Ephemeron, FiberOwner, FiberStack, Finaliser, FinaliserKind,
    FinaliserPart, FrameId, Label, MODULES_OF_BYTECODE, Module, ModuleId, NameId, Pointer, Root,
    RootKind, SnapshotLocation, Space, SpaceKind, StackValue, Tables, Thread, ThreadId, WeakSlot,
};

use super::encode::closure_around;
use super::image::MemoryImage;
use super::reach::{Reached, each_key, ephemeron};
use super::roots::{self, FiberPlace, Order, RootHolder, Roots, Scanned};
use super::target::Target;

/// Makes the tables of a snapshot. Blocks must have been numbered.
pub struct TableMaker<'a> {
    pub image: &'a MemoryImage<'a>,
    pub target: &'a Target,
    pub tables: Tables,
    /// Frames by thread and depth (the number of frames further in).
    frames: HashMap<(u32, u32), FrameId>,
}

impl<'a> TableMaker<'a> {
    pub fn new(image: &'a MemoryImage<'a>, target: &'a Target) -> TableMaker<'a> {
        TableMaker { image, target, tables: Tables::default(), frames: HashMap::new() }
    }

    /// The block that a value points to, or into.
    pub fn pointer(&self, value: u64) -> Option<Pointer> {
        if value & 7 != 0 {
            return None;
        }
        match self.image.number_at(value) {
            Some(number) => Some(Pointer::to(BlockId(number))),
            None => closure_around(self.image, value)
                .map(|(number, infix)| Pointer { block: BlockId(number), infix }),
        }
    }

    /// Adds the spaces. Blocks that OCaml does not manage become static spaces of their own.
    pub fn spaces(&mut self, spaces: &[roots::Space], mut unmanaged: Vec<Range<u64>>) {
        unmanaged.sort_by_key(|range| range.start);
        let mut unmanaged = unmanaged.into_iter().peekable();
        for space in spaces {
            let kind = match space.kind {
                roots::SpaceKind::Major => SpaceKind::Major,
                roots::SpaceKind::Minor => SpaceKind::Minor,
                roots::SpaceKind::Static => SpaceKind::Static,
            };
            let mut start = space.range.start;
            let mut push = |kind, start, end| {
                if start < end {
                    self.tables.spaces.push(Space { kind, start, end });
                }
            };
            while let Some(cut) = unmanaged.next_if(|cut| cut.start < space.range.end) {
                push(kind, start, cut.start);
                push(SpaceKind::Static, cut.start, cut.end);
                start = cut.end;
            }
            push(kind, start, space.range.end);
        }
    }

    pub fn roots(&mut self, found: &Roots) {
        self.modules(found);
        self.threads(found);
        for root in &found.roots {
            if let Some(target) = self.pointer(root.value) {
                let kind = self.root_kind(root);
                self.tables.roots.push(Root { kind, target });
            }
        }
        for finaliser in &found.finalisers {
            let kind = match (finaliser.is_due, finaliser.order) {
                (true, _) => FinaliserKind::Pending,
                (false, Order::First) => FinaliserKind::First,
                (false, Order::Last) => FinaliserKind::Last,
            };
            let value = self.pointer(finaliser.value);
            let function = self.pointer(finaliser.function);
            if let Some(target) = value
                && kind == FinaliserKind::First
            {
                let kind = RootKind::Finaliser { kind, part: FinaliserPart::Value };
                self.tables.roots.push(Root { kind, target });
            }
            self.tables.finalisers.push(Finaliser { kind, value, function });
        }
    }

    /// Adds the modules, with the digests of their interfaces and implementations.
    fn modules(&mut self, found: &Roots) {
        let plugins = found.plugins.iter().map(|path| path.to_string_lossy().into_owned());
        self.tables.plugins.extend(plugins);
        let units: HashMap<&str, &LinkedUnit> =
            found.units.iter().map(|unit| (unit.name.as_str(), unit)).collect();
        for module in &found.modules {
            let unit = units.get(module.name.as_str());
            self.tables.modules.push(Module {
                name: self.tables.names.add(&module.name),
                fields: module.fields,
                interface: unit.and_then(|unit| unit.interface),
                implementation: unit.and_then(|unit| unit.implementation),
            });
        }
    }

    /// Adds the threads, with those of their frames that hold something.
    fn threads(&mut self, found: &Roots) {
        let mut stacks: BTreeMap<u32, BTreeMap<u32, u64>> = BTreeMap::new();
        for root in &found.roots {
            if let RootHolder::Stack { thread, frame, depth }
            | RootHolder::Interpreter { thread, frame, depth } = root.place
            {
                stacks.entry(thread).or_default().insert(depth, frame);
            }
        }
        for (number, thread) in found.threads.iter().enumerate() {
            let number = number as u32;
            let first_frame = FrameId(self.tables.frames.len() as u32);
            for (&depth, &frame) in stacks.get(&number).into_iter().flatten() {
                let id = self.frame(frame, found.frames.get(&frame));
                self.frames.insert((number, depth), id);
            }
            let name = match (thread.id, thread.is_active) {
                (None, _) => "",
                (Some(_), true) => "active",
                (Some(_), false) => "waiting",
            };
            self.tables.threads.push(Thread {
                number: thread.id.unwrap_or(0),
                domain: thread.domain,
                system_id: None,
                name: self.tables.names.add(name),
                first_frame,
                frames: self.tables.frames.len() as u32 - first_frame.0,
            });
        }
    }

    /// Adds a frame, preceded by the functions inlined into it; returns the innermost.
    fn frame(&mut self, return_address: u64, frame: Option<&roots::Frame>) -> FrameId {
        let first = FrameId(self.tables.frames.len() as u32);
        let places = frame.map_or(&[][..], |frame| &frame.locations);
        let symbol = frame.map_or("", |frame| &frame.symbol);
        if places.is_empty() {
            let location = SnapshotLocation {
                function: self.symbol_name(symbol),
                ..SnapshotLocation::default()
            };
            self.push_frame(location, return_address, false);
        }
        for (at, place) in places.iter().enumerate() {
            let function = match place.function.is_empty() {
                true => self.symbol_name(symbol),
                false => self.tables.names.add(&place.function),
            };
            let location = SnapshotLocation {
                function,
                file: self.tables.names.add(&place.file),
                line: place.line,
                start_char: place.characters.0,
                end_char: place.characters.1,
            };
            self.push_frame(location, return_address, at + 1 < places.len());
        }
        first
    }

    fn push_frame(&mut self, location: SnapshotLocation, return_address: u64, is_inlined: bool) {
        let frame = bactrian_snapshot::Frame { location, return_address, is_inlined };
        self.tables.frames.push(frame);
    }

    /// The name of a symbol as OCaml programmers write it.
    pub fn symbol_name(&mut self, symbol: &str) -> NameId {
        let mut name = String::new();
        match symbol::write_name(symbol, &mut name) {
            Ok(()) => self.tables.names.add(&name),
            Err(_) => self.tables.names.add(symbol),
        }
    }

    fn root_kind(&mut self, root: &roots::Root) -> RootKind {
        let thread_field = |maker: &mut Self, thread, what: &str| RootKind::ThreadField {
            thread: ThreadId(thread),
            what: maker.tables.names.add(what),
        };
        match root.place {
            RootHolder::Global { module, field } => {
                RootKind::Global { module: ModuleId(module), field }
            }
            RootHolder::DynamicGlobal { module, field } => {
                RootKind::DynamicGlobal { module: ModuleId(module), field }
            }
            RootHolder::Stack { thread, depth, .. }
            | RootHolder::Interpreter { thread, depth, .. } => {
                let frame = self.frames.get(&(thread, depth)).copied();
                RootKind::Stack { thread: ThreadId(thread), frame, slot: root.slot }
            }
            RootHolder::Handler { thread } => {
                RootKind::Stack { thread: ThreadId(thread), frame: None, slot: root.slot }
            }
            RootHolder::Local { thread } => RootKind::Local { thread: ThreadId(thread) },
            RootHolder::C { .. } => {
                let symbol = self.target.data_at(root.slot);
                let symbol = symbol.filter(|(_, offset)| *offset == 0).map(|(name, _)| name);
                let name = self.tables.names.add(symbol.unwrap_or(""));
                RootKind::CGlobal { address: root.slot, name }
            }
            RootHolder::DomainLocal { thread } => {
                thread_field(self, thread, "domain-local storage")
            }
            RootHolder::ThreadDescriptor { thread } => thread_field(self, thread, "descriptor"),
            RootHolder::LastException { thread } => thread_field(self, thread, "last exception"),
            RootHolder::FinaliserFunction { order } => RootKind::Finaliser {
                kind: match order {
                    Order::First => FinaliserKind::First,
                    Order::Last => FinaliserKind::Last,
                },
                part: FinaliserPart::Function,
            },
            RootHolder::FinaliserDue => {
                RootKind::Finaliser { kind: FinaliserKind::Pending, part: FinaliserPart::Value }
            }
            RootHolder::Memprof => RootKind::Sampler { what: self.tables.names.add("sample") },
            RootHolder::GlobalData => {
                RootKind::Hook { what: self.tables.names.add(MODULES_OF_BYTECODE) }
            }
            RootHolder::Unknown => RootKind::Unknown { address: root.slot },
        }
    }

    pub fn ephemerons(&mut self, reached: &Reached, none: u64) {
        let slot = |value: u64| {
            if value == none {
                return WeakSlot::Empty;
            }
            match self.pointer(value) {
                Some(target) => WeakSlot::Block(target),
                None if value & 7 != 0 || self.image.spot(value.wrapping_sub(8)).is_none() => {
                    WeakSlot::Other
                }
                None => WeakSlot::Dead,
            }
        };
        let ephemerons = reached.ephemerons.iter().filter_map(|&block| {
            let mut keys = Vec::new();
            each_key(self.image, block, |key| keys.push(slot(key)));
            Some(Ephemeron {
                block: BlockId(self.image.number_at(block)?),
                data: slot(self.image.word(block + 8 * ephemeron::DATA)?),
                keys,
            })
        });
        self.tables.ephemerons = ephemerons.collect();
    }

    /// Adds continuations and what their stacks hold. `frame_at` describes the frame of a return address.
    pub fn continuations(
        &mut self,
        continuations: &[(u64, Scanned)],
        frame_at: impl Fn(u64) -> roots::Frame,
    ) {
        for (block, scanned) in continuations {
            let Some(number) = self.image.number_at(*block) else { continue };
            let first_frame = FrameId(self.tables.frames.len() as u32);
            let depths: BTreeSet<(u32, u64)> =
                scanned.slots.iter().filter_map(|slot| Some((slot.depth, slot.frame?))).collect();
            let mut frames = HashMap::new();
            for (depth, return_address) in depths {
                let frame = frame_at(return_address);
                frames.insert(depth, self.frame(return_address, Some(&frame)));
            }
            let held = scanned.slots.iter().filter_map(|slot| {
                let frame = slot.frame.and_then(|_| frames.get(&slot.depth).copied());
                Some(StackValue { frame, slot: slot.slot, target: self.pointer(slot.value)? })
            });
            let held = held.collect();
            self.tables.continuations.push(Continuation {
                block: BlockId(number),
                first_frame,
                frames: self.tables.frames.len() as u32 - first_frame.0,
                held,
            });
        }
    }

    /// Adds the memory of fibers, in order of addresses: fibers held by anything but a continuation, and
    /// fibers of continuations.
    pub fn fibers(&mut self, kept: &[(Range<u64>, FiberPlace)], suspended: &[(Range<u64>, u64)]) {
        let kept = kept.iter().map(|(piece, place)| match *place {
            FiberPlace::Thread(thread) => (piece, FiberOwner::Thread(ThreadId(thread))),
            FiberPlace::Cache { domain } => (piece, FiberOwner::Cache { domain }),
        });
        let suspended = suspended.iter().filter_map(|(piece, block)| {
            Some((piece, FiberOwner::Continuation(BlockId(self.image.number_at(*block)?))))
        });
        let fiber = |(piece, owner): (&Range<u64>, FiberOwner)| FiberStack {
            address: piece.start,
            bytes: piece.end - piece.start,
            owner,
        };
        let mut fibers: Vec<_> = kept.chain(suspended).map(fiber).collect();
        fibers.sort_by_key(|fiber| fiber.address);
        self.tables.fibers = Some(fibers);
    }

    /// Adds names of static blocks, including predefined exceptions.
    pub fn labels(&mut self) {
        let mut labels = BTreeMap::new();
        for object in &self.target.objects {
            for entry in object.symbols.all() {
                let name = object.symbols.name(entry);
                if (symbol::is_ocaml(name) || name.starts_with("caml_exn_"))
                    && let Some(number) = self.image.number_at(entry.address)
                {
                    labels.entry(number).or_insert(name);
                }
            }
        }
        for (number, symbol) in labels {
            let name = self.symbol_name(symbol);
            self.tables.labels.push(Label { block: BlockId(number), name });
        }
    }
}
