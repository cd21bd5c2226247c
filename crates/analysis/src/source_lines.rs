//! Source files: which lines of them allocate, and where they are.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::estimate::Estimate;
use crate::top::Row;

/// What lines of a file allocate, themselves and with all they call, by their numbers; from rows by line.
pub fn lines_of(source: &Path, rows: &[Row]) -> BTreeMap<u32, (Estimate, Estimate)> {
    let place = |row: &Row| {
        let (file, line) = row.label.name.rsplit_once(':')?;
        Some((PathBuf::from(file), line.parse::<u32>().ok()?, row.own, row.total))
    };
    let places: Vec<_> = rows.iter().filter_map(place).collect();
    let same_name = |file: &Path| file.file_name() == source.file_name();
    let named: BTreeSet<_> =
        places.iter().map(|place| &place.0).filter(|file| same_name(file)).collect();
    // The compiler was told another path than we are. If the end of one is the other, it is the same file; if not, it
    // still is if no other file has its name.
    let is_it = |file: &PathBuf| {
        let suffix = are_same(source, file);
        suffix || named.len() == 1 && named.contains(file)
    };
    let wanted = places.iter().filter(|(file, ..)| is_it(file));
    wanted.map(|(_, line, own, total)| (*line, (*own, *total))).collect()
}

/// Whether the end of one path is the other.
fn are_same(one: &Path, other: &Path) -> bool {
    let clean =
        |path: &Path| path.components().filter(|c| c.as_os_str() != ".").collect::<PathBuf>();
    let (one, other) = (clean(one), clean(other));
    one.ends_with(&other) || other.ends_with(&one)
}

/// How files of programs end. No other file of a disk is source code, whatever a trace says.
const ENDINGS: [&str; 9] = ["ml", "mli", "mll", "mly", "re", "rei", "eliom", "c", "h"];
/// Larger files are not written by people.
const MOST_BYTES: u64 = 16 << 20;
/// How far above a program its sources are looked for: `_build/default/bin/main.exe` is of `bin/main.ml`.
const LEVELS: usize = 6;

/// Finds a source file that a trace names: where the name says, from here, from beside the trace, or from a folder around
/// the program.
pub fn find_source(named: &str, trace: &Path, program: &Path) -> Option<PathBuf> {
    let named = Path::new(named);
    let ending = named.extension().and_then(|ending| ending.to_str());
    if !ending.is_some_and(|ending| ENDINGS.contains(&ending)) {
        return None;
    }
    let beside = trace.parent();
    let around = program.ancestors().skip(1).take(LEVELS);
    let folders = [Some(Path::new(""))].into_iter().chain([beside]).flatten().chain(around);
    let mut candidates = folders.map(|folder| folder.join(named));
    candidates.find(|path| {
        let metadata = path.metadata();
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MOST_BYTES)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_found_around_the_trace_and_the_program() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for (at, file) in [("src", "a.ml"), ("runs", "b.ml"), ("src", "secret.txt")] {
            std::fs::create_dir_all(root.join(at)).expect("a folder");
            std::fs::write(root.join(at).join(file), "let () = ()").expect("a file");
        }
        let find = |named: &str| {
            find_source(named, &root.join("runs/x.ctf"), &root.join("_build/default/bin/main.exe"))
        };
        assert_eq!(find("src/a.ml"), Some(root.join("src/a.ml")));
        assert_eq!(find("b.ml"), Some(root.join("runs/b.ml")));
        assert_eq!(find("src/secret.txt"), None);
        assert_eq!(find("src/no.ml"), None);
    }
}
