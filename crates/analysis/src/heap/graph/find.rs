//! From what people write to nodes: an address, the number of a block, a class.

use std::fmt;

use bactrian_graph::Node;

use super::Heap;

/// What somebody asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// A block or a holder.
    Node(Node),
    /// Classes, by their numbers: the one with that name, or all that have the text in their names.
    Classes(Vec<u32>),
}

/// Why nothing was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFound(String);

impl fmt::Display for NotFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NotFound {}

impl Heap {
    /// Finds what a text stands for: `0x7f..` is the block that the address lies in, `#12` the node with that
    /// number, anything else a class or a part of its name.
    ///
    /// # Errors
    /// There is no such thing.
    pub fn find(&self, text: &str) -> Result<Found, NotFound> {
        if let Some(digits) = text.strip_prefix("0x") {
            let address = u64::from_str_radix(digits, 16)
                .map_err(|_| NotFound(format!("`{text}` is not an address")))?;
            let block = self.snapshot().find(address).map_err(|e| NotFound(e.to_string()))?;
            let block = block.ok_or_else(|| NotFound(format!("no block is at {text}")))?;
            return Ok(Found::Node(block.id.0));
        }
        if let Some(digits) = text.strip_prefix('#') {
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
        let found = if exact.is_empty() { named(&|name| name.contains(text)) } else { exact };
        match found.is_empty() || text.is_empty() {
            true => Err(NotFound(format!(
                "`{text}` is no class; write one, as `bactrian heap types` lists them, an address \
                 (0x7f0012345678) or the number of a block (#123)"
            ))),
            false => Ok(Found::Classes(found)),
        }
    }
}
