//! Encodes marked blocks into the groups of a snapshot, in order of addresses, on all processors.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use bactrian_snapshot::{
    BlockId, CodeId, Columns, CustomId, EncodedGroup, GROUP_BLOCKS, GroupBuilder, SnapshotError,
    tag,
};

use super::block::{Closures, Contents, Header, INFIX};
use super::equal::{Equals, HASHED_WORDS, NO_OTHER};
use super::helpers::help;
use super::image::{MemoryImage, Page, Spot};

/// What blocks refer to other than blocks, by address.
#[derive(Default)]
pub struct References {
    /// Functions in closures, by code address.
    pub codes: HashMap<u64, CodeId>,
    /// Identifiers of custom blocks, by the address of their operations.
    pub operations: HashMap<u64, CustomId>,
    /// Operations of boxed integers, with the size of the integer in bytes.
    pub integers: Vec<(u64, u64)>,
    /// Bytes outside the heap held by each custom block that holds some.
    pub external: HashMap<u64, u64>,
}

/// Encodes marked blocks into groups.
pub struct Encoder<'i> {
    pub image: &'i MemoryImage<'i>,
    pub closures: Closures,
    pub columns: Columns,
    pub references: &'i References,
    pub equals: &'i Equals,
    pub threads: usize,
}

/// Groups per thread that are encoded before they are written.
const BATCH: usize = 4;

impl Encoder<'_> {
    /// Encodes `blocks` blocks and passes their groups to `write`, in order.
    ///
    /// # Errors
    /// Errors of encoding and of `write`.
    pub fn encode<E: From<SnapshotError>>(
        &self,
        blocks: u32,
        mut write: impl FnMut(EncodedGroup) -> Result<(), E>,
    ) -> Result<(), E> {
        // Pages that were first copied after the blocks were numbered are excluded: they have no numbers, and
        // are not in order.
        let pages: Vec<&Page> = self.image.pages().filter(|page| page.has_marks()).collect();
        let groups = blocks.div_ceil(GROUP_BLOCKS) as usize;
        let mut builders: Vec<GroupBuilder> = (0..self.threads)
            .map(|_| GroupBuilder::new(self.columns))
            .collect::<Result<_, SnapshotError>>()?;
        let mut done = 0;
        while done < groups {
            let batch = (done..groups).take(BATCH * self.threads);
            let slots: Vec<_> = batch.map(|group| (group, std::sync::Mutex::new(None))).collect();
            let next = AtomicUsize::new(0);
            let work = |builder: &mut GroupBuilder| {
                while let Some((group, slot)) = slots.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let first = *group as u32 * GROUP_BLOCKS;
                    let encoded = self.group(&pages, first, builder);
                    *slot.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(encoded);
                }
            };
            thread::scope(|scope| {
                let work = &work;
                let Some((own, others)) = builders.split_first_mut() else { return };
                for builder in others {
                    help(scope, move || work(builder));
                }
                work(own);
            });
            done += slots.len();
            for (_, slot) in slots {
                let encoded = slot.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
                write(encoded.unwrap_or(Err(SnapshotError::Misuse("a group was not encoded")))?)?;
            }
        }
        Ok(())
    }

    fn group(
        &self,
        pages: &[&Page],
        first: u32,
        builder: &mut GroupBuilder,
    ) -> Result<EncodedGroup, SnapshotError> {
        builder.start(BlockId(first));
        let start = pages.partition_point(|page| page.first_number() <= first).saturating_sub(1);
        let mut scratch = Scratch::default();
        self.equals.of_group((first / GROUP_BLOCKS) as usize, &mut scratch.firsts);
        for page in &pages[start..] {
            let goes_on = page.marked_from(first, |header| {
                if builder.blocks() == GROUP_BLOCKS {
                    return false;
                }
                self.block(header, builder, &mut scratch);
                true
            });
            if !goes_on {
                break;
            }
        }
        builder.finish()
    }

    #[inline]
    fn block(&self, spot: Spot<'_>, builder: &mut GroupBuilder, scratch: &mut Scratch) {
        let Header { words, tag, .. } = Header::of(spot.word());
        builder.block(spot.address() + 8, words, tag);
        match Contents::of(tag, self.columns.continuations) {
            Contents::Values => self.values(spot, 0..words, builder),
            Contents::Closure => {
                let second = (words >= 2).then(|| self.image.word(spot.address() + 16)).flatten();
                let start = self.closures.values(second, words);
                scratch.words.clear();
                let heads = 0..self.closures.heads(start, words);
                self.image.fields(spot, heads, |piece| scratch.words.extend_from_slice(piece));
                scratch.codes.clear();
                self.closures.functions(&scratch.words, |code| {
                    scratch.codes.extend(self.references.codes.get(&code))
                });
                builder.closure(u32::try_from(start).unwrap_or(u32::MAX), &scratch.codes);
                self.values(spot, start..words, builder);
            }
            Contents::Continuation => {}
            Contents::Custom => {
                let operations = self.image.word(spot.address() + 8).filter(|_| words > 0);
                let identifier = operations.and_then(|at| self.references.operations.get(&at));
                let external = self.references.external.get(&(spot.address() + 8));
                builder.custom(identifier.copied().unwrap_or_default(), *external.unwrap_or(&0));
                equals(builder, scratch);
            }
            Contents::Opaque => {
                if tag == tag::STRING {
                    self.string(spot, words, builder, scratch);
                }
                equals(builder, scratch);
            }
        }
    }

    #[inline]
    fn values(&self, spot: Spot<'_>, fields: std::ops::Range<u64>, builder: &mut GroupBuilder) {
        let mut seen = 0;
        let count = fields.end - fields.start;
        self.image.fields(spot, fields, |piece| {
            for &value in piece {
                if value & 1 == 1 {
                    builder.immediate(value as i64 >> 1);
                } else {
                    self.pointer(value, builder);
                }
            }
            seen += piece.len() as u64;
        });
        debug_assert_eq!(seen, count);
    }

    #[inline]
    fn pointer(&self, value: u64, builder: &mut GroupBuilder) {
        match self.image.number_at(value) {
            Some(number) => builder.pointer(BlockId(number)),
            None => match self.closure_around(value) {
                Some((number, words)) => builder.infix(BlockId(number), words),
                None => builder.outside(),
            },
        }
    }

    /// The marked closure that a value points into, and the number of words from its start.
    #[cold]
    pub fn closure_around(&self, value: u64) -> Option<(u32, u32)> {
        closure_around(self.image, value)
    }

    fn string(
        &self,
        spot: Spot<'_>,
        words: u64,
        builder: &mut GroupBuilder,
        scratch: &mut Scratch,
    ) {
        let last = words.saturating_sub(1);
        let mut tail = 0;
        self.image.fields(spot, last..words, |piece| {
            tail = piece.first().map_or(0, |word| (word >> 56) as u8);
        });
        let length = (words * 8).saturating_sub(1 + u64::from(tail));
        let wanted = u64::from(self.columns.strings.unwrap_or(0)).min(length);
        scratch.bytes.clear();
        if wanted > 0 {
            let words = 0..wanted.div_ceil(8);
            self.image.fields(spot, words, |piece| {
                scratch.bytes.extend(piece.iter().flat_map(|word| word.to_le_bytes()));
            });
            scratch.bytes.truncate(wanted as usize);
        }
        builder.string(tail, &scratch.bytes);
    }
}

