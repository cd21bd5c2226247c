//! Shapes of blocks in one byte: most blocks are small and have one of a few tags.

use crate::model::tag;

/// Sizes from this one on are in the column of long shapes.
pub(crate) const LONG_SIZE: u8 = 15;
/// Stands for any tag that is not in [`TAGS`].
pub(crate) const OTHER_TAG: u8 = 15;

/// The tags that the upper half of the byte can express, by its value.
const TAGS: [u8; 15] = [
    0,
    1,
    2,
    3,
    4,
    5,
    tag::LAZY,
    tag::CLOSURE,
    tag::OBJECT,
    tag::FORWARD,
    tag::ABSTRACT,
    tag::STRING,
    tag::DOUBLE,
    tag::DOUBLE_ARRAY,
    tag::CUSTOM,
];

/// The upper half of the byte for each tag.
const NIBBLES: [u8; 256] = {
    let mut nibbles = [OTHER_TAG; 256];
    let mut at = 0;
    while at < TAGS.len() {
        nibbles[TAGS[at] as usize] = at as u8;
        at += 1;
    }
    nibbles
};

#[inline]
pub(crate) fn tag_nibble(tag: u8) -> u8 {
    NIBBLES[usize::from(tag)]
}

/// The shape byte of a block: its size in the lower half, its tag in the upper one. Either may be 15, and then
/// the value is in the column of long shapes.
#[inline]
pub(crate) fn shape_byte(words: u64, tag: u8) -> u8 {
    words.min(u64::from(LONG_SIZE)) as u8 | tag_nibble(tag) << 4
}

/// The tag in the upper half of a byte, if it is there.
#[inline]
pub(crate) fn shape_tag(byte: u8) -> Option<u8> {
    TAGS.get(usize::from(byte >> 4)).copied()
}

/// The size in the lower half of a byte, if it is there.
#[inline]
pub(crate) fn shape_words(byte: u8) -> Option<u64> {
    let words = byte & 15;
    (words != LONG_SIZE).then_some(u64::from(words))
}

/// The kind of a field, in two bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FieldKind {
    Immediate = 0,
    Pointer = 1,
    Outside = 2,
    Infix = 3,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_bytes_round_trip() {
        for tag in 0..=255 {
            for words in [0, 1, 14, 15, 16, 1 << 40] {
                let byte = shape_byte(words, tag);
                assert_eq!(shape_tag(byte), TAGS.contains(&tag).then_some(tag));
                assert_eq!(shape_words(byte), (words < 15).then_some(words));
            }
        }
    }
}
