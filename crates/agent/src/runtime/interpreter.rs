//! The interpreter of a bytecode program: its variables, and its function that prepares code.

use bactrian_agent_os::loaded::{self, Object};

/// The interpreter's variables and functions.
pub struct Interpreter {
    /// The program's code: its start, and its length in bytes; null before it is loaded.
    start: *const usize,
    size: *const usize,
    primitives: *mut Table,
    /// Replaces opcodes by what the interpreter jumps to (threaded code).
    pub thread_code: extern "C" fn(code: *mut i32, bytes: usize),
}

// SAFETY: variables and functions of the program, valid for the whole run.
unsafe impl Send for Interpreter {}
// SAFETY: as above.
unsafe impl Sync for Interpreter {}

/// The runtime's growing table (struct ext_table).
#[repr(C)]
struct Table {
    length: i32,
    room: i32,
    contents: *mut usize,
}

/// `caml_debug_info`: the fragments of bytecode that the runtime has debug information for.
#[derive(Clone, Copy)]
pub struct CodeTable(*const Table);

// SAFETY: a variable of the program, valid for the whole run.
unsafe impl Send for CodeTable {}
// SAFETY: as above.
unsafe impl Sync for CodeTable {}

impl CodeTable {
    pub fn of(object: &Object) -> Option<CodeTable> {
        Some(CodeTable(object.find("caml_debug_info")? as *const Table))
    }

    #[inline]
    pub fn len(self) -> usize {
        // SAFETY: the runtime's table.
        unsafe { (*self.0).length as usize }
    }

    /// The start and end of a fragment; `at` must be less than the number of fragments.
    #[inline]
    pub fn piece(self, at: usize) -> (usize, usize) {
        // SAFETY: the runtime's table; its records begin with these two words in every version of the table
        // of runtimes. The runtime changes it while no other thread collects a stack, or else takes that risk
        // itself.
        unsafe {
            let [start, end] = *(*(*self.0).contents.add(at) as *const [usize; 2]);
            (start, end)
        }
    }
}

impl Interpreter {
    pub fn of(object: &Object) -> Option<Interpreter> {
        let find = |name| object.find(name);
        Some(Interpreter {
            start: find("caml_start_code")? as *const usize,
            size: find("caml_code_size")? as *const usize,
            primitives: find("caml_prim_table")? as *mut Table,
            // SAFETY: it has this type in every version of the table of runtimes.
            thread_code: unsafe { loaded::function(find("caml_thread_code")?) },
        })
    }

    /// The address of the table entry of primitive 0.
    ///
    /// # Safety
    /// The interpreter is initialised.
    pub unsafe fn first_primitive(&self) -> *mut usize {
        // SAFETY: by the caller; the table is the program's.
        unsafe { (*self.primitives).contents }
    }

    /// The program's code: its address and its length in bytes.
    pub fn code(&self) -> (usize, usize) {
        // SAFETY: variables of the program.
        unsafe { (*self.start, *self.size) }
    }
}
