//! Which instructions belong to which function.
//!
//! The code of a module begins with a jump over its functions to the code that runs once at program start. That
//! code ends by setting the module's global variable, which also ends the module. Functions begin where a
//! closure refers to them; those with several arguments have a RESTART just before, for partial applications.
//! Names come from debug events; without them a function is named by its instruction number.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;

use super::debug::{DebugEvents, Event};
use super::globals::Globals;
use super::instruction::{Instruction, Pc};
use super::names::beginning;
use super::opcode::Opcode;

/// What a piece of code is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// The entry of a module: a jump over its functions.
    Entry,
    /// A function.
    Function,
    /// Code that runs once at program start.
    Initialisation,
}

/// A contiguous piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Its first instruction.
    pub start: Pc,
    /// The instruction after its last one.
    pub end: Pc,
    /// What it is.
    pub kind: FunctionKind,
    /// The module, if it is known.
    pub module: Option<Cow<'a, str>>,
    /// Its name with the module, such as `Stdlib__List.map`; if it is not a function, the module's name.
    pub name: Cow<'a, str>,
}

/// What is noted while scanning instructions.
#[derive(Default)]
pub(super) struct Notes {
    starts: BTreeMap<Pc, FunctionKind>,
    /// Where modules end, and the global variables that are set there.
    modules: Vec<(Pc, u32)>,
    module_start: Pc,
}

impl Notes {
    pub(super) fn add(&mut self, instruction: &Instruction<'_>) {
        let Instruction { at, opcode, .. } = *instruction;
        if at == self.module_start {
            let is_jump = opcode == Opcode::BRANCH;
            let kind = if is_jump { FunctionKind::Entry } else { FunctionKind::Initialisation };
            self.start(at, kind);
            for target in instruction.targets().filter(|_| is_jump) {
                self.start(target, FunctionKind::Initialisation);
            }
        }
        match opcode {
            Opcode::CLOSURE | Opcode::CLOSUREREC => {
                for target in instruction.targets() {
                    self.start(target, FunctionKind::Function);
                }
            }
            // It belongs to the GRAB after it, which is where closures point.
            Opcode::RESTART => self.start(at, FunctionKind::Function),
            Opcode::SETGLOBAL => {
                self.modules.push((instruction.end(), instruction.unsigned(0).unwrap_or(0)));
                self.module_start = instruction.end();
            }
            _ => {}
        }
    }

    fn start(&mut self, at: Pc, kind: FunctionKind) {
        self.starts.entry(at).or_insert(kind);
    }

    /// All functions of code that ends at `end`, in order.
    pub(super) fn finish<'a>(
        mut self,
        is_grab_after_restart: impl Fn(Pc) -> bool,
        end: Pc,
        globals: &Globals<'a>,
        debug: Option<&DebugEvents<'a>>,
    ) -> Vec<Function<'a>> {
        // Closures point to the GRAB, but the function begins before it.
        self.starts.retain(|at, _| !is_grab_after_restart(*at));
        let mut modules = self.modules.into_iter().peekable();
        let mut starts = self.starts.into_iter().peekable();
        let mut functions = Vec::new();
        while let Some((start, kind)) = starts.next() {
            let end = starts.peek().map_or(end, |(next, _)| *next).min(end);
            if start >= end {
                continue;
            }
            while modules.next_if(|(module_end, _)| *module_end <= start).is_some() {}
            let module = modules.peek().and_then(|(_, place)| globals.named(*place));
            let events = debug.map_or(&[][..], |debug| debug.between(start, end));
            let name = match kind {
                FunctionKind::Function => name_of(events, start),
                _ => None,
            };
            let name = name.unwrap_or_else(|| match (kind, module) {
                (FunctionKind::Function, Some(module)) => {
                    format!("{}.fun_{start}", beginning(module)).into()
                }
                (FunctionKind::Function, None) => format!("fun_{start}").into(),
                (_, Some(module)) => module.clone(),
                // Only the last piece is the end; phrases of a toplevel have no module either.
                (_, None) if starts.peek().is_none() => "end of the program".into(),
                (_, None) => "toplevel code".into(),
            });
            functions.push(Function { start, end, kind, module: module.cloned(), name });
        }
        functions
    }
}

/// The name that events within a function give it. An event at its very beginning may belong to the previous
/// function, unless it says that a function begins.
fn name_of<'a>(events: &[Event<'a>], start: Pc) -> Option<Cow<'a, str>> {
    let own = |event: &&Event<'_>| event.is_function && event.function.is_some();
    let inner = |event: &&Event<'_>| event.at > start && event.function.is_some();
    let event = events.iter().find(own).or_else(|| events.iter().find(inner))?;
    event.function.clone()
}
