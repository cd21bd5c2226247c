//! Details of single blocks, read from the snapshot on demand. The last groups read are cached, because a
//! question about a block is often followed by questions about its neighbours.

use std::ops::{Deref, Range};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bactrian_graph::Node;
use bactrian_snapshot::{
    Block, BlockId, Closure, Custom, Field, Label, ModuleId, Sample, Snapshot, SnapshotLocation,
    Tables, Text, tag,
};
use bactrian_types::{Collection, TypeClass, UnitFate};

use super::Heap;
use super::classes::ClassKind;
use super::holders::{What, location};

/// The number of cached groups, each at most about 5 MB without its fields.
const KEPT: usize = 16;
/// The number of cached fields, of 32 bytes each. The last group's are always kept.
const KEPT_FIELDS: usize = 2 << 20;

/// An LRU cache of groups, the most recent first.
#[derive(Default)]
pub(super) struct Cache(Mutex<Vec<Arc<Details>>>);

/// The decoded columns of a group.
struct Details {
    index: usize,
    blocks: Vec<Block>,
    closures: Vec<Closure>,
    customs: Vec<Custom>,
    strings: Vec<Text>,
    /// Of all blocks, in order; decoded when first asked for.
    fields: OnceLock<Vec<Field>>,
}

/// The fields of one block.
pub struct BlockFields {
    details: Option<Arc<Details>>,
    range: Range<usize>,
}

impl Deref for BlockFields {
    type Target = [Field];

    fn deref(&self) -> &[Field] {
        let all = self.details.as_ref().and_then(|details| details.fields.get());
        all.and_then(|all| all.get(self.range.clone())).unwrap_or_default()
    }
}

impl Details {
    /// Reads a group; damaged parts are missing.
    fn read(snapshot: &Snapshot, index: usize) -> Details {
        let mut details = Details {
            index,
            blocks: Vec::new(),
            closures: Vec::new(),
            customs: Vec::new(),
            strings: Vec::new(),
            fields: OnceLock::new(),
        };
        if let Ok(group) = snapshot.group(index) {
            details.closures = group.closures().unwrap_or_default();
            details.customs = group.customs().unwrap_or_default();
            details.strings = group.strings().unwrap_or_default();
            details.blocks = group.blocks().to_vec();
        }
        details
    }

    /// All fields; those after a damaged one are missing.
    fn fields(&self, snapshot: &Snapshot) -> &[Field] {
        self.fields.get_or_init(|| {
            let mut found = Vec::new();
            if let Ok(group) = snapshot.group(self.index) {
                let _ = group.fields().and_then(|fields| fields.each(|field| found.push(field)));
            }
            found
        })
    }
}

/// The entry for a block in a list sorted by block.
fn about<T: Clone>(list: &[T], block: BlockId, of: impl Fn(&T) -> BlockId) -> Option<T> {
    list.binary_search_by_key(&block, of).ok().and_then(|at| list.get(at).cloned())
}

impl Heap {
    fn details(&self, node: Node) -> Option<Arc<Details>> {
        let index = self.snapshot().group_of(BlockId(node))?;
        let mut kept = self.cache.0.lock().unwrap_or_else(PoisonError::into_inner);
        let details = match kept.iter().position(|details| details.index == index) {
            Some(at) => kept.remove(at),
            None => Arc::new(Details::read(self.snapshot(), index)),
        };
        kept.insert(0, Arc::clone(&details));
        kept.truncate(KEPT);
        let mut fields = 0;
        let fits = kept.iter().take_while(|details| {
            fields += details.fields.get().map_or(0, Vec::len);
            fields <= KEPT_FIELDS
        });
        let fits = fits.count().max(1);
        kept.truncate(fits);
        Some(details)
    }

    /// The block of a node; None if the node is a holder or cannot be read.
    pub fn block(&self, node: Node) -> Option<Block> {
        let details = self.details(node)?;
        about(&details.blocks, BlockId(node), |block| block.id)
    }

    /// The address of a block.
    pub fn address(&self, node: Node) -> Option<u64> {
        self.block(node).map(|block| block.address)
    }

