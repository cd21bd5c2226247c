//! Names of code: which function an address belongs to, and where that is in the source.
//!
//! Native code has names from symbol tables, which exist for code compiled by OCaml even in stripped
//! programs, and better ones, with nested modules, from debug information. Debug information is attached to
//! return addresses: a function's is taken from the first calls in it. The line of a function is therefore
//! that of its first call, not of its `let`; the line of a function that calls nothing, or only in tail
//! position, comes from the debugger's line tables. Bytecode has events, read from the file.

use std::ops::Range;

use bactrian_ocaml::bytecode::{Pc, Program};
use bactrian_ocaml::symbol;

use super::roots::Stacks;
use super::target::Target;
use super::target::debug_lines::{Line, first_lines};
use crate::memory::Memory;

/// How many calls of a function are examined for its first line.
const CALLS: usize = 8;

/// The origin of a piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeOrigin {
    /// OCaml's compiler, from a function of the source.
    OCaml,
    /// OCaml's linker: functions that apply closures to fewer or more arguments than they take.
    Stub,
    /// C.
    C,
    /// Code without a symbol.
    Unknown,
}

/// A function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Its origin.
    pub kind: CodeOrigin,
    /// Its name, such as `Stdlib__List.map`; its address if it has none.
    pub name: String,
    /// The source file, if known.
    pub file: Option<String>,
    /// The source line; 0 if unknown.
    pub line: u32,
}

/// Bytes per word of bytecode.
const INSTRUCTION: u64 = 4;

/// Resolves names of a program's code.
pub struct Names<'a> {
    target: &'a Target,
    stacks: &'a Stacks<'a>,
    /// The program's bytecode, read from its file, if it is bytecode.
    program: Option<Program<'a>>,
    /// The address range of the bytecode in memory.
    bytecode: Range<u64>,
}

impl<'a> Names<'a> {
    /// For what is loaded; `stacks` has the frame tables.
    pub fn new(target: &'a Target, memory: &dyn Memory, stacks: &'a Stacks<'a>) -> Names<'a> {
        let bytecode = target.interpreted(memory);
        let program = target.bytecode.as_ref().and_then(|bytes| Program::read(bytes).ok());
        Names { target, stacks, program, bytecode }
    }

    /// The program's bytecode, if it is bytecode and its file is available.
    pub fn program(&self) -> Option<&Program<'a>> {
        self.program.as_ref()
    }

    /// The bytecode instruction at an address.
    pub fn instruction(&self, address: u64) -> Option<Pc> {
        let words = self.bytecode.contains(&address).then(|| address - self.bytecode.start)?;
        u32::try_from(words / INSTRUCTION).ok().map(Pc)
    }

    /// The functions at code pointers of closures.
    pub fn functions(&self, addresses: &[u64]) -> Vec<Function> {
        let mut functions: Vec<_> = addresses.iter().map(|at| self.function(*at)).collect();
        for object in &self.target.objects {
            let Some(file) = &object.file else { continue };
            let mut open: Vec<_> = (0..functions.len())
                .filter(|&at| functions[at].kind == CodeOrigin::OCaml && functions[at].line == 0)
                .filter(|&at| object.range.contains(&addresses[at]))
                .filter_map(|at| Some((object.symbols.function_at(addresses[at])?, at)))
                .map(|(found, at)| {
                    let start = found.address.wrapping_sub(object.bias);
                    (start..start.saturating_add(found.size.max(1)), at)
                })
                .collect();
            if open.is_empty() {
                continue;
            }
            open.sort_unstable_by_key(|(range, _)| range.start);
            let (ranges, places): (Vec<_>, Vec<_>) = open.into_iter().unzip();
            for (line, at) in first_lines(file, &ranges).into_iter().zip(places) {
                if let Some(Line { file, line }) = line {
                    functions[at].line = line;
                    functions[at].file.get_or_insert(file);
                }
            }
        }
        functions
    }

    /// The function that contains an address.
    pub fn function(&self, address: u64) -> Function {
        if self.bytecode.contains(&address) {
            bytecode(self.program.as_ref(), address, self.bytecode.start)
        } else {
            native(self.target, self.stacks, address)
        }
    }
}

/// A function by its symbol, without debug information.
fn of_symbol(name: Option<&str>, address: u64) -> Function {
    let Some(name) = name else {
        return Function {
            kind: CodeOrigin::Unknown,
            name: format!("{address:#x}"),
            file: None,
            line: 0,
        };
    };
    let kind = if symbol::is_ocaml(name) {
        CodeOrigin::OCaml
    } else if symbol::is_stub(name) {
        CodeOrigin::Stub
    } else {
        CodeOrigin::C
    };
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = symbol::write_name(name, &mut text);
    Function { kind, name: text, file: None, line: 0 }
}

fn native(target: &Target, stacks: &Stacks<'_>, address: u64) -> Function {
    let symbols = target.object_at(address).map(|object| &object.symbols);
    let symbol =
        symbols.and_then(|symbols| symbols.function_at(address).map(|found| (symbols, found)));
    let mut function = of_symbol(symbol.map(|(symbols, found)| symbols.name(found)), address);
    let Some((_, found)) = symbol.filter(|_| function.kind == CodeOrigin::OCaml) else {
        return function;
    };
    let end = found.address.saturating_add(found.size.max(1));
    let frames = stacks.return_addresses(found.address..end).take(CALLS);
    // The outermost location of an inlined chain is the function itself.
    let places = frames.filter_map(|address| stacks.frame(address).locations.pop());
    if let Some(first) = places.min_by_key(|place| place.line) {
        if !first.function.is_empty() {
            function.name = first.function;
        }
        function.file = Some(first.file).filter(|file| !file.is_empty());
        function.line = first.line;
    } else {
        function.file = file_of_unit(target, stacks, found.address);
    }
    function
}

/// The file of a function that calls nothing and so has no location of its own: that of the next function in
/// its compilation unit.
fn file_of_unit(target: &Target, stacks: &Stacks<'_>, address: u64) -> Option<String> {
    let unit = |address: u64| target.function_at(address).and_then(symbol::unit);
    let own = unit(address)?;
    let next = stacks.return_addresses(address..u64::MAX).take(CALLS);
    let mut in_unit = next.take_while(|address| unit(*address) == Some(own));
    let file = in_unit.find_map(|address| stacks.frame(address).locations.pop())?.file;
    Some(file).filter(|file| !file.is_empty())
}

fn bytecode(program: Option<&Program<'_>>, address: u64, start: u64) -> Function {
    let number = (address - start) / INSTRUCTION;
    let unknown = Function {
        kind: CodeOrigin::Unknown,
        name: format!("instruction {number}"),
        file: None,
        line: 0,
    };
    let at = u32::try_from(number).ok().map(Pc);
    let found = program.zip(at).and_then(|(program, at)| Some((program, program.function_at(at)?)));
    let Some((program, function)) = found else { return unknown };
    let events =
        program.debug.as_ref().map_or(&[][..], |debug| debug.between(function.start, function.end));
    let place = events
        .iter()
        .take(CALLS)
        .filter_map(|event| event.location.as_ref())
        .min_by_key(|place| place.line);
    Function {
        kind: CodeOrigin::OCaml,
        name: function.name.clone().into_owned(),
        file: place.map(|place| place.file.clone().into_owned()),
        line: place.map_or(0, |place| place.line),
    }
}
