//! The installed standard library, whose sources are named in traces without a directory.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The library directory of the first compiler found.
pub(crate) fn folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let ask = |(program, arguments): (&str, &[&str])| {
        let said = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
        let folder = PathBuf::from(String::from_utf8(said.stdout).ok()?.trim_end());
        (said.status.success() && folder.is_absolute()).then_some(folder)
    };
    let ways: [(&str, &[&str]); 3] =
        [("ocamlfind", &["ocamlc", "-where"]), ("ocamlc", &["-where"]), ("ocamlopt", &["-where"])];
    FOLDER.get_or_init(|| ways.into_iter().find_map(ask)?.canonicalize().ok()).as_deref()
}

/// The note on a source file of the library: its version may differ from the program's.
pub(crate) fn note_on(source: &Path) -> Option<String> {
    let is_of_library = source.starts_with(folder()?);
    is_of_library.then(|| {
        format!(
            "{} is from the OCaml installed here: if the program was compiled by another \
             version, lines may differ",
            source.display()
        )
    })
}
