//! The last walk of a stack, kept so that the next one takes a time that depends on what has changed.
//!
//! # The problem
//! When every allocation is recorded, each wants its stack, and stacks are deep: collecting each from scratch
//! costs far more than everything else. But from one allocation to the next most of a stack stays.
//!
//! # The idea
//! A walk is determined by what it reads. We keep the last walk as a list of pairs (place, what was read
//! there). A new walk goes outwards from the innermost frame until it comes to a place of the list with the
//! same content. If everything further out that the kept walk has read is also unchanged, the rest of the
//! walk would be the same, and is skipped. How to check that depends on the stack: `walk` does it for native
//! code, `interpreter_walk` for the interpreter.
//!
//! # Invariants
//! - Entries are ordered outermost first; their places are in descending order, as the stack grows downwards.
//!   So entries below the place that the walk has reached can no longer be met.
//! - All entries are of one stack, which is identified by its top. If that changes (another thread, a stack
//!   that has grown), the list is dropped: its places may no longer exist. Walks over several fibers are not
//!   kept.
//! - The innermost frame is not kept: its slot depends on the allocation, not only on the return address.
//! - Nothing here panics or allocates: this runs on the program's stack, outside of `stacks`.

use bactrian_agent_os::sys;

/// A list of fixed capacity, in memory of its own.
pub struct List<T> {
    items: *mut T,
    length: usize,
    room: usize,
}

impl<T: Copy> List<T> {
    /// None if there is no memory.
    pub fn new(room: usize) -> Option<List<T>> {
        let items = sys::map(room * size_of::<T>()).ok()?.cast();
        Some(List { items, length: 0, room })
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.length == self.room
    }

    /// Does nothing if the list is full.
    #[inline]
    pub fn push(&mut self, item: T) {
        if self.length < self.room {
            // SAFETY: within the memory.
            unsafe { self.items.add(self.length).write(item) };
            self.length += 1;
        }
    }

    pub fn as_slice(&self) -> &[T] {
        // SAFETY: that many items have been written.
        unsafe { core::slice::from_raw_parts(self.items, self.length) }
    }

    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

/// Something that a walk has read: a place on the stack and its content.
#[derive(Clone, Copy)]
pub struct Entry {
    pub place: usize,
    pub content: usize,
    /// The frame's code; 0 if this is not a frame, but a link to further frames.
    pub code: u64,
    /// What the rest of the walk depends on besides the stack: in bytecode, the address of the next trap
    /// frame.
    pub trap: usize,
}

/// An entry of the kept walk.
#[derive(Clone, Copy)]
pub struct Kept {
    pub place: usize,
    pub content: usize,
    trap: usize,
    /// The number of frames from the outermost up to and including this entry.
    frames: usize,
}

/// What must be unchanged for the rest of the kept walk to be valid.
pub struct Rest<'a> {
    /// Entries, outermost first, up to and including the one that was met.
    pub entries: &'a [Kept],
    /// Whether the walk goes to the end of the stack, which is further out than its outermost entry.
    pub to_the_end: bool,
}

/// The last walk of one domain's stack.
pub struct KeptWalk {
    depth: usize,
    /// The number of frames after which a walk that can be kept stops.
    ahead: usize,
    kept: List<Kept>,
    /// Codes of the kept frames followed by that of the innermost one, outermost first.
    codes: List<u64>,
    /// For each of these codes the position from which on all codes up to it are the same: a recursion. Only as far as
    /// that was needed.
    repeated_from: List<usize>,
    /// What the current walk has read, innermost first.
    fresh: List<Entry>,
    /// The stack that the kept entries are of; 0 for none.
    stack: usize,
    /// Whether the kept walk reaches the outermost frame.
    is_complete: bool,
    /// The number of outer frames that have not changed since `mark_written`.
    unchanged: usize,
    /// The outermost frames of the written stack and of the last one, if these were windows.
    written: Repeated,
    outermost: Repeated,
}

