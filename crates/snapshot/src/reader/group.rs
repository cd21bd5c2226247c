//! A group of blocks: shapes and addresses are read at once, the other columns on request.

use super::Snapshot;
use super::directory::read_section;
use super::fields::Fields;
use crate::error::{Result, SnapshotError};
use crate::model::{BlockId, CodeId, CustomId, GroupFacts, tag};
use crate::wire::{Cursor, Fault, Parse, SectionKind, shape_tag, shape_words};

/// A block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Its number.
    pub id: BlockId,
    /// The address of its first field.
    pub address: u64,
    /// Its size in words, without its header.
    pub words: u64,
    /// Its tag.
    pub tag: u8,
}

/// What is recorded of a closure besides its fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closure {
    /// The block.
    pub block: BlockId,
    /// The index of the first field of its environment.
    pub environment: u32,
    /// Its functions: the first, and those that infix pointers point to.
    pub codes: Vec<CodeId>,
}

/// What is recorded of a custom block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Custom {
    /// The block.
    pub block: BlockId,
    /// Its identifier.
    pub identifier: CustomId,
    /// Bytes outside the heap that it holds.
    pub external_bytes: u64,
}

/// What is recorded of a string.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// The block.
    pub block: BlockId,
    /// Its length in bytes.
    pub bytes: u64,
    /// Its first bytes, if the snapshot records them.
    pub prefix: Option<Vec<u8>>,
}

/// A block with the contents of an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equal {
    /// The block.
    pub block: BlockId,
    /// The first block with these contents, of the same tag and size. It may be in a part of the file that is
    /// missing.
    pub first: BlockId,
}

/// A group that is being read.
#[derive(Debug)]
pub struct Group<'a> {
    snapshot: &'a Snapshot,
    index: usize,
    blocks: Vec<Block>,
}

impl<'a> Group<'a> {
    pub(super) fn read(snapshot: &'a Snapshot, index: usize) -> Result<Group<'a>> {
        if index >= snapshot.groups().len() {
            return Err(SnapshotError::Misuse("there is no such group"));
        }
        let mut group = Group { snapshot, index, blocks: Vec::new() };
        let shapes = group.column(SectionKind::Shapes)?;
        let long_shapes = group.column(SectionKind::LongShapes)?;
        let gaps = group.column(SectionKind::Gaps)?;
        let blocks = blocks(group.facts(), &shapes, &long_shapes, &gaps);
        group.blocks = blocks.map_err(|fault| group.damaged(&fault))?;
        Ok(group)
    }

    /// What was known of it before it was read.
    pub fn facts(&self) -> &GroupFacts {
        &self.snapshot.groups()[self.index]
    }

    /// Its blocks, in order of numbers and addresses.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Its fields, and thereby its pointers.
    ///
    /// # Errors
    /// A required column is damaged.
    pub fn fields(&self) -> Result<Fields<'_>> {
        Fields::read(self)
    }

    /// Its closures.
    ///
    /// # Errors
    /// The column is damaged.
    pub fn closures(&self) -> Result<Vec<Closure>> {
        let column = self.column(SectionKind::Closures)?;
        self.described(&column, tag::CLOSURE, |cursor, block| {
            let environment = environment(cursor, block)?;
            let count = cursor.varint()?;
            if count > cursor.left() as u64 {
                return Err(Fault("a closure has too many functions"));
            }
            let code = |_| cursor.varint().and_then(small).map(CodeId);
            let codes = (0..count).map(code).collect::<Parse<_>>()?;
            Ok(Closure { block: block.id, environment, codes })
        })
    }

    /// Its custom blocks.
    ///
    /// # Errors
    /// The column is damaged.
    pub fn customs(&self) -> Result<Vec<Custom>> {
        let column = self.column(SectionKind::CustomBlocks)?;
        self.described(&column, tag::CUSTOM, |cursor, block| {
            let identifier = CustomId(small(cursor.varint()?)?);
            Ok(Custom { block: block.id, identifier, external_bytes: cursor.varint()? })
        })
    }

    /// Its strings.
    ///
    /// # Errors
    /// A column is damaged.
    pub fn strings(&self) -> Result<Vec<Text>> {
        let tails = self.column(SectionKind::Tails)?;
        let mut strings = self.described(&tails, tag::STRING, |cursor, block| {
            Ok(Text { block: block.id, bytes: string_bytes(cursor, block)?, prefix: None })
        })?;
        if self.snapshot.columns().strings.is_some() {
            let prefixes = self.column(SectionKind::Prefixes)?;
            let mut next = strings.iter_mut();
            self.described(&prefixes, tag::STRING, |cursor, _| {
                let length = cursor.varint()?.min(usize::MAX as u64) as usize;
                let prefix = cursor.take(length)?;
                if let Some(text) = next.next() {
                    text.prefix = Some(prefix.to_vec());
                }
                Ok(())
            })?;
        }
        Ok(strings)
    }

    /// The total length of its strings in bytes.
    ///
    /// # Errors
    /// The column is damaged.
    pub fn string_bytes(&self) -> Result<u64> {
        let tails = self.column(SectionKind::Tails)?;
        let mut sum = 0_u64;
        self.described(&tails, tag::STRING, |cursor, block| {
            sum = sum.saturating_add(string_bytes(cursor, block)?);
            Ok(())
        })?;
        Ok(sum)
    }

