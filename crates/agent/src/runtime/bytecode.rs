//! The file of a bytecode program: finding it, and names for its instructions.
//!
//! The runtime could tell where an instruction comes from, but would first read its debug information into
//! the OCaml heap. So we read the file ourselves, into our own memory, when the first name is asked for.

use alloc::ffi::CString;
use alloc::vec::Vec;

use bactrian_agent_os::{proc, sys};
use bactrian_ocaml::bytecode::{Pc, Program, Sections};
use bactrian_trace::SourceLocation;

/// A location of which nothing is known.
pub const NO_PLACE: SourceLocation<'static> =
    SourceLocation { file: b"", function: b"", line: 0, start_char: 0, end_char: 0 };

/// Finds the file: the executable itself if it contains bytecode, else the first argument that does.
pub fn file() -> Option<CString> {
    let itself = core::iter::once(proc::EXECUTABLE.into());
    itself.chain(proc::arguments()).find(|name| {
        sys::map_file(name).is_ok_and(|bytes| {
            let found = Sections::read(bytes).is_ok_and(|sections| sections.is_some());
            // SAFETY: nothing refers to the mapping any more.
            unsafe { sys::unmap(bytes.as_ptr().cast_mut(), bytes.len()) };
            found
        })
    })
}

/// A program whose instructions can be named.
pub struct Names {
    program: Option<Program<'static>>,
}

impl Names {
    /// Reads the file; if that fails nothing has a name.
    pub fn read(file: &CString) -> Names {
        let bytes = sys::map_file(file).ok();
        Names { program: bytes.and_then(|bytes| Program::read(bytes).ok()) }
    }

    /// Calls `found` with the source location of an instruction, and the C primitive that it calls. The
    /// interpreter is in the middle of the instruction or just after it.
    pub fn locate(&self, place: u32, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        let mut locations = Vec::new();
        let instruction = self.program.as_ref().and_then(|p| Some((p, p.before(Pc(place))?)));
        if let Some((program, instruction)) = &instruction {
            let function = program.function_at(instruction.at).map_or("", |f| &*f.name);
            let (mut file, mut line, mut columns) = ("", 0, (0, 0));
            if let Some(place) = program.place(instruction) {
                let location = place.location;
                (file, line) = (&*location.file, location.line);
                columns = (location.start_char, location.end_char);
            }
            let (file, function) = (file.as_bytes(), function.as_bytes());
            let (start_char, end_char) = columns;
            locations.push(SourceLocation { file, function, line, start_char, end_char });
            if let Some(primitive) = program.primitive_of(instruction) {
                let function = primitive.as_bytes();
                let location = SourceLocation { function, file: b"<C>", ..NO_PLACE };
                locations.push(location);
            }
        }
        found(&locations);
    }
}
