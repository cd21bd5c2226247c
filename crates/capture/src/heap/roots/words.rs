//! Reads words of memory one after the other.

use crate::memory::Memory;

const PAGE: u64 = 4096;
/// How many pages are cached: reading lists jumps between the links and what they point to.
const KEPT: u64 = 64;

/// Words of memory, many of which are close to each other. The number of reads is limited: circular
/// structures would never end, but intact ones need each word a few times at most.
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

    /// The word at an address; None if it cannot be read, or the limit is reached.
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
                // A core file may contain parts of pages.
                return self.memory.word(at);
            }
            *place = Some(Page { address, bytes });
        }
        let bytes = place.as_ref()?.bytes.get((at - address) as usize..)?.first_chunk()?;
        Some(u64::from_le_bytes(*bytes))
    }
}

/// Addresses from `start` on, `stride` bytes apart, up to the end of the address space.
pub(super) fn addresses(start: u64, stride: u64, most: usize) -> impl Iterator<Item = u64> {
    (0..most as u64).map_while(move |index| start.checked_add(index.checked_mul(stride)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MadeUp;

    #[test]
    fn addresses_stop_at_the_end_of_the_address_space() {
        assert_eq!(addresses(16, 8, 3).collect::<Vec<_>>(), [16, 24, 32]);
        assert_eq!(addresses(u64::MAX - 9, 8, 3).count(), 2);
        assert_eq!(addresses(u64::MAX, 8, 3).count(), 1);
    }

    #[test]
    fn the_number_of_reads_is_limited() {
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
