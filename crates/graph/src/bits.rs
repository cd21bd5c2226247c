//! A bit set of fixed size.

/// A bit set of fixed size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits(Vec<u64>);

impl Bits {
    /// A set with room for `count` bits, all clear.
    pub fn new(count: usize) -> Bits {
        Bits(vec![0; count.div_ceil(64)])
    }

    /// Sets a bit.
    ///
    /// # Panics
    /// If `index` is beyond the set's last word.
    #[inline]
    pub fn set(&mut self, index: usize) {
        self.0[index / 64] |= 1 << (index % 64);
    }

    /// Whether a bit is set.
    ///
    /// # Panics
    /// If `index` is beyond the set's last word.
    #[inline]
    pub fn has(&self, index: usize) -> bool {
        self.0[index / 64] >> (index % 64) & 1 != 0
    }

    /// Indices of the set bits, ascending.
    pub(crate) fn ascending(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().flat_map(|(word, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
                left &= left - 1;
                Some(word * 64 + bit)
            })
        })
    }

    /// Indices of the set bits, descending.
    pub(crate) fn descending(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().rev().flat_map(|(word, &bits)| {
            let mut left = bits;
            std::iter::from_fn(move || {
                let bit = left.checked_ilog2()? as usize;
                left ^= 1 << bit;
                Some(word * 64 + bit)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_iterated_in_both_directions() {
        let mut bits = Bits::new(200);
        let set = [0, 3, 63, 64, 130, 199];
        set.iter().for_each(|&bit| bits.set(bit));
        assert!(bits.has(63) && !bits.has(62));
        assert_eq!(bits.ascending().collect::<Vec<_>>(), set);
        assert!(bits.descending().eq(set.into_iter().rev()));
        assert_eq!(Bits::new(0).ascending().count(), 0);
    }
}
