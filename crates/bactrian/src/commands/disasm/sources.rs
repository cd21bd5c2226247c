//! Finds source files.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use bactrian_ocaml::bytecode::DebugUnit;

/// Debug information decides which files are read and is not trusted, so longer files are not accepted as
/// sources.
const LONGEST: u64 = 16 << 20;

/// The lines of source files, with each file searched for once.
#[derive(Debug)]
pub struct Sources {
    folders: Vec<PathBuf>,
    known: HashMap<String, Option<Vec<String>>>,
}

impl Sources {
    /// Sources of the program at `path`, searched for in these directories, the current one and the
    /// program's.
    pub fn new(path: &Path, folders: &[PathBuf]) -> Sources {
        let mut folders = folders.to_vec();
        folders.push(PathBuf::new());
        folders.extend(path.parent().map(Path::to_owned));
        Sources { folders, known: HashMap::new() }
    }

    /// The lines of a file, if it is found. The compiler also recorded where it searched for a module's
    /// files.
    pub fn lines(&mut self, file: &str, unit: Option<&DebugUnit<'_>>) -> Option<&[String]> {
        if !self.known.contains_key(file) {
            let lines = self.find(file, unit);
            self.known.insert(file.to_owned(), lines);
        }
        self.known.get(file)?.as_deref()
    }

    /// A line of the file, counted from 1.
    pub fn line(&mut self, file: &str, line: u32, unit: Option<&DebugUnit<'_>>) -> Option<&str> {
        let index = usize::try_from(line).ok()?.checked_sub(1)?;
        self.lines(file, unit)?.get(index).map(String::as_str)
    }

    fn find(&self, file: &str, unit: Option<&DebugUnit<'_>>) -> Option<Vec<String>> {
        let told = unit.map_or(&[][..], |unit| &unit.folders).iter().map(|told| Path::new(&**told));
        // Relative paths were relative to the compiler's working directory, which is unknown here.
        let told = told.filter(|folder| folder.is_absolute());
        let folders = self.folders.iter().map(PathBuf::as_path).chain(told);
        folders.map(|folder| folder.join(file)).find_map(|path| read(&path))
    }
}

fn read(path: &Path) -> Option<Vec<String>> {
    let facts = fs::metadata(path).ok()?;
    if !facts.is_file() || facts.len() > LONGEST {
        return None;
    }
    let bytes = fs::read(path).ok()?;
    let text = String::from_utf8_lossy(&bytes);
    Some(text.lines().map(|line| line.trim_end().replace('\t', "        ")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn source_directories_are_searched_in_order() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        for (folder, text) in [(&first, "one\n\ttwo  \n"), (&second, "other")] {
            fs::create_dir(folder).expect("room");
            fs::write(folder.join("a.ml"), text).expect("room");
        }
        fs::write(second.join("b.ml"), "b").expect("room");
        let mut sources = Sources::new(&second.join("program"), &[first]);
        assert_eq!(sources.line("a.ml", 2, None), Some("        two"));
        assert_eq!(sources.line("a.ml", 3, None), None);
        assert_eq!(sources.line("a.ml", 0, None), None);
        assert_eq!(sources.line("b.ml", 1, None), Some("b"));
        assert_eq!(sources.lines("c.ml", None), None);
        let told = |folder: &str| DebugUnit {
            start: bactrian_ocaml::bytecode::Pc(0),
            folders: vec![folder.to_owned().into()],
        };
        let second = second.to_string_lossy().into_owned();
        let mut sources = Sources::new(Path::new("/nowhere/program"), &[]);
        assert_eq!(sources.line("b.ml", 1, Some(&told(&second))), Some("b"));
        assert_eq!(sources.line("zero", 1, Some(&told("/dev"))), None);
    }
}
