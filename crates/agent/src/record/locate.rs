//! Resolves codes of frames to names: from debug information if there is some, else from symbols; and names
//! the C function that a frame has called.

use alloc::string::String;
use alloc::vec::Vec;
use core::cell::{Cell, OnceCell};

use bactrian_agent_os::loaded::{self, Function, Functions};
use bactrian_trace::{Locate, SourceLocation};

use crate::runtime::agent::Agent;
use crate::runtime::bytecode::{self, NO_PLACE};
use crate::runtime::program::ProgramCode;

/// A slot is a tagged pointer to a frame descriptor or, with this bit, to debug information.
const IS_DEBUGINFO: usize = 2;

/// Names for the frames of a program.
pub struct Namer {
    agent: &'static Agent,
    /// The number of frames or stacks that could not be resolved.
    unknown: Cell<u64>,
    /// The program's bytecode, if it is bytecode; read at the first use.
    bytecode: OnceCell<bytecode::Names>,
    /// How often a function was looked up by its address.
    asked: Cell<u32>,
    /// The executable's sorted functions, once lookups turn out to be frequent; None if there is no memory
    /// for them.
    functions: OnceCell<Option<Functions>>,
}

/// How many lookups search all symbols before the symbols are sorted, which costs as much as some 40 searches.
const OFTEN: u32 = 32;

impl Namer {
    pub fn new(agent: &'static Agent) -> Namer {
        Namer {
            agent,
            unknown: Cell::new(0),
            bytecode: OnceCell::new(),
            asked: Cell::new(0),
            functions: OnceCell::new(),
        }
    }

    /// How many frames, or whole stacks, could not be resolved.
    pub fn unknown(&self) -> u64 {
        self.unknown.get()
    }

    /// Counts a frame or stack that cannot be resolved.
    pub fn count_unknown(&self) {
        self.unknown.set(self.unknown.get() + 1);
    }

    /// The function that contains an address, according to the symbol table.
    fn function_at(&self, address: usize) -> Option<Function> {
        self.asked.set(self.asked.get().saturating_add(1));
        let sorted = match self.asked.get() > OFTEN {
            true => self.functions.get_or_init(Functions::of_executable).as_ref(),
            false => None,
        };
        match sorted {
            Some(functions) if functions.cover(address) => functions.at(address),
            _ => loaded::function_at(address),
        }
    }

    /// Source locations as the runtime reports them, callers first.
    ///
    /// # Safety
    /// If the program is native code, the slot is the runtime's, or at least points into a loaded object.
    unsafe fn places(&self, slot: usize) -> Vec<SourceLocation<'static>> {
        let mut places = Vec::new();
        // SAFETY: by the caller.
        unsafe {
            self.agent.program.locations(slot, |place| {
                places.push(SourceLocation {
                    file: place.file,
                    function: place.function,
                    line: place.line,
                    start_char: place.start_char,
                    end_char: place.end_char,
                });
            });
        }
        places.reverse();
        places
    }
}

impl Locate for Namer {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        if code == bactrian_trace::NO_FRAMES {
            return found(&[SourceLocation {
                file: b"<unknown>",
                function: b"[no stack]",
                ..NO_PLACE
            }]);
        }
        let slot = code as usize;
        let c_call = match &self.agent.program.code {
            ProgramCode::Native { c_call } => *c_call,
            ProgramCode::Bytecode(_) => {
                let file = self.agent.bytecode.as_ref();
                return match (bactrian_trace::instruction(code), file) {
                    (Some(place), Some(file)) => {
                        let names = self.bytecode.get_or_init(|| bytecode::Names::read(file));
                        names.locate(place as u32, found);
                    }
                    (Some(_), None) => found(&[]),
                    // Code that was loaded later.
                    // SAFETY: the runtime compares it with the addresses of code, and does not read it.
                    (None, _) => found(&unsafe { self.places(slot) }),
                };
            }
        };
        let mut is_loaded = false;
        loaded::holding(slot, |_| is_loaded = true);
        if !is_loaded {
            // OCaml 5.3 can hand out a callstack that the collector has moved (ocaml#14287).
            self.count_unknown();
            return found(&[]);
        }
        // SAFETY: the slot points into a loaded object.
        let mut places = unsafe { self.places(slot) };
        if slot & IS_DEBUGINFO != 0 {
            return found(&places);
        }
        // SAFETY: a frame descriptor starts with the return address.
        let return_address = unsafe { *(slot as *const usize) };
        // SAFETY: the return address is in code, with the call before it.
        let called = unsafe { c_function_called(return_address, c_call) };
        let mut own_name = String::new();
        if places.is_empty()
            && let Some(own) = self.function_at(return_address)
        {
            // Writing to a string cannot fail.
            let symbol = String::from_utf8_lossy(own.name);
            let _ = bactrian_ocaml::symbol::write_name(&symbol, &mut own_name);
            let function = own_name.as_bytes();
            places.push(SourceLocation { file: own.object, function, ..NO_PLACE });
        }
        if let Some(c) = called.and_then(|function| self.function_at(function)) {
            places.push(SourceLocation { file: b"<C>", function: c.name, ..NO_PLACE });
        }
        found(&places);
    }
}

/// The C function that is called at a return address, if the call goes through `caml_c_call`.
///
/// OCaml loads the function's address into rax just before: `lea rax, [rip + n]`, or `mov` from the GOT, then
/// `call caml_c_call`.
///
/// # Safety
/// At least 12 bytes before `return_address` are readable.
unsafe fn c_function_called(return_address: usize, c_call: usize) -> Option<usize> {
    // SAFETY: by the caller.
    let bytes = unsafe { *((return_address - 12) as *const [u8; 12]) };
    let offset = |at: usize| {
        let four = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
        i32::from_le_bytes(four) as isize
    };
    let target = return_address.wrapping_add_signed(offset(8));
    if bytes[7] != 0xE8 || target != c_call {
        return None;
    }
    let operand = (return_address - 5).wrapping_add_signed(offset(3));
    match bytes[..3] {
        [0x48, 0x8D, 0x05] => Some(operand),
        // SAFETY: the operand of an instruction of the program.
        [0x48, 0x8B, 0x05] => Some(unsafe { *(operand as *const usize) }),
        _ => None,
    }
}
