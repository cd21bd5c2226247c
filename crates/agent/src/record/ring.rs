//! Our end of a ring: what would go into the trace goes into memory that we share with the keeper of traces.
//!
//! No system call is made to record, and what is there when the program is killed is not lost: the keeper has it. See
//! `ring` of agent-abi for what is where.

use alloc::ffi::CString;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use bactrian_agent_abi::ring::{
    self, BYTES, MAKINGS, NAME, NAME_ROOM, NOTE, NOTES, PACKET, ROOM, STREAM, board, making,
    making_at, word,
};
use bactrian_agent_os::confined;
use bactrian_agent_os::process;
use bactrian_agent_os::sys::{self, Clock};
use bactrian_trace::Making;

/// So long, in microseconds, we wait for something that the keeper is about to do.
const PATIENCE: u64 = 50_000;
/// So long we wait for it to make room.
const PATIENCE_FOR_ROOM: u64 = 200_000;

/// Words of the board; null if there is no keeper.
static BOARD: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());

/// A word of the board, if there is one.
fn on_board(at: usize) -> Option<&'static AtomicU64> {
    let words = BOARD.load(Ordering::Acquire);
    // SAFETY: null, or a board that stays mapped, with more words than there are names for.
    unsafe { words.add(at).as_ref().filter(|_| !words.is_null()) }
}

/// Finds the board of the keeper whose folder this is. There is one thread.
pub fn find_board(folder: &[u8]) {
    let Ok(path) = CString::new([folder, b"/", board::NAME.as_bytes()].concat()) else { return };
    let Ok(memory) = sys::map_shared(&path, board::BYTES) else { return };
    let words = memory.cast::<AtomicU64>();
    // SAFETY: so many bytes are mapped, and aligned to pages.
    if unsafe { &*words.add(board::MAGIC) }.load(Ordering::Relaxed) == ring::MAGIC {
        BOARD.store(words, Ordering::Release);
    }
}

/// Waits for a number of the keeper's that is not 0, but not for long.
fn wait_for(number: impl Fn() -> u64) -> Option<u64> {
    let start = sys::micros(Clock::Monotonic);
    loop {
        match number() {
            0 if sys::micros(Clock::Monotonic) - start > PATIENCE => return None,
            0 => pause(),
            number => return Some(number),
        }
    }
}

/// Lets others run, if that may be asked for.
fn pause() {
    match confined::is_confined() {
        true => core::hint::spin_loop(),
        false => sys::yield_now(),
    }
}

/// What comes of waiting for room.
pub enum Waited {
    /// There is room.
    Room,
    /// There is none, though the keeper lives: its disk may be full.
    Full,
    /// The keeper gives no sign of life.
    Alone,
}

/// A ring that is ours.
pub struct Ring {
    memory: *mut u8,
    /// Bytes in the stream, also those that were not published yet.
    put: u64,
    /// Bytes of events and locations that are copied, of each place.
    shown: [(usize, usize); MAKINGS],
    /// The last beat of the keeper's heart that we noticed, and when.
    beat: (u64, u64),
}

// SAFETY: the memory is ours alone to write, but for the keeper's words.
unsafe impl Send for Ring {}

impl Ring {
    /// Takes a ring of the keeper's, if there is a keeper who lives.
    pub fn take(folder: &[u8], note_at: u64) -> Option<Ring> {
        let free = on_board(board::FREE)?;
        if confined::is_confined() || on_board(board::LEFT)?.load(Ordering::Acquire) != 0 {
            return None;
        }
        let number = wait_for(|| free.swap(0, Ordering::AcqRel))? - 1;
        let path = [folder, b"/", ring::name(number).as_bytes()].concat();
        let memory = sys::map_shared(&CString::new(path).ok()?, BYTES).ok()?;
        let ring = Ring { memory, put: 0, shown: [(0, 0); MAKINGS], beat: (0, 0) };
        if ring.word(word::MAGIC).load(Ordering::Relaxed) != ring::MAGIC {
            ring.let_go();
            return None;
        }
        ring.word(word::NOTE_AT).store(note_at, Ordering::Relaxed);
        let namespace = process::inode(ring::NAMESPACE_OF_SELF).unwrap_or(0);
        ring.word(word::NAMESPACE).store(namespace, Ordering::Relaxed);
        ring.word(word::OWNER).store(sys::process_id().into(), Ordering::Release);
        Some(ring)
    }

    /// Puts as much as there is room for; says how much that was. Nobody sees it before it is published.
    pub fn put(&mut self, bytes: &[u8]) -> usize {
        let taken = self.word(word::TAIL).load(Ordering::Acquire);
        let room = (ROOM as u64).saturating_sub(self.put.saturating_sub(taken)) as usize;
        let bytes = &bytes[..bytes.len().min(room)];
        let start = self.put as usize % ROOM;
        let (first, rest) = bytes.split_at(bytes.len().min(ROOM - start));
        self.copy(STREAM + start, first);
        self.copy(STREAM, rest);
        self.put += bytes.len() as u64;
        bytes.len()
    }

    /// Waits for room, but not for long.
    #[cold]
    pub fn wait_for_room(&self) -> Waited {
        let beat = || on_board(board::HEART).map_or(0, |word| word.load(Ordering::Relaxed));
        let taken = || self.word(word::TAIL).load(Ordering::Acquire);
        let (first_beat, first_taken) = (beat(), taken());
        let start = sys::micros(Clock::Monotonic);
        while taken() == first_taken {
            if sys::micros(Clock::Monotonic) - start > PATIENCE_FOR_ROOM {
                return if beat() == first_beat { Waited::Alone } else { Waited::Full };
            }
            pause();
        }
        Waited::Room
    }

