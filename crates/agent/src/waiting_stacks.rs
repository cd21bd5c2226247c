//! Stacks of allocations that the runtime will tell us of later: those of C code, whose callbacks have to
//! wait until OCaml runs again.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

use bactrian_trace::DomainId;

/// Frames that may wait in all: 64 MB. The runtime would keep as much in the program's heap.
const MOST: usize = 8 << 20;

type Key = (DomainId, u64);

/// Stacks that wait, by domain and number.
#[derive(Default)]
pub struct WaitingStacks {
    stacks: BTreeMap<Key, Box<[u64]>>,
    frames: usize,
    /// The one that was asked for last: blocks of one unmarshalled value share their stack.
    last: Option<(Key, Box<[u64]>)>,
}

impl WaitingStacks {
    /// Keeps a stack; the oldest go if there are too many.
    pub fn keep(&mut self, domain: DomainId, number: u64, codes: &[u64]) {
        while self.frames + codes.len() > MOST
            && let Some((_, oldest)) = self.stacks.pop_first()
        {
            self.frames -= oldest.len();
        }
        self.frames += codes.len();
        self.stacks.insert((domain, number), codes.into());
    }

    /// The stack that was kept with a number.
    pub fn find(&mut self, domain: DomainId, number: u64) -> Option<&[u64]> {
        let key = (domain, number);
        if self.last.as_ref().is_none_or(|(last, _)| *last != key) {
            let codes = self.stacks.remove(&key)?;
            self.frames -= codes.len();
            self.last = Some((key, codes));
        }
        self.last.as_ref().map(|(_, codes)| &**codes)
    }
}
