//! Source variables: which ones a function's environment holds, and which ones are on the stack during a call.
//!
//! Every event of the debug information has the compiler's own map from variables to locations, made for its
//! debugger. The maps are balanced trees (`Ident.tbl`) that share most of their nodes, and much of the debug
//! information is reachable from them. So they are not kept when events are read, but looked up in the file on
//! request.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;

use super::debug::{DebugEvents, Event, EventKind, EventNumber, Layout, Positions};
use super::instruction::{Instruction, Pc};
use super::names::name;
use super::opcode::Opcode;
use super::program::{Program, is_call, own_events};
use crate::error::OcamlError;
use crate::marshal::{Block, Data, Value};

/// Tags of `Ident.t`: `Local` and `Scoped`. The others are modules and built-in identifiers.
const NAMED: [u8; 2] = [0, 1];
/// What a call leaves on the stack: the return address, the environment, the number of remaining arguments.
const RETURN_WORDS: u32 = 3;

/// A source variable, identified as the compiler distinguishes it from others of the same name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable<'a> {
    /// The module that defines it.
    pub module: Cow<'a, str>,
    /// Its name.
    pub name: Cow<'a, str>,
    /// A stamp that no other variable of the module has.
    pub stamp: u32,
}

/// Variables and their locations.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Variables<'a> {
    /// By the first instruction of a function: fields of its closure. If functions share a closure, fields are
    /// counted from each function's own part.
    pub environments: BTreeMap<Pc, Vec<(u32, Variable<'a>)>>,
    /// By the return address of a call: words of the stack, counted from the word with the return address.
    pub stacks: BTreeMap<Pc, Vec<(u32, Variable<'a>)>>,
}

/// What the variables of an event are looked up for.
enum Asked {
    Function(Pc),
    /// The return address of a call, and how many words are between the word that holds it and the caller's
    /// frame.
    Call(Pc, u32),
}

impl<'a> Program<'a> {
    /// The variables in the environments of functions, and those on the stack during calls. Code without debug
    /// information has none.
    ///
    /// # Errors
    /// If the debug information is damaged.
    pub fn variables(
        &self,
        functions: impl IntoIterator<Item = Pc>,
        calls: impl IntoIterator<Item = Pc>,
    ) -> Result<Variables<'a>, OcamlError> {
        let Some(debug) = &self.debug else { return Ok(Variables::default()) };
        let mut asked: BTreeMap<EventNumber, Vec<Asked>> = BTreeMap::new();
        for at in functions {
            if let Some(event) = self.event_of_function(debug, at) {
                asked.entry(event.number).or_default().push(Asked::Function(at));
            }
        }
        for at in calls {
            if let Some((event, between)) = self.event_of_call(debug, at) {
                asked.entry(event.number).or_default().push(Asked::Call(at, between));
            }
        }
        let mut found = Variables::default();
        // Trees share nodes, so a file could be made that expands to more than fits in memory.
        let mut left = debug.file_length();
        debug.revisit(asked.keys().map(|number| number.unit), |number, layout, data, event| {
            for who in asked.get(&number).into_iter().flatten() {
                let module = Cow::default();
                let mut maps = Maps { layout, data, module, left: &mut left };
                found.add(who, &mut maps, event);
            }
        })?;
        Ok(found)
    }

    /// An event within a function; all its events have the same environment. None for the code that resumes a
    /// partial application.
    fn event_of_function<'d>(
        &'d self,
        debug: &'d DebugEvents<'a>,
        at: Pc,
    ) -> Option<&'d Event<'a>> {
        let function = self.function_at(at)?;
        let is_restart = self.instruction(at)?.opcode == Opcode::RESTART;
        let mut events = own_events(debug, function, function.end).filter(|_| !is_restart);
        events.find(|event| event.is_function || event.at > function.start)
    }

    /// The event after a call that returns to this number, or after a C call that continues there, and how many
    /// words of the call are on the stack.
    fn event_of_call<'d>(
        &'d self,
        debug: &'d DebugEvents<'a>,
        at: Pc,
    ) -> Option<(&'d Event<'a>, u32)> {
        let call = self.before(at)?;
        let between = if is_call(call.opcode) { RETURN_WORDS } else { c_arguments(&call)? + 1 };
        let mut events = debug.at(call.end()).iter();
        Some((events.find(|event| event.kind != EventKind::Before)?, between))
    }
}

