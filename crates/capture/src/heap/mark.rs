//! Marking: finds every reachable block, on all processors.
//!
//! A thread takes a handful of pointers at a time and reads all of their headers before it processes the
//! first block: so the processor fetches them from memory at the same time instead of one after the other. A
//! thread that has much work gives some of it to threads that have none.

use std::collections::{HashMap, HashSet};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;

use super::block::{Closures, Contents, Header, INFIX};
use super::helpers::help;
use super::image::{MemoryImage, Spot};
use super::roots::SpaceKind;

/// What marking has found.
#[derive(Debug, Default)]
pub struct Met {
    /// Marked blocks and their words, headers included, in minor heaps.
    pub minor: Count,
    /// The same for the major heap.
    pub major: Count,
    /// The same for static data.
    pub fixed: Count,
    /// Code addresses of functions in closures.
    pub codes: HashSet<u64>,
    /// Addresses of custom blocks, by the address of their operations.
    pub customs: HashMap<u64, Vec<u64>>,
    /// The number of blocks without values, in any space.
    pub opaque: u64,
    /// Addresses of continuations, each of which holds a stack.
    pub continuations: Vec<u64>,
    /// Address ranges of blocks in the heap that OCaml 5 does not manage.
    pub unmanaged: Vec<std::ops::Range<u64>>,
    /// The number of pointers into a space that do not point to a block.
    pub bad_pointers: u64,
}

/// A number of blocks and their words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of blocks.
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

/// What it takes to mark a program's blocks.
#[derive(Clone, Copy)]
pub struct Marker<'i> {
    pub image: &'i MemoryImage<'i>,
    pub closures: Closures,
    /// Whether it is OCaml 5, in which some blocks are continuations and some are not managed.
    pub is_ocaml_5: bool,
    pub threads: usize,
    /// Whether to stop early, with what is marked so far.
    pub is_to_stop: &'i (dyn Fn() -> bool + Sync),
    /// How many leading words of blocks without values the encoder will read; it also reads the last word.
    pub opaque_words: u64,
}

/// The number of pointers that are processed together.
const HANDFUL: usize = 16;
/// A thread offers work to others if it has at least this many pointers.
const MUCH: usize = 64;
/// It considers doing so after this many handfuls.
const PATIENCE: u32 = 32;

impl Marker<'_> {
    /// Marks everything reachable from these values that is not marked yet.
    pub fn mark(&self, values: Vec<u64>, met: &mut Met) {
        let shared = Shared { parts: share(values, self.threads), threads: self.threads, idle: 0 };
        let pool = Pool { shared: Mutex::new(shared), is_there_work: Condvar::new() };
        thread::scope(|scope| {
            let work = || self.work(&pool);
            let helpers: Vec<_> = (1..self.threads).map(|_| help(scope, work)).collect();
            helpers.iter().filter(|helper| helper.is_none()).for_each(|_| pool.lose_one());
            met.join(work());
            for helper in helpers.into_iter().flatten() {
                if let Ok(found) = helper.join() {
                    met.join(found);
                }
            }
        });
    }

    fn work(&self, pool: &Pool) -> Met {
        let mut met = Met::default();
        let mut stack = Vec::new();
        while pool.take(&mut stack) {
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

    /// The header of the block that a value points to, if it is in a space.
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
            // It points into a closure, this many words after its start.
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

    /// Makes the image copy the pages of a block without values that will be read later: by then the
    /// program's memory may be gone.
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

/// Work that no thread has taken yet.
struct Pool {
    shared: Mutex<Shared>,
    is_there_work: Condvar,
}

struct Shared {
    parts: Vec<Vec<u64>>,
    threads: usize,
    /// The number of threads that wait for work.
    idle: usize,
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// A thread could not be started, so nobody waits for it.
    fn lose_one(&self) {
        self.lock().threads -= 1;
        self.is_there_work.notify_all();
    }

    /// Takes some work, or waits for it; returns false when everything is done.
    fn take(&self, stack: &mut Vec<u64>) -> bool {
        let mut shared = self.lock();
        shared.idle += 1;
        loop {
            if let Some(part) = shared.parts.pop() {
                shared.idle -= 1;
                *stack = part;
                return true;
            }
            if shared.idle == shared.threads {
                self.is_there_work.notify_all();
                return false;
            }
            shared =
                self.is_there_work.wait(shared).unwrap_or_else(|poisoned| poisoned.into_inner());
        }
    }

    /// Offers half of the work if another thread waits: the older half, which leads further.
    fn offer(&self, stack: &mut Vec<u64>) {
        let Ok(mut shared) = self.shared.try_lock() else { return };
        if shared.idle > shared.parts.len() {
            let rest = stack.split_off(stack.len() / 2);
            shared.parts.push(std::mem::replace(stack, rest));
            self.is_there_work.notify_one();
        }
    }
}