    /// Those blocks without values that have the contents of an earlier block; none if the snapshot does not
    /// record that.
    ///
    /// # Errors
    /// The column is damaged.
    pub fn equals(&self) -> Result<Vec<Equal>> {
        let column = match self.snapshot.columns().equals {
            true => self.column(SectionKind::Equals)?,
            false => return Ok(Vec::new()),
        };
        equals(&self.blocks, &column).map_err(|fault| self.damaged(&fault))
    }

    /// What a column says of each block with a tag.
    fn described<T>(
        &self,
        column: &[u8],
        tag: u8,
        mut read: impl FnMut(&mut Cursor<'_>, &Block) -> Parse<T>,
    ) -> Result<Vec<T>> {
        let mut cursor = Cursor::new(column);
        let blocks = self.blocks.iter().filter(|block| block.tag == tag);
        let facts: Parse<Vec<T>> = blocks.map(|block| read(&mut cursor, block)).collect();
        let facts = facts.map_err(|fault| self.damaged(&fault))?;
        if cursor.at_end() { Ok(facts) } else { Err(self.damaged(&TOO_MUCH)) }
    }

    /// The contents of a column; empty if it is missing, because empty columns are not written.
    pub(super) fn column(&self, kind: SectionKind) -> Result<Vec<u8>> {
        let places = &self.snapshot.directory.sections[self.index];
        let place = places.iter().find(|place| place.kind == kind as u16);
        place.map_or(Ok(Vec::new()), |place| read_section(&self.snapshot.source, place))
    }

    pub(super) fn snapshot(&self) -> &Snapshot {
        self.snapshot
    }

    /// Its byte offset in the file.
    pub(super) fn offset(&self) -> u64 {
        self.snapshot.directory.sections[self.index].first().map_or(0, |place| place.offset)
    }

    pub(super) fn damaged(&self, fault: &Fault) -> SnapshotError {
        let reason = format!("group {}: {}", self.index, fault.0);
        SnapshotError::Damaged { offset: self.offset(), reason }
    }
}

pub(super) const TOO_MUCH: Fault = Fault("a column has more entries than there are blocks");

/// Reads where the environment of a closure begins.
pub(super) fn environment(cursor: &mut Cursor<'_>, block: &Block) -> Parse<u32> {
    let environment = cursor.varint()?;
    if environment > block.words {
        return Err(Fault("the environment of a closure begins after its end"));
    }
    small(environment)
}

/// Reads the length of a string.
fn string_bytes(cursor: &mut Cursor<'_>, block: &Block) -> Parse<u64> {
    let tail = u64::from(cursor.byte()?);
    Ok(block.words.saturating_mul(8).saturating_sub(1).saturating_sub(tail))
}

fn small(number: u64) -> Parse<u32> {
    u32::try_from(number).map_err(|_| Fault("a number is too large"))
}

fn equals(blocks: &[Block], column: &[u8]) -> Parse<Vec<Equal>> {
    let mut cursor = Cursor::new(column);
    let mut opaque = blocks.iter().filter(|block| block.tag >= tag::ABSTRACT);
    let mut found = Vec::new();
    let mut last = 0_u32;
    while !cursor.at_end() {
        let skipped = usize::try_from(cursor.varint()?).unwrap_or(usize::MAX);
        let block = opaque.nth(skipped).ok_or(TOO_MUCH)?.id;
        let first = i64::from(last).checked_add(cursor.signed()?);
        let first = first.filter(|first| (0..i64::from(block.0)).contains(first));
        last = first.ok_or(Fault("a block is equal to one that is not before it"))? as u32;
        found.push(Equal { block, first: BlockId(last) });
    }
    Ok(found)
}

fn blocks(facts: &GroupFacts, shapes: &[u8], long: &[u8], gaps: &[u8]) -> Parse<Vec<Block>> {
    if shapes.len() != facts.blocks as usize {
        return Err(Fault("the number of shapes is not that of blocks"));
    }
    let (mut long, mut gaps) = (Cursor::new(long), Cursor::new(gaps));
    let mut blocks = Vec::with_capacity(shapes.len());
    let (mut address, mut end, mut sum) = (facts.first_address, 0_u64, 0_u64);
    for (at, &shape) in shapes.iter().enumerate() {
        if at > 0 {
            let word = end.wrapping_add(gaps.signed()? as u64).wrapping_add(1);
            if word > u64::MAX >> 3 || word << 3 <= address {
                return Err(Fault("blocks are not in order of addresses"));
            }
            address = word << 3;
        }
        let words = match shape_words(shape) {
            Some(words) => words,
            None => long.varint()?,
        };
        let tag = match shape_tag(shape) {
            Some(tag) => tag,
            None => long.byte()?,
        };
        end = (address >> 3).wrapping_add(words);
        sum = sum.wrapping_add(words);
        let id = BlockId(facts.first.0.wrapping_add(at as u32));
        blocks.push(Block { id, address, words, tag });
    }
    if address != facts.last_address || sum != facts.words {
        return Err(Fault("its blocks are not those that were announced"));
    }
    if long.at_end() && gaps.at_end() { Ok(blocks) } else { Err(TOO_MUCH) }
}
