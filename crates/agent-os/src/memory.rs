//! The agent's own allocator. It never calls the program's malloc: the program may bring its own, the
//! interrupted thread may hold its lock, and the memory that it hands out would count as the program's.
//!
//! Small blocks have sizes of powers of two. They are cut from larger pieces, and kept in free lists when
//! they are freed. Large blocks are mapped one by one.
//!
//! The free lists have a lock, and no thread waits for it long: it may be held by the very thread that asks,
//! if a signal handler has interrupted that thread in here (to end the process, for example, or to fork). A
//! thread that does not get the lock goes on without the lists: a new block is mapped by itself, a freed
//! block is leaked. Both are rare.

use core::alloc::{GlobalAlloc, Layout};
use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::lock;
use crate::sys;

const SMALLEST: usize = 16;
const CLASSES: usize = 12;
/// Larger blocks are mapped by themselves: 32 KiB.
const LARGEST: usize = SMALLEST << (CLASSES - 1);
const PIECE: usize = 1 << 20;
const PAGE: usize = 4096;
/// How often a thread spins for the lock. The holder needs only some instructions, unless it has left by a
/// jump.
const PATIENCE: usize = 10_000;
/// No thread holds the lists.
const NOBODY: u64 = 0;

struct Free {
    lists: [*mut u8; CLASSES],
    piece: *mut u8,
    left: usize,
}

/// The allocator, for `#[global_allocator]`.
pub struct Memory {
    /// The thread that uses the lists.
    holder: AtomicU64,
    free: UnsafeCell<Free>,
}

// SAFETY: only the thread that has become the holder uses `free`.
unsafe impl Sync for Memory {}

impl Memory {
    /// An allocator without memory yet.
    pub const fn new() -> Memory {
        let lists = [ptr::null_mut(); CLASSES];
        Memory {
            holder: AtomicU64::new(NOBODY),
            free: UnsafeCell::new(Free { lists, piece: ptr::null_mut(), left: 0 }),
        }
    }

    /// Runs `f` on the lists; returns None if they cannot be had.
    fn with<T>(&self, f: impl FnOnce(&mut Free) -> T) -> Option<T> {
        let me = lock::me();
        for _ in 0..PATIENCE {
            match self.holder.compare_exchange(NOBODY, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => {
                    // SAFETY: no other thread uses the lists now.
                    let result = f(unsafe { &mut *self.free.get() });
                    self.holder.store(NOBODY, Ordering::Release);
                    return Some(result);
                }
                // The holder is this thread, interrupted: it cannot go on before we return.
                Err(holder) if holder == me => return None,
                Err(_) => core::hint::spin_loop(),
            }
        }
        None
    }
}

/// The list for blocks of this layout; None if they are mapped by themselves. The size class implies the
/// alignment.
fn class(layout: Layout) -> Option<usize> {
    let size = layout.size().max(layout.align()).max(SMALLEST).next_power_of_two();
    (size <= LARGEST).then(|| (size / SMALLEST).trailing_zeros() as usize)
}

fn pages(size: usize) -> usize {
    size.next_multiple_of(PAGE)
}

impl Free {
    fn take(&mut self, class: usize) -> *mut u8 {
        let head = self.lists[class];
        if !head.is_null() {
            // SAFETY: a free block holds the address of the next one.
            self.lists[class] = unsafe { *head.cast::<*mut u8>() };
            return head;
        }
        let size = SMALLEST << class;
        if self.left < size {
            // The rest of the old piece, less than one block, is lost.
            let Ok(piece) = sys::map(PIECE) else { return ptr::null_mut() };
            (self.piece, self.left) = (piece, PIECE);
        }
        self.left -= size;
        // Blocks are cut from the end of the piece. A block of 2^n bytes is aligned only if the offset is a
        // multiple of 2^n, which it need not be after smaller blocks: round down.
        self.left -= self.left % size;
        // SAFETY: within the piece.
        unsafe { self.piece.add(self.left) }
    }
}

