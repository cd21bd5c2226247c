//! How the sampler calls us in a bytecode program.
//!
//! There, closures consist of bytecode, and bytecode calls C through a table of primitives. Each of our
//! closures is `ACC0; C_CALL1 0; RETURN 1`: it passes its argument to primitive 0. We borrow that entry of
//! the table: a call from our closures goes to our callback, any other goes on to the original primitive. (A
//! new entry of our own would change the numbers that dynamic linking relies on.)

use core::arch::naked_asm;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicUsize, Ordering};

use bactrian_ocaml::bytecode::Opcode;

use crate::runtime::agent;
use crate::runtime::interpreter::Interpreter;

/// Instruction words of one of our closures; [`ROOM`] rounds them up to a power of two.
const LENGTH: usize = 5;
const ROOM: usize = 8;
type Code = [i32; ROOM];

struct Codes(UnsafeCell<[Code; 5]>);

// SAFETY: written once, before the interpreter runs them.
unsafe impl Sync for Codes {}

static CODES: Codes = Codes(UnsafeCell::new([[0; ROOM]; 5]));
/// The address of each closure's callback.
static CALLBACKS: [AtomicUsize; 5] = [const { AtomicUsize::new(0) }; 5];
/// The original primitive 0, whose table entry we borrow.
static AT_HOME: AtomicUsize = AtomicUsize::new(0);

/// Makes bytecode closures that call these functions of one argument; returns the addresses of their code.
///
/// # Safety
/// The interpreter is initialised and not running. Called once.
pub unsafe fn make(interpreter: &Interpreter, callbacks: [usize; 5]) -> [usize; 5] {
    let codes = CODES.0.get();
    // SAFETY: by the caller.
    unsafe {
        for code in &mut *codes {
            let [acc0, c_call1, return_] = [Opcode::ACC0, Opcode::C_CALL1, Opcode::RETURN]
                .map(|code| i32::from(code.number()));
            // The opcodes are the same in all versions that are recorded.
            let instructions = [acc0, c_call1, 0, return_, 1];
            code[..LENGTH].copy_from_slice(&instructions);
            (interpreter.thread_code)(code.as_mut_ptr(), size_of_val(&instructions));
        }
        let place = interpreter.first_primitive();
        AT_HOME.store(*place, Ordering::Relaxed);
        *place = door as *const () as usize;
    }
    for (ours, callback) in CALLBACKS.iter().zip(callbacks) {
        ours.store(callback, Ordering::Relaxed);
    }
    [0, 1, 2, 3, 4].map(|at| codes as usize + at * size_of::<Code>())
}

/// Installed as primitive 0: continues in the function that the caller wants, with its arguments.
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

/// The function that a call of primitive 0 is meant for.
extern "C" fn wanted() -> usize {
    let at_home = AT_HOME.load(Ordering::Relaxed);
    let Some(agent) = agent::prepared() else { return at_home };
    // SAFETY: the interpreter has stored its stack pointer where others find it, because a primitive may look
    // at the stack: the environment is on top, then the address after the call.
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
