//! Walking the stack of native code, in a time that depends on what has changed since the last walk.
//!
//! A walk is determined by what it reads: return addresses at places on the stack, and the frame sizes that
//! belong to them. So the kept walk (see `kept_walk`) is still right if all of its further places hold what
//! they held. Comparing a place takes about a nanosecond; looking up a frame descriptor several.
//!
//! Nothing here panics or allocates: this runs on the program's stack, outside of `stacks`.

use bactrian_ocaml::StackLayout;
use bactrian_ocaml::heap_layout::{callback_link, fiber};

use super::fiber::Fiber;
use super::frames::{Descriptor, Finder};
use super::kept_walk::{Entry, KeptWalk, Rest};

/// Offsets in bytes from the end of a stack chunk to the link that leads on, and to the next chunk.
const CALLBACK_LINK: usize = callback_link::OFFSET as usize;
const PIECE_HEADER: usize = fiber::PIECE_HEADER as usize;

/// Walks the stack of one domain, and keeps its last walk.
pub struct NativeWalker {
    pub walk: KeptWalk,
    finder: Finder,
    layout: StackLayout,
}

/// A place that was read, before it is known whether it belongs to a frame.
fn read(place: usize, content: usize) -> Entry {
    Entry { place, content, code: 0, trap: 0 }
}

/// The slot of a frame; for the innermost frame, that of its allocation.
fn slot(descriptor: Descriptor, allocation: &mut Option<usize>) -> u64 {
    match allocation.take() {
        Some(index) => descriptor.allocation_slot(index) as u64,
        None => descriptor.slot() as u64,
    }
}

/// The innermost place that no longer holds what the kept walk has read there; None if there is none.
///
/// # Safety
/// The entries are of the stack that is being walked, and further out than the walk has come.
#[inline]
unsafe fn changed(rest: Rest<'_>) -> Option<usize> {
    // SAFETY: by the caller.
    let changed = rest
        .entries
        .iter()
        .rev()
        .find(|kept| unsafe { *(kept.place as *const usize) } != kept.content);
    changed.map(|kept| kept.place)
}

impl NativeWalker {
    /// None if there is no memory.
    pub fn new(finder: Finder, layout: StackLayout, depth: usize) -> Option<NativeWalker> {
        Some(NativeWalker { walk: KeptWalk::new(depth)?, finder, layout })
    }

    /// Walks the stack of the domain with this state. If it is for an allocation in OCaml code, `allocation`
    /// is its index among the allocations at the innermost return address.
    ///
    /// # Safety
    /// `state` is the state of the domain that runs on this thread, which has called C from OCaml.
    pub unsafe fn walk(&mut self, state: *const usize, allocation: Option<usize>) {
        // SAFETY: by the caller.
        unsafe {
            match self.layout {
                StackLayout::System { top, bottom, return_address } => {
                    let (top, sp) = (*state.add(top), *state.add(bottom));
                    let kept = self.walk.begin(top);
                    let start = read(0, *state.add(return_address));
                    if sp == 0 {
                        self.walk.end(true)
                    } else {
                        self.outwards(kept, start, sp, allocation)
                    }
                }
                StackLayout::Fibers { current } => match Fiber::at(*state.add(current)) {
                    Some(fiber) => self.fibers(fiber, allocation),
                    None => {
                        self.walk.begin(0);
                        self.walk.end(true);
                    }
                },
            }
        }
    }

    /// Walks OCaml 4's stack outwards from `entry`, a return address that was read.
    ///
    /// # Safety
    /// As for `walk`; `sp` is the stack pointer that belongs to the return address.
    unsafe fn outwards(
        &mut self,
        mut kept: usize,
        mut entry: Entry,
        mut sp: usize,
        mut allocation: Option<usize>,
    ) {
        let mut frames = 0;
        loop {
            // SAFETY: the runtime's own layout of its stack.
            unsafe {
                if let Some(keep) = self.walk.meets(&mut kept, entry, frames, |rest| changed(rest))
                {
                    return self.walk.meet(keep);
                }
                let Some(descriptor) = self.finder.find(entry.content) else { break };
                if let Some(size) = descriptor.frame_size() {
                    let slot = slot(descriptor, &mut allocation);
                    self.walk.push(Entry { code: slot, ..entry });
                    frames += 1;
                    sp += size;
                    let place = sp - 8;
                    entry = read(place, *(place as *const usize));
                } else {
                    // The end of a chunk: a link leads to the chunk that called C.
                    let link = (sp + CALLBACK_LINK) as *const usize;
                    sp = *link;
                    self.walk.push(read(link as usize, sp));
                    if sp == 0 {
                        return self.walk.end(true);
                    }
                    let place = link.add(1);
                    entry = read(place as usize, *place);
                }
            }
            if frames >= self.walk.most() || self.walk.is_full() {
                break;
            }
        }
        self.walk.end(false);
    }

    /// Walks the fibers of OCaml 5, the current one first.
    ///
    /// # Safety
    /// As for `walk`; `fiber` is the current fiber.
    unsafe fn fibers(&mut self, mut fiber: Fiber, mut allocation: Option<usize>) {
        let mut frames = 0;
        // SAFETY: the runtime's own layout of its stacks.
        unsafe {
            let is_alone = fiber.parent().is_none();
            let mut kept = self.walk.begin(if is_alone { fiber.high() } else { 0 });
            loop {
                let (mut place, high) = (fiber.stack_pointer(), fiber.high());
                loop {
                    let entry = read(place, *(place as *const usize));
                    if let Some(keep) =
                        self.walk.meets(&mut kept, entry, frames, |rest| changed(rest))
                    {
                        return self.walk.meet(keep);
                    }
                    let Some(descriptor) = self.finder.find(entry.content) else { break };
                    let mut sp = place + 8;
                    if let Some(size) = descriptor.frame_size() {
                        let slot = slot(descriptor, &mut allocation);
                        self.walk.push(Entry { code: slot, ..entry });
                        frames += 1;
                        sp += size;
                        place = sp - 8;
                    } else {
                        // The end of a chunk. What is above it always has the same layout.
                        self.walk.push(entry);
                        sp += PIECE_HEADER;
                        if sp == high {
                            break;
                        }
                        place = sp;
                    }
                    if frames >= self.walk.most() || self.walk.is_full() {
                        return self.walk.end(false);
                    }
                }
                match fiber.parent() {
                    Some(parent) => fiber = parent,
                    None => return self.walk.end(true),
                }
            }
        }
    }
}

/// Calls `f` with the descriptor of each frame, innermost first, until it returns false.
///
/// # Safety
/// As for [`NativeWalker::walk`].
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
                            let link = (sp + CALLBACK_LINK) as *const usize;
                            (sp, pc) = (*link, *link.add(1));
                        }
                    }
                }
            }
            StackLayout::Fibers { current } => {
                let mut next = Fiber::at(*state.add(current));
                while let Some(fiber) = next {
                    let (mut place, high) = (fiber.stack_pointer(), fiber.high());
                    while let Some(descriptor) = finder.find(*(place as *const usize)) {
                        let sp = place + 8;
                        match descriptor.frame_size() {
                            Some(size) => {
                                if !f(descriptor) {
                                    return;
                                }
                                place = sp + size - 8;
                            }
                            None if sp + PIECE_HEADER == high => break,
                            None => place = sp + PIECE_HEADER,
                        }
                    }
                    next = fiber.parent();
                }
            }
        }
    }
}
