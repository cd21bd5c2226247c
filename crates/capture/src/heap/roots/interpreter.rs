//! Bytecode: one block holds the modules, and the interpreter has a stack of values.
//!
//! On that stack, what a function left for its callers is below what was called since. Between them stands where
//! the call returns to. A function that called C has left where it was, too.

use std::collections::BTreeSet;

use bactrian_ocaml::bytecode::{Pc, Program};
use bactrian_ocaml::frames::Location;
use bactrian_ocaml::value::header_words;

use super::finder::Finder;
use super::{Frame, Module, Place};

const MOST_MODULES: usize = 1 << 20;
/// Words; OCaml's own limit is a thousandth of it.
const LONGEST_STACK: u64 = 1 << 32;

impl<'a> Finder<'a> {
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
        let program = self.program();
        if program.is_none() {
            let what = "names of modules and functions: the file with the bytecode is not at hand";
            self.found.unnamed = Some(what);
        }
        let header = self.words.word(block.wrapping_sub(8)).unwrap_or(0);
        let count = header_words(header as usize).min(MOST_MODULES);
        for module in 0..count {
            let slot = block.wrapping_add(8 * module as u64);
            let Some(value) = self.words.word(slot) else {
                return self.gap("the block of all modules cannot be read to its end");
            };
            let known = program.as_ref().and_then(|program| program.globals.name(module as u32));
            // What has no name is a constant of the program.
            let name = known.map_or_else(|| format!("constant {module}"), str::to_owned);
            self.found.modules.push(Module { name, fields: None });
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

    /// The program, as its file tells.
    fn program(&self) -> Option<Program<'a>> {
        Program::read(self.target.bytecode.as_ref()?).ok()
    }

    /// Functions and places in the source of what is on the interpreter's stacks.
    pub(super) fn interpreter_frames(&mut self) {
        let code = self.code();
        let Some(program) = self.program() else { return };
        let frames = self.found.roots.iter().filter_map(|root| match root.place {
            Place::Interpreter { frame, .. } if code.contains(&frame) => Some(frame),
            _ => None,
        });
        for frame in frames.collect::<BTreeSet<_>>() {
            let at = Pc(((frame - code.start) / 4) as u32);
            // It goes on after the call.
            let Some(call) = program.before(at) else { continue };
            let function = program.function_at(call.at).map_or("", |function| &*function.name);
            let mut location = Location { function: function.to_owned(), ..Location::default() };
            if let Some(place) = program.place(&call) {
                location.file = place.location.file.to_string();
                location.line = place.location.line;
                location.characters = (place.location.start_char, place.location.end_char);
            }
            let frame_told = Frame { symbol: String::new(), locations: vec![location] };
            self.found.frames.insert(frame, frame_told);
        }
    }

    /// Addresses of the program's bytecode.
    fn code(&mut self) -> std::ops::Range<u64> {
        let start = self.global_word("caml_start_code").unwrap_or(0);
        let size = self.global_word("caml_code_size").unwrap_or(0);
        start..start.saturating_add(size)
    }
}
