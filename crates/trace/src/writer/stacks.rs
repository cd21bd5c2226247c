//! Encoding of backtraces, the counterpart of the reader's decoding: same cache, same choices as memtrace.

use alloc::vec;
use alloc::vec::Vec;

use super::buffer::PacketBuffer;
use crate::packet::{CACHE_SLOTS, CacheCheck};

/// The maximum size of a backtrace in bytes. Longer ones lose their innermost frames.
pub(super) const MAX_BACKTRACE: usize = 4096;
/// The longest codeword in bytes; there must be room for it when another is begun.
const MAX_CODEWORD: usize = 10;

/// Room for a backtrace, as each codeword is written as 8 bytes.
const ROOM: usize = MAX_BACKTRACE + 8;

/// The maximum number of frames that one codeword predicts.
const MOST_PREDICTED: usize = u8::MAX as usize;

/// The number of frames compared at once.
const CHUNK: usize = 16;

/// The first slot that a packet header checks, and the distance to the next.
const FIRST_CHECK: usize = 4242;
const CHECK_STEP: usize = 5413;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    code: u64,
    /// When the slot was last hit, by the low bits of the allocation's id: the older of two candidates is
    /// replaced.
    date: u32,
    successor: u16,
}

/// Encodes stacks, each relative to the one before.
#[derive(Clone, Debug)]
pub(super) struct StackEncoder {
    slots: Vec<Slot>,
    /// The stack encoded last.
    pub last: LastStack,
    next_check: usize,
}

/// The stack of a domain's last allocation, outermost frame first. The next one replaces it.
#[derive(Clone, Debug, Default)]
pub struct LastStack {
    /// What is behind `length` means nothing.
    codes: Vec<u64>,
    length: usize,
}

impl LastStack {
    /// Replaces the stack, and returns how many outer frames stay the same. `unchanged` of them are certain.
    pub fn replace(&mut self, stack: &[u64], unchanged: usize) -> usize {
        let both = self.length.min(stack.len());
        let known = unchanged.min(both);
        let common = known + common_prefix(&self.codes[known..both], &stack[known..both]);
        self.resize(stack.len());
        self.codes[common..stack.len()].copy_from_slice(&stack[common..]);
        common
    }

    /// The same, for a stack whose frames have to be looked up one by one.
    #[inline]
    pub fn replace_each(&mut self, stack: impl ExactSizeIterator<Item = u64>) -> usize {
        let (before, now) = (self.length, stack.len());
        self.resize(now);
        let codes = &mut self.codes[..now];
        let mut stack = stack;
        let mut common = 0;
        for new in &mut stack {
            match codes.get_mut(common) {
                Some(old) if *old == new && common < before => common += 1,
                Some(old) => {
                    *old = new;
                    break;
                }
                None => break,
            }
        }
        for (at, new) in (common + 1..).zip(stack) {
            if let Some(old) = codes.get_mut(at) {
                *old = new;
            }
        }
        common
    }

    /// The number of frames.
    #[inline]
    pub(super) fn len(&self) -> usize {
        self.length
    }

    #[inline]
    fn resize(&mut self, length: usize) {
        #[cold]
        fn grow(codes: &mut Vec<u64>, length: usize) {
            codes.resize(length.next_power_of_two(), 0);
        }
        if self.codes.len() < length {
            grow(&mut self.codes, length);
        }
        self.length = length;
    }
}

/// How many codes at the beginning of both are equal. A call would cost short stacks more than the comparison.
#[inline(always)]
fn common_prefix(left: &[u64], right: &[u64]) -> usize {
    let mut at = 0;
    // Several at a time: where stacks exceed the depth kept, whole windows are compared.
    for (left, right) in left.as_chunks().0.iter().zip(right.as_chunks().0) {
        if !are_equal(left, right) {
            break;
        }
        at += CHUNK;
    }
    for (left, right) in left[at..].iter().zip(&right[at..]) {
        if left != right {
            break;
        }
        at += 1;
    }
    at
}

/// Compared without branches, in wide registers: a call of `memcmp` takes longer.
#[inline]
fn are_equal(left: &[u64; CHUNK], right: &[u64; CHUNK]) -> bool {
    left.iter().zip(right).fold(0, |bits, (left, right)| bits | (left ^ right)) == 0
}

/// The two slots where a code may be in the cache.
#[inline]
fn places(code: u64) -> [usize; 2] {
    let hash =
        |factor: u64, shift: u32| (code.wrapping_mul(factor) >> shift) as usize & (CACHE_SLOTS - 1);
    [hash(0x498_3723, 11), hash(0xFDE_A731, 21)]
}

