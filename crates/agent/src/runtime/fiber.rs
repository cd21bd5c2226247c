//! A fiber of OCaml 5: a stack, and the parent fiber that waits for it.

use bactrian_ocaml::heap_layout::fiber::{HANDLER, PARENT, STACK_POINTER};

/// The address of the runtime's record of a fiber (struct stack_info).
#[derive(Clone, Copy)]
pub struct Fiber(*const usize);

impl Fiber {
    /// None if the address is 0.
    ///
    /// # Safety
    /// The address is 0, or that of a fiber that exists as long as the result is used.
    #[inline]
    pub unsafe fn at(address: usize) -> Option<Fiber> {
        (address != 0).then_some(Fiber(address as *const usize))
    }

    /// The stack pointer that was saved when the fiber was left.
    #[inline]
    pub fn stack_pointer(self) -> usize {
        // SAFETY: it is a fiber, with the layout that all runtimes with fibers have.
        unsafe { *self.0.add(STACK_POINTER) }
    }

    /// The high end of its stack, where its handler is stored.
    #[inline]
    pub fn high(self) -> usize {
        // SAFETY: as above.
        unsafe { *self.0.add(HANDLER) }
    }

    /// The fiber that waits for this one.
    #[inline]
    pub fn parent(self) -> Option<Fiber> {
        // SAFETY: as above; the handler is at the high end, and its parent is a fiber or null.
        unsafe { Fiber::at(*(self.high() as *const usize).add(PARENT)) }
    }
}
