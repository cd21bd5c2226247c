//! Encoding of backtraces, the counterpart of the reader's decoding: same cache, same choices as memtrace.

use alloc::vec;
use alloc::vec::Vec;

use crate::packet::{CACHE_SLOTS, CacheCheck};
use crate::wire::Put;

/// The maximum size of a backtrace in bytes. Longer ones lose their innermost frames.
pub(super) const MAX_BACKTRACE: usize = 4096;
/// The longest codeword in bytes; there must be room for it when another is begun.
const MAX_CODEWORD: usize = 10;

/// The number of frames compared at once.
const CHUNK: usize = 8;

/// The first slot that a packet header checks, and the distance to the next.
const FIRST_CHECK: usize = 4242;
const CHECK_STEP: usize = 5413;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    code: u64,
    successor: u16,
    /// When the slot was last hit: the older of two candidates is replaced.
    date: u64,
}

#[derive(Clone, Debug)]
pub(super) struct StackEncoder {
    slots: Vec<Slot>,
    last: Vec<u64>,
    next_check: usize,
}

/// The two slots where a code may be in the cache.
fn places(code: u64) -> [usize; 2] {
    let hash =
        |factor: u64, shift: u32| (code.wrapping_mul(factor) >> shift) as usize & (CACHE_SLOTS - 1);
    [hash(0x498_3723, 11), hash(0xFDE_A731, 21)]
}

impl StackEncoder {
    pub fn new() -> StackEncoder {
        StackEncoder {
            slots: vec![Slot::default(); CACHE_SLOTS],
            last: Vec::new(),
            next_check: FIRST_CHECK,
        }
    }

    /// How many outer frames `stack` shares with the last one encoded; `known` of them are certain.
    pub fn common_prefix(&self, stack: &[u64], known: usize) -> usize {
        let known = known.min(self.last.len()).min(stack.len());
        let both = self.last.len().min(stack.len());
        let (last, stack) = (&self.last[known..both], &stack[known..both]);
        let mut same = 0;
        if last.len() >= CHUNK {
            // Several at a time: where stacks exceed the depth kept, whole windows are compared.
            let chunks = last.as_chunks::<CHUNK>().0.iter().zip(stack.as_chunks::<CHUNK>().0);
            same = CHUNK * chunks.take_while(|(a, b)| a == b).count();
        }
        let rest = last[same..].iter().zip(&stack[same..]);
        known + same + rest.take_while(|(a, b)| a == b).count()
    }

    /// The next slot, in turn, for a packet header to check.
    pub fn check(&mut self) -> CacheCheck {
        let slot = self.next_check;
        self.next_check = (slot + CHECK_STEP) % CACHE_SLOTS;
        let Slot { code, successor, .. } = self.slots[slot];
        CacheCheck { slot: slot as u16, successor, code }
    }

    /// Writes the frames of `stack` from `common` on and returns the number of codewords. Codes that were not
    /// in the cache are added to `missed`.
    pub fn encode(
        &mut self,
        stack: &[u64],
        common: usize,
        date: u64,
        out: &mut Vec<u8>,
        missed: &mut Vec<u64>,
    ) -> u16 {
        let limit = out.len() + MAX_BACKTRACE - MAX_CODEWORD;
        // There are exactly this many slots; a fixed-size array makes bounds checks unnecessary.
        let Some(slots) = self.slots.first_chunk_mut::<CACHE_SLOTS>() else { return 0 };
        let mut frames = stack[common..].iter();
        let mut next = frames.next();
        let mut codewords = 0;
        let mut at = 0;
        // The slot whose hit is being extended by predictions, when the last frame was predicted.
        let mut predicted = None;
        while let Some(&code) = next {
            let hit = match predicted.take() {
                Some(slot) => Some(slot),
                None if out.len() > limit => break,
                None => places(code).into_iter().find(|&place| slots[place].code == code),
            };
            codewords += 1;
            next = frames.next();
            let Some(hit) = hit else {
                missed.push(code);
                let [first, second] = places(code);
                let slot = if slots[first].date < slots[second].date { first } else { second };
                (slots[slot].code, slots[slot].date) = (code, date);
                slots[at].successor = slot as u16;
                out.put_u16((slot as u16) << 2 | 3);
                out.put_u64(code);
                at = slot;
                continue;
            };
            slots[hit].date = date;
            slots[at].successor = hit as u16;
            at = hit;
            let mut run = 0u8;
            while out.len() + 2 <= limit
                && let Some(&code) = next
            {
                let successor = usize::from(slots[at].successor) % CACHE_SLOTS;
                if slots[successor].code != code {
                    break;
                }
                if run == u8::MAX {
                    predicted = Some(successor);
                    break;
                }
                run += 1;
                at = successor;
                next = frames.next();
            }
            put_hit(out, hit as u16, run);
            if out.len() > limit && predicted.is_none() {
                break;
            }
        }
        self.last.truncate(common);
        self.last.extend_from_slice(&stack[common..]);
        codewords
    }
}

fn put_hit(out: &mut Vec<u8>, slot: u16, run: u8) {
    match run {
        0 => out.put_u16(slot << 2),
        1 => out.put_u16(slot << 2 | 1),
        _ => {
            out.put_u16(slot << 2 | 2);
            out.put_u8(run);
        }
    }
}
