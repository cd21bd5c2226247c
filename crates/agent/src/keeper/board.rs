//! The board, through which the agent and the keeper find each other.

use alloc::ffi::CString;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use bactrian_agent_abi::ring::{self, board};
use bactrian_agent_os::sys::{self, Clock};

/// The board's words; null if there is no keeper.
static BOARD: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());

/// The count of heartbeats at which the keeper was found dead.
static LAST_BEAT: AtomicU64 = AtomicU64::new(u64::MAX);

fn word(at: usize) -> Option<&'static AtomicU64> {
    let words = BOARD.load(Ordering::Acquire);
    // SAFETY: null, or a board that stays mapped and has more words than the indices used.
    unsafe { words.add(at).as_ref().filter(|_| !words.is_null()) }
}

/// Maps the board of the keeper with this directory. Called while there is one thread.
pub fn find(folder: &[u8]) {
    let Ok(path) = CString::new([folder, b"/", board::NAME.as_bytes()].concat()) else { return };
    let Ok(memory) = sys::map_shared(&path, board::BYTES) else { return };
    let words = memory.cast::<AtomicU64>();
    // SAFETY: that many bytes are mapped, and aligned to pages.
    if unsafe { &*words.add(board::MAGIC) }.load(Ordering::Relaxed) == ring::MAGIC {
        BOARD.store(words, Ordering::Release);
    }
}

/// The word in which the keeper offers rings, unless it has left.
pub(super) fn offers() -> Option<&'static AtomicU64> {
    if has_left() { None } else { word(board::FREE) }
}

/// Whether there is no keeper, or it has announced that it left.
pub(super) fn has_left() -> bool {
    word(board::LEFT).is_none_or(|left| left.load(Ordering::Acquire) != 0)
}

/// Asks the keeper to look at all rings soon.
pub(super) fn call() {
    if let Some(calls) = word(board::CALLS) {
        calls.fetch_add(1, Ordering::Release);
    }
}

/// Whether the keeper was found dead and has not shown a heartbeat since.
pub(super) fn is_dead() -> bool {
    beats() == LAST_BEAT.load(Ordering::Relaxed)
}

/// The count of the keeper's heartbeats.
pub(super) fn beats() -> u64 {
    word(board::HEART).map_or(0, |beats| beats.load(Ordering::Relaxed))
}

/// The keeper's heartbeat as last observed.
pub(super) struct Pulse {
    beats: u64,
    /// When that count was first seen, in microseconds.
    since: u64,
}

impl Pulse {
    /// Observes it for the first time.
    pub fn new() -> Pulse {
        Pulse { beats: beats(), since: sys::micros(Clock::Monotonic) }
    }

    /// Whether the keeper is alive: it is dead if its heartbeat has not changed for [`ring::DEAD_AFTER`].
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
