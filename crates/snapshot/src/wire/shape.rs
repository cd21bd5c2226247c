//! Shapes of blocks in one byte: most blocks are small and have one of few tags.

use crate::model::tag;

/// Sizes below this stand in the byte itself.
pub(crate) const LONG_SIZE: u8 = 15;
/// Other tags than these stand elsewhere.
pub(crate) const OTHER_TAG: u8 = 15;

/// Tags that the upper half of the byte can say, by what it says.
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

/// The byte of a block: its size below, its tag above. Either may be 15 and stand in the column of long
/// shapes.
#[inline]
pub(crate) fn shape_byte(words: u64, tag: u8) -> u8 {
    words.min(u64::from(LONG_SIZE)) as u8 | tag_nibble(tag) << 4
}

/// The tag that the upper half of a byte says, if it says one.
#[inline]
pub(crate) fn shape_tag(byte: u8) -> Option<u8> {
    TAGS.get(usize::from(byte >> 4)).copied()
}

/// The size that the lower half of a byte says, if it says one.
#[inline]
pub(crate) fn shape_words(byte: u8) -> Option<u64> {
    let words = byte & 15;
    (words != LONG_SIZE).then_some(u64::from(words))
}

/// What a field is, in two bits.
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
    fn bytes_say_what_was_put_in() {
        for tag in 0..=255 {
            for words in [0, 1, 14, 15, 16, 1 << 40] {
                let byte = shape_byte(words, tag);
                assert_eq!(shape_tag(byte), TAGS.contains(&tag).then_some(tag));
                assert_eq!(shape_words(byte), (words < 15).then_some(words));
            }
        }
    }
}
