//! Custom blocks: their identifiers, and how much memory outside the heap they hold.
//!
//! Several blocks may hold the same memory: sub-arrays of a bigarray, for example, or the blocks of a channel
//! that was listed. Such memory must be counted once, and always for the same block, in whatever order blocks
//! are visited. So a heap walk first notes all blocks that share memory ([`Shares::note`]), and then the
//! memory is attributed to the block with the lowest address ([`Shares::bytes_of`]). Its size is the farthest
//! that any of them reaches: if a bigarray is gone while sub-arrays of it are alive, the size of the rest is
//! unknown.

use std::collections::HashMap;
use std::sync::RwLock;

use bactrian_ocaml::Version;
use bactrian_ocaml::custom::{Bigarray, Channel, Custom, Owner};

use crate::memory::Memory;

/// Upper bounds: identifiers are short, and there are never this many operations.
const LONGEST_IDENTIFIER: usize = 256;
const MOST_OPERATIONS: usize = 1 << 16;
const WORD: u64 = 8;

/// What custom blocks are, by the address of their operations.
pub struct Customs<'a> {
    memory: &'a dyn Memory,
    channel: Channel,
    known: RwLock<HashMap<u64, Operations>>,
}

/// What a custom block's operations say about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operations {
    /// The identifier, such as `_bigarr02`. None if it cannot be read: then it is not a custom block, or its
    /// library is gone.
    pub identifier: Option<String>,
    kind: Custom,
}

/// Memory outside the heap that a block holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct External {
    /// Its size in bytes, as far as known.
    pub bytes: u64,
    /// An address that all blocks that hold the same memory have in common. None if only this block holds it.
    pub shared: Option<u64>,
}

impl Operations {
    /// Whether such blocks may hold memory outside the heap, as far as is known.
    pub fn may_hold_memory(&self) -> bool {
        matches!(self.kind, Custom::Bigarray | Custom::Channel | Custom::Fixed(_))
    }

    /// The size in bytes of the boxed integer, if such blocks consist of one.
    pub fn integer_bytes(&self) -> Option<u64> {
        match self.kind {
            Custom::Integer(bytes) => Some(bytes),
            _ => None,
        }
    }
}

impl<'a> Customs<'a> {
    /// For the custom blocks of a program.
    pub fn new(memory: &'a dyn Memory, version: Version) -> Customs<'a> {
        Customs { memory, channel: Channel::of(version), known: RwLock::default() }
    }

    /// What a custom block is, by its first word.
    pub fn operations(&self, address: u64) -> Operations {
        let known = self.known.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(found) = known.get(&address) {
            return found.clone();
        }
        drop(known);
        let found = self.read_operations(address);
        let mut known = self.known.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        if known.len() < MOST_OPERATIONS {
            known.insert(address, found.clone());
        }
        found
    }

    fn read_operations(&self, address: u64) -> Operations {
        let name = self.memory.word(address).filter(|name| *name != 0);
        let name = name.and_then(|name| self.memory.c_string(name, LONGEST_IDENTIFIER));
        let kind = name.as_deref().map_or(Custom::Unknown, Custom::of);
        let is_text = |name: &Vec<u8>| name.iter().all(|byte| (b' '..=b'~').contains(byte));
        let identifier = name.filter(is_text).and_then(|name| String::from_utf8(name).ok());
        Operations { identifier, kind }
    }

    /// The memory that a custom block holds outside the heap. `words` are the block's fields, the first of
    /// which points to its operations.
    pub fn external(&self, operations: &Operations, words: &[u64]) -> External {
        let pointer = words.get(1).copied().filter(|pointer| *pointer != 0);
        let found = match (operations.kind, pointer) {
            (Custom::Bigarray, _) => self.bigarray(words),
            (Custom::Channel, Some(channel)) => self.channel(channel),
            (Custom::Fixed(bytes), Some(_)) => Some(External { bytes, shared: None }),
            _ => None,
        };
        found.unwrap_or_default()
    }

    fn bigarray(&self, words: &[u64]) -> Option<External> {
        let array = Bigarray::read(words)?;
        if array.owner == Owner::C {
            return None;
        }
        if array.proxy == 0 {
            return Some(External { bytes: array.bytes, shared: None });
        }
        let word = |index: u64| self.memory.word(array.proxy.checked_add(index * WORD)?);
        let (start, whole) = word(1).zip(word(2))?;
        let reaches_to =
            array.data.checked_sub(start).and_then(|before| before.checked_add(array.bytes));
        let bytes = match array.owner {
            Owner::File => whole,
            _ => reaches_to?,
        };
        Some(External { bytes, shared: Some(array.proxy) })
    }

    fn channel(&self, address: u64) -> Option<External> {
        let buffer = match self.channel.buffer {
            None => 0,
            Some((end, start)) => {
                let word = |offset: u64| self.memory.word(address.checked_add(offset)?);
                let length = word(end)?.checked_sub(word(start)?)?;
                // Closed channels have a buffer of a single byte, which all of them share.
                if length == 1 {
                    0
                } else {
                    Some(length).filter(|length| *length <= Channel::LONGEST_BUFFER)?
                }
            }
        };
        Some(External { bytes: self.channel.bytes + buffer, shared: Some(address) })
    }
}

/// Which blocks hold memory that several blocks share.
#[derive(Clone, Debug, Default)]
pub struct Shares {
    /// By the shared address: the lowest block, and the largest size that any of them reports.
    by_key: HashMap<u64, (u64, u64)>,
}

impl Shares {
    /// Notes that a block holds some memory. Only needed for shared memory.
    pub fn note(&mut self, block: u64, external: External) {
        if let Some(key) = external.shared {
            let (lowest, bytes) = self.by_key.entry(key).or_insert((block, 0));
            *lowest = block.min(*lowest);
            *bytes = external.bytes.max(*bytes);
        }
    }

    /// Adds what was noted elsewhere.
    pub fn merge(&mut self, other: Shares) {
        for (key, (block, bytes)) in other.by_key {
            self.note(block, External { bytes, shared: Some(key) });
        }
    }

    /// The bytes that are attributed to a block, once all blocks have been noted.
    pub fn bytes_of(&self, block: u64, external: External) -> u64 {
        match external.shared.map(|key| self.by_key.get(&key)) {
            None => external.bytes,
            Some(Some((lowest, bytes))) if *lowest == block => *bytes,
            Some(_) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_memory_counts_once_for_the_lowest_block() {
        let alone = External { bytes: 5, shared: None };
        let part = External { bytes: 10, shared: Some(1) };
        let whole = External { bytes: 100, shared: Some(1) };
        let mut here = Shares::default();
        let mut there = Shares::default();
        here.note(80, part);
        here.note(8, alone);
        there.note(40, part);
        there.note(120, whole);
        here.merge(there);
        let total = [(80, part), (8, alone), (40, part), (120, whole)];
        let bytes = total.map(|(block, external)| here.bytes_of(block, external));
        assert_eq!(bytes, [0, 5, 100, 0]);
    }
}
