//! The board, by which we hear of the keeper and it of us.

use alloc::ffi::CString;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use bactrian_agent_abi::ring::{self, board};
use bactrian_agent_os::sys::{self, Clock};

/// Its words; null if there is no keeper.
static BOARD: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());

/// How often the keeper's heart had beaten when it was found dead.
static LAST_BEAT: AtomicU64 = AtomicU64::new(u64::MAX);

fn word(at: usize) -> Option<&'static AtomicU64> {
    let words = BOARD.load(Ordering::Acquire);
    // SAFETY: null, or a board that stays mapped, with more words than there are names for.
    unsafe { words.add(at).as_ref().filter(|_| !words.is_null()) }
}

/// Finds the board of the keeper whose folder this is. There is one thread.
pub fn find(folder: &[u8]) {
    let Ok(path) = CString::new([folder, b"/", board::NAME.as_bytes()].concat()) else { return };
    let Ok(memory) = sys::map_shared(&path, board::BYTES) else { return };
    let words = memory.cast::<AtomicU64>();
    // SAFETY: so many bytes are mapped, and aligned to pages.
    if unsafe { &*words.add(board::MAGIC) }.load(Ordering::Relaxed) == ring::MAGIC {
        BOARD.store(words, Ordering::Release);
    }
}

/// Where the keeper offers rings, as long as it is there.
pub(super) fn offers() -> Option<&'static AtomicU64> {
    if has_left() { None } else { word(board::FREE) }
}

/// Whether there is no keeper, or none any more, as far as it has said so.
pub(super) fn has_left() -> bool {
    word(board::LEFT).is_none_or(|left| left.load(Ordering::Acquire) != 0)
}

/// Asks the keeper to look at all rings soon.
pub(super) fn call() {
    if let Some(calls) = word(board::CALLS) {
        calls.fetch_add(1, Ordering::Release);
    }
}

/// Whether the keeper was found dead, and gives no sign of life since.
pub(super) fn is_dead() -> bool {
    beats() == LAST_BEAT.load(Ordering::Relaxed)
}

/// How often the keeper's heart has beaten.
pub(super) fn beats() -> u64 {
    word(board::HEART).map_or(0, |beats| beats.load(Ordering::Relaxed))
}

/// The keeper's pulse, as it was felt last.
pub(super) struct Pulse {
    beats: u64,
    /// When that number was seen first, in microseconds.
    since: u64,
}

impl Pulse {
    /// Feels it for the first time.
    pub fn new() -> Pulse {
        Pulse { beats: beats(), since: sys::micros(Clock::Monotonic) }
    }

    /// Whether it can be felt: a heart that does not beat for so long is dead.
    pub fn is_felt(&mut self) -> bool {
        let (beats, now) = (beats(), sys::micros(Clock::Monotonic));
        if beats != self.beats {
            *self = Pulse { beats, since: now };
        }
        let is_felt = now - self.since < ring::DEAD_AFTER;
        if !is_felt {
            LAST_BEAT.store(beats, Ordering::Relaxed);
        }
        is_felt
    }
}
