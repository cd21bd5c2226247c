//! Walking the stack of the program, at the cost of what changed.
//!
//! # The problem
//! When every allocation is recorded, each wants its stack, and stacks are deep: collecting them anew costs
//! far more than everything else. But from one allocation to the next most of a stack stays.
//!
//! # The idea
//! A walk is determined by what it reads: return addresses at places on the stack, and the frame sizes that
//! belong to them. We keep the last walk as a list of (place, what was read there). A new walk goes outwards
//! from the innermost frame until it comes to a place of the list with the same content; if now all further
//! places of the list still hold what they held, the rest of the walk would be the same, and is not done.
//! Comparing a place costs about a nanosecond; looking up a frame descriptor several.
//!
//! # Invariants
//! - Entries are in the order outermost first; their places are in descending order, as the stack grows
//!   downwards. So what is below the place the walk has come to cannot be met any more.
//! - All entries are of one stack, known by its top. If that changes (another thread, a fiber that grew),
//!   the list is forgotten: its places may be gone. Entries with other fibers in between are not kept.
//! - The innermost frame is not kept: its slot depends on the allocation, not only on the return address.
//! - Nothing here panics or allocates: this runs on the program's stack, outside of `stacks`.

use bactrian_agent_os::sys;
use bactrian_ocaml::StackLayout;

use super::frames::{Descriptor, Finder};

/// A list in a piece of memory of its own, of a fixed length.
struct List<T> {
    items: *mut T,
    length: usize,
    room: usize,
}

impl<T: Copy> List<T> {
    fn new(room: usize) -> Option<List<T>> {
        let items = sys::map(room * size_of::<T>()).ok()?.cast();
        Some(List { items, length: 0, room })
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.length == self.room
    }

    /// Does nothing if the list is full.
    #[inline]
    fn push(&mut self, item: T) {
        if self.length < self.room {
            // SAFETY: within the memory.
            unsafe { self.items.add(self.length).write(item) };
            self.length += 1;
        }
    }

    fn as_slice(&self) -> &[T] {
        // SAFETY: so many items were written.
        unsafe { core::slice::from_raw_parts(self.items, self.length) }
    }

    fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

/// Something that a walk has read.
#[derive(Clone, Copy)]
struct Entry {
    place: usize,
    content: usize,
    /// The frame's code; 0 if this is a link between pieces of stack.
    code: u64,
}

/// An entry of the kept walk.
#[derive(Clone, Copy)]
struct Kept {
    place: usize,
    content: usize,
    /// Frames up to here, this one included.
    frames: usize,
}

/// The stack of one domain, as last walked.
pub struct Walker {
    finder: Finder,
    layout: StackLayout,
    depth: usize,
    /// Frames of one walk.
    most: usize,
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

impl Walker {
    /// None if there is no memory.
    pub fn new(finder: Finder, layout: StackLayout, depth: usize) -> Option<Walker> {
        let ahead = depth.max(LEAST) * AHEAD;
        Some(Walker {
            finder,
            layout,
            depth,
            most: ahead,
            kept: List::new(4 * ahead)?,
            codes: List::new(4 * ahead)?,
            fresh: List::new(2 * ahead)?,
            stack: 0,
            is_complete: false,
            unchanged: 0,
        })
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

    /// Walks the stack of the domain with this state; `allocation` is which of the allocations at the
    /// innermost return address it is for, if it is for one of OCaml code.
    ///
    /// # Safety
    /// `state` is the state of the domain that runs on this thread, which has come to C from OCaml.
    pub unsafe fn walk(&mut self, state: *const usize, allocation: Option<usize>) {
        self.fresh.truncate(0);
        // SAFETY: by the caller.
        unsafe {
            match self.layout {
                StackLayout::System { top, bottom, return_address } => {
                    let (top, sp) = (*state.add(top), *state.add(bottom));
                    let start = Entry { place: 0, content: *state.add(return_address), code: 0 };
                    if sp == 0 {
                        self.finish(None)
                    } else {
                        self.outwards(start, sp, top, allocation)
                    }
                }
                StackLayout::Fibers { current } => {
                    self.fibers(*state.add(current) as *const Fiber, allocation);
                }
            }
        }
    }

    /// Takes over what is fresh, on top of the first `keep` entries of the kept walk, or anew.
    fn finish(&mut self, keep: Option<usize>) {
        let kept = keep.unwrap_or(0);
        self.kept.truncate(kept);
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
                self.kept.push(Kept { place: entry.place, content: entry.content, frames });
            }
        }
    }

