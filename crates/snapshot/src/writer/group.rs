//! A group of blocks, built column by column.
//!
//! This is the hot path of taking a snapshot: one call per block and one per field, for the whole heap. The
//! calls only append to columns and count. Calls that contradict each other are noted and reported when the
//! group is finished.

use crate::error::{Result, SnapshotError};
use crate::model::{BlockId, CodeId, Columns, CustomId, Scanned, tag};
use crate::wire::{
    FieldKind, Guess, Kinds, LONG_SIZE, OTHER_TAG, Packed, Packer, SectionKind, put_signed,
    put_varint, shape_byte, tag_nibble,
};
use crate::{GROUP_BLOCKS, GroupFacts};

/// Builds groups, one after another. Each worker has its own builder.
pub struct GroupBuilder {
    columns: Columns,
    packer: Packer,
    facts: GroupFacts,
    /// Where the previous block ends, in words.
    end: u64,
    /// Field kinds that do not fill eight bytes yet, and the number of their bits.
    kinds: u64,
    kinds_bits: u32,
    /// How many fields of the block are still to come, and how many it has in all.
    due: u64,
    scanned: u64,
    /// The kinds of these fields, and predictions of their targets.
    kinds_of_fields: Kinds,
    guess: Guess,
    /// Whether [`GroupBuilder::closure`], `custom` or `string` must still be called for the block.
    wants_description: bool,
    /// Whether the block may be declared equal to an earlier one; how many blocks since the last equal one
    /// could have been and were not; and the first block to which that one is equal.
    may_equal: bool,
    unequal: u64,
    last_first: BlockId,
    fault: Option<&'static str>,
    bytes: Bytes,
}

/// The columns themselves.
#[derive(Default)]
struct Bytes {
    shapes: Vec<u8>,
    long_shapes: Vec<u8>,
    gaps: Vec<u8>,
    kinds: Vec<u8>,
    targets: Vec<u8>,
    immediates: Vec<u8>,
    closures: Vec<u8>,
    customs: Vec<u8>,
    tails: Vec<u8>,
    prefixes: Vec<u8>,
    equals: Vec<u8>,
}

impl Bytes {
    /// All columns in the order in which they are written.
    fn all(&mut self) -> [(SectionKind, &mut Vec<u8>); 11] {
        [
            (SectionKind::Shapes, &mut self.shapes),
            (SectionKind::LongShapes, &mut self.long_shapes),
            (SectionKind::Gaps, &mut self.gaps),
            (SectionKind::FieldKinds, &mut self.kinds),
            (SectionKind::Targets, &mut self.targets),
            (SectionKind::Immediates, &mut self.immediates),
            (SectionKind::Closures, &mut self.closures),
            (SectionKind::CustomBlocks, &mut self.customs),
            (SectionKind::Tails, &mut self.tails),
            (SectionKind::Prefixes, &mut self.prefixes),
            (SectionKind::Equals, &mut self.equals),
        ]
    }
}

/// A group, compressed and ready to be written.
#[derive(Clone, Debug)]
pub struct EncodedGroup {
    pub(super) facts: GroupFacts,
    pub(super) columns: Vec<(SectionKind, Packed)>,
}

impl EncodedGroup {
    /// Its approximate size in the file in bytes.
    pub fn stored_bytes(&self) -> u64 {
        self.columns.iter().map(|(_, packed)| packed.bytes.len() as u64).sum()
    }

    /// The group's numbers of blocks, edges and words, and its addresses.
    pub fn facts(&self) -> &GroupFacts {
        &self.facts
    }
}

