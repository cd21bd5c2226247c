//! A complete bytecode program: its code, and everything that gives it names and locations.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::debug::{DebugEvents, Event, EventKind, EventLocation};
use super::functions::{Function, Notes};
use super::globals::Globals;
use super::instruction::{CodeSection, Instruction, Pc};
use super::names::names;
use super::opcode::{Allocates, INSTRUCTION_SETS, InstructionSet, Opcode};
use super::sections::Sections;
use super::text;
use crate::error::OcamlError;
use crate::marshal::Data;
use crate::version::Version;

/// The maximum number of events without a location that are searched for one; only files made to waste time
/// have more.
const FAR: usize = 64;

/// A bytecode program.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// The version of OCaml that compiled it.
    pub version: Version,
    /// Its code.
    pub code: CodeSection<'a>,
    /// The C primitives that it calls, by number.
    pub primitives: Vec<Cow<'a, str>>,
    /// Its global variables.
    pub globals: Globals<'a>,
    /// Its debug information, if it was linked with `-g` and as a separate executable.
    pub debug: Option<DebugEvents<'a>>,
    /// All functions, in the order of the code and without gaps.
    pub functions: Vec<Function<'a>>,
    /// Where instructions begin, ascending.
    starts: Vec<Pc>,
}

/// The parts of a program as found in a file.
pub(super) struct Parts<'a> {
    pub(super) version: Version,
    pub(super) code: CodeSection<'a>,
    pub(super) primitives: Vec<Cow<'a, str>>,
    pub(super) globals: Globals<'a>,
    pub(super) debug: Option<DebugEvents<'a>>,
}

/// The source location of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InstructionLocation<'p> {
    /// The location.
    pub location: &'p EventLocation<'p>,
    /// Whether it is that of this very instruction. Otherwise it is the location of the last instruction before
    /// it that has one, or of a function that it makes a closure of.
    pub is_own: bool,
}

impl<'a> Program<'a> {
    /// Finds and reads the bytecode of an executable. All code is decoded once, so that nothing can fail to
    /// decode later.
    ///
    /// # Errors
    /// If there is no readable bytecode, or if it is damaged.
    pub fn read(bytes: &'a [u8]) -> Result<Program<'a>, OcamlError> {
        Program::new(match Sections::read(bytes)? {
            Some(sections) => from_sections(bytes, &sections)?,
            #[cfg(feature = "std")]
            None => super::embedded::from_executable(bytes)?,
            #[cfg(not(feature = "std"))]
            None => return Err(OcamlError::NoBytecode("it has no bytecode at its end".into())),
        })
    }

    fn new(parts: Parts<'a>) -> Result<Program<'a>, OcamlError> {
        let Parts { version, code, primitives, globals, debug } = parts;
        let mut starts = Vec::new();
        let mut notes = Notes::default();
        for instruction in code.instructions() {
            let instruction = instruction?;
            starts.push(instruction.at);
            notes.add(&instruction);
        }
        let mut program =
            Program { version, code, primitives, globals, debug, functions: Vec::new(), starts };
        program.functions = notes.finish(
            |at| program.is_grab_after_restart(at),
            code.end(),
            &program.globals,
            program.debug.as_ref(),
        );
        Ok(program)
    }

    fn is_grab_after_restart(&self, at: Pc) -> bool {
        let before = at.0.checked_sub(1).and_then(|before| self.instruction(Pc(before)));
        let is = |found: Option<Instruction<'_>>, opcode| {
            found.is_some_and(|instruction| instruction.opcode == opcode)
        };
        is(before, Opcode::RESTART) && is(self.instruction(at), Opcode::GRAB)
    }

    /// All instructions, in order.
    pub fn instructions(&self) -> impl Iterator<Item = Instruction<'a>> {
        self.within(Pc(0), self.code.end())
    }

