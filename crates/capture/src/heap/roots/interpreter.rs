//! Bytecode: one block holds the modules, and names of functions are in the file. Its stacks are read by
//! `stacks.rs`.

use std::collections::BTreeSet;

use bactrian_ocaml::bytecode::{Pc, Program};
use bactrian_ocaml::frames::FrameLocation;
use bactrian_ocaml::value::header_words;

use super::finder::Finder;
use super::{Frame, Module, RootHolder};

const MOST_MODULES: usize = 1 << 20;

impl<'a> Finder<'a> {
    pub(super) fn interpreter_globals(&mut self) {
        let Some(slot) = self.target.global("caml_global_data") else {
            return self.gap("the block of all modules cannot be found");
        };
        let Some(block) = self.words.word(slot) else {
            return self.gap("the block of all modules cannot be read");
        };
        if !self.add(slot, block, RootHolder::GlobalData) {
            return;
        }
        let program = self.program();
        if program.is_none() {
            let what = "names of modules and functions: the bytecode file is not available";
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
            // An entry without a name is a constant of the program.
            let name = known.map_or_else(|| format!("constant {module}"), str::to_owned);
            self.found.modules.push(Module { name, fields: None });
            self.add(slot, value, RootHolder::Global { module: module as u32, field: 0 });
        }
    }

    /// The program, from its file.
    fn program(&self) -> Option<Program<'a>> {
        Program::read(self.target.bytecode.as_ref()?).ok()
    }

    /// Resolves functions and source locations of frames on the interpreter's stacks.
    pub(super) fn interpreter_frames(&mut self) {
        let code = self.target.interpreted(self.memory);
        let Some(program) = self.program() else { return };
        let frames = self.found.roots.iter().filter_map(|root| match root.place {
            RootHolder::Interpreter { frame, .. } if code.contains(&frame) => Some(frame),
            _ => None,
        });
        for frame in frames.collect::<BTreeSet<_>>() {
            let at = Pc(((frame - code.start) / 4) as u32);
            // The frame's code pointer is behind the call.
            let Some(call) = program.before(at) else { continue };
            let function = program.function_at(call.at).map_or("", |function| &*function.name);
            let mut location =
                FrameLocation { function: function.to_owned(), ..FrameLocation::default() };
            if let Some(place) = program.place(&call) {
                location.file = place.location.file.to_string();
                location.line = place.location.line;
                location.characters = (place.location.start_char, place.location.end_char);
            }
            let frame_told = Frame { symbol: String::new(), locations: vec![location] };
            self.found.frames.insert(frame, frame_told);
        }
    }
}