/// Frames with the same code.
#[derive(Clone, Copy, Default)]
struct Repeated {
    code: u64,
    frames: usize,
}

/// Walks go this many times further than asked for, so that a deep recursion that returns does not need a
/// full walk for each frame.
const AHEAD: usize = 4;
/// The smallest depth for which lists are sized.
const LEAST: usize = 64;

impl KeptWalk {
    /// None if there is no memory.
    pub fn new(depth: usize) -> Option<KeptWalk> {
        let ahead = depth.max(LEAST) * AHEAD;
        Some(KeptWalk {
            depth,
            ahead,
            kept: List::new(4 * ahead)?,
            codes: List::new(4 * ahead)?,
            repeated_from: List::new(4 * ahead)?,
            fresh: List::new(2 * ahead)?,
            stack: 0,
            is_complete: false,
            unchanged: 0,
            written: Repeated::default(),
            outermost: Repeated::default(),
        })
    }

    /// The number of frames after which the current walk may stop.
    #[inline]
    pub fn most(&self) -> usize {
        if self.stack == 0 { self.depth } else { self.ahead }
    }

    /// The number of frames after which a walk that is kept stops.
    pub fn ahead(&self) -> usize {
        self.ahead
    }

    /// The innermost frames, as many as were asked for, outermost first; and how many of them, from the
    /// outermost, are the same as in the stack that was last marked as written.
    #[inline]
    pub fn stack(&mut self) -> (&[u64], usize) {
        match self.window() {
            None => (self.codes.as_slice(), self.unchanged),
            Some(window) => {
                let unchanged = self.unchanged_in(window);
                (self.codes.as_slice().get(window..).unwrap_or_default(), unchanged)
            }
        }
    }

    /// How many outer frames of a window are certain to be the same as in the written one. The window slides over the
    /// stack: even if frames are the same, their positions are not. But those of a recursion look the same at every
    /// position.
    #[inline(never)]
    fn unchanged_in(&mut self, window: usize) -> usize {
        self.outermost = self.outermost_from(window);
        match self.outermost.code == self.written.code {
            true => self.outermost.frames.min(self.written.frames),
            false => 0,
        }
    }

    /// From now on, unchanged frames are counted relative to this stack; or, if another stack was written,
    /// there are none.
    pub fn mark_written(&mut self, this_stack: bool) {
        (self.unchanged, self.written) = match self.window() {
            _ if !this_stack => Default::default(),
            None => (self.codes.length, Repeated::default()),
            Some(_) => (0, self.outermost),
        };
    }

    /// Where the window of the innermost frames begins, if there are more frames than were asked for.
    fn window(&self) -> Option<usize> {
        self.codes.length.checked_sub(self.depth).filter(|more| *more > 0)
    }

    /// The frames from here on with the same code.
    fn outermost_from(&mut self, from: usize) -> Repeated {
        let codes = self.codes.as_slice();
        let code = codes.get(from).copied().unwrap_or(0);
        let mut beginning = self.repeated_from.as_slice().last().copied().unwrap_or(0);
        for at in self.repeated_from.length..codes.len() {
            if at == 0 || codes.get(at) != codes.get(at - 1) {
                beginning = at;
            }
            self.repeated_from.push(beginning);
        }
        let beginnings = self.repeated_from.as_slice().get(from..).unwrap_or_default();
        let is_repeated = |beginning: &usize| *beginning <= from;
        // A recursion mostly reaches almost to the innermost frame, so the search begins there.
        let mut back = 1;
        while beginnings.iter().nth_back(back - 1).is_some_and(|beginning| !is_repeated(beginning))
        {
            back *= 2;
        }
        let near = beginnings.len().saturating_sub(back);
        let rest = beginnings.get(near..).unwrap_or_default();
        Repeated { code, frames: near + rest.partition_point(is_repeated) }
    }

