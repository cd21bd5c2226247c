//! Contents of single blocks: which parts count, their hashes, and whether they are equal.

use std::hash::{BuildHasher, RandomState};
use std::ops::Range;

use bactrian_snapshot::tag;

use crate::heap::block::Header;
use crate::heap::encode::References;
use crate::heap::image::{MemoryImage, Spot};

/// How many leading words of a block are hashed at first; the last word is hashed, too.
pub const HASHED_WORDS: u64 = 4096;
/// Large blocks are read in pieces of this many words.
const PIECE: usize = 1 << 13;

/// Reads contents of blocks.
pub(super) struct Reader<'i> {
    pub image: &'i MemoryImage<'i>,
    pub references: &'i References,
    /// Unknown to the program, so that it cannot make all of its blocks collide in the hash table.
    seed: u64,
}

/// Kinds of blocks whose contents are a single word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// A block with this tag.
    Tag(u8),
    /// A boxed integer, whose operations are at this index of [`References::integers`].
    Integer(u8),
}

impl<'i> Reader<'i> {
    pub fn new(image: &'i MemoryImage<'i>, references: &'i References) -> Reader<'i> {
        Reader { image, references, seed: RandomState::new().hash_one(0) }
    }

    /// What is to be compared of the block with this header; None if contents of its kind cannot be compared.
    #[inline]
    pub fn contents(&self, spot: Spot<'_>) -> Option<Contents> {
        let Header { words, tag, .. } = Header::of(spot.word());
        let (last, whole) = match tag {
            tag::STRING | tag::DOUBLE | tag::DOUBLE_ARRAY if words > 0 => {
                (u64::MAX, (words == 1).then_some(Whole::Tag(tag)))
            }
            tag::CUSTOM if words == 2 => {
                let operations = self.image.word(spot.address() + 8)?;
                let integers = &self.references.integers;
                let at = integers.iter().position(|(address, _)| *address == operations)?;
                // The padding behind a small integer is not always initialised.
                let last = if integers[at].1 == 4 { u64::from(u32::MAX) } else { u64::MAX };
                (last, u8::try_from(at).ok().map(Whole::Integer))
            }
            _ => return None,
        };
        // If something could not be read, the hash does not determine the contents.
        let whole = whole.filter(|_| spot.page.is_whole());
        Some(Contents { header: spot.address(), words, tag, last, whole })
    }

    /// The same for the block whose header is at this address.
    pub fn block(&self, header: u64) -> Option<Contents> {
        self.contents(self.image.spot(header)?)
    }

    /// A hash of a block's contents; if it is large, only of its beginning and its end.
    #[inline]
    pub fn hash(&self, spot: Spot<'_>, block: &Contents) -> u64 {
        let last = block.words - 1;
        let mut hash = 0;
        self.image.fields(spot, last..block.words, |piece| {
            hash = piece.first().map_or(0, |word| scatter(word & block.last ^ self.seed));
        });
        if block.whole.is_none() {
            hash ^= block.seed();
            // The marker has had this many words copied.
            self.image.fields(spot, 0..last.min(HASHED_WORDS), |piece| hash = fold(hash, piece));
        }
        hash
    }

    /// A hash of all of a large block; None if it cannot be read.
    pub fn whole_hash(&self, header: u64) -> Option<u64> {
        let block = self.block(header)?;
        let mut hash = block.seed();
        let mut piece = vec![0; PIECE];
        for range in block.pieces() {
            let piece = &mut piece[..(range.end - range.start) as usize];
            if !self.image.look(header + 8 + range.start * 8, piece) {
                return None;
            }
            hash = fold(hash, piece);
        }
        Some(hash)
    }

    /// Whether two blocks are equal.
    pub fn is_same(&self, one: &Contents, other: &Contents) -> bool {
        if (one.words, one.tag, one.last) != (other.words, other.tag, other.last) {
            return false;
        }
        let at_hand = |block: &Contents| self.image.words_at_hand(block.header + 8, block.words);
        match (at_hand(one), at_hand(other)) {
            (Some(mine), Some(theirs)) => are_same(mine, theirs, one.last),
            _ => self.is_same_in_pieces(one, other),
        }
    }

    #[cold]
    fn is_same_in_pieces(&self, one: &Contents, other: &Contents) -> bool {
        let mut pieces = [vec![0; PIECE], vec![0; PIECE]];
        one.pieces().all(|range| {
            let length = (range.end - range.start) as usize;
            let [mine, theirs] = &mut pieces;
            let (mine, theirs) = (&mut mine[..length], &mut theirs[..length]);
            let mask = if range.end == one.words { one.last } else { u64::MAX };
            self.image.look(one.header + 8 + range.start * 8, mine)
                && self.image.look(other.header + 8 + range.start * 8, theirs)
                && are_same(mine, theirs, mask)
        })
    }
}

/// What is to be compared of a block.
#[derive(Clone, Copy)]
pub(super) struct Contents {
    /// The address of its header.
    pub header: u64,
    words: u64,
    tag: u8,
    /// A mask of the bits of the last word that count.
    last: u64,
    /// The kind of block, if its contents are a single word.
    pub whole: Option<Whole>,
}

impl Contents {
    /// Whether only a part of it was hashed at first.
    pub fn is_large(&self) -> bool {
        self.words > HASHED_WORDS
    }

    /// The initial value of its hash.
    #[inline]
    fn seed(&self) -> u64 {
        self.words << 8 | u64::from(self.tag)
    }

    fn pieces(&self) -> impl Iterator<Item = Range<u64>> + use<> {
        let words = self.words;
        let starts = (0..words).step_by(PIECE);
        starts.map(move |start| start..(start + PIECE as u64).min(words))
    }
}

/// Whether words are equal; only the masked bits of the last one count.
fn are_same(mine: &[u64], theirs: &[u64], last: u64) -> bool {
    match (mine, theirs) {
        ([mine @ .., my_last], [theirs @ .., their_last]) => {
            mine == theirs && (my_last ^ their_last) & last == 0
        }
        _ => mine == theirs,
    }
}

fn fold(hash: u64, words: &[u64]) -> u64 {
    words.iter().fold(hash, |hash, &word| mix(hash, word))
}

/// A step of the hash: folds both halves of a product.
#[inline]
fn mix(hash: u64, word: u64) -> u64 {
    let product = u128::from(hash.rotate_left(23) ^ word) * 0x9e37_79b9_7f4a_7c15;
    (product >> 64) as u64 ^ product as u64
}

/// Scatters words bijectively (the finaliser of MurmurHash3).
#[inline]
fn scatter(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xff51_afd7_ed55_8ccd);
    word ^= word >> 33;
    word = word.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    word ^ word >> 33
}
