//! What the words of a heap are used for, counted while its groups are read.

use bactrian_snapshot::{Columns, FieldValue, Group, Tables, tag};

use super::contents::Count;

/// Counts for a heap or a part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Census {
    /// Blocks by space and kind.
    pub count: Count,
    /// Words by use, in the order of [`Use`].
    pub words: [u64; USES],
    /// Bytes of string contents, without padding.
    pub string_bytes: u64,
}

/// The use of a word of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    Header,
    Pointer,
    Outside,
    Immediate,
    /// The immediate 0, as in `None`, `[]`, `()` and `false`.
    Empty,
    /// Words of strings, including padding.
    String,
    Float,
    /// Words of closures before their environment: code addresses, arities, infix headers.
    Code,
    Custom,
    /// Abstract blocks, continuations, ephemerons: words that are not values.
    Opaque,
    /// Fields that should exist but could not be read.
    Unread,
}

/// The number of uses.
pub(crate) const USES: usize = 11;

/// Fields by contents.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FieldCounts {
    immediates: u64,
    empty: u64,
    pointers: u64,
    outside: u64,
}

impl FieldCounts {
    /// Counts a field.
    #[inline]
    pub fn add(&mut self, value: &FieldValue) {
        match value {
            FieldValue::Immediate(Some(0)) => self.empty += 1,
            FieldValue::Immediate(_) => self.immediates += 1,
            FieldValue::Pointer(_) | FieldValue::Missing => self.pointers += 1,
            FieldValue::Outside => self.outside += 1,
        }
    }
}

impl Census {
    /// Counts the blocks of a group; their fields are counted separately.
    pub fn blocks(&mut self, group: &Group<'_>, tables: &Tables, columns: &Columns) {
        self.count.group(group, tables, columns);
        for block in group.blocks() {
            self.add(Use::Header, 1);
            match block.tag {
                tag::STRING => self.add(Use::String, block.words),
                tag::DOUBLE | tag::DOUBLE_ARRAY => self.add(Use::Float, block.words),
                tag::CUSTOM => self.add(Use::Custom, block.words),
                tag::ABSTRACT => self.add(Use::Opaque, block.words),
                tag::CONTINUATION if columns.continuations => self.add(Use::Opaque, block.words),
                // Until the fields are read.
                _ => self.add(Use::Unread, block.words),
            }
        }
        let bytes = group.string_bytes().unwrap_or(0);
        self.string_bytes = self.string_bytes.saturating_add(bytes);
        for closure in group.closures().unwrap_or_default() {
            self.read(Use::Code, closure.environment.into());
        }
    }

    /// Counts fields.
    pub fn fields(&mut self, counts: &FieldCounts) {
        self.read(Use::Immediate, counts.immediates);
        self.read(Use::Empty, counts.empty);
        self.read(Use::Pointer, counts.pointers);
        self.read(Use::Outside, counts.outside);
    }

    /// Reclassifies words from unread to a known use.
    #[inline]
    fn read(&mut self, used: Use, words: u64) {
        self.add(used, words);
        let unread = &mut self.words[Use::Unread as usize];
        *unread = unread.saturating_sub(words);
    }

    #[inline]
    fn add(&mut self, used: Use, words: u64) {
        let sum = &mut self.words[used as usize];
        *sum = sum.saturating_add(words);
    }

    /// The number of words with this use.
    pub fn of(&self, used: Use) -> u64 {
        self.words[used as usize]
    }

    /// Adds the counts of another part.
    pub fn merge(&mut self, other: &Census) {
        self.count.merge(&other.count);
        for (sum, words) in self.words.iter_mut().zip(&other.words) {
            *sum = sum.saturating_add(*words);
        }
        self.string_bytes = self.string_bytes.saturating_add(other.string_bytes);
    }

    /// All counts as a list, to be stored in an index.
    pub fn numbers(&self) -> Vec<u64> {
        let mut numbers = self.count.numbers();
        numbers.extend(self.words);
        numbers.push(self.string_bytes);
        numbers
    }

    /// Restores stored counts; None if there are not exactly as many as expected.
    pub fn from_numbers(numbers: &[u64]) -> Option<Census> {
        let (string_bytes, numbers) = numbers.split_last()?;
        let (count, words) = numbers.split_last_chunk::<USES>()?;
        let count = Count::from_numbers(count)?;
        Some(Census { count, words: *words, string_bytes: *string_bytes })
    }
}
