//! Bit sets, in words that threads can process separately.

/// A bit for each number below `len`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Bits {
    words: Vec<u64>,
    len: usize,
}

/// Bits per word.
pub(crate) const WORD: usize = u64::BITS as usize;

impl Bits {
    /// From words without bits beyond `len`.
    pub fn from_words(words: Vec<u64>, len: usize) -> Bits {
        assert_eq!(words.len(), len.div_ceil(WORD));
        Bits { words, len }
    }

    /// All bits clear.
    pub fn none(len: usize) -> Bits {
        Bits::from_words(vec![0; len.div_ceil(WORD)], len)
    }

    #[inline]
    pub fn get(&self, at: usize) -> bool {
        self.words[at / WORD] >> (at % WORD) & 1 != 0
    }

    #[inline]
    pub fn set(&mut self, at: usize) {
        self.words[at / WORD] |= 1 << (at % WORD);
    }

    #[inline]
    pub fn unset(&mut self, at: usize) {
        self.words[at / WORD] &= !(1 << (at % WORD));
    }

    #[inline]
    pub fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(WORD) {
            self.words.push(0);
        }
        if bit {
            self.words[self.len / WORD] |= 1 << (self.len % WORD);
        }
        self.len += 1;
    }

    /// Appends other bits.
    pub fn append(&mut self, others: &Bits) {
        let used = self.len % WORD;
        if used == 0 {
            self.words.extend_from_slice(&others.words);
        } else {
            for word in &others.words {
                // The last word is partly used.
                if let Some(last) = self.words.last_mut() {
                    *last |= word << used;
                }
                self.words.push(word >> (WORD - used));
            }
        }
        self.len += others.len;
        self.words.truncate(self.len.div_ceil(WORD));
    }

    /// Adds all bits of `other`, which has the same length.
    pub fn unite(&mut self, other: &Bits) {
        self.words.iter_mut().zip(&other.words).for_each(|(to, from)| *to |= from);
    }

    pub fn len(&self) -> usize {
        self.len
    }

    /// The number of bits set.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    pub fn words(&self) -> &[u64] {
        &self.words
    }

    /// The numbers of the bits set in a range of words.
    #[inline]
    pub fn ones_in(&self, words: std::ops::Range<usize>) -> impl Iterator<Item = usize> + '_ {
        words.flat_map(|at| {
            let mut word = self.words[at];
            std::iter::from_fn(move || {
                let bit = (word != 0).then(|| word.trailing_zeros() as usize)?;
                word &= word - 1;
                Some(at * WORD + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_appended_at_any_offset() {
        for before in [0, 1, 63, 64, 65, 130] {
            for after in [0, 1, 63, 64, 65, 200] {
                let bit = |at: usize| at.is_multiple_of(3) || at % 7 == 2;
                let made = |range: std::ops::Range<usize>| {
                    let mut bits = Bits::default();
                    range.for_each(|at| bits.push(bit(at)));
                    bits
                };
                let mut bits = made(0..before);
                bits.append(&made(before..before + after));
                let expected = made(0..before + after);
                assert_eq!((bits.words, bits.len), (expected.words, expected.len));
            }
        }
    }
}
