//! Walking the interpreter's stack, in a time that depends mostly on what has changed since the last walk.
//!
//! Bytecode has no frame descriptors. The runtime finds frames by examining each word from the stack pointer
//! to the stack's high end: a pointer into bytecode with debug information is a return address, unless it is
//! the handler's address in the next trap frame. So a walk is determined by all the words it has passed, by
//! the trap frame it started with and by the existing fragments of bytecode; not by the return addresses
//! alone. (The distance from one return address to the next depends on the number of extra arguments of a
//! call, which the interpreter need not have on its stack. With other frames in between, the same return
//! addresses can be at the same places.)
//!
//! # Invariants
//! - There is a copy of the words that the kept walk has passed. It is compared with the stack, 64 words
//!   at a time: that takes about as long as to compare a few return addresses, each at its place.
//! - A word that differs does not matter if it is not an entry of the kept walk and does not point into
//!   bytecode now. Entries are return addresses, and both words of trap frames: everything else did not point
//!   into bytecode then. Such words are values, which the collector moves and the program assigns to.
//! - The entry that was met has the same next trap frame, and no bytecode was loaded or freed since.
//! - Nothing here panics or allocates: this runs on the program's stack, outside of `stacks`.

use core::slice;

use bactrian_agent_os::sys;
use bactrian_ocaml::{InterpreterLayout, TrapLink};

use super::compare::{Registers, first_difference};
use super::fiber::Fiber;
use super::interpreter::CodeTable;
use super::kept_walk::{Entry, KeptWalk, List, Rest};
use super::program::Program;

const WORD: usize = size_of::<usize>();

/// Walks the interpreter's stack of one domain, and keeps its last walk.
pub struct InterpreterWalker {
    pub walk: KeptWalk,
    layout: InterpreterLayout,
    code: CodePieces,
    pieces: KnownPieces,
    copy: StackCopy,
}

impl InterpreterWalker {
    /// None if there is no memory.
    pub fn new(
        code: CodeTable,
        layout: InterpreterLayout,
        depth: usize,
    ) -> Option<InterpreterWalker> {
        let walk = KeptWalk::new(depth)?;
        let copy = StackCopy::new(walk.ahead() * WORDS_OF_FRAME)?;
        let pieces = KnownPieces::new()?;
        Some(InterpreterWalker { walk, layout, code: CodePieces::of(code), pieces, copy })
    }

    /// Walks the stack of the domain with this state.
    ///
    /// # Safety
    /// `state` is the state of the domain that runs on this thread, which has called C from the interpreter.
    pub unsafe fn walk(&mut self, state: *const usize, program: &Program) {
        // SAFETY: by the caller.
        let (mut scan, mut parent) = unsafe { Scan::start(self.layout, state) };
        if self.pieces.update(self.code.table) {
            self.code = CodePieces::of(self.code.table);
            self.walk.forget();
        }
        let is_alone = parent.is_none();
        let mut kept = self.walk.begin(if is_alone { scan.high } else { 0 });
        let most = self.walk.most();
        // The lists have room for as many trap entries as frames.
        let mut traps = self.walk.ahead() / 2;
        let mut frames = 0;
        if is_alone {
            self.copy.begin(scan.place);
        }
        let is_complete = loop {
            let from = scan.place;
            // SAFETY: by the caller.
            let found = unsafe { scan.next(&self.code) };
            if is_alone {
                // SAFETY: the words that were just examined.
                unsafe { self.copy.put(from, scan.place) };
            }
            match found {
                Found::Frame(place, content) => {
                    let code = program.frame_code(content);
                    let entry = Entry { place, content, code, trap: scan.trap };
                    let (copy, code, high) = (&mut self.copy, &self.code, scan.high);
                    let changed = |rest: Rest<'_>| {
                        // SAFETY: what is further out than the place that the walk has reached.
                        unsafe { copy.changed(place, high, &rest, code) }
                    };
                    if let Some(keep) = self.walk.meets(&mut kept, entry, frames, changed) {
                        return self.walk.meet(keep);
                    }
                    self.walk.push(entry);
                    frames += 1;
                    if frames >= most {
                        break false;
                    }
                }
                Found::Trap(place) if traps > 0 => {
                    traps -= 1;
                    for place in [place, place + WORD] {
                        // SAFETY: the words of the trap frame.
                        let content = unsafe { *(place as *const usize) };
                        self.walk.push(Entry { place, content, code: 0, trap: scan.trap });
                    }
                }
                // Too many trap frames: this walk is not kept.
                Found::Trap(_) => kept = 0,
                Found::End => match parent {
                    // SAFETY: by the caller.
                    Some(fiber) => (scan, parent) = unsafe { Scan::of_parent(fiber, scan.link) },
                    None => break true,
                },
            }
        };
        self.walk.end(is_complete);
        self.copy.end(scan.place);
        if traps == 0 {
            self.walk.forget();
        }
    }
}

