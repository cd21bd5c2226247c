//! OCaml values in static memory: blocks, and functions that OCaml can call.
//!
//! An OCaml function gets its argument in rax, its closure in rbx and the domain state in r14. Ours consist
//! of a few instructions that continue in `caml_c_call`, the runtime's own transition from OCaml to C: it
//! saves what the collector has to know and, in OCaml 5, switches from the fiber to the C stack. As that is a
//! jump, not a call, no return address of ours is ever on an OCaml stack.

use core::sync::atomic::{AtomicUsize, Ordering};

use bactrian_ocaml::value::{self, UNIT};

/// A block outside the OCaml heap.
#[repr(C, align(16))]
pub struct Block<const WORDS: usize>([AtomicUsize; WORDS]);

impl<const WORDS: usize> Block<WORDS> {
    pub const fn new(tag: u8) -> Self {
        let header = value::static_header(WORDS - 1, tag);
        let mut words = [const { AtomicUsize::new(UNIT) }; WORDS];
        words[0] = AtomicUsize::new(header);
        Block(words)
    }

    pub fn set(&self, field: usize, value: usize) {
        self.0[field + 1].store(value, Ordering::Relaxed);
    }

    pub fn value(&self) -> usize {
        (&raw const self.0[1]) as usize
    }
}

impl Block<3> {
    /// Makes it the closure of a function of one argument.
    pub fn set_function(&self, code: usize) {
        self.set(0, code);
        self.set(1, value::CLOSURE_INFO);
    }
}

/// `caml_c_call`.
pub static C_CALL: AtomicUsize = AtomicUsize::new(0);

/// Defines a function that OCaml calls and that continues in a C function `fn(argument, state) -> value`.
/// Needs [`C_CALL`].
macro_rules! door {
    ($name:ident, $callback:ident) => {
        /// # Safety
        /// Called by OCaml, with OCaml's calling convention.
        #[unsafe(naked)]
        unsafe extern "C" fn $name() {
            core::arch::naked_asm!(
                "mov rdi, rax",
                "mov rsi, r14",
                "lea rax, [rip + {callback}]",
                "jmp qword ptr [rip + {c_call}]",
                callback = sym $callback,
                c_call = sym C_CALL,
            )
        }
    };
}

pub(super) use door;