    /// From `entry`, a return address that was read, outwards in OCaml 4's stack.
    ///
    /// # Safety
    /// As for `walk`; `sp` is the stack pointer that belongs to the return address.
    unsafe fn outwards(
        &mut self,
        mut entry: Entry,
        mut sp: usize,
        top: usize,
        mut allocation: Option<usize>,
    ) {
        let mut kept = self.begin(top);
        let mut frames = 0;
        loop {
            // SAFETY: the runtime's own layout of its stack.
            unsafe {
                if let Some(keep) = self.meets(&mut kept, entry, frames) {
                    return self.finish(Some(keep));
                }
                let Some(descriptor) = self.finder.find(entry.content) else { break };
                if let Some(size) = descriptor.frame_size() {
                    let slot = match allocation.take() {
                        Some(index) => descriptor.allocation_slot(index),
                        None => descriptor.slot(),
                    };
                    self.fresh.push(Entry { code: slot as u64, ..entry });
                    frames += 1;
                    sp += size;
                    let place = sp - 8;
                    entry = Entry { place, content: *(place as *const usize), code: 0 };
                } else {
                    // The end of a piece: a link leads to the piece that called C.
                    let link = (sp + 16) as *const usize;
                    sp = *link;
                    self.fresh.push(Entry { place: link as usize, content: sp, code: 0 });
                    if sp == 0 {
                        self.is_complete = true;
                        return self.finish(None);
                    }
                    let place = link.add(1);
                    entry = Entry { place: place as usize, content: *place, code: 0 };
                }
            }
            if frames >= self.most || self.fresh.is_full() {
                break;
            }
        }
        self.is_complete = false;
        self.finish(None);
    }

    /// The walk of OCaml 5's fibers, the current one first.
    ///
    /// # Safety
    /// As for `walk`; `fiber` is the current fiber.
    unsafe fn fibers(&mut self, mut fiber: *const Fiber, mut allocation: Option<usize>) {
        let mut frames = 0;
        // SAFETY: the runtime's own layout of its stacks.
        unsafe {
            let alone = (*(*fiber).handler).parent.is_null();
            let mut kept = self.begin(if alone { (*fiber).handler as usize } else { 0 });
            'fibers: loop {
                let mut place = (*fiber).sp;
                let high = (*fiber).handler as usize;
                loop {
                    let entry = Entry { place, content: *(place as *const usize), code: 0 };
                    if let Some(keep) = self.meets(&mut kept, entry, frames) {
                        return self.finish(Some(keep));
                    }
                    let Some(descriptor) = self.finder.find(entry.content) else { break };
                    let mut sp = place + 8;
                    if let Some(size) = descriptor.frame_size() {
                        let slot = match allocation.take() {
                            Some(index) => descriptor.allocation_slot(index),
                            None => descriptor.slot(),
                        };
                        self.fresh.push(Entry { code: slot as u64, ..entry });
                        frames += 1;
                        sp += size;
                        place = sp - 8;
                    } else {
                        // The end of a piece. What it is above is always kept in the same way.
                        self.fresh.push(entry);
                        sp += STACK_HEADER;
                        if sp == high {
                            break;
                        }
                        place = sp;
                    }
                    if frames >= self.most || self.fresh.is_full() {
                        self.is_complete = false;
                        break 'fibers;
                    }
                }
                fiber = (*high_handler(high)).parent;
                if fiber.is_null() {
                    self.is_complete = true;
                    break;
                }
            }
        }
        self.finish(None);
    }