/// Calls `f` with each return address, innermost first, until it returns false.
///
/// # Safety
/// As for [`InterpreterWalker::walk`].
pub unsafe fn each_return_address(
    code: CodeTable,
    layout: InterpreterLayout,
    state: *const usize,
    mut f: impl FnMut(usize) -> bool,
) {
    let code = CodePieces::of(code);
    // SAFETY: by the caller.
    unsafe {
        let (mut scan, mut parent) = Scan::start(layout, state);
        loop {
            match scan.next(&code) {
                Found::Frame(_, content) if !f(content) => return,
                Found::Frame(..) | Found::Trap(_) => {}
                Found::End => match parent {
                    Some(fiber) => (scan, parent) = Scan::of_parent(fiber, scan.link),
                    None => return,
                },
            }
        }
    }
}

/// The state of a scan of one of the interpreter's stacks.
struct Scan {
    place: usize,
    high: usize,
    /// The address of the next trap frame.
    trap: usize,
    link: TrapLink,
}

enum Found {
    /// A return address: its place and its value.
    Frame(usize, usize),
    /// The place of the next trap frame.
    Trap(usize),
    /// The high end of the stack.
    End,
}

impl Scan {
    /// Starts at the current stack; also returns the parent of its fiber.
    ///
    /// # Safety
    /// As for [`InterpreterWalker::walk`].
    unsafe fn start(layout: InterpreterLayout, state: *const usize) -> (Scan, Option<Fiber>) {
        // SAFETY: by the caller, and the table of runtimes.
        unsafe {
            match layout {
                InterpreterLayout::One { pointer, high, traps } => {
                    let [place, high, trap] =
                        [pointer, high, traps.innermost].map(|word| *state.add(word));
                    (Scan { place, high, trap, link: traps.link }, None)
                }
                InterpreterLayout::Fibers { current, traps } => {
                    let (trap, link) = (*state.add(traps.innermost), traps.link);
                    match Fiber::at(*state.add(current)) {
                        Some(fiber) => Scan::of_fiber(fiber, trap, link),
                        None => (Scan { place: 0, high: 0, trap: 0, link }, None),
                    }
                }
            }
        }
    }

    /// Continues with a fiber that waits for the one that was walked before.
    ///
    /// # Safety
    /// It does wait.
    unsafe fn of_parent(fiber: Fiber, link: TrapLink) -> (Scan, Option<Fiber>) {
        // SAFETY: by the caller. The stack pointer of a waiting fiber points to the offset of its next trap
        // frame, a tagged integer.
        let trap = unsafe { *(fiber.stack_pointer() as *const isize) } >> 1;
        Scan::of_fiber(fiber, trap as usize, link)
    }

    /// Scans a fiber whose next trap frame is `trap` words from its high end.
    fn of_fiber(fiber: Fiber, trap: usize, link: TrapLink) -> (Scan, Option<Fiber>) {
        let (place, high) = (fiber.stack_pointer(), fiber.high());
        (Scan { place, high, trap: from_high(high, trap), link }, fiber.parent())
    }

    /// Advances past the next word that matters, and returns it.
    ///
    /// # Safety
    /// As for [`InterpreterWalker::walk`].
    #[inline]
    unsafe fn next(&mut self, code: &CodePieces) -> Found {
        while self.place < self.high {
            let place = self.place;
            self.place += WORD;
            // SAFETY: a word of the stack, by the caller.
            let word = unsafe { *(place as *const usize) };
            if place == self.trap {
                if word & 1 == 0 {
                    // SAFETY: the runtime reads it in the same way.
                    let link = unsafe { *((place + WORD) as *const usize) };
                    self.trap = match self.link {
                        TrapLink::Address => link,
                        TrapLink::FromThis => {
                            let words = (link as isize >> 1) as usize;
                            place.wrapping_add(words.wrapping_mul(WORD))
                        }
                        TrapLink::FromHighUntagged => from_high(self.high, link),
                    };
                }
                return Found::Trap(place);
            }
            if code.has(word) {
                return Found::Frame(place, word);
            }
        }
        Found::End
    }
}

fn from_high(high: usize, words: usize) -> usize {
    high.wrapping_add(words.wrapping_mul(WORD))
}

/// All fragments of bytecode with debug information.
struct CodePieces {
    table: CodeTable,
    count: usize,
    /// The lowest address, and the distance to the highest.
    low: usize,
    span: usize,
}

impl CodePieces {
    fn of(table: CodeTable) -> CodePieces {
        let pieces = || (0..table.len()).map(|at| table.piece(at));
        let low = pieces().map(|(start, _)| start).min().unwrap_or(0);
        let high = pieces().map(|(_, end)| end).max().unwrap_or(0);
        CodePieces { table, count: table.len(), low, span: high.saturating_sub(low) }
    }

