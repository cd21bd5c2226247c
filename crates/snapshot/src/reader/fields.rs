//! Fields of the blocks of a group, and the pointers among them.

use super::group::{Block, Group, TOO_MUCH, environment};
use crate::error::{Result, SnapshotError};
use crate::model::{BlockId, Pointer, Scanned};
use crate::wire::{Cursor, Fault, FieldKind, Guess, Kinds, Parse, SectionKind};

/// A field that is a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The block that has the field.
    pub block: BlockId,
    /// Its index from 0.
    pub index: u64,
    /// Its contents.
    pub value: FieldValue,
}

/// The contents of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValue {
    /// An immediate, with its value if the snapshot records it.
    Immediate(Option<i64>),
    /// A pointer to a block.
    Pointer(Pointer),
    /// A pointer that leads to no block of the snapshot.
    Outside,
    /// A pointer to a block in a part of the file that is missing.
    Missing,
}

/// A pointer from block to block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The block that has the field.
    pub from: BlockId,
    /// The index of the field from 0.
    pub field: u64,
    /// The pointer in the field.
    pub to: Pointer,
}

/// The columns that fields are decoded from, decompressed.
#[derive(Debug)]
pub struct Fields<'a> {
    group: &'a Group<'a>,
    kinds: Vec<u8>,
    targets: Vec<u8>,
    closures: Vec<u8>,
    immediates: Option<Vec<u8>>,
}

impl<'a> Fields<'a> {
    pub(super) fn read(group: &'a Group<'a>) -> Result<Fields<'a>> {
        let immediates = match group.snapshot().columns().immediates {
            true => Some(group.column(SectionKind::Immediates)?),
            false => None,
        };
        Ok(Fields {
            group,
            kinds: group.column(SectionKind::FieldKinds)?,
            targets: group.column(SectionKind::Targets)?,
            closures: group.column(SectionKind::Closures)?,
            immediates,
        })
    }

    /// All fields that are values, in order. After an error there are no more.
    pub fn iter(&self) -> FieldsIter<'_> {
        FieldsIter { walk: Walk::new(self, self.immediates.as_deref()) }
    }

    /// Visits all fields that are values, in order; faster than [`Fields::iter`].
    ///
    /// # Errors
    /// What is wrong after the last visited field.
    #[inline]
    pub fn each(&self, mut visit: impl FnMut(Field)) -> Result<()> {
        let mut walk = Walk::new(self, self.immediates.as_deref());
        loop {
            match walk.next() {
                Ok(Some(field)) => visit(field),
                Ok(None) => return Ok(()),
                Err(fault) => return Err(walk.fail(&fault)),
            }
        }
    }

    /// All pointers to blocks, in order. After an error there are no more.
    pub fn edges(&self) -> Edges<'_> {
        Edges { walk: Walk::new(self, None) }
    }
}

/// Iterator over fields that are values.
#[derive(Debug)]
pub struct FieldsIter<'a> {
    walk: Walk<'a>,
}

impl Iterator for FieldsIter<'_> {
    type Item = Result<Field>;

    #[inline]
    fn next(&mut self) -> Option<Result<Field>> {
        self.walk.next().map_err(|fault| self.walk.fail(&fault)).transpose()
    }
}

/// Iterator over pointers to blocks.
#[derive(Debug)]
pub struct Edges<'a> {
    walk: Walk<'a>,
}

impl Iterator for Edges<'_> {
    type Item = Result<Edge>;

    #[inline]
    fn next(&mut self) -> Option<Result<Edge>> {
        loop {
            match self.walk.next() {
                Ok(Some(Field { block, index, value: FieldValue::Pointer(to) })) => {
                    return Some(Ok(Edge { from: block, field: index, to }));
                }
                Ok(Some(_)) => {}
                Ok(None) => return None,
                Err(fault) => return Some(Err(self.walk.fail(&fault))),
            }
        }
    }
}

/// A traversal of the fields.
#[derive(Debug)]
struct Walk<'a> {
    group: &'a Group<'a>,
    blocks: std::slice::Iter<'a, Block>,
    block: BlockId,
    /// The next field, and the one after the last.
    field: u64,
    end: u64,
    /// The first field that is a value.
    start: u64,
    kinds_of_fields: Kinds,
    guess: Guess,
    kinds: &'a [u8],
    /// The index of the next field's kind; a byte holds four.
    kind: usize,
    targets: Cursor<'a>,
    closures: Cursor<'a>,
    immediates: Option<Cursor<'a>>,
    edges: u64,
    /// The number of blocks that the file should have, and the number that it has.
    announced: i64,
    present: i64,
}

