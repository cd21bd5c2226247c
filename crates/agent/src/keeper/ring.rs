//! The agent's end of the ring buffer that carries the trace: memory shared with the keeper, which writes the
//! file.
//!
//! Recording makes no system calls, and a program that is killed loses nothing: the keeper has what is in the
//! ring. The layout is defined in agent-abi's `ring`.

use alloc::ffi::CString;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicU64, Ordering};

use bactrian_agent_abi::ring::{
    self, BYTES, MAKINGS, NAME, NAME_ROOM, NOTE, NOTES, PACKET, ROOM, STREAM, making, making_at,
    word,
};
use bactrian_agent_os::sys::{self, Clock};
use bactrian_agent_os::{confined, proc, process};
use bactrian_trace::{Making, MakingWords};

use super::board::{self, Pulse};
use super::filters;

/// The longest wait for something that the keeper is about to do, in microseconds.
const PATIENCE: u64 = 50_000;
/// The longest wait for the keeper to make room, in microseconds.
const PATIENCE_FOR_ROOM: u64 = 200_000;

const PAGE: usize = 4096;
const _: () = assert!(word::LEFT * 8 < PAGE && BYTES > PAGE);

/// Waits, up to `PATIENCE`, until the keeper has stored a nonzero number.
fn wait_for(number: impl Fn() -> u64) -> Option<u64> {
    let start = sys::micros(Clock::Monotonic);
    loop {
        match number() {
            0 if sys::micros(Clock::Monotonic) - start > PATIENCE => return None,
            0 => sys::yield_now(),
            number => return Some(number),
        }
    }
}

/// The outcome of waiting for room.
pub enum Waited {
    /// There is room.
    Room,
    /// There is none, although the keeper lives: its disk may be full.
    Full,
    /// The keeper has no heartbeat.
    Alone,
}

/// A ring buffer that this process owns.
pub struct Ring {
    memory: *mut u8,
    /// Bytes put into the stream, including those that are not published yet.
    put: u64,
    /// How many of these bytes belong to complete packets.
    whole: u64,
    /// How many bytes of locations have been copied, for each place; 0 if not even their header.
    located: [usize; MAKINGS],
    /// The keeper's heartbeat as last observed.
    pulse: Pulse,
}

// SAFETY: only we write to the memory, except for the keeper's words.
unsafe impl Send for Ring {}

impl Ring {
    /// Takes a free ring from the keeper, if there is a living keeper. `note_at` is the offset of the
    /// recorder's note.
    ///
    /// Everything that may fail comes before the ring is taken, which is a single step: we may be killed at any
    /// moment, and a ring that nobody owns would stay for as long as the keeper lives.
    pub fn take(folder: &[u8], note_at: u64) -> Option<Ring> {
        let offers = board::offers().filter(|_| !confined::is_confined())?;
        let namespace = process::inode(ring::NAMESPACE_OF_SELF).unwrap_or(0);
        let owner = ring::owner(sys::process_id().0, namespace);
        let mut refused = 0;
        loop {
            let new_offer = || match offers.load(Ordering::Acquire) {
                offer if offer == refused => 0,
                offer => offer,
            };
            let offer = wait_for(new_offer)?;
            let path = [folder, b"/", ring::name(offer - 1).as_bytes()].concat();
            let memory = sys::map_shared(&CString::new(path).ok()?, BYTES).ok()?;
            let (located, pulse) = ([0; MAKINGS], Pulse::new());
            let ring = Ring { memory, put: 0, whole: 0, located, pulse };
            let is_ours = ring.word(word::MAGIC).load(Ordering::Relaxed) == ring::MAGIC && {
                let place = ring.word(word::OWNER);
                place.compare_exchange(0, owner, Ordering::AcqRel, Ordering::Relaxed).is_ok()
            };
            if !is_ours {
                // Another process was faster, and the keeper will offer another ring.
                refused = offer;
                // SAFETY: nobody knows of it.
                unsafe { sys::unmap(memory, BYTES) };
                continue;
            }
            // Others need not try. If the keeper has offered the next one already, that stays.
            let _ = offers.compare_exchange(offer, 0, Ordering::AcqRel, Ordering::Relaxed);
            ring.word(word::NOTE_AT).store(note_at, Ordering::Release);
            let filters = proc::filters().map_or(0, |filters| u64::from(filters) + 1);
            ring.word(word::FILTERS).store(filters, Ordering::Release);
            filters::listen_to(ring.memory.cast());
            return Some(ring);
        }
    }

