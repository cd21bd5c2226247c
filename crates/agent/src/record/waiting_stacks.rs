//! Stacks of allocations that the runtime will report later: allocations by C code, whose callbacks are
//! deferred until OCaml runs again.
//!
//! A recursion that calls C at each level can have tens of thousands of them waiting, each as deep as the
//! recursion. When many wait, only the innermost frames of each new one are kept: the allocation site is
//! worth more than the callers.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;

/// The maximal number of frames that may wait in all: 64 MB. The runtime would keep as much in the program's
/// heap.
const MOST: usize = 8 << 20;
/// Once half of that is used, this many frames of each stack are kept.
const FEW: usize = 32;
/// The overhead of a stack besides its frames, in frames.
const EACH: usize = 8;

/// Waiting stacks, by number.
#[derive(Default)]
pub struct WaitingStacks {
    stacks: BTreeMap<u64, Box<[u64]>>,
    frames: usize,
    /// The stack that was asked for last: the blocks of one unmarshalled value share their stack.
    last: Option<(u64, Box<[u64]>)>,
}

impl WaitingStacks {
    /// Keeps a stack, outermost frame first; returns false if frames were dropped. If there are too many
    /// stacks, the oldest are dropped.
    pub fn keep(&mut self, number: u64, codes: &[u64]) -> bool {
        let cut = match self.frames > MOST / 2 {
            true => codes.len().saturating_sub(FEW),
            false => 0,
        };
        let kept = &codes[cut..];
        while self.frames + kept.len() + EACH > MOST
            && let Some((_, oldest)) = self.stacks.pop_first()
        {
            self.frames -= oldest.len() + EACH;
        }
        self.frames += kept.len() + EACH;
        self.stacks.insert(number, kept.into());
        cut == 0
    }

    /// The stack that was kept under a number.
    pub fn find(&mut self, number: u64) -> Option<&[u64]> {
        if self.last.as_ref().is_none_or(|(last, _)| *last != number) {
            let codes = self.stacks.remove(&number)?;
            self.frames -= codes.len() + EACH;
            self.last = Some((number, codes));
        }
        self.last.as_ref().map(|(_, codes)| &**codes)
    }
}
