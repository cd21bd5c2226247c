//! Words of memory, read one after the other.

use crate::memory::Memory;

const PAGE: u64 = 4096;
/// How many pages are kept: lists jump between where their links are and where those lead to.
const KEPT: u64 = 64;

/// Words of memory, of which many are near each other. There is an end to reading: memory that leads in circles
/// would have none, but all that is honest reads each word a few times at most.
pub(super) struct Words<'a> {
    memory: &'a dyn Memory,
    pages: Vec<Option<Page>>,
    left: u64,
}

struct Page {
    address: u64,
    bytes: Box<[u8; PAGE as usize]>,
}

impl<'a> Words<'a> {
    pub fn new(memory: &'a dyn Memory) -> Words<'a> {
        let readable = memory.regions().iter().filter(|region| region.readable);
        let bytes = readable.map(|region| region.range.end.saturating_sub(region.range.start));
        let bytes = bytes.fold(0, u64::saturating_add);
        Words { memory, pages: (0..KEPT).map(|_| None).collect(), left: bytes / 2 }
    }

    /// The word at an address; none if it cannot be read.
    pub fn word(&mut self, at: u64) -> Option<u64> {
        self.left = self.left.checked_sub(1)?;
        let address = at & !(PAGE - 1);
        if at - address > PAGE - 8 {
            return self.memory.word(at);
        }
        let place = self.pages.get_mut((address / PAGE % KEPT) as usize)?;
        if place.as_ref().is_none_or(|page| page.address != address) {
            let kept = place.take().map(|page| page.bytes);
            let mut bytes = kept.unwrap_or_else(|| Box::new([0; PAGE as usize]));
            if !self.memory.read(address, &mut *bytes) {
                // A core may have less than pages.
                return self.memory.word(at);
            }
            *place = Some(Page { address, bytes });
        }
        let bytes = place.as_ref()?.bytes.get((at - address) as usize..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }
}

/// Addresses from one on, so many bytes apart, up to the end of memory.
pub(super) fn addresses(start: u64, stride: u64, most: usize) -> impl Iterator<Item = u64> {
    (0..most as u64).map_while(move |index| start.checked_add(index.checked_mul(stride)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MadeUp;

    #[test]
    fn addresses_end_with_memory() {
        assert_eq!(addresses(16, 8, 3).collect::<Vec<_>>(), [16, 24, 32]);
        assert_eq!(addresses(u64::MAX - 9, 8, 3).count(), 2);
        assert_eq!(addresses(u64::MAX, 8, 3).count(), 1);
    }

    #[test]
    fn reading_has_an_end() {
        // Each word is its own address.
        let memory = MadeUp::new(PAGE, (PAGE..2 * PAGE).step_by(8));
        let mut words = Words::new(&memory);
        assert_eq!(words.word(0), None);
        assert_eq!(words.word(2 * PAGE - 4), None);
        assert_eq!(words.word(u64::MAX), None);
        let read = (0..).take_while(|_| words.word(PAGE + 16) == Some(PAGE + 16)).count();
        assert_eq!(read as u64, PAGE / 2 - 3);
    }
}
