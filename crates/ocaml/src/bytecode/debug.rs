//! Debug information: the source location of each instruction.
//!
//! For each module compiled with `-g`, DBUG holds a marshalled list of *events*, records of the compiler
//! (`Instruct.debug_event`). An event is located between two instructions, and only its kind says which of them
//! it belongs to. The event after a call, or after an instruction that allocates, gives the location of that
//! instruction.
//!
//! The section consists of the number of lists (32 bits) and, for each, the offset of its module in the code
//! (32 bits), the list, and a list of folders where sources and interfaces were found.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

use super::instruction::{Pc, WORD};
use super::names::name;
use crate::error::OcamlError;
use crate::marshal::{Data, Value};
use crate::version::Version;

/// The compiler's file name for the locations of generated code.
const NO_FILE: &[u8] = b"_none_";
/// The compiler's name for code outside all definitions.
const NO_NAME: &[u8] = b"??";

/// How an event counts the fields of a closure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Positions {
    /// From the function's part of the closure.
    OfFunction,
    /// From the beginning of the closure; the event also says where the function's part is.
    OfBlock,
}

/// The field numbers of the compiler's records, for a range of versions.
#[derive(Clone, Copy, Debug)]
pub(super) struct Layout {
    versions: (Version, Version),
    position: usize,
    pub module: usize,
    location: usize,
    kind: usize,
    function: usize,
    info: usize,
    /// Locations of variables: first those on the stack, then those in the environment.
    pub places: usize,
    pub stack_size: usize,
    pub environment: Positions,
    /// In a location.
    start: usize,
    end: usize,
    /// In a position.
    file: usize,
    line: usize,
    line_begin: usize,
    character: usize,
}

/// Taken from `instruct.mli`, `warnings.mli` and `lexing.mli` of 4.11, 4.13, 5.0, 5.1, 5.2 and 5.3, and for 5.4
/// and 5.5 from the code of their `ocamldumpobj`; tested on 4.11, 4.13, 4.14 and 5.3. Before 4.11 events did
/// not name functions.
const LAYOUTS: &[Layout] = &[
    Layout {
        versions: (Version::new(4, 11), Version::new(5, 1)),
        environment: Positions::OfFunction,
        ..LATEST
    },
    LATEST,
];

const LATEST: Layout = Layout {
    versions: (Version::new(5, 2), Version::new(5, 5)),
    position: 0,
    module: 1,
    location: 2,
    kind: 3,
    function: 4,
    info: 5,
    places: 8,
    stack_size: 9,
    environment: Positions::OfBlock,
    start: 0,
    end: 1,
    file: 0,
    line: 1,
    line_begin: 2,
    character: 3,
};

/// What an event describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The expression that begins with the next instruction.
    Before,
    /// The expression that was just evaluated: most often a call, which was the previous instruction. When an
    /// exception is raised, the event precedes the instruction, because nothing returns.
    After,
    /// Either of them, at points where a debugger cannot stop: after an allocation, or where functions begin.
    Pseudo,
}

/// A source location.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventLocation<'a> {
    /// The file, as passed to the compiler.
    pub file: Cow<'a, str>,
    /// The line, from 1.
    pub line: u32,
    /// The column at which it begins, in characters from 0.
    pub start_char: u32,
    /// The column at which it ends, counted from the beginning of the same line even if it ends on another.
    pub end_char: u32,
}

/// What is known of a point between two instructions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The number of the instruction after it.
    pub at: Pc,
    /// What the event describes.
    pub kind: EventKind,
    /// Whether a function begins here.
    pub is_function: bool,
    /// The module.
    pub module: Cow<'a, str>,
    /// The definition, with its module: `Stdlib__List.map`. None in generated code.
    pub function: Option<Cow<'a, str>>,
    /// The source location; None in generated code.
    pub location: Option<EventLocation<'a>>,
    pub(super) number: EventNumber,
}

/// The identity of an event in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct EventNumber {
    pub unit: u32,
    index: u32,
}

/// A module with debug information.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebugUnit<'a> {
    /// Where its code begins.
    pub start: Pc,
    /// Folders in which its source may be found.
    pub folders: Vec<Cow<'a, str>>,
}

/// The debug information of a program.
#[derive(Clone, Debug, Default)]
pub struct DebugEvents<'a> {
    events: Vec<Event<'a>>,
    units: Vec<DebugUnit<'a>>,
    /// The file up to the section's end, and the offset in it of each unit's list, in the order of the file.
    file: &'a [u8],
    lists: Vec<usize>,
    layout: Option<&'static Layout>,
}