    /// Makes the kept walk of use for a stack, or forgets it; gives the number of its entries.
    fn begin(&mut self, stack: usize) -> usize {
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

    /// Whether the walk, which has come to `entry` after so many frames, meets the kept one, and goes on as
    /// it went; then how many entries of it stay. `kept` counts those that can still be met.
    ///
    /// # Safety
    /// The stack that the entries are of is the one that is being walked.
    #[inline]
    unsafe fn meets(&self, kept: &mut usize, entry: Entry, frames: usize) -> Option<usize> {
        if frames == 0 {
            return None;
        }
        let mut entries = self.kept.as_slice().get(..*kept)?;
        while let Some((last, rest)) = entries.split_last()
            && last.place < entry.place
        {
            entries = rest;
        }
        *kept = entries.len();
        let last = entries.last()?;
        if last.place != entry.place || last.content != entry.content {
            return None;
        }
        let known = last.frames;
        // Only so many frames are wanted; those further out may be anything for now.
        let beyond = (known + frames).saturating_sub(self.depth);
        if beyond == 0 && !self.is_complete {
            // Too few, and the kept walk does not say what is further out.
            return None;
        }
        let mut wanted = entries.iter().rev().take_while(|entry| entry.frames >= beyond);
        // SAFETY: places on the stack that is being walked, further out than where it is.
        let holds = |kept: &Kept| unsafe { *(kept.place as *const usize) } == kept.content;
        wanted.all(holds).then_some(*kept)
    }
}

/// OCaml 5's record of a stack.
#[repr(C)]
struct Fiber {
    sp: usize,
    exception_pointer: usize,
    handler: *const Handler,
}

/// At the high end of a stack.
#[repr(C)]
struct Handler {
    value: usize,
    exception: usize,
    effect: usize,
    parent: *const Fiber,
}

fn high_handler(high: usize) -> *const Handler {
    high as *const Handler
}

/// What OCaml 5 pushes between pieces of a stack.
const STACK_HEADER: usize = 32;

/// Calls `f` with the descriptor of each frame, innermost first, until it says no.
///
/// # Safety
/// As for [`Walker::walk`].
pub unsafe fn each_frame(
    finder: &Finder,
    layout: StackLayout,
    state: *const usize,
    mut f: impl FnMut(Descriptor) -> bool,
) {
    // SAFETY: by the caller, and the runtime's own layout of its stacks.
    unsafe {
        match layout {
            StackLayout::System { bottom, return_address, .. } => {
                let (mut sp, mut pc) = (*state.add(bottom), *state.add(return_address));
                while sp != 0 {
                    let Some(descriptor) = finder.find(pc) else { return };
                    match descriptor.frame_size() {
                        Some(size) => {
                            if !f(descriptor) {
                                return;
                            }
                            sp += size;
                            pc = *((sp - 8) as *const usize);
                        }
                        None => {
                            let link = (sp + 16) as *const usize;
                            (sp, pc) = (*link, *link.add(1));
                        }
                    }
                }
            }
            StackLayout::Fibers { current } => {
                let mut fiber = *state.add(current) as *const Fiber;
                while !fiber.is_null() {
                    let high = (*fiber).handler as usize;
                    let mut place = (*fiber).sp;
                    while let Some(descriptor) = finder.find(*(place as *const usize)) {
                        let sp = place + 8;
                        match descriptor.frame_size() {
                            Some(size) => {
                                if !f(descriptor) {
                                    return;
                                }
                                place = sp + size - 8;
                            }
                            None if sp + STACK_HEADER == high => break,
                            None => place = sp + STACK_HEADER,
                        }
                    }
                    fiber = (*high_handler(high)).parent;
                }
            }
        }
    }
}