    /// Begins a walk of a stack: drops the kept walk if it is of another stack, and returns the number of its
    /// entries. The stack 0 stands for one that cannot be kept.
    pub fn begin(&mut self, stack: usize) -> usize {
        self.fresh.truncate(0);
        if self.stack != stack || stack == 0 {
            self.kept.truncate(0);
        }
        self.stack = stack;
        // Near the end of its capacity the list starts from scratch, rather than dropping new entries.
        let room = self.fresh.room;
        if self.kept.length + room > self.kept.room || self.codes.length + room > self.codes.room {
            self.kept.truncate(0);
        }
        self.kept.length
    }

    /// Records what the walk has read.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        self.fresh.push(entry);
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.fresh.is_full()
    }

    /// The walk has met the kept one, of which the first `keep` entries stay.
    pub fn meet(&mut self, keep: usize) {
        self.finish(keep);
    }

    /// The walk has reached the end of the stack (`is_complete`), or has gone far enough.
    pub fn end(&mut self, is_complete: bool) {
        self.is_complete = is_complete;
        self.finish(0);
    }

    /// Makes the next walk start from scratch.
    pub fn forget(&mut self) {
        self.stack = 0;
    }

    /// Appends the fresh entries to the first `keep` entries of the kept walk.
    fn finish(&mut self, keep: usize) {
        self.kept.truncate(keep);
        let mut frames = self.kept.as_slice().last().map_or(0, |entry| entry.frames);
        self.codes.truncate(frames);
        self.repeated_from.truncate(frames);
        self.unchanged = self.unchanged.min(frames);
        let innermost = self.fresh.as_slice().iter().position(|entry| entry.code != 0);
        for (at, entry) in self.fresh.as_slice().iter().enumerate().rev() {
            if entry.code != 0 {
                frames += 1;
                self.codes.push(entry.code);
            }
            if Some(at) > innermost {
                let Entry { place, content, trap, .. } = *entry;
                self.kept.push(Kept { place, content, trap, frames });
            }
        }
    }

    /// Whether the walk, which has come to `entry` after this many frames, meets the kept one, whose rest is
    /// still valid; then returns how many of its entries stay. `kept` counts the entries that can still be
    /// met. `changed` returns a place at which something that the rest depends on has changed, if there is
    /// one.
    #[inline]
    pub fn meets(
        &self,
        kept: &mut usize,
        entry: Entry,
        frames: usize,
        changed: impl FnOnce(Rest<'_>) -> Option<usize>,
    ) -> Option<usize> {
        if frames == 0 {
            return None;
        }
        let entries = self.kept.as_slice().get(..*kept)?;
        *kept = further_out(entries, entry.place);
        let entries = entries.get(..*kept)?;
        let last = entries.last()?;
        if (last.place, last.content, last.trap) != (entry.place, entry.content, entry.trap) {
            return None;
        }
        // Only `depth` frames are wanted; what is further out may be anything for now.
        let beyond = (last.frames + frames).saturating_sub(self.depth);
        if beyond == 0 && !self.is_complete {
            // Too few frames, and the kept walk does not say what is further out.
            return None;
        }
        let first = match beyond.checked_sub(1) {
            None => 0,
            // Usually all entries are frames.
            Some(at) if entries.get(at).is_some_and(|entry| entry.frames == beyond) => at,
            Some(_) => entries.partition_point(|entry| entry.frames < beyond),
        };
        let rest = Rest { entries: entries.get(first..)?, to_the_end: beyond == 0 };
        let Some(place) = changed(rest) else { return Some(*kept) };
        // The rest is invalid for all entries from here to that place.
        *kept = further_out(entries, place.saturating_add(1));
        None
    }
}

/// How many entries are at or above a place.
#[inline]
fn further_out(entries: &[Kept], place: usize) -> usize {
    entries.iter().rposition(|entry| entry.place >= place).map_or(0, |last| last + 1)
}
