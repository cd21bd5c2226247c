//! The names of global variables, and the constants without names.
//!
//! A program's global variables form one array. SYMB says which of its elements are modules and predefined
//! exceptions: a record of the array's length and a balanced tree (`Map`) from names to indices. DATA holds the
//! array's initial contents, including the constants of the program.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::fmt::Write;

use super::names;
use crate::error::OcamlError;
use crate::marshal::{Block, Data, Value};

/// The approximate maximum length of a printed constant in characters.
const LONGEST_CONSTANT: usize = 60;

/// The global variables of a program.
#[derive(Clone, Debug, Default)]
pub struct Globals<'a> {
    names: BTreeMap<u32, Cow<'a, str>>,
    constants: Option<Data<'a>>,
}

impl<'a> Globals<'a> {
    /// Reads the map of names from a value found at `offset`, and the constants.
    pub(super) fn new(
        symbols: &Data<'a>,
        map: Value,
        offset: u64,
        constants: Option<Data<'a>>,
    ) -> Result<Globals<'a>, OcamlError> {
        let no_map = || OcamlError::Damaged { offset, reason: "no map of global variables".into() };
        let &[_, tree] = symbols.fields(map) else { return Err(no_map()) };
        let mut names = BTreeMap::new();
        let mut waiting = vec![tree];
        // A tree that refers back to itself would have no end.
        let mut left = symbols.block_count();
        while let Some(node) = waiting.pop() {
            if node == Value::Int(0) {
                continue;
            }
            // Left, name, index, right, height.
            let &[before, name, place, after, _] = symbols.fields(node) else {
                return Err(no_map());
            };
            let text = symbols.field(name, 0).and_then(|text| symbols.string(text));
            let place = place.int().and_then(|place| u32::try_from(place).ok());
            let (Some(text), Some(place)) = (text, place) else { return Err(no_map()) };
            names.insert(place, names::name(text));
            waiting.extend([before, after]);
            left = left.checked_sub(1).ok_or_else(no_map)?;
        }
        Ok(Globals { names, constants })
    }

    /// Indices and names of modules and exceptions.
    pub fn names(&self) -> impl Iterator<Item = (u32, &str)> {
        self.names.iter().map(|(place, name)| (*place, &**name))
    }

    /// The name at an index, without a copy.
    pub(super) fn named(&self, place: u32) -> Option<&Cow<'a, str>> {
        self.names.get(&place)
    }

    /// The module or exception at an index.
    pub fn name(&self, place: u32) -> Option<&str> {
        self.names.get(&place).map(|name| &**name)
    }

    /// The global variable at an index as text: its name, or a constant, cut if it is long.
    pub fn show(&self, place: u32) -> String {
        if let Some(name) = self.name(place) {
            return name.into();
        }
        let constant = self.constants.as_ref().and_then(|data| {
            let value = data.field(data.root(), usize::try_from(place).ok()?)?;
            Some(show_constant(data, value))
        });
        constant.unwrap_or_else(|| format!("global {place}"))
    }
}

/// A constant, cut if it is long.
fn show_constant(data: &Data<'_>, value: Value) -> String {
    let mut shown = String::new();
    // A stack: what comes next is last.
    let mut waiting = vec![Part::Value(value)];
    while let Some(part) = waiting.pop() {
        if shown.len() > LONGEST_CONSTANT {
            shown.push_str(" ..");
            break;
        }
        let ended = match part {
            Part::Text(text) => shown.write_str(text),
            Part::Value(value) => show_one(data, value, &mut shown, &mut waiting),
        };
        if ended.is_err() {
            break;
        }
    }
    shown
}

enum Part {
    Text(&'static str),
    Value(Value),
}

fn show_one(
    data: &Data<'_>,
    value: Value,
    shown: &mut String,
    waiting: &mut Vec<Part>,
) -> core::fmt::Result {
    match (value, data.block(value)) {
        (Value::Int(n), _) => write!(shown, "{n}"),
        (Value::Atom(tag), _) => write!(shown, "<{tag}>"),
        (_, Some(Block::String(bytes))) => {
            let end = bytes.len().min(LONGEST_CONSTANT);
            let (text, rest) = bytes.split_at_checked(end).unwrap_or((bytes, &[]));
            let text = String::from_utf8_lossy(text);
            write!(shown, "{text:?}{}", if rest.is_empty() { "" } else { " .." })
        }
        (_, Some(Block::Double(f))) => write!(shown, "{f:?}"),
        (_, Some(Block::Doubles(all))) => {
            shown.push_str("[|");
            for (at, f) in all.iter().enumerate() {
                if shown.len() > LONGEST_CONSTANT {
                    return shown.write_str(" ..");
                }
                write!(shown, "{}{f:?}", if at == 0 { "" } else { "; " })?;
            }
            shown.write_str("|]")
        }
        (_, Some(Block::Int32(n))) => write!(shown, "{n}l"),
        (_, Some(Block::Int64(n))) => write!(shown, "{n}L"),
        (_, Some(Block::NativeInt(n))) => write!(shown, "{n}n"),
        (_, Some(Block::Fields { tag })) => {
            write!(shown, "<{tag}>(")?;
            waiting.push(Part::Text(")"));
            // Each takes at least one character.
            for (at, field) in data.fields(value).iter().take(LONGEST_CONSTANT).enumerate().rev() {
                waiting.push(Part::Value(*field));
                waiting.extend((at > 0).then_some(Part::Text(", ")));
            }
            Ok(())
        }
        (_, None) => shown.write_str("code"),
    }
}
