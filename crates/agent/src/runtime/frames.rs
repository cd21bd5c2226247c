//! Frame descriptors: what the compiler records about each return address in OCaml code.
//!
//! They are read in place, by the layout that `ocaml/frames.rs` explains.

use core::ptr;

use bactrian_ocaml::frames::layout;

/// The address of a frame descriptor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Descriptor(*const u8);

impl Descriptor {
    /// # Safety
    /// `address` is that of a descriptor, or null.
    pub unsafe fn at(address: *const u8) -> Option<Descriptor> {
        (!address.is_null()).then_some(Descriptor(address))
    }

    /// The descriptor as a slot of a callstack.
    pub fn slot(self) -> usize {
        self.0 as usize
    }

    fn data(self) -> u16 {
        // SAFETY: see `ocaml/frames.rs` for the layout.
        unsafe { ptr::read_unaligned(self.0.add(layout::DATA).cast()) }
    }

    /// The size of the frame; None at the end of a stack chunk.
    #[inline]
    pub fn frame_size(self) -> Option<usize> {
        layout::frame_size(self.data()).map(usize::from)
    }

    /// The slot for one of the allocations at this return address: its own debug information, if it has some.
    pub fn allocation_slot(self, allocation: usize) -> usize {
        const IS_DEBUGINFO: usize = 2;
        let data = self.data();
        if data & layout::HAS_DEBUG_INFO == 0 || data & layout::HAS_ALLOCATIONS == 0 {
            return self.slot();
        }
        // SAFETY: see `ocaml/frames.rs` for the layout.
        unsafe {
            let live: u16 = ptr::read_unaligned(self.0.add(layout::LIVE_COUNT).cast());
            let count = self.0.add(layout::LIVE + 2 * usize::from(live));
            if allocation >= usize::from(*count) {
                return self.slot();
            }
            let after = count as usize + 1 + usize::from(*count);
            let offset_at = after.next_multiple_of(layout::ALIGNMENT) + 4 * allocation;
            let offset = *(offset_at as *const u32) as usize;
            if offset == 0 { self.slot() } else { (offset_at + offset) | IS_DEBUGINFO }
        }
    }
}

/// How to find descriptors.
#[derive(Clone, Copy)]
pub enum Finder {
    /// OCaml 4: a hash table, given by two variables.
    Table { table: *const *const *const u8, mask: *const usize },
    /// OCaml 5: functions of the runtime.
    Functions {
        tables: extern "C" fn() -> usize,
        find: extern "C" fn(tables: usize, return_address: usize) -> *const u8,
    },
}

// SAFETY: variables and functions of the program, valid for the whole run.
unsafe impl Send for Finder {}
// SAFETY: as above.
unsafe impl Sync for Finder {}

impl Finder {
    /// The descriptor of a return address.
    #[inline]
    pub fn find(&self, return_address: usize) -> Option<Descriptor> {
        match *self {
            // SAFETY: the table has empty entries (null), and each descriptor starts with its return address.
            // Dynlink replaces the table while no other thread runs OCaml code.
            Finder::Table { table, mask } => unsafe {
                let (table, mask) = (*table, *mask);
                let mut at = (return_address >> 3) & mask;
                loop {
                    let descriptor = *table.add(at);
                    if descriptor.is_null() {
                        return None;
                    }
                    if *descriptor.cast::<usize>() == return_address {
                        return Some(Descriptor(descriptor));
                    }
                    at = (at + 1) & mask;
                }
            },
            // SAFETY: the runtime returns a descriptor or null.
            Finder::Functions { tables, find } => unsafe {
                Descriptor::at(find(tables(), return_address))
            },
        }
    }
}