    /// Takes a ring only for the keeper's reports of filters. It stays mapped.
    pub fn take_for_questions(folder: Option<&[u8]>) {
        let _ = folder.and_then(|folder| Ring::take(folder, ring::NO_TRACE));
    }

    /// Copies as many bytes into the ring as there is room for; returns their number. The keeper sees them
    /// once they are published.
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

    /// Waits for room, up to `PATIENCE_FOR_ROOM`. It first publishes all complete packets, since the keeper
    /// only takes out what is published. Part of a packet is not published: the program may be killed while
    /// we wait, and the copy of the unfinished packet has all of it.
    #[cold]
    pub fn wait_for_room(&mut self) -> Waited {
        if self.whole > self.word(word::TAIL).load(Ordering::Acquire) {
            self.word(word::HEAD).fetch_max(self.whole, Ordering::Release);
        } else {
            // The waiting bytes are more than the ring holds: publish part of them.
            self.publish(None);
        }
        let taken = || self.word(word::TAIL).load(Ordering::Acquire);
        let (first_beat, first_taken) = (board::beats(), taken());
        let start = sys::micros(Clock::Monotonic);
        board::call();
        while taken() == first_taken {
            if sys::micros(Clock::Monotonic) - start > PATIENCE_FOR_ROOM {
                return if board::beats() == first_beat { Waited::Alone } else { Waited::Full };
            }
            // Yielding would take a system call, which a seccomp filter may forbid.
            core::hint::spin_loop();
        }
        Waited::Room
    }

    /// Marks the end of a packet: everything put so far is complete.
    #[inline]
    pub fn end_packet(&mut self) {
        self.whole = self.put;
    }

    /// Publishes everything put so far. If that completes the unfinished packet of a place, a new one begins
    /// there.
    pub fn publish(&mut self, made: Option<usize>) {
        let made = made.filter(|place| *place < MAKINGS);
        if let Some(place) = made {
            self.making(place, making::PUT).store(self.put, Ordering::Release);
        }
        self.word(word::HEAD).store(self.put, Ordering::Release);
        if let Some(place) = made {
            self.making(place, making::EVENTS).store(0, Ordering::Release);
            self.making(place, making::PUT).store(0, Ordering::Release);
            self.located[place] = 0;
        }
    }

    /// Shares a domain's unfinished packets.
    #[inline(always)]
    pub fn show(&mut self, place: usize, making: Making<'_>) {
        if place >= MAKINGS {
            return;
        }
        match (making.start(), making.short_event()) {
            (Some(start), Some(event)) if start + event.len() <= PACKET => {
                let at = making_at(place) + making::HEAD + start;
                // SAFETY: within the packet, as just checked. The event is shorter, but this length is known to
                // the compiler.
                unsafe { self.memory.add(at).cast::<[u8; _]>().write_unaligned(*event) };
                self.show_length(place, making.words());
            }
            _ => self.show_more(place, making),
        }
    }

    /// Shares everything that is new in a domain's unfinished packets.
    #[cold]
    fn show_more(&mut self, place: usize, making: Making<'_>) {
        let base = making_at(place) + making::HEAD;
        let events = making.events();
        let start = match making.start() {
            Some(start) => start,
            None => self.show_locations(place, making),
        };
        self.copy(base + start, &events[start..]);
        self.show_length(place, making.words());
    }

    /// Says how far the events go that are shared.
    #[inline(always)]
    fn show_length(&mut self, place: usize, words: MakingWords) {
        self.making(place, making::TIME_END).store(words.time_end, Ordering::Release);
        let far = words.allocations << 32 | words.events as u64;
        self.making(place, making::EVENTS).store(far, Ordering::Release);
    }

