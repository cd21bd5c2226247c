//! Decoding of backtraces.
//!
//! Writer and reader each keep a cache of 16,384 slots. A slot holds a frame and a prediction: the slot
//! of the frame that last came after it. A backtrace is the number of outer frames it shares with the
//! one before it, then codewords, each a slot (hit), a slot and how many predictions to follow from it
//! (hit with run), or a slot and a new code to put into it (miss). So the work to decode a stack is in
//! the frames that changed, not in its depth.
//!
//! Codes are turned into frame ids where they enter the cache: the stacks handed out are made of dense
//! ids, and no code is hashed more than once per miss.

use crate::frames::Frames;
use crate::losses::Losses;
use crate::model::FrameId;
use crate::packet::{CACHE_SLOTS, CacheCheck};
use crate::wire::{Cursor, Parse};

/// Deeper stacks are cut, so that a short hostile file cannot ask for all memory.
const MAX_DEPTH: usize = 1 << 20;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    frame: FrameId,
    successor: u16,
}

#[derive(Clone, Debug)]
pub(super) struct StackDecoder {
    slots: Vec<Slot>,
    stack: Vec<FrameId>,
    /// Frames at the outer end of the stack that come from before a gap, and may be wrong.
    doubtful: usize,
}

impl StackDecoder {
    pub fn new() -> StackDecoder {
        StackDecoder { slots: vec![Slot::default(); CACHE_SLOTS], stack: Vec::new(), doubtful: 0 }
    }

    /// The stack of the last allocation, outermost frame first.
    pub fn stack(&self) -> &[FrameId] {
        &self.stack
    }

    /// Events were lost here: the previous stack is not the one the next shares its prefix with.
    pub fn gap(&mut self) {
        self.doubtful = self.stack.len();
    }

    /// Compares one slot with what the writer had in it when it began the packet.
    pub fn agrees(&self, check: CacheCheck, frames: &Frames) -> bool {
        self.slots
            .get(usize::from(check.slot))
            .is_some_and(|s| s.successor == check.successor && frames.code(s.frame) == check.code)
    }

    /// Decodes a backtrace of `codewords` words that shares `prefix` frames with the last.
    /// Returns how many frames are in fact shared.
    #[inline]
    pub fn decode(
        &mut self,
        cursor: &mut Cursor<'_>,
        prefix: usize,
        codewords: usize,
        frames: &mut Frames,
        losses: &mut Losses,
    ) -> Parse<usize> {
        let base = self.stack.len().min(prefix);
        self.stack.truncate(base);
        let mut at = 0;
        for _ in 0..codewords {
            let word = cursor.u16()?;
            let slot = word >> 2;
            self.slots[at].successor = slot;
            at = usize::from(slot);
            let run = match word & 3 {
                0 => 0,
                1 => 1,
                2 => cursor.u8()?,
                _ => {
                    self.slots[at].frame = frames.intern(cursor.u64()?);
                    0
                }
            };
            if self.stack.len() >= MAX_DEPTH {
                continue;
            }
            self.stack.push(self.slots[at].frame);
            for _ in 0..run {
                at = usize::from(self.slots[at].successor);
                self.stack.push(self.slots[at].frame);
            }
        }
        if prefix > base {
            // The recorder compared whole stacks but had written only part of the previous one. What
            // is new here goes below frames that were never written: leave the stack as it was.
            self.stack.truncate(base);
            if self.doubtful == 0 {
                losses.stacks_cut_by_recorder += 1;
            }
        }
        if self.doubtful > 0 {
            self.doubtful = self.doubtful.min(prefix);
            losses.stacks_doubtful += u64::from(self.doubtful > 0);
        }
        if self.stack.len() >= MAX_DEPTH {
            losses.stacks_too_deep += 1;
        }
        Ok(base)
    }

    /// Moves over a backtrace without decoding it.
    #[inline]
    pub fn skip(cursor: &mut Cursor<'_>, codewords: usize) -> Parse<()> {
        for _ in 0..codewords {
            match cursor.u16()? & 3 {
                0 | 1 => {}
                2 => cursor.skip(1)?,
                _ => cursor.skip(8)?,
            }
        }
        Ok(())
    }
}
