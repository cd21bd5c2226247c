//! Bytecode: one block holds the modules, and the interpreter has a stack of values.
//!
//! On that stack, what a function left for its callers is below what was called since. Between them stands where
//! the call returns to. A function that called C has left where it was, too.

use bactrian_ocaml::value::header_words;

use super::Place;
use super::finder::Finder;

const MOST_MODULES: usize = 1 << 20;
/// Words; OCaml's own limit is a thousandth of it.
const LONGEST_STACK: u64 = 1 << 32;

impl Finder<'_> {
    pub(super) fn interpreter_globals(&mut self) {
        let Some(slot) = self.target.global("caml_global_data") else {
            return self.gap("the block of all modules cannot be found");
        };
        let Some(block) = self.words.word(slot) else {
            return self.gap("the block of all modules cannot be read");
        };
        if !self.add(slot, block, Place::GlobalData) {
            return;
        }
        let header = self.words.word(block.wrapping_sub(8)).unwrap_or(0);
        let count = header_words(header as usize).min(MOST_MODULES);
        for module in 0..count {
            let slot = block.wrapping_add(8 * module as u64);
            let Some(value) = self.words.word(slot) else {
                return self.gap("the block of all modules cannot be read to its end");
            };
            self.found.modules.push(format!("global {module}"));
            self.add(slot, value, Place::Global { module: module as u32, field: 0 });
        }
    }

    /// The stack of the thread that runs.
    pub(super) fn interpreter_stack(&mut self, thread: u32, state: u64) {
        let runtime = self.target.runtime;
        let sp = runtime.interpreter_stack.and_then(|word| self.field(state, word));
        let high = self.layout.state.stack_high.and_then(|word| self.field(state, word));
        match (sp, high) {
            (Some(sp), Some(high)) => self.interpreter_words(thread, sp, high),
            _ => self.gap("the interpreter's stack cannot be found"),
        }
    }

    /// A stack, from its stack pointer up.
    pub(super) fn interpreter_words(&mut self, thread: u32, low: u64, high: u64) {
        let length = high.checked_sub(low).map(|bytes| bytes / 8);
        let Some(length) = length.filter(|length| *length <= LONGEST_STACK) else {
            return self.gap("an interpreter's stack has no end");
        };
        let code = self.code();
        // After the environment stands where it called C.
        let mut frame = self.field(low, 1).filter(|at| code.contains(at)).unwrap_or(0);
        let mut depth = 0;
        for at in 0..length {
            let slot = low + 8 * at;
            let Some(value) = self.words.word(slot) else {
                return self.gap("an interpreter's stack cannot be read to its end");
            };
            if code.contains(&value) {
                if value != frame {
                    depth += 1;
                }
                frame = value;
                // No value: the runtime passes over it, having a table of what is heap.
                self.pass(slot);
                continue;
            }
            self.add(slot, value, Place::Interpreter { thread, frame, depth });
        }
    }

    /// Addresses of the program's bytecode.
    fn code(&mut self) -> std::ops::Range<u64> {
        let start = self.global_word("caml_start_code").unwrap_or(0);
        let size = self.global_word("caml_code_size").unwrap_or(0);
        start..start.saturating_add(size)
    }
}