impl StackEncoder {
    pub fn new() -> StackEncoder {
        StackEncoder {
            slots: vec![Slot::default(); CACHE_SLOTS],
            last: LastStack::default(),
            next_check: FIRST_CHECK,
        }
    }

    /// The next slot, in turn, for a packet header to check.
    pub fn check(&mut self) -> CacheCheck {
        let slot = self.next_check;
        self.next_check = (slot + CHECK_STEP) % CACHE_SLOTS;
        let Slot { code, successor, .. } = self.slots[slot];
        CacheCheck { slot: slot as u16, successor, code }
    }

    /// Writes the frames of the last stack from `common` on and returns the number of codewords. Codes that
    /// were not in the cache are added to `missed`.
    #[inline(never)]
    pub fn encode(
        &mut self,
        common: usize,
        date: u64,
        out: &mut PacketBuffer,
        missed: &mut Vec<u64>,
    ) -> u16 {
        const LIMIT: usize = MAX_BACKTRACE - MAX_CODEWORD;
        // Arrays of fixed size make bounds checks unnecessary. There are exactly this many slots, and room was
        // made before the event.
        let slots = self.slots.first_chunk_mut::<CACHE_SLOTS>();
        let (Some(slots), Some(room)) = (slots, out.room_mut::<ROOM>()) else { return 0 };
        let date = date as u32;
        let mut end = 0;
        let mut put = |bytes: u64, length: usize| {
            if let Some(place) = room.get_mut(end..end + 8) {
                place.copy_from_slice(&bytes.to_le_bytes());
            }
            end += length;
            end
        };
        let (mut written, mut codewords, mut at) = (0, 0, 0);
        let mut frames = &self.last.codes[common..self.last.length];
        while let [code, more @ ..] = frames
            && written <= LIMIT
        {
            (frames, codewords) = (more, codewords + 1);
            let [first, second] = places(*code);
            let mut hit = if slots[first].code == *code {
                first
            } else if slots[second].code == *code {
                second
            } else {
                missed.push(*code);
                let slot = if slots[first].date < slots[second].date { first } else { second };
                (slots[slot].code, slots[slot].date) = (*code, date);
                slots[at].successor = slot as u16;
                put((slot as u64) << 2 | 3, 2);
                written = put(*code, 8);
                at = slot;
                continue;
            };
            // A hit that is extended by more predictions than one codeword holds is followed by another, whose
            // slot is the one predicted.
            loop {
                slots[hit].date = date;
                slots[at].successor = hit as u16;
                at = hit;
                let slot = (hit as u64) << 2;
                let first = frames.first().filter(|_| written + 2 <= LIMIT);
                if first.is_none_or(|code| slots[successor(slots, at)].code != *code) {
                    written = put(slot, 2);
                    break;
                }
                let run = follow(slots, at, frames);
                (frames, at) = (&frames[run.frames..], run.at);
                written = match run.frames {
                    1 => put(slot | 1, 2),
                    length => put(slot | 2 | (length as u64) << 16, 3),
                };
                let Some((code, more)) = frames.split_first() else { break };
                if slots[successor(slots, at)].code != *code {
                    break;
                }
                hit = successor(slots, at);
                (frames, codewords) = (more, codewords + 1);
            }
        }
        out.extend(written);
        codewords
    }
}

type Slots = [Slot; CACHE_SLOTS];

/// The slot that followed another one the last time.
#[inline]
fn successor(slots: &Slots, at: usize) -> usize {
    usize::from(slots[at].successor) % CACHE_SLOTS
}

/// Frames that were predicted, and the last of their slots.
struct Run {
    frames: usize,
    at: usize,
}

/// How many frames the slot at `start` predicts, as far as a codeword can say.
#[inline(never)]
fn follow(slots: &Slots, start: usize, frames: &[u64]) -> Run {
    let mut run = Run { frames: 0, at: start };
    for code in frames.iter().take(MOST_PREDICTED) {
        let next = successor(slots, run.at);
        if slots[next].code != *code {
            break;
        }
        run = Run { frames: run.frames + 1, at: next };
        if next == start {
            return follow_cycle(slots, start, run.frames, frames);
        }
    }
    run
}

/// The same for a recursion: after `period` frames the slots are those from the start again. From then on they predict the
/// same frames, and to compare frames takes less time than to look up slots, each of which depends on the one before.
fn follow_cycle(slots: &Slots, start: usize, period: usize, frames: &[u64]) -> Run {
    let frames = &frames[..frames.len().min(MOST_PREDICTED)];
    let length = period + common_prefix(&frames[period..], &frames[..frames.len() - period]);
    let at = (0..length % period).fold(start, |at, _| successor(slots, at));
    Run { frames: length, at }
}
