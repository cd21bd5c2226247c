//! Bytecode inside a runtime, as `ocamlc -output-complete-exe` produces it.
//!
//! The compiler writes a C file there: `caml_code` is an array with the code, `caml_data` holds the constants
//! and `caml_sections` the other sections, both marshalled. Only debuggers see these names, so nothing is found
//! in a stripped file. Since OCaml 5.2 the names of primitives are not in a section but only in the runtime's
//! own table. Debug information is not included.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

use super::globals::Globals;
use super::instruction::CodeSection;
use super::names::{name, names};
use super::program::{Parts, instruction_set};
use crate::error::OcamlError;
use crate::executable::{Elf, Executable, ExecutableKind, Form, Ocaml};
use crate::marshal::{Data, Value};
use crate::version::Version;

/// The parts of a program whose bytecode is not at the end of its file.
pub(super) fn from_executable(bytes: &[u8]) -> Result<Parts<'_>, OcamlError> {
    let refuse = |why: &str| Err(OcamlError::NoBytecode(why.into()));
    let Executable { form, ocaml } = Executable::read(bytes)?;
    let version = ocaml.as_ref().and_then(Ocaml::version);
    match (form, ocaml.map(|ocaml| ocaml.kind)) {
        (Form::Elf(elf), Some(ExecutableKind::Complete)) => read(bytes, &elf, version),
        (_, Some(ExecutableKind::Native | ExecutableKind::NativeWithoutRuntime)) => {
            refuse("it is native code")
        }
        (_, Some(ExecutableKind::Runtime)) => {
            refuse("it is the runtime that runs bytecode, and has none of its own")
        }
        (_, Some(ExecutableKind::Unknown)) => {
            refuse("it has an OCaml runtime, but all its symbols are stripped")
        }
        (Form::Script(script), _) if script.interpreter.ends_with(b"ocamlrun") => {
            let offset = bytes.len() as u64;
            let reason = "its first line names ocamlrun, but no bytecode stands at its end".into();
            Err(OcamlError::Damaged { offset, reason })
        }
        (Form::Script(_), _) => refuse("it is a script; its interpreter may be bytecode"),
        _ => refuse("it is no OCaml program"),
    }
}

/// The longest in OCaml's own libraries has some forty letters.
const LONGEST_PRIMITIVE: usize = 256;

/// Reads the bytecode in an ELF file whose contents are `bytes`.
fn read<'a>(
    bytes: &'a [u8],
    elf: &Elf<'a>,
    version: Option<Version>,
) -> Result<Parts<'a>, OcamlError> {
    let refuse = |why: &str| OcamlError::NoBytecode(why.into());
    let version = version.ok_or_else(|| refuse("the version of its runtime is not known"))?;
    let set = instruction_set(version)?;
    if !elf.has_usual_words() {
        return Err(refuse(
            "it is for a machine whose words are not those of 64 bits, low byte first",
        ));
    }
    let object = |name: &str| {
        elf.object(name).ok_or_else(|| {
            OcamlError::NoBytecode(match elf.is_stripped {
                true => format!("it is within a runtime under the name {name}, which was stripped"),
                false => format!("it has no {name}, as ocamlc -output-complete-exe calls it"),
            })
        })
    };
    let (offset, length) = object("caml_code")?;
    let end = offset.checked_add(length);
    let code = end.and_then(|end| bytes.get(offset..end)).ok_or_else(|| OcamlError::Damaged {
        offset: offset as u64,
        reason: "the file ends before its bytecode does".into(),
    })?;
    let code = CodeSection::new(code, offset, set)?;
    let (offset, _) = object("caml_sections")?;
    let (sections, _) = Data::read(bytes, offset)?;
    let (constants_at, _) = object("caml_data")?;
    let (constants, _) = Data::read(bytes, constants_at)?;
    let map = find(&sections, b"SYMB").ok_or_else(|| refuse("it has no section SYMB"))?;
    let globals = Globals::new(&sections, map, offset as u64, Some(constants))?;
    let primitives = match find(&sections, b"PRIM") {
        Some(section) => primitives(&sections, section),
        None => builtin_primitives(bytes, elf)
            .ok_or_else(|| refuse("it has neither a section PRIM nor a table of primitives"))?,
    };
    Ok(Parts { version, code, primitives, globals, debug: None })
}

/// Finds a section by name in a list (OCaml 4) or an array (OCaml 5) of pairs.
fn find(sections: &Data<'_>, wanted: &[u8]) -> Option<Value> {
    let named = |pair: Value| match *sections.fields(pair) {
        [name, value] if sections.string(name) == Some(wanted) => Some(value),
        _ => None,
    };
    let all = sections.root();
    let listed = sections.list(all).find_map(named);
    listed.or_else(|| sections.fields(all).iter().copied().find_map(named))
}

/// Reads the names from one string (OCaml 4) or a list of strings (OCaml 5).
fn primitives<'a>(sections: &Data<'a>, value: Value) -> Vec<Cow<'a, str>> {
    match sections.string(value) {
        Some(all) => names(all),
        None => {
            let listed = sections.list(value).filter_map(|text| sections.string(text));
            listed.map(name).collect()
        }
    }
}

/// The names in the runtime's own table.
fn builtin_primitives<'a>(bytes: &'a [u8], elf: &Elf<'a>) -> Option<Vec<Cow<'a, str>>> {
    let addresses = elf.pointers(bytes, "caml_names_of_builtin_cprim")?;
    let names = addresses.iter().map(|&address| {
        let text = elf.bytes_at(address)?;
        let end = text.iter().take(LONGEST_PRIMITIVE).position(|&byte| byte == 0)?;
        text.get(..end).map(name)
    });
    names.collect()
}
