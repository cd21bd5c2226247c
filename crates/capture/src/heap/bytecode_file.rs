//! The file that a bytecode program was read from, for the names in it.
//!
//! The runtime remembers its name. In memory there is only the code, rewritten for speed.

use std::fs;
use std::path::{Path, PathBuf};

use bactrian_ocaml::Code;
use bactrian_ocaml::bytecode::Program;

use super::target::{Files, Target};
use crate::memory::Memory;

const LONGEST_PATH: usize = 4096;
/// Bytes of an instruction word.
const INSTRUCTION: u64 = 4;

/// Where a program's bytecode is in memory. Empty if it is none.
pub fn code(target: &Target, memory: &dyn Memory) -> std::ops::Range<u64> {
    let global = |name: &str| target.global(name).and_then(|at| memory.word(at));
    let start = global("caml_start_code").unwrap_or(0);
    start..start.saturating_add(global("caml_code_size").unwrap_or(0))
}

/// The bytes of the file that a bytecode program was read from; `folder` is where the program runs, if that is
/// known. None for native programs.
///
/// # Errors
/// A sentence, if there is no such file, or another one by now.
pub fn read(
    target: &Target,
    memory: &dyn Memory,
    files: &Files,
    folder: Option<&Path>,
) -> Option<Result<Vec<u8>, String>> {
    if target.code != Code::Bytecode {
        return None;
    }
    let code = code(target, memory);
    let mut candidates = Vec::new();
    if let Some(name) = name(target, memory) {
        candidates.push(match (&files.root, folder) {
            (Some(root), _) if name.is_absolute() => {
                root.join(name.strip_prefix("/").unwrap_or(&name))
            }
            (_, Some(folder)) => folder.join(&name),
            _ => name,
        });
    }
    // The runtime and its bytecode may be one file.
    candidates.push(target.runtime_object().path.clone());
    candidates.extend(files.others.iter().cloned());
    let is_same = |bytes: &[u8]| {
        Program::read(bytes).is_ok_and(|program| {
            u64::from(program.code.end().0) * INSTRUCTION == code.end - code.start
        })
    };
    let found =
        candidates.iter().filter_map(|file| fs::read(file).ok()).find(|bytes| is_same(bytes));
    Some(found.ok_or_else(|| {
        "functions have no names: the file that the bytecode was read from is not there, or is another one".to_owned()
    }))
}

/// What the runtime calls the file.
fn name(target: &Target, memory: &dyn Memory) -> Option<PathBuf> {
    // OCaml 5 has it as the first of its parameters.
    let place = target.global("caml_exe_name");
    let place = place.or_else(|| target.global("caml_params").and_then(|at| memory.word(at)));
    let text = memory.c_string(memory.word(place?)?, LONGEST_PATH)?;
    String::from_utf8(text).ok().filter(|text| !text.is_empty()).map(PathBuf::from)
}
