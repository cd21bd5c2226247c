//! Decoding of backtraces.
//!
//! Writer and reader each keep a cache of 16,384 slots. A slot holds a frame and a prediction: the slot of the
//! frame that last came after it. A backtrace is the number of outer frames that it shares with the previous
//! one, followed by codewords: a slot (hit), a slot and how many predictions to follow from it (hit with run),
//! or a slot and a new code to store in it (miss). So the work of decoding a stack depends on the frames that
//! changed, not on its depth.
//!
//! Codes become frame ids when they enter the cache: delivered stacks consist of dense ids, and a code is
//! hashed only once per miss.

use crate::frames::Frames;
use crate::losses::Losses;
use crate::model::FrameId;
use crate::packet::{CACHE_SLOTS, CacheCheck};
use crate::wire::{Cursor, Parse};

/// Deeper stacks are cut, so that a short hostile file cannot exhaust memory. All domains share this limit.
const MAX_DEPTH: usize = 1 << 20;
/// The minimum depth that each domain gets, however many there are.
const LEAST_MAX_DEPTH: usize = 1 << 14;

/// The maximum number of frames that one codeword stands for.
const MAX_RUN: usize = 256;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    frame: FrameId,
    successor: u16,
}

#[derive(Clone, Debug)]
pub(super) struct StackDecoder {
    slots: Box<[Slot; CACHE_SLOTS]>,
    /// The last stack, `depth` frames, with room for the longest run after it.
    stack: Vec<FrameId>,
    depth: usize,
    max_depth: usize,
    /// The number of outermost frames that date from before a gap and may be wrong.
    doubtful: usize,
}

impl StackDecoder {
    /// A decoder for one of this many domains.
    pub fn new(domains: usize) -> StackDecoder {
        let max_depth = (MAX_DEPTH / domains.max(1)).max(LEAST_MAX_DEPTH);
        let slots = Box::new([Slot::default(); CACHE_SLOTS]);
        StackDecoder { slots, stack: Vec::new(), depth: 0, max_depth, doubtful: 0 }
    }

    /// The stack of the last allocation, outermost frame first.
    pub fn stack(&self) -> &[FrameId] {
        &self.stack[..self.depth]
    }

    /// Notes that events were lost: the previous stack is not the one with which the next shares its prefix.
    pub fn gap(&mut self) {
        self.doubtful = self.depth;
    }

    /// Compares one slot with what the writer had in it when it began the packet.
    pub fn agrees(&self, check: CacheCheck, frames: &Frames) -> bool {
        self.slots
            .get(usize::from(check.slot))
            .is_some_and(|s| s.successor == check.successor && frames.code(s.frame) == check.code)
    }

    /// Decodes a backtrace of `codewords` words that shares `prefix` frames with the last one. Returns how many
    /// frames are actually shared.
    #[inline(always)]
    pub fn decode(
        &mut self,
        cursor: &mut Cursor<'_>,
        prefix: usize,
        codewords: usize,
        frames: &mut Frames,
        losses: &mut Losses,
    ) -> Parse<usize> {
        let base = self.depth.min(prefix);
        let room = (base + codewords * MAX_RUN).min(self.max_depth);
        if room > self.stack.len() {
            self.stack.resize(room.next_power_of_two().min(self.max_depth), FrameId::NONE);
        }
        // If decoding fails half-way, the shared frames remain.
        self.depth = base;
        let depth = push_frames(&mut self.slots, &mut self.stack, base, cursor, codewords, frames)?;
        if prefix <= base {
            self.depth = depth;
        } else {
            // The recorder compared whole stacks but had written only a part of the previous one. The new
            // frames belong below frames that were never written, so the stack stays as it was.
            losses.stacks_cut_by_recorder += u64::from(self.doubtful == 0);
        }
        if self.doubtful > 0 || depth > self.max_depth - MAX_RUN {
            self.account(prefix, losses);
        }
        Ok(base)
    }

    #[cold]
    fn account(&mut self, prefix: usize, losses: &mut Losses) {
        self.doubtful = self.doubtful.min(prefix);
        losses.stacks_doubtful += u64::from(self.doubtful > 0);
        losses.stacks_too_deep += u64::from(self.depth > self.max_depth - MAX_RUN);
    }

    /// Skips a backtrace without decoding it.
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

/// Decodes codewords into `stack` from `depth` on and returns the new depth. Frames that do not fit are
/// dropped.
#[inline(always)]
fn push_frames(
    slots: &mut [Slot; CACHE_SLOTS],
    stack: &mut [FrameId],
    depth: usize,
    cursor: &mut Cursor<'_>,
    codewords: usize,
    frames: &mut Frames,
) -> Parse<usize> {
    let room = stack.len();
    let mut free = stack.get_mut(depth..).unwrap_or_default();
    let mut words = *cursor;
    let mut at = 0;
    for _ in 0..codewords {
        let word = words.u16()?;
        let slot = word >> 2;
        slots[at].successor = slot;
        at = usize::from(slot);
        let run = match word & 3 {
            3 => {
                slots[at].frame = frames.intern(words.u64()?);
                0
            }
            // Which of the other three comes next is hard to predict, so this avoids a branch.
            tag => words.u8_or(tag == 2, tag as u8)?,
        };
        let length = 1 + usize::from(run);
        if length > free.len() {
            // Too deep. Decoding must still continue from where this run ends.
            (0..run).for_each(|_| at = usize::from(slots[at].successor) % CACHE_SLOTS);
            continue;
        }
        let (new, rest) = std::mem::take(&mut free).split_at_mut(length);
        free = rest;
        let mut next = at;
        for place in new {
            at = next;
            let slot = slots[at];
            *place = slot.frame;
            next = usize::from(slot.successor) % CACHE_SLOTS;
        }
    }
    *cursor = words;
    Ok(room - free.len())
}