    /// Shares new locations, and before the first event the headers. Returns where events start that are not
    /// shared.
    fn show_locations(&mut self, place: usize, making: Making<'_>) -> usize {
        let base = making_at(place) + making::HEAD;
        let (start, old) = match self.located[place] {
            0 => {
                let [events, locations] = making.headers();
                self.copy(base, &events);
                self.copy(base + PACKET, &locations);
                (events.len(), locations.len())
            }
            old => {
                let far = self.making(place, making::EVENTS).load(Ordering::Relaxed);
                (far as u32 as usize, old)
            }
        };
        let locations = making.locations();
        self.copy(base + PACKET + old, &locations[old..]);
        self.making(place, making::LOCATIONS).store(locations.len() as u64, Ordering::Release);
        self.located[place] = locations.len();
        start
    }

    /// Shares the recorder's note about itself.
    pub fn note(&mut self, note: &[u8]) {
        let count = self.word(word::NOTES).load(Ordering::Relaxed) + 1;
        self.copy(NOTES + count as usize % 2 * NOTE, &note[..note.len().min(NOTE)]);
        self.word(word::NOTES).store(count, Ordering::Release);
    }

    /// Whether the keeper died before it created a file for the trace: the trace has no name, and did not get
    /// one in the time that a living keeper would have needed.
    pub fn is_orphaned(&self) -> bool {
        let is_named = || self.word(word::NAME).load(Ordering::Acquire) != 0;
        let (first_beat, start) = (board::beats(), sys::micros(Clock::Monotonic));
        while !is_named() {
            if sys::micros(Clock::Monotonic) - start > PATIENCE_FOR_ROOM {
                return board::beats() == first_beat;
            }
            sys::yield_now();
        }
        false
    }

    /// The name of the trace, as soon as the keeper has chosen one; None if that takes too long.
    pub fn name(&self) -> Option<CString> {
        let length = wait_for(|| self.word(word::NAME).load(Ordering::Acquire))? as usize;
        let mut name = alloc::vec![0u8; length.min(NAME_ROOM)];
        // SAFETY: the name is within the ring, and no longer changes.
        unsafe { self.memory.add(NAME).copy_to(name.as_mut_ptr(), name.len()) };
        CString::new(name).ok()
    }

    /// Whether the keeper still takes out what is put. Called about once a second.
    pub fn is_kept(&mut self) -> bool {
        let has_left = self.word(word::LEFT).load(Ordering::Relaxed) != 0;
        !has_left && !board::has_left() && self.pulse.is_felt()
    }

    /// The bytes that the keeper has not taken out, and their offset in the trace.
    pub fn untaken(&self) -> (u64, Vec<u8>) {
        let taken = self.word(word::TAIL).load(Ordering::Acquire).min(self.put);
        let bytes = (taken..self.put).map(|at| {
            // SAFETY: within the stream.
            unsafe { self.memory.add(STREAM + at as usize % ROOM).read() }
        });
        (taken, bytes.collect())
    }

    /// Leaves the ring because the keeper is dead. In case it was only slow, this keeps it from completing
    /// packets.
    pub fn leave(self) {
        for place in 0..MAKINGS {
            self.making(place, making::EVENTS).store(0, Ordering::Release);
        }
        self.word(word::NOTE_AT).store(ring::NO_TRACE, Ordering::Release);
        self.let_go();
    }

    /// Unmaps the ring, except its first page.
    pub fn let_go(self) {
        filters::forget(self.memory.cast());
        if confined::is_confined() {
            return;
        }
        // SAFETY: no other thread of this process uses it, except that one may be reading words on its first
        // page.
        unsafe { sys::unmap(self.memory.add(PAGE), BYTES - PAGE) };
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
        // SAFETY: all offsets are within the ring, by the maximal lengths of packets and of the stream.
        unsafe { core::ptr::copy_nonoverlapping(bytes.as_ptr(), self.memory.add(at), bytes.len()) };
    }
}