    /// Details of a closure.
    pub fn closure(&self, node: Node) -> Option<Closure> {
        about(&self.details(node)?.closures, BlockId(node), |closure| closure.block)
    }

    /// Details of a custom block.
    pub fn custom(&self, node: Node) -> Option<Custom> {
        about(&self.details(node)?.customs, BlockId(node), |custom| custom.block)
    }

    /// Details of a string.
    pub fn text(&self, node: Node) -> Option<Text> {
        about(&self.details(node)?.strings, BlockId(node), |text| text.block)
    }

    /// The fields of a block that are values, in order; unreadable ones are missing.
    pub fn fields(&self, node: Node) -> BlockFields {
        let details = self.details(node);
        let all = details.as_ref().map_or(&[][..], |details| details.fields(self.snapshot()));
        let from = all.partition_point(|field| field.block.0 < node);
        let to = from + all[from..].partition_point(|field| field.block.0 == node);
        BlockFields { details, range: from..to }
    }

    /// The symbol of a static block, such as `Main.table`.
    pub fn label(&self, node: Node) -> Option<&str> {
        let tables = self.tables();
        let label = about(&tables.labels, BlockId(node), |label: &Label| label.block)?;
        Some(tables.names.get(label.name)).filter(|name| !name.is_empty())
    }

    /// The sample of a block that was sampled at its allocation.
    pub fn sample(&self, node: Node) -> Option<Sample> {
        about(&self.tables().samples, BlockId(node), |sample: &Sample| sample.block)
    }

    /// The innermost frame at the allocation of a sampled block.
    pub fn site(&self, node: Node) -> Option<SnapshotLocation> {
        let stack = self.sample(node)?.stack?;
        Some(self.tables().stacks.get(stack.index())?.location)
    }

    /// The type of a block's field, if known.
    pub fn field_class(&self, node: Node, field: u64) -> Option<&TypeClass> {
        let typing = self.typing()?;
        typing.class(typing.field(BlockId(node), field)?.class?)
    }

    /// The name of a block's field: `.name` of a record, `Node.left` of a constructor, `head` and `tail` of a
    /// list, `element 3` of an array; None if not known.
    pub fn field_title(&self, node: Node, field: u64) -> Option<String> {
        let typing = self.typing()?;
        let block = BlockId(node);
        let (_, of) = self.type_class(node)?;
        match (of.collection, field) {
            (Some(Collection::List), 0) => return Some("head".to_owned()),
            (Some(Collection::List), 1) => return Some("tail".to_owned()),
            (Some(Collection::Array), _) => return Some(format!("element {field}")),
            _ => {}
        }
        let name = typing.field_name(block, field);
        match (typing.constructor(block), name) {
            (Some(constructor), Some(name)) => Some(format!("{constructor}.{name}")),
            (Some(constructor), None) => Some(format!("{constructor}.{field}")),
            (None, name) => name.map(|name| format!(".{name}")),
        }
    }

    /// The source name of a module's field, if the type table matches the module.
    pub(super) fn module_field(&self, module: ModuleId, field: u32) -> Option<&str> {
        let name = self.tables().names.get(self.tables().modules.get(module.index())?.name);
        let fate = self.units().iter().find(|unit| unit.name == name)?.fate;
        let table = self.table()?;
        let unit = table.units.iter().find(|unit| *unit.name == *name)?;
        let layout = table.layouts.get(unit.layout?.index())?;
        let is_known = match fate {
            UnitFate::Whole => true,
            UnitFate::Public => field < layout.public,
            _ => false,
        };
        let found = layout.fields.get(field as usize).filter(|_| is_known)?;
        Some(&*found.name).filter(|name| !name.is_empty())
    }

    /// A node in one line: `closure Main.load (main.ml:12)`, `string of 23 bytes`,
    /// `block of tag 0 with 3 fields`, `field 2 of Main`.
    pub fn describe(&self, node: Node) -> String {
        match self.holders().get(node) {
            Some(holder) => self.describe_holder(node, holder.what),
            None => self.describe_block(node),
        }
    }

