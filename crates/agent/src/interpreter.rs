//! Bytecode: how the interpreter's sampler calls us, and when the interpreter starts.
//!
//! In a bytecode program closures are of bytecode, and bytecode reaches C through a table of primitives. Each
//! of our closures is `ACC0; C_CALL1 0; RETURN 1`: it passes its argument to primitive 0. That place of
//! the table is borrowed: who calls it from our closures comes to our callback, everybody else goes on to
//! the primitive that is at home there. (A place of our own would change the numbers that dynamic linking
//! counts on.)
//!
//! The interpreter calls `__sigsetjmp` whenever it starts to run bytecode; the first time with the program
//! loaded is where we begin.

use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bactrian_ocaml::bytecode::Opcode;

use crate::agent;
use crate::loaded::{self, Object};

/// The interpreter's variables and functions.
pub struct Interpreter {
    /// The program's code: where it starts, and its bytes; null before it is loaded.
    start: *const usize,
    size: *const usize,
    primitives: *mut Table,
    /// Turns opcodes into what the interpreter jumps to.
    thread_code: extern "C" fn(code: *mut i32, bytes: usize),
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

    /// The program's code: address and length in bytes.
    pub fn code(&self) -> (usize, usize) {
        // SAFETY: variables of the program.
        unsafe { (*self.start, *self.size) }
    }
}

/// Instructions of one of our closures; the last word makes a power of two.
const LENGTH: usize = 5;
const ROOM: usize = 8;
type Code = [i32; ROOM];

struct Codes(UnsafeCell<[Code; 5]>);

// SAFETY: written once, before the interpreter runs them.
unsafe impl Sync for Codes {}

static CODES: Codes = Codes(UnsafeCell::new([[0; ROOM]; 5]));
/// Where each closure's callback is.
static CALLBACKS: [AtomicUsize; 5] = [const { AtomicUsize::new(0) }; 5];
/// The primitive whose place we borrow.
static AT_HOME: AtomicUsize = AtomicUsize::new(0);

/// Makes closures of bytecode that call these functions of one argument; gives the addresses of their code.
///
/// # Safety
/// The interpreter is initialised and runs nothing yet. Called once.
pub unsafe fn closures(interpreter: &Interpreter, callbacks: [usize; 5]) -> [usize; 5] {
    let codes = CODES.0.get();
    // SAFETY: by the caller.
    unsafe {
        for code in &mut *codes {
            let [acc0, c_call1, return_] = [Opcode::ACC0, Opcode::C_CALL1, Opcode::RETURN]
                .map(|code| i32::from(code.number()));
            // The same numbers in all versions that are recorded.
            let instructions = [acc0, c_call1, 0, return_, 1];
            code[..LENGTH].copy_from_slice(&instructions);
            (interpreter.thread_code)(code.as_mut_ptr(), size_of_val(&instructions));
        }
        let place = (*interpreter.primitives).contents;
        AT_HOME.store(*place, Ordering::Relaxed);
        *place = door as *const () as usize;
    }
    for (ours, callback) in CALLBACKS.iter().zip(callbacks) {
        ours.store(callback, Ordering::Relaxed);
    }
    [0, 1, 2, 3, 4].map(|at| codes as usize + at * size_of::<Code>())
}

/// What is called as primitive 0: goes on to where the caller wants, with its arguments.
///
/// # Safety
/// Called by the interpreter.
#[unsafe(naked)]
unsafe extern "C" fn door() {
    naked_asm!(
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "call {wanted}",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        wanted = sym wanted,
    )
}

/// The function that a call of primitive 0 is for.
extern "C" fn wanted() -> usize {
    let at_home = AT_HOME.load(Ordering::Relaxed);
    let Some(agent) = agent::prepared() else { return at_home };
    // SAFETY: the interpreter has put its stack pointer where others find it, because a primitive may
    // look at the stack: the environment is on top, then the address after the call.
    let after_call = unsafe {
        let state = agent.program.state();
        let sp = agent.program.runtime.interpreter_stack_pointer(
            |word| *state.add(word),
            |address| *(address as *const usize),
        );
        *(sp as *const usize).add(1)
    };
    let offset = after_call.wrapping_sub(CODES.0.get() as usize);
    let callback = CALLBACKS.get(offset / size_of::<Code>());
    callback.map_or(at_home, |callback| callback.load(Ordering::Relaxed))
}

/// libc's own function behind ours.
static SIGSETJMP: AtomicUsize = AtomicUsize::new(0);
/// The interpreter is expected to start.
static IS_EXPECTED: AtomicBool = AtomicBool::new(false);

/// From now on the start of the interpreter is waited for.
pub fn expect() {
    IS_EXPECTED.store(true, Ordering::Relaxed);
}

/// Stands before libc's function of this name. It returns to its caller a second time, later, so nothing of
/// ours may be on the stack when libc's own is entered.
///
/// # Safety
/// As for libc's.
#[unsafe(no_mangle)]
#[unsafe(naked)]
pub unsafe extern "C" fn __sigsetjmp() {
    naked_asm!(
        "cmp byte ptr [rip + {expected}], 0",
        "jne 2f",
        "cmp qword ptr [rip + {real}], 0",
        "je 2f",
        "3:",
        "jmp qword ptr [rip + {real}]",
        "2:",
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {interpreter_may_start}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp 3b",
        expected = sym IS_EXPECTED,
        real = sym SIGSETJMP,
        interpreter_may_start = sym interpreter_may_start,
    )
}

extern "C" fn interpreter_may_start() {
    if SIGSETJMP.load(Ordering::Relaxed) == 0 {
        // Every libc has it.
        SIGSETJMP.store(loaded::find_behind("__sigsetjmp").unwrap_or(0), Ordering::Relaxed);
    }
    let Some(agent) = agent::prepared() else { return };
    if let Some(interpreter) = agent.program.interpreter()
        && interpreter.code().0 != 0
        && IS_EXPECTED.swap(false, Ordering::Relaxed)
    {
        crate::entry::start(agent);
    }
}