    /// Instructions that begin between two numbers, the second excluded.
    pub fn within(&self, start: Pc, end: Pc) -> impl Iterator<Item = Instruction<'a>> {
        let first = self.starts.partition_point(|at| *at < start);
        let last = self.starts.partition_point(|at| *at < end);
        let starts = self.starts.get(first..last).unwrap_or(&[]);
        // All were decoded before.
        starts.iter().filter_map(|at| self.code.decode(*at).ok())
    }

    /// The instruction with this number; None if that is inside another instruction, or outside the code.
    pub fn instruction(&self, at: Pc) -> Option<Instruction<'a>> {
        self.starts.binary_search(&at).ok()?;
        self.code.decode(at).ok()
    }

    /// The instruction that contains a word of code, as its opcode or as an operand.
    pub fn containing(&self, at: Pc) -> Option<Instruction<'a>> {
        let after = self.starts.partition_point(|start| *start <= at);
        let start = self.starts.get(after.checked_sub(1)?)?;
        let instruction = self.code.decode(*start).ok()?;
        (at < instruction.end()).then_some(instruction)
    }

    /// The instruction that the interpreter is executing, given a number inside it or just after it, as the
    /// interpreter reports for allocations and calls.
    pub fn before(&self, at: Pc) -> Option<Instruction<'a>> {
        self.containing(Pc(at.0.checked_sub(1)?))
    }

    /// The function that contains an instruction.
    pub fn function_at(&self, at: Pc) -> Option<&Function<'a>> {
        let after = self.functions.partition_point(|function| function.start <= at);
        self.functions.get(after.checked_sub(1)?).filter(|function| at < function.end)
    }

    /// The source location of an instruction, if it is known.
    pub fn place(&self, instruction: &Instruction<'_>) -> Option<InstructionLocation<'_>> {
        let debug = self.debug.as_ref()?;
        let ends_with_event =
            is_call(instruction.opcode) || instruction.opcode.allocates() != Allocates::No;
        let after = debug.at(instruction.end());
        let after = after.iter().find(|event| ends_with_event && event.kind != EventKind::Before);
        if let Some(event) = after {
            return event
                .location
                .as_ref()
                .map(|location| InstructionLocation { location, is_own: true });
        }
        if matches!(instruction.opcode, Opcode::CLOSURE | Opcode::CLOSUREREC) {
            // Functions that are defined together have no event where their closure is made, so the first of
            // them gives the location.
            let function = instruction.targets().next().and_then(|at| self.function_at(at))?;
            let mut events = own_events(debug, function, function.end).take(FAR);
            let location = events.find_map(|event| event.location.as_ref());
            return location.map(|location| InstructionLocation { location, is_own: false });
        }
        let function = self.function_at(instruction.at)?;
        let events = own_events(debug, function, Pc(instruction.at.0.saturating_add(1)));
        let event = events.rev().take(FAR).find(|event| event.location.is_some())?;
        let is_raise = is_raise(instruction.opcode);
        let is_own = event.at == instruction.at && (event.kind == EventKind::Before || is_raise);
        event.location.as_ref().map(|location| InstructionLocation { location, is_own })
    }

    /// The name of a C primitive.
    pub fn primitive(&self, number: u32) -> Option<&str> {
        self.primitives.get(usize::try_from(number).ok()?).map(|name| &**name)
    }

    /// The C primitive that an instruction calls.
    pub fn primitive_of(&self, instruction: &Instruction<'_>) -> Option<&str> {
        let operand = match instruction.opcode {
            Opcode::C_CALLN => 1,
            opcode if opcode.allocates() == Allocates::Primitive => 0,
            _ => return None,
        };
        self.primitive(instruction.unsigned(operand)?)
    }

    /// An instruction as text: names instead of the numbers of globals and primitives, and jump targets as
    /// instruction numbers.
    pub fn show(&self, instruction: &Instruction<'_>) -> String {
        text::show(self, instruction)
    }
}

/// The events of a function up to `end`. One at its very beginning may belong to the previous function.
pub(super) fn own_events<'d, 'a>(
    debug: &'d DebugEvents<'a>,
    function: &Function<'_>,
    end: Pc,
) -> impl DoubleEndedIterator<Item = &'d Event<'a>> {
    let start = function.start;
    let is_own = move |event: &&Event<'_>| {
        event.at > start || event.kind == EventKind::Before || event.is_function
    };
    debug.between(start, end).iter().filter(is_own)
}

/// Whether an instruction calls a function and returns.
pub(super) fn is_call(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::APPLY | Opcode::APPLY1 | Opcode::APPLY2 | Opcode::APPLY3)
}

/// Whether an instruction raises an exception. Its event precedes it, because nothing returns.
fn is_raise(opcode: Opcode) -> bool {
    matches!(opcode, Opcode::RAISE | Opcode::RERAISE | Opcode::RAISE_NOTRACE)
}

/// The instruction set for the version of a program.
pub(super) fn instruction_set(version: Version) -> Result<&'static InstructionSet, OcamlError> {
    InstructionSet::of(version).ok_or_else(|| unknown(&format!("it is of OCaml {version}")))
}

fn unknown(what: &str) -> OcamlError {
    let first = INSTRUCTION_SETS.first().map(|set| set.versions.0);
    let last = INSTRUCTION_SETS.last().map(|set| set.versions.1);
    let known = first.zip(last).map(|(first, last)| format!("{first} to {last}"));
    OcamlError::NoBytecode(format!(
        "{what}; known are the instructions of {}",
        known.unwrap_or_default()
    ))
}

fn from_sections<'a>(bytes: &'a [u8], sections: &Sections<'a>) -> Result<Parts<'a>, OcamlError> {
    let magic = sections.magic;
    let version = sections
        .version()
        .ok_or_else(|| unknown(&format!("its magic number, {magic}, is that of no known OCaml")))?;
    let set = instruction_set(version)?;
    let find = |name: &[u8; 4]| {
        let title = String::from_utf8_lossy(name);
        let missing = || OcamlError::NoBytecode(format!("it has no section {title}"));
        sections.find(name).ok_or_else(missing)
    };
    let code = find(b"CODE")?;
    let code = CodeSection::new(code.bytes, code.offset, set)?;
    let primitives = names(find(b"PRIM")?.bytes);
    let symbols = find(b"SYMB")?;
    // Marshalled data contains its own length. Cutting the file, not the section, keeps offsets relative to the
    // file.
    let value = |section: super::Section<'a>| {
        let file = bytes.get(..section.offset + section.bytes.len()).unwrap_or(bytes);
        Data::read(file, section.offset).map(|(data, _)| data)
    };
    let map = value(symbols)?;
    let constants = sections.find(b"DATA").map(value).transpose()?;
    let globals = Globals::new(&map, map.root(), symbols.offset as u64, constants)?;
    let debug = sections.find(b"DBUG").map(|section| {
        let range = (section.offset, section.offset + section.bytes.len());
        DebugEvents::read(bytes, range, code.end(), version)
    });
    Ok(Parts { version, code, primitives, globals, debug: debug.transpose()? })
}