    /// Whether a word of the stack points into bytecode.
    #[inline]
    fn has(&self, word: usize) -> bool {
        word & 1 == 0
            && word.wrapping_sub(self.low) < self.span
            && (self.count == 1 || self.finds(word))
    }

    #[cold]
    fn finds(&self, word: usize) -> bool {
        (0..self.count).any(|at| {
            let (start, end) = self.table.piece(at);
            (start..end).contains(&word)
        })
    }
}

/// The fragments of bytecode that existed at the last walk.
struct KnownPieces(List<(usize, usize)>);

/// How many of them are remembered. With more, no walk is ever kept: only the toplevel has that many.
const PIECES: usize = 1024;

impl KnownPieces {
    fn new() -> Option<KnownPieces> {
        List::new(PIECES).map(KnownPieces)
    }

    /// Whether the fragments have changed, or are too many to remember. Remembers the current ones.
    #[inline]
    fn update(&mut self, table: CodeTable) -> bool {
        let known = self.0.as_slice();
        let count = table.len();
        if known.len() == count
            && known.iter().enumerate().all(|(at, piece)| *piece == table.piece(at))
        {
            return count == PIECES;
        }
        self.0.truncate(0);
        for at in 0..count {
            self.0.push(table.piece(at));
        }
        true
    }
}

/// Words of the stack per frame, for the size of the copy; few frames have as many.
const WORDS_OF_FRAME: usize = 16;

/// A copy of the words of a stack that the kept walk has passed: a ring buffer in which each address has its
/// place.
struct StackCopy {
    ring: *mut usize,
    mask: usize,
    /// The copy is valid below this address, for what the kept walk has passed.
    high: usize,
    /// The address up to which the ring reaches in this walk.
    limit: usize,
    registers: Registers,
}

impl StackCopy {
    fn new(words: usize) -> Option<StackCopy> {
        let words = words.next_power_of_two();
        let ring = sys::map(words * WORD).ok()?.cast();
        let registers = Registers::widest();
        Some(StackCopy { ring, mask: words - 1, high: 0, limit: 0, registers })
    }

    /// A walk begins at an address.
    fn begin(&mut self, low: usize) {
        self.limit = low.saturating_add((self.mask + 1) * WORD);
        self.high = self.high.min(self.limit);
    }

    /// A walk has come to an address without meeting the kept one.
    fn end(&mut self, place: usize) {
        self.high = place.min(self.limit);
    }

    /// The place in the ring of the words from `from` on, and how many of them up to `to` are contiguous
    /// there.
    #[inline]
    fn run(&self, from: usize, to: usize) -> (*mut usize, usize) {
        let at = (from / WORD) & self.mask;
        // SAFETY: within the ring.
        let start = unsafe { self.ring.add(at) };
        (start, ((to - from) / WORD).min(self.mask + 1 - at))
    }

    /// Copies the words between two addresses.
    ///
    /// # Safety
    /// They are on the stack.
    #[inline]
    unsafe fn put(&mut self, mut from: usize, to: usize) {
        let to = to.min(self.limit);
        while from < to {
            let (copy, words) = self.run(from, to);
            for at in 0..words {
                // SAFETY: by the caller, and within the ring.
                unsafe { *copy.add(at) = *(from as *const usize).add(at) };
            }
            from += words * WORD;
        }
    }

    /// A place at or above `place` where a word has changed that the rest of the kept walk depends on, or may
    /// depend on.
    ///
    /// # Safety
    /// The stack exists from `place` to `high`; the rest is what the last walk has recorded.
    #[inline]
    unsafe fn changed(
        &mut self,
        place: usize,
        high: usize,
        rest: &Rest<'_>,
        code: &CodePieces,
    ) -> Option<usize> {
        let outermost = rest.entries.first().map_or(place, |entry| entry.place);
        let end = if rest.to_the_end { high } else { outermost + WORD };
        if end > self.high {
            // There is no copy of that part.
            return Some(high);
        }
        let mut from = place;
        while from < end {
            let (copy, words) = self.run(from, end);
            // SAFETY: by the caller, and within the ring.
            let (copy, stack) = unsafe {
                (
                    slice::from_raw_parts_mut(copy, words),
                    slice::from_raw_parts(from as *const usize, words),
                )
            };
            let mut at = 0;
            while let Some(differs) = first_difference(copy, stack, at, self.registers) {
                let changed = from + differs * WORD;
                let now = stack.get(differs).copied().unwrap_or(0);
                let is_entry =
                    rest.entries.binary_search_by(|entry| changed.cmp(&entry.place)).is_ok();
                if is_entry || code.has(now) {
                    return Some(changed);
                }
                if let Some(copy) = copy.get_mut(differs) {
                    *copy = now;
                }
                at = differs + 1;
            }
            from += words * WORD;
        }
        None
    }
}
