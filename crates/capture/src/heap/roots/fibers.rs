//! Memory of fibers (OCaml 5): what the runtime allocates for a stack, in the C heap.
//!
//! A fiber's memory is one piece: `struct stack_info`, the stack, and its handler, which points to the parent
//! fiber. A suspended continuation points to the innermost of its fibers, a thread to the fiber that it runs
//! on. Fibers that have ended are cached for new ones, in lists by size, and never returned to C.
//!
//! Stacks of continuations that died without having been resumed are not found: the collector does not free
//! them, and nothing points to them any more.

use std::collections::HashSet;
use std::ops::Range;

use bactrian_ocaml::StackLayout;
use bactrian_ocaml::heap_layout::fiber;

use super::finder::Finder;
use super::words::Words;
use crate::memory::Memory;

/// In bytes. OCaml's own limit is a thousandth of it, unless the program changes that.
const LONGEST_STACK: u64 = 1 << 40;

/// What holds a fiber, if it is not a continuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FiberPlace {
    /// A thread runs on it, or will return to it; an index of [`super::Roots::threads`].
    Thread(u32),
    /// The runtime caches it for the next fiber of this domain.
    Cache {
        /// The domain.
        domain: u32,
    },
}

/// Finds the memory of fibers, each once.
pub struct Fibers<'a> {
    words: Words<'a>,
    met: HashSet<u64>,
}

impl<'a> Fibers<'a> {
    /// Fibers that begin at the addresses `met` have been found already.
    pub fn new(memory: &'a dyn Memory, met: impl IntoIterator<Item = u64>) -> Fibers<'a> {
        Fibers { words: Words::new(memory), met: met.into_iter().collect() }
    }

    /// The memory of a fiber and of its ancestors, up to one that was found before. The second result says
    /// why there may be more.
    pub fn chain(&mut self, first: u64) -> (Vec<Range<u64>>, Option<String>) {
        self.linked(first, |fibers, piece| {
            let handler = piece.end - 8 * fiber::HANDLER_WORDS as u64;
            fibers.field(handler, fiber::PARENT)
        })
    }

    /// The memory of a list of cached fibers.
    fn cached(&mut self, first: u64) -> (Vec<Range<u64>>, Option<String>) {
        self.linked(first, |fibers, piece| fibers.field(piece.start, fiber::NEXT_CACHED))
    }

    fn linked(
        &mut self,
        first: u64,
        next: impl Fn(&mut Self, &Range<u64>) -> Option<u64>,
    ) -> (Vec<Range<u64>>, Option<String>) {
        let mut found = Vec::new();
        let mut at = first;
        while at != 0 && self.met.insert(at) {
            let link = self.piece(at).and_then(|piece| Some((next(self, &piece)?, piece)));
            let Some((link, piece)) = link else {
                return (found, Some(format!("the size of the fiber at {at:#x} cannot be read")));
            };
            found.push(piece);
            at = link;
        }
        (found, None)
    }

    /// The memory of one fiber.
    fn piece(&mut self, start: u64) -> Option<Range<u64>> {
        let handler = self.field(start, fiber::HANDLER)?;
        let end = handler.checked_add(8 * fiber::HANDLER_WORDS as u64)?;
        (start < handler && end - start <= LONGEST_STACK).then_some(start..end)
    }

    fn field(&mut self, structure: u64, index: usize) -> Option<u64> {
        self.words.word(structure.checked_add(8 * index as u64)?)
    }
}

impl Finder<'_> {
    /// Notes the fiber that a thread runs on, and its ancestors.
    pub(super) fn fibers_of_thread(&mut self, thread: u32, stack: u64) {
        if matches!(self.target.runtime.stack, StackLayout::Fibers { .. }) {
            let found = self.fibers.chain(stack);
            self.note_fibers(found, FiberPlace::Thread(thread));
        }
    }

    /// Notes the fibers of the thread whose stack is in the domain state, and the domain's cached fibers.
    pub(super) fn fibers_of_domain(&mut self, thread: u32, state: u64) {
        let StackLayout::Fibers { current } = self.target.runtime.stack else { return };
        if let Some(stack) = self.field(state, current) {
            self.fibers_of_thread(thread, stack);
        }
        let lists = self.layout.state.stack_cache.and_then(|word| self.field(state, word));
        let Some(lists) = lists.filter(|lists| *lists != 0) else { return };
        let domain = self.domain_number(state);
        for list in 0..fiber::CACHE_LISTS {
            let first = self.field(lists, list).unwrap_or(0);
            let found = self.fibers.cached(first);
            self.note_fibers(found, FiberPlace::Cache { domain });
        }
    }

    fn note_fibers(&mut self, found: (Vec<Range<u64>>, Option<String>), place: FiberPlace) {
        let (pieces, gap) = found;
        self.found.fibers.extend(pieces.into_iter().map(|piece| (piece, place)));
        self.found.gaps.extend(gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MadeUp;

    const START: u64 = 0x1000;

    /// A page with these words at these addresses.
    fn page(words: &[(u64, u64)]) -> MadeUp {
        let mut all = vec![0; 512];
        for &(at, word) in words {
            all[((at - START) / 8) as usize] = word;
        }
        MadeUp::new(START, all)
    }

    /// A fiber with 0x100 bytes before its handler.
    fn fiber(at: u64, parent: u64) -> [(u64, u64); 2] {
        [(at + 16, at + 0x100), (at + 0x100 + 24, parent)]
    }

    #[test]
    fn each_fiber_is_found_once_with_its_handler() {
        let words = [fiber(0x1000, 0x1400), fiber(0x1400, 0), fiber(0x1800, 0x1400)].concat();
        let memory = page(&words);
        let mut fibers = Fibers::new(&memory, [0x1c00]);
        assert_eq!(fibers.chain(0), (vec![], None));
        assert_eq!(fibers.chain(0x1000), (vec![0x1000..0x1120, 0x1400..0x1520], None));
        let (above, gap) = fibers.chain(0x1800);
        assert_eq!((above.len(), gap), (1, None), "the one below is known");
        assert_eq!(above[0], 0x1800..0x1920);
        assert_eq!(fibers.chain(0x1c00), (vec![], None), "it was found elsewhere");
    }

    #[test]
    fn broken_fibers_are_reported_and_chains_terminate() {
        let backwards = [(0x1800 + 16, 0x1700)];
        let endless = [(0x1a00 + 16, u64::MAX - 7)];
        let words = [&fiber(0x1000, 0x1400)[..], &fiber(0x1400, 0x1000), &backwards, &endless];
        let memory = page(&words.concat());
        let mut fibers = Fibers::new(&memory, []);
        let (ring, gap) = fibers.chain(0x1000);
        assert_eq!((ring.len(), gap), (2, None), "a ring, of which the scan of its values tells");
        for broken in [0x1800, 0x1a00, 0x9000, u64::MAX - 7] {
            let (found, gap) = fibers.chain(broken);
            assert!(found.is_empty() && gap.is_some(), "{broken:#x}");
        }
    }
}
