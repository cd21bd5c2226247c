//! Marking: every block that can be reached, on all processors.
//!
//! A thread takes a handful of pointers at a time and looks at all of their headers before it looks at the
//! first block: the processor then fetches them at once from memory, instead of one after the other. A thread
//! that has much to do gives some of it to those that have nothing.

use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;

use super::block::{Closures, Contents, Header, INFIX};
use super::image::{Image, Spot};
use super::roots::SpaceKind;

/// What was met on the way.
#[derive(Debug, Default)]
pub struct Met {
    /// Blocks that were marked and their words, headers included, by kind of space.
    pub minor: Count,
    /// See `minor`.
    pub major: Count,
    /// See `minor`.
    pub fixed: Count,
    /// Addresses of functions that closures have.
    pub codes: HashSet<u64>,
    /// Addresses of custom blocks, by their operations.
    pub customs: HashMap<u64, Vec<u64>>,
    /// Blocks without values, of any space.
    pub opaque: u64,
    /// Addresses of continuations, which hold a stack each.
    pub continuations: Vec<u64>,
    /// Blocks that OCaml 5 does not manage although they are where its heap may be: ranges of addresses.
    pub unmanaged: Vec<std::ops::Range<u64>>,
    /// Pointers to where no block is, although it is a place for blocks.
    pub bad_pointers: u64,
}

/// Blocks and their words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many blocks.
    pub blocks: u64,
    /// Their words, headers included.
    pub words: u64,
}

impl Count {
    fn add(&mut self, words: u64) {
        self.blocks += 1;
        self.words += words + 1;
    }

    fn join(&mut self, other: Count) {
        self.blocks += other.blocks;
        self.words += other.words;
    }
}

impl Met {
    fn join(&mut self, other: Met) {
        self.minor.join(other.minor);
        self.major.join(other.major);
        self.fixed.join(other.fixed);
        self.codes.extend(other.codes);
        for (operations, blocks) in other.customs {
            self.customs.entry(operations).or_default().extend(blocks);
        }
        self.opaque += other.opaque;
        self.continuations.extend(other.continuations);
        self.unmanaged.extend(other.unmanaged);
        self.bad_pointers += other.bad_pointers;
    }
}

/// What is to be known of a program to mark its blocks.
#[derive(Clone, Copy)]
pub struct Marker<'i> {
    pub image: &'i Image<'i>,
    pub closures: Closures,
    /// OCaml 5: some blocks are continuations, and some are not managed.
    pub is_ocaml_5: bool,
    pub threads: usize,
    /// Whether to leave it at what is marked.
    pub is_to_stop: &'i (dyn Fn() -> bool + Sync),
    /// So many words of blocks without values will be looked at when blocks are encoded, and the last one.
    pub opaque_words: u64,
}

/// How many pointers are looked at together.
const HANDFUL: usize = 16;
/// A thread gives something away if it has at least so much.
const MUCH: usize = 64;
/// It thinks of that after so many handfuls.
const PATIENCE: u32 = 32;

