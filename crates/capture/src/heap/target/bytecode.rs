//! Finds the file with a program's bytecode: its executable, or the argument of `ocamlrun`.

use std::ffi::OsString;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use bactrian_ocaml::ExecutableName;
use bactrian_ocaml::bytecode::Program;

use super::{Files, Target};
use crate::memory::Memory;

/// Larger files are not read, in bytes.
const LARGEST: u64 = 1 << 28;
const LONGEST_PATH: usize = 4096;

/// Finds and reads the file; returns its path and contents. A file is the right one if it has as much code as
/// the program.
pub(super) fn file(
    target: &Target,
    memory: &dyn Memory,
    files: &Files,
) -> Option<(PathBuf, Vec<u8>)> {
    let size = memory.word(target.global("caml_code_size")?)?;
    let mut paths = files.candidates(&target.runtime_object().path);
    if let Some(name) = told(target, memory) {
        paths.extend(files.candidates(&name));
    }
    paths.iter().find_map(|path| {
        let bytes = read(path)?;
        let code = u64::from(Program::read(&bytes).ok()?.code.end().0) * 4;
        // The process's path may be relative, and paths in /proc disappear with the process.
        let path = path.canonicalize().unwrap_or_else(|_| path.clone());
        (code == size).then_some((path, bytes))
    })
}

/// The file that the runtime was told to run.
fn told(target: &Target, memory: &dyn Memory) -> Option<PathBuf> {
    let name = match target.runtime.executable_name {
        ExecutableName::Variable => memory.word(target.global("caml_exe_name")?)?,
        ExecutableName::Parameter(at) => {
            let parameters = memory.word(target.global("caml_params")?)?;
            memory.word(parameters.checked_add(8 * at as u64)?)?
        }
    };
    let name = memory.c_string(name, LONGEST_PATH)?;
    Some(OsString::from_vec(name).into())
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let file = File::open(path).ok()?;
    let length = file.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
    let mut bytes = Vec::new();
    let is_whole = length <= LARGEST && file.take(LARGEST).read_to_end(&mut bytes).is_ok();
    is_whole.then_some(bytes)
}