/// If the block that was begun last equals an earlier one, says so.
#[inline]
fn equals(builder: &mut GroupBuilder, scratch: &Scratch) {
    let index = builder.blocks().wrapping_sub(1);
    if let Some(&first) = scratch.firsts.get(index as usize)
        && first != NO_OTHER
    {
        builder.equals(BlockId(first));
    }
}

/// How many leading words of blocks without values are read, if this many bytes of each string are kept.
pub fn opaque_words(strings: Option<u32>) -> u64 {
    HASHED_WORDS.max(u64::from(strings.unwrap_or(0)).div_ceil(8))
}

/// Buffers that are reused.
#[derive(Default)]
struct Scratch {
    words: Vec<u64>,
    codes: Vec<CodeId>,
    bytes: Vec<u8>,
    /// For each block of the group, the number of the first block with its contents.
    firsts: Vec<u32>,
}

/// The marked closure that a value points into, and the number of words from its start.
pub fn closure_around(image: &MemoryImage<'_>, value: u64) -> Option<(u32, u32)> {
    if value & 7 != 0 {
        return None;
    }
    let header = Header::of(image.word(value.checked_sub(8)?)?);
    let start = value.checked_sub(header.words.checked_mul(8)?)?;
    let number = image.number_at(start).filter(|_| header.tag == INFIX)?;
    Some((number, u32::try_from(header.words).ok()?))
}