    /// Has all that was put seen. If it was what was in the making at a place, that is begun anew.
    pub fn publish(&mut self, made: Option<usize>) {
        let made = made.filter(|place| *place < MAKINGS);
        if let Some(place) = made {
            self.making(place, making::PUT).store(self.put, Ordering::Release);
        }
        self.word(word::HEAD).store(self.put, Ordering::Release);
        if let Some(place) = made {
            self.making(place, making::EVENTS).store(0, Ordering::Release);
            self.making(place, making::PUT).store(0, Ordering::Release);
            self.shown[place] = (0, 0);
        }
    }

    /// Shares what a domain has in the making.
    #[inline]
    pub fn show(&mut self, place: usize, making: &Making<'_>) {
        if place >= MAKINGS {
            return;
        }
        let base = making_at(place) + making::HEAD;
        let (events, locations) = (making.events(), making.locations());
        if self.shown[place].0 == 0 {
            self.begin(place, making);
        }
        let (old_events, old_locations) = self.shown[place];
        if locations.len() > old_locations {
            self.copy(base + PACKET + old_locations, &locations[old_locations..]);
            let length = locations.len() as u64;
            self.making(place, making::LOCATIONS).store(length, Ordering::Release);
        }
        self.copy(base + old_events, &events[old_events..]);
        let words = making.words();
        self.making(place, making::TIME_END).store(words.time_end, Ordering::Release);
        let far = words.allocations << 32 | events.len() as u64;
        self.making(place, making::EVENTS).store(far, Ordering::Release);
        self.shown[place] = (events.len(), locations.len());
    }

    /// Shares the headers of packets that are begun.
    #[cold]
    fn begin(&mut self, place: usize, making: &Making<'_>) {
        let base = making_at(place) + making::HEAD;
        let [events, locations] = making.headers();
        self.copy(base, &events);
        self.copy(base + PACKET, &locations);
        self.making(place, making::LOCATIONS).store(locations.len() as u64, Ordering::Release);
        self.shown[place] = (events.len(), locations.len());
    }

    /// Shares what the recorder says of itself.
    pub fn note(&mut self, note: &[u8]) {
        let count = self.word(word::NOTES).load(Ordering::Relaxed) + 1;
        self.copy(NOTES + count as usize % 2 * NOTE, &note[..note.len().min(NOTE)]);
        self.word(word::NOTES).store(count, Ordering::Release);
    }

    /// Whether the trace has a name already.
    pub fn is_named(&self) -> bool {
        self.word(word::NAME).load(Ordering::Acquire) != 0
    }

    /// The name of the trace, as soon as the keeper has one for it.
    pub fn name(&self) -> Option<CString> {
        let length = wait_for(|| self.word(word::NAME).load(Ordering::Acquire))? as usize;
        let mut name = alloc::vec![0u8; length.min(NAME_ROOM)];
        // SAFETY: the name is within the ring, and does not change any more.
        unsafe { self.memory.add(NAME).copy_to(name.as_mut_ptr(), name.len()) };
        CString::new(name).ok()
    }

    /// Whether there is still somebody who takes out what is put. Asked about once a second.
    pub fn is_kept(&mut self) -> bool {
        let beat = on_board(board::HEART).map_or(0, |word| word.load(Ordering::Relaxed));
        let now = sys::micros(Clock::Monotonic);
        if beat != self.beat.0 {
            self.beat = (beat, now);
        }
        let has_left = on_board(board::LEFT).is_none_or(|it| it.load(Ordering::Acquire) != 0);
        !has_left && now - self.beat.1 < ring::DEAD_AFTER
    }

    /// What was put and not taken out, and where in the trace it begins.
    pub fn untaken(&self) -> (u64, Vec<u8>) {
        let taken = self.word(word::TAIL).load(Ordering::Acquire).min(self.put);
        let bytes = (taken..self.put).map(|at| {
            // SAFETY: within the stream.
            unsafe { self.memory.add(STREAM + at as usize % ROOM).read() }
        });
        (taken, bytes.collect())
    }

    /// Goes on without a keeper: one that was only slow is to add nothing to what was taken out.
    pub fn leave(self) {
        for place in 0..MAKINGS {
            self.making(place, making::EVENTS).store(0, Ordering::Release);
        }
        self.word(word::NOTE_AT).store(u64::MAX, Ordering::Release);
        self.let_go();
    }

    /// Leaves it to others.
    pub fn let_go(self) {
        if confined::is_confined() {
            return;
        }
        // SAFETY: nobody else here knows of it.
        unsafe { sys::unmap(self.memory, BYTES) };
    }

    fn word(&self, at: usize) -> &AtomicU64 {
        // SAFETY: words are within the ring, and aligned.
        unsafe { &*self.memory.cast::<AtomicU64>().add(at) }
    }

    fn making(&self, place: usize, at: usize) -> &AtomicU64 {
        self.word(making_at(place) / 8 + at)
    }

    #[inline]
    fn copy(&self, at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= BYTES);
        // SAFETY: places of what is copied are within the ring, by the lengths of packets and of the stream.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.memory.add(at), bytes.len()) };
    }
}