impl Marker<'_> {
    /// Marks all that can be reached from these values and was not marked before.
    pub fn mark(&self, values: Vec<u64>, met: &mut Met) {
        let pool = Pool { shared: Mutex::default(), is_there_work: Condvar::new() };
        pool.lock().parts = share(values, self.threads);
        thread::scope(|scope| {
            let work = || self.work(&pool);
            let helpers: Vec<_> = (1..self.threads).map(|_| scope.spawn(work)).collect();
            met.join(work());
            for helper in helpers {
                if let Ok(found) = helper.join() {
                    met.join(found);
                }
            }
        });
    }

    fn work(&self, pool: &Pool) -> Met {
        let mut met = Met::default();
        let mut stack = Vec::new();
        while pool.take(&mut stack, self.threads) {
            let mut handfuls = 0;
            while !stack.is_empty() {
                if handfuls % PATIENCE == 0 && (self.is_to_stop)() {
                    stack.clear();
                    break;
                }
                self.handful(&mut stack, &mut met);
                handfuls += 1;
                if handfuls % PATIENCE == 0 && stack.len() >= MUCH {
                    pool.offer(&mut stack);
                }
            }
        }
        met
    }

    #[inline]
    fn handful(&self, stack: &mut Vec<u64>, met: &mut Met) {
        let start = stack.len().saturating_sub(HANDFUL);
        let mut found = [None; HANDFUL];
        for (found, &value) in found.iter_mut().zip(&stack[start..]) {
            let spot = self.header_of(value);
            *found = spot.map(|spot| (value, spot, spot.word()));
        }
        stack.truncate(start);
        for (value, spot, word) in found.into_iter().flatten() {
            self.visit(value, spot, Header::of(word), stack, met);
        }
    }

    /// The header of the block that a value points to.
    #[inline]
    fn header_of(&self, value: u64) -> Option<Spot<'_>> {
        if value & 7 != 0 || value == 0 { None } else { self.image.spot(value - 8) }
    }

    #[inline]
    fn visit<'m>(
        &'m self,
        mut value: u64,
        mut spot: Spot<'m>,
        mut header: Header,
        stack: &mut Vec<u64>,
        met: &mut Met,
    ) {
        if header.tag == INFIX {
            // It points into a closure, so many words after its start.
            let closure =
                value.checked_sub(header.words * 8).and_then(|at| Some((at, self.header_of(at)?)));
            let Some((at, closure)) = closure else {
                met.bad_pointers += 1;
                return;
            };
            (value, spot, header) = (at, closure, Header::of(closure.word()));
            if header.tag == INFIX {
                met.bad_pointers += 1;
                return;
            }
        }
        if spot.is_marked() {
            return;
        }
        let Header { words, tag, .. } = header;
        if !self.image.has_room(spot, words + 1) {
            met.bad_pointers += 1;
            return;
        }
        if !spot.mark() {
            return;
        }
        let kind = self.image.kind_at(spot);
        let is_unmanaged = self.is_ocaml_5 && header.colour == Header::NOT_MARKABLE;
        match kind {
            Some(SpaceKind::Major) if is_unmanaged => {
                met.fixed.add(words);
                met.unmanaged.push(value - 8..value + words * 8);
            }
            Some(SpaceKind::Major) => met.major.add(words),
            Some(SpaceKind::Minor) => met.minor.add(words),
            _ => met.fixed.add(words),
        }
        let mut push = |fields: &[u64]| {
            stack.extend(fields.iter().filter(|&&field| field & 7 == 0 && field != 0));
        };
        match Contents::of(tag, self.is_ocaml_5) {
            Contents::Values => self.image.fields(spot, 0..words, push),
            Contents::Closure => {
                let second = (words >= 2).then(|| self.image.word(value + 8)).flatten();
                let start = self.closures.values(second, words);
                let mut heads = Vec::new();
                let head_words = 0..self.closures.heads(start, words);
                self.image.fields(spot, head_words, |piece| heads.extend_from_slice(piece));
                self.closures.functions(&heads, |code| {
                    met.codes.insert(code);
                });
                self.image.fields(spot, start..words, &mut push);
            }
            Contents::Continuation => met.continuations.push(value),
            Contents::Custom => {
                if let Some(operations) = self.image.word(value).filter(|_| words > 0) {
                    met.customs.entry(operations).or_default().push(value);
                }
                self.opaque(spot, words, met);
            }
            Contents::Opaque => self.opaque(spot, words, met),
        }
    }

    /// Has those pages of a block without values copied that will be looked at later: then the program's
    /// memory may be gone.
    #[inline]
    fn opaque(&self, spot: Spot<'_>, words: u64, met: &mut Met) {
        met.opaque += 1;
        if !spot.is_in_page(words + 1) {
            self.image.fields(spot, 0..self.opaque_words.min(words), |_| ());
            self.image.fields(spot, words - 1..words, |_| ());
        }
    }
}

/// Splits values into parts that keep all threads busy from the start.
fn share(values: Vec<u64>, threads: usize) -> Vec<Vec<u64>> {
    let size = values.len().div_ceil(threads * 4).max(1);
    values.chunks(size).map(<[u64]>::to_vec).collect()
}

/// Work that nobody does yet.
struct Pool {
    shared: Mutex<Shared>,
    is_there_work: Condvar,
}

#[derive(Default)]
struct Shared {
    parts: Vec<Vec<u64>>,
    /// Threads that wait for some.
    idle: usize,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Gets some work, or waits for it; false if all is done.
    fn take(&self, stack: &mut Vec<u64>, threads: usize) -> bool {
        let mut shared = self.lock();
        shared.idle += 1;
        loop {
            if let Some(part) = shared.parts.pop() {
                shared.idle -= 1;
                *stack = part;
                return true;
            }
            if shared.idle == threads {
                self.is_there_work.notify_all();
                return false;
            }
            shared =
                self.is_there_work.wait(shared).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// Gives half of the work away if somebody waits for some: the older half, which leads further.
    fn offer(&self, stack: &mut Vec<u64>) {
        let Ok(mut shared) = self.shared.try_lock() else { return };
        if shared.idle > shared.parts.len() {
            let rest = stack.split_off(stack.len() / 2);
            shared.parts.push(std::mem::replace(stack, rest));
            self.is_there_work.notify_one();
        }
    }
}