/// The arguments of a C primitive on the stack: all but the one in a register, unless there are too many.
fn c_arguments(call: &Instruction<'_>) -> Option<u32> {
    match call.opcode {
        Opcode::C_CALL1 => Some(0),
        Opcode::C_CALL2 => Some(1),
        Opcode::C_CALL3 => Some(2),
        Opcode::C_CALL4 => Some(3),
        Opcode::C_CALL5 => Some(4),
        Opcode::C_CALLN => call.unsigned(0).filter(|count| *count < u32::from(u16::MAX)),
        _ => None,
    }
}

impl<'a> Variables<'a> {
    fn add(&mut self, who: &Asked, maps: &mut Maps<'_, 'a>, event: Value) {
        let Maps { layout, data, .. } = *maps;
        let module = data.field(event, layout.module).and_then(|text| data.string(text));
        let places = data.field(event, layout.places);
        let (Some(module), Some(places)) = (module.map(name), places) else { return };
        maps.module = module;
        match *who {
            Asked::Function(at) => {
                self.environments.insert(at, maps.environment(places));
            }
            Asked::Call(at, between) => {
                let size = data.field(event, layout.stack_size).and_then(Value::int);
                let words = maps.stack(places, size.unwrap_or(0), between);
                self.stacks.insert(at, words);
            }
        }
    }
}

/// The maps of a unit's events.
struct Maps<'d, 'a> {
    layout: &'d Layout,
    data: &'d Data<'a>,
    /// The module of the current event.
    module: Cow<'a, str>,
    /// How many entries may still be read.
    left: &'d mut usize,
}

impl<'a> Maps<'_, 'a> {
    /// Variables in words of a frame of this size. Words are counted from `between` words before the frame.
    fn stack(&mut self, places: Value, size: i64, between: u32) -> Vec<(u32, Variable<'a>)> {
        let mut words = Vec::new();
        let Some(stack) = self.data.field(places, 0) else { return words };
        self.each(stack, |_, variable, place| {
            // The compiler counts from the other end of the frame.
            let above = place.int().and_then(|place| size.checked_sub(place));
            let above = above.and_then(|above| u32::try_from(above).ok()?.checked_add(between));
            words.extend(above.map(|above| (above, variable)));
        });
        words
    }

    /// Variables in fields of a closure.
    fn environment(&mut self, places: Value) -> Vec<(u32, Variable<'a>)> {
        let mut fields = Vec::new();
        let mut push = |field: Option<i64>, variable| {
            let field = field.and_then(|field| u32::try_from(field).ok());
            fields.extend(field.map(|field| (field, variable)));
        };
        let Some(told) = self.data.field(places, 1) else { return fields };
        match (self.layout.environment, self.data.fields(told)) {
            (Positions::OfFunction, _) => {
                self.each(told, |_, variable, place| push(place.int(), variable));
            }
            (Positions::OfBlock, &[entries, Value::Int(own)]) => {
                self.each(entries, |data, variable, entry| {
                    // The first kind is a variable, the other a function of the same closure.
                    if data.block(entry) == Some(&Block::Fields { tag: 0 }) {
                        let place = data.field(entry, 0).and_then(Value::int);
                        push(place.and_then(|place| place.checked_sub(own)), variable);
                    }
                });
            }
            // Code outside functions has no environment.
            (Positions::OfBlock, _) => {}
        }
        fields
    }

    /// Visits all entries of a tree: empty, or left subtree, entry, right subtree and height. An entry is a
    /// variable (since 5.5 its name and stamp again), its location, and the entry of another variable with the
    /// same name.
    fn each(&mut self, tree: Value, mut visit: impl FnMut(&Data<'a>, Variable<'a>, Value)) {
        let data = self.data;
        let mut waiting = vec![tree];
        while let Some(node) = waiting.pop() {
            let &[before, first, after, _] = data.fields(node) else { continue };
            waiting.extend([before, after]);
            let mut next = Some(first);
            while let Some(&[variable, .., place, previous]) = next.map(|entry| data.fields(entry))
            {
                let Some(fewer) = self.left.checked_sub(1) else { return };
                *self.left = fewer;
                if let Some((name, stamp)) = identifier(data, variable) {
                    let module = self.module.clone();
                    visit(data, Variable { module, name, stamp }, place);
                }
                // An option.
                next = data.field(previous, 0);
            }
        }
    }
}

/// The name and the stamp of an identifier.
fn identifier<'a>(data: &Data<'a>, of: Value) -> Option<(Cow<'a, str>, u32)> {
    let Some(Block::Fields { tag }) = data.block(of) else { return None };
    NAMED.contains(tag).then_some(())?;
    let text = data.field(of, 0).and_then(|text| data.string(text))?;
    let stamp = data.field(of, 1).and_then(Value::int)?;
    Some((name(text), u32::try_from(stamp).ok()?))
}