    fn describe_block(&self, node: Node) -> String {
        let Some(block) = self.block(node) else { return "a block that cannot be read".to_owned() };
        let words = |one: &str, many: &str| match block.words {
            1 => format!("1 {one}"),
            words => format!("{words} {many}"),
        };
        let class = self.class(node);
        let mut text = match self.kind(node) {
            ClassKind::String => match self.text(node) {
                Some(Text { bytes: 1, .. }) => format!("{} of 1 byte", class.name),
                Some(text) => format!("{} of {} bytes", class.name, text.bytes),
                None => class.name.clone(),
            },
            ClassKind::FloatArray => format!("float array of {}", words("float", "floats")),
            ClassKind::Structured if class.kind == ClassKind::Type => {
                self.describe_typed(node, &block)
            }
            ClassKind::Structured => {
                format!("block of tag {} with {}", block.tag, words("field", "fields"))
            }
            ClassKind::Object => format!("object of {}", words("field", "fields")),
            ClassKind::Ephemeron | ClassKind::Abstract => {
                format!("{} of {}", class.name, words("word", "words"))
            }
            _ => class.name.clone(),
        };
        if let Some(place) = &class.place {
            text.push_str(&format!(" ({place})"));
        }
        if let Some(custom) = self.custom(node).filter(|_| block.tag == tag::CUSTOM)
            && custom.external_bytes > 0
        {
            text.push_str(&format!(" that holds {} bytes outside", custom.external_bytes));
        }
        if let Some(label) = self.label(node) {
            text.push_str(&format!(", static {label}"));
        }
        text
    }

    /// A block with a known type: `int array of 3 elements`, `Ast.expr, Let`, `Main.person`.
    fn describe_typed(&self, node: Node, block: &Block) -> String {
        let (name, of) = (&self.class(node).name, self.type_class(node).map(|(_, of)| of));
        match of.and_then(|of| of.collection) {
            Some(Collection::List) => return name.clone(),
            Some(Collection::Array) if block.words == 1 => return format!("{name} of 1 element"),
            Some(Collection::Array) => return format!("{name} of {} elements", block.words),
            _ => {}
        }
        match self.typing().and_then(|typing| typing.constructor(BlockId(node))) {
            Some(constructor) => format!("{name}, {constructor}"),
            None => name.clone(),
        }
    }

    fn describe_holder(&self, node: Node, what: What) -> String {
        let name = self.holder_name(node);
        let Some(holder) = self.holders().get(node) else { return name };
        let parent = self.holders().get(holder.parent);
        let above = || self.holder_name(holder.parent);
        match what {
            What::Module(_) => format!("module {name}"),
            What::Field(..) => format!("{name} of {}", above()),
            What::Frame(_) if holder.alike > 1 => format!("frames {name} of {}", above()),
            What::Frame(_) => format!("frame {name} of {}", above()),
            What::NoFrame => format!("stack of {}, {name}", above()),
            What::Symbol(..) => format!("global root {name} of C code"),
            What::Address(_) => format!("unknown root at {name}"),
            What::Text(_) => match parent {
                Some(parent) if parent.level == 1 => format!("{}: {name}", above()),
                _ => format!("{name} of {}", above()),
            },
            What::Finaliser(_) => format!("{name}, {}", above()),
            What::Finalisers(..) | What::LooseFinaliser(_) => format!("finalisers, {name}"),
            What::Thread(_) => format!("{}: {name}", above()),
            What::All | What::Kind | What::UnnamedModule(_) => name,
        }
    }

    /// The name of a holder, below its parent.
    pub fn holder_name(&self, node: Node) -> String {
        let holder = self.holders().get(node);
        let Some(holder) = holder else { return String::new() };
        match holder.what {
            What::Field(module, field) if self.module_field(module, field).is_some() => {
                format!("field {}", self.module_field(module, field).unwrap_or_default())
            }
            _ => holder.name(self.tables(), self.classes()),
        }
    }

    /// `Main.load (main.ml:12)`; None if neither function nor file is known.
    pub fn location(&self, at: &SnapshotLocation) -> Option<String> {
        location(self.tables(), at)
    }

    pub(crate) fn tables(&self) -> &Tables {
        self.snapshot().tables()
    }
}