// SAFETY: blocks are disjoint, at least as long as asked for, and aligned: pieces are page-aligned, and each
// block starts at a multiple of its size.
unsafe impl GlobalAlloc for Memory {
    // SAFETY: duties are the trait's.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match class(layout) {
            // As long as a block of its list, so that it can go there when it is freed.
            Some(class) => self
                .with(|free| free.take(class))
                .unwrap_or_else(|| sys::map(pages(SMALLEST << class)).unwrap_or(ptr::null_mut())),
            None => sys::map(pages(layout.size())).unwrap_or(ptr::null_mut()),
        }
    }

    // SAFETY: duties are the trait's.
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        match class(layout) {
            Some(class) => {
                self.with(|free| {
                    // SAFETY: the block is ours again and has room for an address.
                    unsafe { *block.cast::<*mut u8>() = free.lists[class] };
                    free.lists[class] = block;
                });
            }
            // SAFETY: mapped by `alloc` or `realloc` with this size.
            None => unsafe { sys::unmap(block, pages(layout.size())) },
        }
    }

    // SAFETY: duties are the trait's.
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller vouches for size and alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        match (class(layout), class(new)) {
            (Some(before), Some(after)) if before == after => block,
            // SAFETY: mapped by `alloc` or `realloc` with this size.
            (None, None) => unsafe {
                sys::remap(block, pages(layout.size()), pages(size)).unwrap_or(ptr::null_mut())
            },
            _ => {
                // SAFETY: the layouts are those of the two blocks.
                unsafe {
                    let copy = self.alloc(new);
                    if !copy.is_null() {
                        ptr::copy_nonoverlapping(block, copy, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    copy
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::thread;

    /// Allocates, fills, enlarges and frees blocks of many sizes, and checks that each keeps its contents.
    fn exercise(memory: &Memory, seed: u8) {
        let mut blocks = Vec::new();
        for step in 0..2000usize {
            let size = 1 + (step * 7919) % 70_000;
            let layout = Layout::from_size_align(size, 1 << (step % 5)).expect("a layout");
            // SAFETY: sizes are not 0, and layouts are those of the blocks.
            unsafe {
                let block = memory.alloc(layout);
                assert!(!block.is_null() && (block as usize).is_multiple_of(layout.align()));
                block.write_bytes(seed, size);
                blocks.push((block, layout));
                if step % 3 == 0 {
                    let (old, layout) = blocks.swap_remove(step % blocks.len());
                    let larger = layout.size() * 2;
                    let new = memory.realloc(old, layout, larger);
                    let kept = core::slice::from_raw_parts(new, layout.size());
                    assert!(kept.iter().all(|byte| *byte == seed));
                    let layout = Layout::from_size_align(larger, layout.align()).expect("a layout");
                    memory.dealloc(new, layout);
                }
            }
        }
        for (block, layout) in blocks {
            // SAFETY: as above.
            unsafe {
                let kept = core::slice::from_raw_parts(block, layout.size());
                assert!(kept.iter().all(|byte| *byte == seed));
                memory.dealloc(block, layout);
            }
        }
    }

    #[test]
    fn blocks_of_several_threads_do_not_overlap() {
        static MEMORY: Memory = Memory::new();
        thread::scope(|scope| {
            for seed in 1..4 {
                scope.spawn(move || exercise(&MEMORY, seed));
            }
        });
    }

    #[test]
    fn a_freed_block_is_the_next_of_its_size() {
        let memory = Memory::new();
        let layout = Layout::from_size_align(100, 8).expect("a layout");
        // SAFETY: layouts are those of the blocks.
        unsafe {
            let first = memory.alloc(layout);
            memory.dealloc(first, layout);
            assert_eq!(memory.alloc(layout), first);
        }
    }

    #[test]
    fn a_thread_interrupted_while_holding_the_free_lists_still_gets_memory() {
        let memory = Memory::new();
        memory.holder.store(lock::me(), Ordering::Relaxed);
        let layout = Layout::from_size_align(100, 8).expect("a layout");
        // SAFETY: layouts are those of the blocks.
        unsafe {
            let block = memory.alloc(layout);
            assert!(!block.is_null());
            block.write_bytes(1, 100);
            memory.dealloc(block, layout);
        }
    }
}
