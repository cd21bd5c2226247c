//! The last walk of a stack, kept so that the next one costs what changed.
//!
//! # The problem
//! When every allocation is recorded, each wants its stack, and stacks are deep: collecting them anew costs
//! far more than everything else. But from one allocation to the next most of a stack stays.
//!
//! # The idea
//! A walk is determined by what it reads. We keep the last walk as a list of (place, what was read there). A new walk
//! goes outwards from the innermost frame until it comes to a place of the list with the same content; if now
//! everything further out that the kept walk has read is unchanged, the rest of the walk would be the same, and is not
//! done. What that is depends on the stack: `walk` has native code's, `interpreter_walk` the interpreter's.
//!
//! # Invariants
//! - Entries are in the order outermost first; their places are in descending order, as the stack grows
//!   downwards. So what is below the place the walk has come to cannot be met any more.
//! - All entries are of one stack, known by its top. If that changes (another thread, a stack that grew),
//!   the list is forgotten: its places may be gone. Entries with other fibers in between are not kept.
//! - The innermost frame is not kept: its slot depends on the allocation, not only on the return address.
//! - Nothing here panics or allocates: this runs on the program's stack, outside of `stacks`.

use bactrian_agent_os::sys;

/// A list in a piece of memory of its own, of a fixed length.
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
        // SAFETY: so many items were written.
        unsafe { core::slice::from_raw_parts(self.items, self.length) }
    }

    pub fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

/// Something that a walk has read.
#[derive(Clone, Copy)]
pub struct Entry {
    pub place: usize,
    pub content: usize,
    /// The frame's code; 0 if this is no frame, but something that leads on to others.
    pub code: u64,
    /// What the rest of the walk depends on besides the stack: the next trap frame, in bytecode.
    pub trap: usize,
}

/// An entry of the kept walk.
#[derive(Clone, Copy)]
pub struct Kept {
    pub place: usize,
    pub content: usize,
    trap: usize,
    /// Frames up to here, this one included.
    frames: usize,
}

/// What must be unchanged for the kept walk to go on as it went.
pub struct Rest<'a> {
    /// Entries, outermost first, the one that was met being the last.
    pub entries: &'a [Kept],
    /// The walk goes to the end of the stack, which is further out than its last entry.
    pub to_the_end: bool,
}

/// The stack of one domain, as last walked.
pub struct KeptWalk {
    depth: usize,
    /// Frames of one walk, if it can be kept.
    ahead: usize,
    kept: List<Kept>,
    /// Codes of the kept frames and of the innermost one, outermost first.
    codes: List<u64>,
    /// Where the walk goes, innermost first.
    fresh: List<Entry>,
    /// The stack that the kept entries are of; 0 for none.
    stack: usize,
    /// The kept walk reaches the outermost frame.
    is_complete: bool,
    /// Frames that have stayed since `mark_written`.
    unchanged: usize,
}

/// Walks go this much further than is asked for, so that a deep recursion that returns does not need a whole
/// walk for each frame.
const AHEAD: usize = 4;
/// Lists are not made for fewer frames than this.
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
            fresh: List::new(2 * ahead)?,
            stack: 0,
            is_complete: false,
            unchanged: 0,
        })
    }

    /// Frames after which a walk may stop.
    #[inline]
    pub fn most(&self) -> usize {
        if self.stack == 0 { self.depth } else { self.ahead }
    }

    /// Frames after which a walk that is kept stops.
    pub fn ahead(&self) -> usize {
        self.ahead
    }

    /// The innermost frames, as many as were asked for, outermost first; and how many of them, from the
    /// outermost, are those of the stack that was last marked as written.
    pub fn stack(&self) -> (&[u64], usize) {
        let codes = self.codes.as_slice();
        match codes.len().checked_sub(self.depth) {
            None | Some(0) => (codes, self.unchanged),
            // The window slides over the stack: the frames may be the same, their places are not.
            Some(more) => (codes.get(more..).unwrap_or_default(), 0),
        }
    }

    /// From now on, what is unchanged is counted against the stack as it is; or, if another stack was
    /// written, against none.
    pub fn mark_written(&mut self, this_stack: bool) {
        let whole = this_stack && self.codes.length <= self.depth;
        self.unchanged = if whole { self.codes.length } else { 0 };
    }

    /// Begins a walk: makes the kept one of use for a stack, or forgets it; gives the number of its entries. A stack of 0
    /// is none that can be kept.
    pub fn begin(&mut self, stack: usize) -> usize {
        self.fresh.truncate(0);
        if self.stack != stack || stack == 0 {
            self.kept.truncate(0);
        }
        self.stack = stack;
        // Near the end of its room the list begins anew, rather than losing what comes.
        let room = self.fresh.room;
        if self.kept.length + room > self.kept.room || self.codes.length + room > self.codes.room {
            self.kept.truncate(0);
        }
        self.kept.length
    }

    /// Sets down what the walk has read.
    #[inline]
    pub fn push(&mut self, entry: Entry) {
        self.fresh.push(entry);
    }

    #[inline]
    pub fn is_full(&self) -> bool {
        self.fresh.is_full()
    }

    /// The walk has met the kept one, of which so many entries stay.
    pub fn meet(&mut self, keep: usize) {
        self.finish(keep);
    }

    /// The walk has come to the end of the stack, or else has gone far enough.
    pub fn end(&mut self, is_complete: bool) {
        self.is_complete = is_complete;
        self.finish(0);
    }

    /// The next walk is done from the beginning.
    pub fn forget(&mut self) {
        self.stack = 0;
    }

    /// Takes over what is fresh, on top of the first entries of the kept walk.
    fn finish(&mut self, keep: usize) {
        self.kept.truncate(keep);
        let mut frames = self.kept.as_slice().last().map_or(0, |entry| entry.frames);
        self.codes.truncate(frames);
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

    /// Whether the walk, which has come to `entry` after so many frames, meets the kept one, and goes on as
    /// it went; then how many entries of it stay. `kept` counts those that can still be met. `changed` says where
    /// something has changed in what must not, if anything has.
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
        // Only so many frames are wanted; those further out may be anything for now.
        let beyond = (last.frames + frames).saturating_sub(self.depth);
        if beyond == 0 && !self.is_complete {
            // Too few, and the kept walk does not say what is further out.
            return None;
        }
        let first = match beyond.checked_sub(1) {
            None => 0,
            // Mostly all entries are frames.
            Some(at) if entries.get(at).is_some_and(|entry| entry.frames == beyond) => at,
            Some(_) => entries.partition_point(|entry| entry.frames < beyond),
        };
        let rest = Rest { entries: entries.get(first..)?, to_the_end: beyond == 0 };
        let Some(place) = changed(rest) else { return Some(*kept) };
        // Nor does it hold for what is between here and there.
        *kept = further_out(entries, place.saturating_add(1));
        None
    }
}

/// How many entries there are without those below a place.
#[inline]
fn further_out(entries: &[Kept], place: usize) -> usize {
    entries.iter().rposition(|entry| entry.place >= place).map_or(0, |last| last + 1)
}