impl GroupBuilder {
    /// A builder of groups with these columns, compressed at zstd's level 1.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new(columns: Columns) -> Result<GroupBuilder> {
        GroupBuilder::with_level(columns, 1)
    }

    /// Like [`GroupBuilder::new`], at another zstd level.
    ///
    /// # Errors
    /// Out of memory, or there is no such level.
    pub fn with_level(columns: Columns, level: i32) -> Result<GroupBuilder> {
        Ok(GroupBuilder {
            columns,
            packer: Packer::new(level)?,
            facts: GroupFacts::default(),
            end: 0,
            kinds: 0,
            kinds_bits: 0,
            due: 0,
            scanned: 0,
            kinds_of_fields: Kinds::default(),
            guess: Guess::new(),
            wants_description: false,
            may_equal: false,
            unequal: 0,
            last_first: BlockId(0),
            fault: None,
            bytes: Bytes::default(),
        })
    }

    /// Begins a group whose first block will be `first`. An unfinished group is dropped.
    pub fn start(&mut self, first: BlockId) {
        self.facts = GroupFacts { first, ..GroupFacts::default() };
        (self.kinds, self.kinds_bits, self.due) = (0, 0, 0);
        (self.wants_description, self.may_equal) = (false, false);
        (self.unequal, self.last_first) = (0, BlockId(0));
        self.fault = None;
        self.guess.clear();
        for (_, column) in self.bytes.all() {
            column.clear();
        }
    }

    /// The number of blocks in the group so far.
    pub fn blocks(&self) -> u32 {
        self.facts.blocks
    }

    /// Adds a block: the address of its first field, its size in words without its header, its tag. Blocks must
    /// come in order of addresses.
    #[inline]
    pub fn block(&mut self, address: u64, words: u64, tag: u8) {
        self.end_block();
        let at = address >> 3;
        if self.facts.blocks == 0 {
            self.facts.first_address = address;
        } else {
            if address <= self.facts.last_address {
                self.misuse("blocks are not in order of addresses");
            }
            let gap = at.wrapping_sub(1).wrapping_sub(self.end);
            put_signed(&mut self.bytes.gaps, gap as i64);
        }
        if address & 7 != 0 {
            self.misuse("the address of a block is not one of a word");
        }
        self.end = at.wrapping_add(words);
        self.facts.last_address = address;
        self.facts.blocks += 1;
        self.facts.words = self.facts.words.wrapping_add(words);

        let shape = shape_byte(words, tag);
        self.bytes.shapes.push(shape);
        if shape & 15 == LONG_SIZE || shape >> 4 == OTHER_TAG {
            self.long_shape(shape, words, tag);
        }
        self.kinds_of_fields = Kinds::of(words, tag);
        match Scanned::of(tag, &self.columns) {
            Scanned::All => (self.due, self.scanned) = (words, words),
            Scanned::Environment => self.wants_description = true,
            Scanned::None => {
                self.wants_description = matches!(tag, tag::STRING | tag::CUSTOM);
                self.may_equal = tag >= tag::ABSTRACT;
            }
        }
    }

    #[cold]
    fn long_shape(&mut self, shape: u8, words: u64, tag: u8) {
        if shape & 15 == LONG_SIZE {
            put_varint(&mut self.bytes.long_shapes, words);
        }
        if shape >> 4 == OTHER_TAG {
            self.bytes.long_shapes.push(tag);
        }
    }

    /// The next field is an immediate; `value` is what OCaml sees, without the tag bit.
    #[inline]
    pub fn immediate(&mut self, value: i64) {
        self.field(FieldKind::Immediate);
        if self.columns.immediates {
            let field = self.last_field();
            let last = self.guess.integer(self.kinds_of_fields, field);
            put_signed(&mut self.bytes.immediates, value.wrapping_sub(*last));
            *last = value;
        }
    }

    /// The next field points to a block.
    #[inline]
    pub fn pointer(&mut self, target: BlockId) {
        self.field(FieldKind::Pointer);
        self.target(target);
    }

    /// The next field points into a closure, `words` after its first field.
    #[inline]
    pub fn infix(&mut self, target: BlockId, words: u32) {
        self.field(FieldKind::Infix);
        self.target(target);
        put_varint(&mut self.bytes.targets, u64::from(words));
    }

    /// The next field is a pointer to no block of the snapshot.
    #[inline]
    pub fn outside(&mut self) {
        self.field(FieldKind::Outside);
    }

    /// The block is a closure: the index of the first field of its environment, which is the first that is a
    /// value, and its functions. Call this before the fields.
    pub fn closure(&mut self, environment: u32, codes: &[CodeId]) {
        let Some(due) = self.words_of_last().checked_sub(u64::from(environment)) else {
            return self.misuse("the environment of a closure begins after its end");
        };
        self.described(tag::CLOSURE);
        (self.due, self.scanned) = (due, due);
        put_varint(&mut self.bytes.closures, u64::from(environment));
        put_varint(&mut self.bytes.closures, codes.len() as u64);
        for code in codes {
            put_varint(&mut self.bytes.closures, u64::from(code.0));
        }
    }

    /// The block is a custom block: its identifier, and how many bytes outside the heap it holds.
    pub fn custom(&mut self, identifier: CustomId, external_bytes: u64) {
        self.described(tag::CUSTOM);
        put_varint(&mut self.bytes.customs, u64::from(identifier.0));
        put_varint(&mut self.bytes.customs, external_bytes);
    }

    /// The block is a string: its last byte, which gives the number of padding bytes in its last word, and its
    /// beginning, of which as much is recorded as was requested.
    #[inline]
    pub fn string(&mut self, tail: u8, prefix: &[u8]) {
        self.described(tag::STRING);
        self.bytes.tails.push(tail);
        if let Some(most) = self.columns.strings {
            let prefix = &prefix[..prefix.len().min(most as usize)];
            put_varint(&mut self.bytes.prefixes, prefix.len() as u64);
            self.bytes.prefixes.extend_from_slice(prefix);
        }
    }

    /// The block, whose tag is 251 or more, has the contents of an earlier one: the first block that has them.
    /// Recorded if that was requested.
    #[inline]
    pub fn equals(&mut self, first: BlockId) {
        if !self.may_equal || first >= self.own() {
            return self.misuse("a block is equal to one that is not before it, or has values");
        }
        self.may_equal = false;
        if self.columns.equals {
            put_varint(&mut self.bytes.equals, self.unequal);
            let step = i64::from(first.0) - i64::from(self.last_first.0);
            put_signed(&mut self.bytes.equals, step);
        }
        (self.unequal, self.last_first) = (0, first);
    }

    /// Compresses the group.
    ///
    /// # Errors
    /// The calls contradict each other: blocks out of order, too many or too few fields. The builder can start
    /// another group.
    pub fn finish(&mut self) -> Result<EncodedGroup> {
        self.end_block();
        if self.facts.blocks == 0 {
            self.misuse("a group without blocks");
        }
        if self.facts.blocks > GROUP_BLOCKS {
            self.misuse("too many blocks in a group");
        }
        if let Some(fault) = self.fault {
            return Err(SnapshotError::Misuse(fault));
        }
        let rest = self.kinds.to_le_bytes();
        let whole = self.kinds_bits.div_ceil(8) as usize;
        self.bytes.kinds.extend_from_slice(&rest[..whole]);
        let mut columns = Vec::new();
        for (kind, column) in self.bytes.all() {
            if !column.is_empty() {
                columns.push((kind, self.packer.pack(column)?));
            }
        }
        Ok(EncodedGroup { facts: self.facts, columns })
    }

    #[inline]
    fn field(&mut self, kind: FieldKind) {
        if self.due == 0 {
            return self.misuse("a block has more fields than its size and tag say");
        }
        self.due -= 1;
        self.kinds |= (kind as u64) << self.kinds_bits;
        self.kinds_bits += 2;
        if self.kinds_bits == u64::BITS {
            self.bytes.kinds.extend_from_slice(&self.kinds.to_le_bytes());
            (self.kinds, self.kinds_bits) = (0, 0);
        }
    }

    /// The index of the field that was begun last.
    #[inline]
    fn last_field(&self) -> u64 {
        self.scanned.wrapping_sub(self.due).wrapping_sub(1)
    }

    #[inline]
    fn target(&mut self, target: BlockId) {
        let own = self.own();
        let field = self.last_field();
        let guess = self.guess.target(self.kinds_of_fields, field, own);
        put_signed(&mut self.bytes.targets, i64::from(target.0) - guess);
        self.guess.learn(self.kinds_of_fields, field, target);
        self.facts.edges += 1;
    }

    /// The number of the block that was begun last.
    #[inline]
    fn own(&self) -> BlockId {
        BlockId(self.facts.first.0.wrapping_add(self.facts.blocks).wrapping_sub(1))
    }

    fn words_of_last(&self) -> u64 {
        self.end.wrapping_sub(self.facts.last_address >> 3)
    }

    #[inline]
    fn described(&mut self, tag: u8) {
        let shape = self.bytes.shapes.last().copied();
        if !self.wants_description || shape.map(|byte| byte >> 4) != Some(tag_nibble(tag)) {
            self.misuse("a block is not what its tag says");
        }
        self.wants_description = false;
    }

    #[inline]
    fn end_block(&mut self) {
        if self.due != 0 || self.wants_description {
            self.misuse("a block has fewer fields or facts than its size and tag say");
        }
        self.unequal += u64::from(std::mem::take(&mut self.may_equal));
    }

    #[cold]
    fn misuse(&mut self, what: &'static str) {
        self.fault.get_or_insert(what);
    }
}