impl<'a> DebugEvents<'a> {
    /// Reads the section of `file` from `offset` to `end`, for code that ends at `code_end`.
    pub(super) fn read(
        file: &'a [u8],
        (offset, end): (usize, usize),
        code_end: Pc,
        version: Version,
    ) -> Result<DebugEvents<'a>, OcamlError> {
        let layout = LAYOUTS.iter().find(|layout| {
            let (first, last) = layout.versions;
            (first..=last).contains(&version)
        });
        let Some(layout) = layout else {
            let reason = format!("the debug information of OCaml {version} is not known");
            return Err(OcamlError::NoBytecode(reason));
        };
        let file = file.get(..end).unwrap_or(file);
        let mut at = offset;
        let number = |at: &mut usize| {
            let bytes = file.get(*at..).and_then(|rest| rest.first_chunk());
            let reason = "the debug information is cut";
            let cut = || OcamlError::Damaged { offset: *at as u64, reason: reason.into() };
            let number = u32::from_be_bytes(*bytes.ok_or_else(cut)?);
            *at += WORD;
            Ok::<u32, OcamlError>(number)
        };
        let mut found = DebugEvents { file, layout: Some(layout), ..DebugEvents::default() };
        for number_of_unit in 0..number(&mut at)? {
            let begin = at;
            let start = number(&mut at)?;
            let (list, next) = Data::read(file, at)?;
            found.lists.push(at);
            let (folders, next) = Data::read(file, next)?;
            at = next;
            let unit = Unit { layout, data: &list, start, code_end, offset: begin as u64 };
            for (index, event) in (0..).zip(list.list(list.root())) {
                let number = EventNumber { unit: number_of_unit, index };
                found.events.push(unit.event(event, number)?);
            }
            let folders = folders.list(folders.root()).filter_map(|folder| folders.string(folder));
            let folders = folders.map(name).collect();
            found.units.push(DebugUnit { start: Pc(start / WORD as u32), folders });
        }
        // In the order of the runtime.
        let place = |event: &Event<'_>| {
            let place = event.location.as_ref();
            place.map(|place| (place.line, place.start_char, place.end_char))
        };
        found.events.sort_by_key(|event| (event.at, place(event)));
        found.units.sort_by_key(|unit| unit.start);
        Ok(found)
    }

    /// Size of the file up to the end of the section, in bytes.
    pub(super) fn file_length(&self) -> usize {
        self.file.len()
    }

    /// Reads the lists of these units again, in order, and passes all their events to `visit`.
    pub(super) fn revisit(
        &self,
        units: impl Iterator<Item = u32>,
        mut visit: impl FnMut(EventNumber, &Layout, &Data<'a>, Value),
    ) -> Result<(), OcamlError> {
        let mut last = None;
        for unit in units.filter(|unit| last.replace(*unit) != Some(*unit)) {
            let offset = usize::try_from(unit).ok().and_then(|unit| self.lists.get(unit));
            let Some((offset, layout)) = offset.zip(self.layout) else { continue };
            let (data, _) = Data::read(self.file, *offset)?;
            for (index, event) in (0..).zip(data.list(data.root())) {
                visit(EventNumber { unit, index }, layout, &data, event);
            }
        }
        Ok(())
    }

    /// All events, in the order of the code.
    pub fn events(&self) -> &[Event<'a>] {
        &self.events
    }

    /// Modules with debug information, in the order of the code.
    pub fn units(&self) -> &[DebugUnit<'a>] {
        &self.units
    }

    /// Events between two instruction numbers, the second excluded.
    pub fn between(&self, start: Pc, end: Pc) -> &[Event<'a>] {
        let first = self.events.partition_point(|event| event.at < start);
        let last = self.events.partition_point(|event| event.at < end);
        self.events.get(first..last).unwrap_or(&[])
    }

    /// Events just before the instruction with this number.
    pub fn at(&self, at: Pc) -> &[Event<'a>] {
        self.between(at, Pc(at.0.saturating_add(1)))
    }

    /// The last module with debug information that begins at or before an instruction. The instruction may
    /// belong to a later module that has none.
    pub fn unit_at(&self, at: Pc) -> Option<&DebugUnit<'a>> {
        let after = self.units.partition_point(|unit| unit.start <= at);
        self.units.get(after.checked_sub(1)?)
    }
}

/// The list of a module while it is being read.
struct Unit<'d, 'a> {
    layout: &'static Layout,
    data: &'d Data<'a>,
    /// The offset of the module in the code, in bytes.
    start: u32,
    code_end: Pc,
    offset: u64,
}

impl<'a> Unit<'_, 'a> {
    fn event(&self, event: Value, number: EventNumber) -> Result<Event<'a>, OcamlError> {
        let Layout { position, module, location, kind, function, info, .. } = *self.layout;
        let field = |index| self.data.field(event, index);
        let text = |index| field(index).and_then(|text| self.data.string(text));
        let damaged = |what: &str| OcamlError::Damaged {
            offset: self.offset,
            reason: format!("the debug information of a module has an event without {what}"),
        };
        let position = field(position).and_then(Value::int).ok_or_else(|| damaged("a position"))?;
        let at = i64::from(self.start).checked_add(position).filter(|at| at % WORD as i64 == 0);
        let at = at.and_then(|at| u32::try_from(at / WORD as i64).ok()).map(Pc);
        let at = at.filter(|at| *at <= self.code_end);
        let at = at.ok_or_else(|| damaged("a position in the code"))?;
        let kind = match field(kind) {
            Some(Value::Int(0)) => EventKind::Before,
            Some(Value::Int(1)) => EventKind::Pseudo,
            Some(Value::Block(_)) => EventKind::After,
            _ => return Err(damaged("a kind")),
        };
        let function = text(function).ok_or_else(|| damaged("a function"))?;
        Ok(Event {
            at,
            kind,
            is_function: field(info) == Some(Value::Int(0)),
            module: name(text(module).ok_or_else(|| damaged("a module"))?),
            function: (function != NO_NAME).then(|| name(function)),
            location: field(location).and_then(|location| self.location(location)),
            number,
        })
    }

    fn location(&self, location: Value) -> Option<EventLocation<'a>> {
        let Layout { start, end, file, line, line_begin, character, .. } = *self.layout;
        let start = self.data.field(location, start)?;
        let end = self.data.field(location, end)?;
        let number = |place, index| self.data.field(place, index).and_then(Value::int);
        let file = self.data.string(self.data.field(start, file)?)?;
        let begin = number(start, line_begin)?;
        let column = |place| u32::try_from(number(place, character)?.checked_sub(begin)?).ok();
        (file != NO_FILE).then_some(())?;
        Some(EventLocation {
            file: name(file),
            line: u32::try_from(number(start, line)?).ok()?,
            start_char: column(start)?,
            end_char: column(end)?,
        })
    }
}
