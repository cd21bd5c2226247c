//! The interpreter of a bytecode program: its variables, and its function that prepares code.

use bactrian_agent_os::loaded::{self, Object};

/// The interpreter's variables and functions.
pub struct Interpreter {
    /// The program's code: where it starts, and its bytes; null before it is loaded.
    start: *const usize,
    size: *const usize,
    primitives: *mut Table,
    /// Turns opcodes into what the interpreter jumps to.
    pub thread_code: extern "C" fn(code: *mut i32, bytes: usize),
}

// SAFETY: variables and functions of the program, there from start to end.
unsafe impl Send for Interpreter {}
// SAFETY: as above.
unsafe impl Sync for Interpreter {}

/// The runtime's growing table.
#[repr(C)]
struct Table {
    length: i32,
    room: i32,
    contents: *mut usize,
}

/// The pieces of bytecode that the runtime has debug information of: `caml_debug_info`.
#[derive(Clone, Copy)]
pub struct CodeTable(*const Table);

// SAFETY: a variable of the program, there from start to end.
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

    /// Where one of them starts and ends, `at` being less than their number.
    #[inline]
    pub fn piece(self, at: usize) -> (usize, usize) {
        // SAFETY: the runtime's table; its records begin with these two words in every version of the table of
        // runtimes. The runtime changes it while no other thread collects a stack, or else takes the risk itself.
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
            // SAFETY: its type in every version of the table of runtimes.
            thread_code: unsafe { loaded::function(find("caml_thread_code")?) },
        })
    }

    /// Where the address of primitive 0 is.
    ///
    /// # Safety
    /// The interpreter is initialised.
    pub unsafe fn first_primitive(&self) -> *mut usize {
        // SAFETY: by the caller; the table is the program's.
        unsafe { (*self.primitives).contents }
    }

    /// The program's code: address and length in bytes.
    pub fn code(&self) -> (usize, usize) {
        // SAFETY: variables of the program.
        unsafe { (*self.start, *self.size) }
    }
}
