//! Many small reads at the cost of few large ones.

use std::collections::HashMap;
use std::sync::Mutex;

use super::{Memory, Region};

const PAGE: usize = 4096;
/// The maximal number of cached pages, 64 MB; beyond it, the cache is cleared.
const MOST_PAGES: usize = 16 << 10;

/// A memory that caches the pages it has read. Meant for lists, tables and stacks; not for heaps.
pub struct Cached<'a> {
    memory: &'a dyn Memory,
    /// Pages by number; None if the page cannot be read as a whole.
    pages: Mutex<HashMap<u64, Option<Box<[u8; PAGE]>>>>,
}

impl<'a> Cached<'a> {
    /// A cache that is still empty.
    pub fn new(memory: &'a dyn Memory) -> Cached<'a> {
        Cached { memory, pages: Mutex::default() }
    }

    fn read_in_page(&self, address: u64, buffer: &mut [u8]) -> bool {
        let (number, offset) = (address / PAGE as u64, (address % PAGE as u64) as usize);
        let mut pages = self.pages.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if pages.len() >= MOST_PAGES {
            pages.clear();
        }
        let page = pages.entry(number).or_insert_with(|| {
            let mut page = Box::new([0; PAGE]);
            self.memory.read(number * PAGE as u64, &mut page[..]).then_some(page)
        });
        match page {
            Some(page) => buffer.copy_from_slice(&page[offset..offset + buffer.len()]),
            // A core file may contain part of a page.
            None => return self.memory.read(address, buffer),
        }
        true
    }
}

impl Memory for Cached<'_> {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        if buffer.len() > PAGE {
            return self.memory.read(address, buffer);
        }
        let in_first = (PAGE - (address % PAGE as u64) as usize).min(buffer.len());
        let (first, second) = buffer.split_at_mut(in_first);
        let Some(after) = address.checked_add(in_first as u64) else { return false };
        self.read_in_page(address, first) && (second.is_empty() || self.read_in_page(after, second))
    }

    fn regions(&self) -> &[Region] {
        self.memory.regions()
    }
}