impl<'a> Walk<'a> {
    fn new(fields: &'a Fields<'a>, immediates: Option<&'a [u8]>) -> Walk<'a> {
        let snapshot = fields.group.snapshot();
        Walk {
            group: fields.group,
            blocks: fields.group.blocks().iter(),
            block: BlockId(0),
            field: 0,
            end: 0,
            start: 0,
            kinds_of_fields: Kinds::default(),
            guess: Guess::new(),
            kinds: &fields.kinds,
            kind: 0,
            targets: Cursor::new(&fields.targets),
            closures: Cursor::new(&fields.closures),
            immediates: immediates.map(Cursor::new),
            edges: 0,
            announced: snapshot.blocks_announced() as i64,
            present: snapshot.blocks() as i64,
        }
    }

    #[inline(always)]
    fn next(&mut self) -> Parse<Option<Field>> {
        while self.field == self.end {
            let Some(block) = self.blocks.next() else { return self.finish() };
            self.begin(block)?;
        }
        let byte = self.kinds.get(self.kind >> 2).ok_or(Fault("fields are missing"))?;
        let kind = byte >> ((self.kind & 3) * 2) & 3;
        self.kind += 1;
        let index = self.field;
        self.field += 1;
        let value = if kind == FieldKind::Immediate as u8 {
            let change = self.immediates.as_mut().map(Cursor::signed).transpose()?;
            let last = self.guess.integer(self.kinds_of_fields, index - self.start);
            *last = last.wrapping_add(change.unwrap_or(0));
            FieldValue::Immediate(change.map(|_| *last))
        } else if kind == FieldKind::Outside as u8 {
            FieldValue::Outside
        } else {
            self.target(index - self.start, kind == FieldKind::Infix as u8)?
        };
        Ok(Some(Field { block: self.block, index, value }))
    }

    #[inline]
    fn begin(&mut self, block: &Block) -> Parse<()> {
        self.block = block.id;
        let columns = self.group.snapshot().columns();
        (self.field, self.end) = match Scanned::of(block.tag, columns) {
            Scanned::All => (0, block.words),
            Scanned::None => (0, 0),
            Scanned::Environment => {
                let environment = environment(&mut self.closures, block)?;
                for _ in 0..self.closures.varint()? {
                    self.closures.varint()?;
                }
                (u64::from(environment), block.words)
            }
        };
        self.start = self.field;
        self.kinds_of_fields = Kinds::of(block.words, block.tag);
        Ok(())
    }

    #[inline]
    fn target(&mut self, field: u64, is_infix: bool) -> Parse<FieldValue> {
        let guess = self.guess.target(self.kinds_of_fields, field, self.block);
        let target = guess.wrapping_add(self.targets.signed()?);
        let infix = match is_infix {
            true => u32::try_from(self.targets.varint()?)
                .map_err(|_| Fault("an infix pointer points too far"))?,
            false => 0,
        };
        self.edges += 1;
        if !(0..self.announced).contains(&target) {
            return Err(Fault("a pointer to a block that does not exist"));
        }
        let block = BlockId(target as u32);
        self.guess.learn(self.kinds_of_fields, field, block);
        match target < self.present {
            true => Ok(FieldValue::Pointer(Pointer { block, infix })),
            false => Ok(FieldValue::Missing),
        }
    }

    /// After the last block all columns must be used up.
    fn finish(&mut self) -> Parse<Option<Field>> {
        let immediates = self.immediates.as_ref().is_none_or(Cursor::at_end);
        let kinds = self.kinds.len() == self.kind.div_ceil(4);
        if !kinds || !immediates || !self.targets.at_end() || !self.closures.at_end() {
            return Err(TOO_MUCH);
        }
        if self.edges != self.group.facts().edges {
            return Err(Fault("the number of pointers is not the announced one"));
        }
        Ok(None)
    }

    #[cold]
    fn fail(&mut self, fault: &Fault) -> SnapshotError {
        // No more fields, and no second error.
        self.blocks = [].iter();
        self.end = self.field;
        self.kind = self.kinds.len() * 4;
        self.targets = Cursor::new(&[]);
        self.closures = Cursor::new(&[]);
        self.immediates = None;
        self.edges = self.group.facts().edges;
        self.group.damaged(fault)
    }
}
