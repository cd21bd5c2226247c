//! Resolves what users write to nodes: an address, a block number, a class, a module or a part of one.

use bactrian_types::written;
use std::fmt;

use bactrian_graph::Node;

use super::Heap;
use super::holders::What;

/// The result of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A block or a holder.
    Node(Node),
    /// Class numbers: the class with this name, or all whose names contain the text.
    Classes(Vec<u32>),
}

/// Why nothing was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound(String);

impl NotFound {
    /// With the reason as a sentence.
    pub(in crate::heap) fn new(why: String) -> NotFound {
        NotFound(why)
    }
}

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotFound {}

impl Heap {
    /// Resolves a text: `0x7f..` is the block that contains the address; `@12`, formerly written `#12`, the
    /// node with that number; `Main` a module; `Main.3` its field 3; `Main.table` a static block with that
    /// symbol; anything else a class or a part of its name.
    ///
    /// # Errors
    /// If there is no such thing.
    pub fn find(&self, text: &str) -> Result<Found, NotFound> {
        if let Some(digits) = text.strip_prefix("0x") {
            let address = u64::from_str_radix(digits, 16)
                .map_err(|_| NotFound(format!("`{text}` is not an address")))?;
            let block = self.snapshot().find(address).map_err(|e| NotFound(e.to_string()))?;
            let block = block.ok_or_else(|| NotFound(format!("no block is at {text}")))?;
            return Ok(Found::Node(block.id.0));
        }
        if let Some(digits) = text.strip_prefix(['#', '@']) {
            let node: Option<Node> = digits.parse().ok();
            let node = node.filter(|&node| (node as usize) < self.graph().nodes());
            let none = || NotFound(format!("no block has the number {text}"));
            return node.map(Found::Node).ok_or_else(none);
        }
        let named = |is_it: &dyn Fn(&str) -> bool| -> Vec<u32> {
            let classes = (0..).zip(self.classes());
            classes.filter(|(_, class)| is_it(&class.name)).map(|(number, _)| number).collect()
        };
        let exact = named(&|name| name == text);
        if exact.is_empty()
            && let Some(node) = self.find_root(text).or_else(|| self.find_label(text))
        {
            return Ok(Found::Node(node));
        }
        let found = if exact.is_empty() { named(&|name| name.contains(text)) } else { exact };
        match found.is_empty() || text.is_empty() {
            true => Err(NotFound(format!(
                "`{text}` is neither a class nor a module; give a class, as listed by `bactrian \
                 heap types`, a \
                 module or a value of one (Main.table), an address (0x7f0012345678) or a block \
                     number (@123)"
            ))),
            false => Ok(Found::Classes(found)),
        }
    }

    /// The block or holder that a text stands for.
    ///
    /// # Errors
    /// If there is none, or the text names several blocks of a class.
    pub fn find_node(&self, text: &str) -> Result<Node, NotFound> {
        match self.find(text)? {
            Found::Node(node) => Ok(node),
            Found::Classes(classes) => {
                // Sorted; there may be many.
                let is_one = |class: &u32| classes.binary_search(class).is_ok();
                let mut blocks = (0..).zip(self.class_of()).filter(|(_, class)| is_one(class));
                match (blocks.next(), blocks.next()) {
                    (Some((node, _)), None) => Ok(node),
                    _ => Err(NotFound(format!(
                        "`{text}` is a class of many blocks; give the address of \
                         one (0x7f0012345678) or its \
                         number (@123)"
                    ))),
                }
            }
        }
    }

    /// The holder of a module (`Main`), or of one of its fields (`Main.3`, or `Main.table` if types are
    /// known).
    fn find_root(&self, text: &str) -> Option<Node> {
        let tables = self.tables();
        let module = |name: &str| {
            let modules = self.holders().iter().filter(|holder| holder.level == 2);
            let wanted = written(name);
            let mut named = modules.filter(
                |holder| matches!(holder.what, What::Module(id) if written(tables.names.get(id)) == wanted),
            );
            named.next().map(|holder| holder.node)
        };
        if let Some(found) = module(text) {
            return Some(found);
        }
        let (name, field) = text.rsplit_once('.')?;
        let above = module(name)?;
        let mut fields = self.holders().iter().filter(|holder| holder.parent == above);
        let found = fields.find(|holder| match (holder.what, field.parse::<u32>()) {
            (What::Field(_, of), Ok(number)) => of == number,
            (What::Field(module, of), Err(_)) => self.module_field(module, of) == Some(field),
            _ => false,
        });
        found.map(|holder| holder.node)
    }

    /// The static block with a symbol: the whole symbol, or without the number that the compiler appends.
    fn find_label(&self, text: &str) -> Option<Node> {
        let tables = self.tables();
        let is_it = |name: &str| {
            let rest = name.strip_prefix(text).and_then(|rest| rest.strip_prefix('_'));
            rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()))
        };
        let labels =
            tables.labels.iter().map(|label| (label.block.0, tables.names.get(label.name)));
        let exact = labels.clone().find(|(_, name)| *name == text);
        exact.or_else(|| labels.clone().find(|(_, name)| is_it(name))).map(|(block, _)| block)
    }
}
