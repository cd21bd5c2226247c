//! Source files: where they are, and which lines allocate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::estimate::Estimate;
use crate::filter_options::FilterOptions;
use crate::info::info;
use crate::labels::{By, Label};
use crate::library::LibraryOptions;
use crate::measure::Metric;
use crate::profile::Profile;
use crate::question::{Answer, CommandLine, Evidence, FileNumber, Question, QuestionError};
use crate::sorted_rows::SortRows;
use crate::standard_library;
use crate::top::Row;

/// The lines around a place in the source, with what they allocate; empty if the source is not found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct SourceQuestion {
    /// The trace
    #[serde(default)]
    pub file: FileNumber,
    /// The source file, as the trace names it
    pub path: String,
    /// The line
    #[serde(default = "first_line")]
    #[schemars(extend("x-verb" = true))]
    pub line: usize,
    /// What to measure
    #[serde(default)]
    pub metric: Metric,
    /// Which code to show
    #[serde(flatten)]
    pub library: LibraryOptions,
    /// Which objects
    #[serde(flatten)]
    pub filter: FilterOptions,
}

fn first_line() -> usize {
    1
}

/// Lines of a source file.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SourceAnswer {
    /// The file, as the trace names it.
    pub file: String,
    /// Whether the file was found.
    pub found: bool,
    /// The number of the first line.
    pub first: usize,
    /// The lines.
    pub lines: Vec<String>,
    /// What lines allocate, by line number.
    pub numbers: BTreeMap<u32, LineNumbers>,
}

/// What a line allocates.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct LineNumbers {
    /// By the line itself.
    #[serde(rename = "self")]
    pub own: Estimate,
    /// By the line and everything it calls.
    pub total: Estimate,
}

/// The number of lines shown before and after the requested line.
const AROUND: usize = 20;
/// Longer lines are cut, in characters.
const LONGEST_LINE: usize = 500;

impl Question for SourceQuestion {
    const NAME: &'static str = "trace/source";
    const COMMAND: Option<&'static str> = Some("annotate");
    type Answer = SourceAnswer;

    fn ask(&self, evidence: &dyn Evidence) -> Result<Answer<SourceAnswer>, QuestionError> {
        let trace = evidence.trace(self.file)?;
        let filter = self.filter.filter_with(self.library)?;
        let line = self.line.max(1);
        let mut answer = SourceAnswer {
            file: self.path.clone(),
            found: false,
            first: line,
            lines: Vec::new(),
            numbers: BTreeMap::new(),
        };
        let found = self.find(evidence)?;
        let Some(text) = found.as_ref().and_then(|path| std::fs::read(path).ok()) else {
            return Ok(Answer::new(answer, []));
        };
        answer.found = true;
        answer.first = line.saturating_sub(AROUND).max(1);
        let text = String::from_utf8_lossy(&text);
        let lines = text.lines().skip(answer.first - 1).take(line + AROUND + 1 - answer.first);
        let cut = |line: &str| line.chars().take(LONGEST_LINE).collect::<String>();
        answer.lines = lines.map(cut).collect();
        let top = trace.top(&filter, By::Line, self.metric.measure(|| trace.keeps_little()));
        let shown = answer.first..answer.first + answer.lines.len();
        let numbers = lines_of(Path::new(&self.path), &top.rows).into_iter();
        answer.numbers = numbers
            .filter(|(number, _)| shown.contains(&(*number as usize)))
            .map(|(number, (own, total))| (number, LineNumbers { own, total }))
            .collect();
        let mut notes = trace.notes(&filter, None);
        notes.extend(found.as_deref().and_then(standard_library::note_on));
        Ok(Answer::new(answer, [top.losses.clone().into()]).with_notes(notes))
    }

    fn command(&self, evidence: &dyn Evidence) -> Result<Option<CommandLine>, QuestionError> {
        let Some(source) = self.find(evidence)? else { return Ok(None) };
        let command = CommandLine::new("annotate").file(&source);
        let command = command.option("profile", &evidence.path(self.file)?.to_string_lossy());
        Ok(Some(command.options_of(self)))
    }
}

impl SourceQuestion {
    /// Finds the file. Only files named in the trace may be read.
    fn find(&self, evidence: &dyn Evidence) -> Result<Option<PathBuf>, QuestionError> {
        let trace = evidence.trace(self.file)?;
        let program = info(trace.trace()).program;
        let is_named = trace.names_file(&self.path);
        Ok(is_named
            .then(|| find_source(&self.path, evidence.path(self.file).ok()?, Path::new(&program)))
            .flatten())
    }
}

/// What the lines of a file allocate, self and total, by line number; from rows by line.
pub fn lines_of(source: &Path, rows: &[Row]) -> BTreeMap<u32, (Estimate, Estimate)> {
    let place = |row: &Row| {
        let (file, line) = row.label.name.rsplit_once(':')?;
        Some((PathBuf::from(file), line.parse::<u32>().ok()?, row.own, row.total))
    };
    let places: Vec<_> = rows.iter().filter_map(place).collect();
    let same = SameFile::new(source, places.iter().map(|place| &*place.0));
    let wanted = places.iter().filter(|(file, ..)| same.is_it(file));
    wanted.map(|(_, line, own, total)| (*line, (*own, *total))).collect()
}

/// A stack with a line of the source in it.
#[derive(Clone, Debug)]
pub struct LineStack {
    /// Innermost first.
    pub frames: Vec<Label>,
    /// The number of outer frames left out.
    pub left_out: usize,
    /// What it allocates by itself.
    pub own: Estimate,
}

/// The stacks that go through a line of a file, those that allocate most first; of a profile by site.
pub fn stacks_through(source: &Path, line: u32, profile: &Profile, most: usize) -> Vec<LineStack> {
    /// The most frames shown of a stack.
    const MOST_FRAMES: usize = 20;
    let files = profile.labels.iter().filter_map(|(_, label)| label.file.as_deref());
    let same = SameFile::new(source, files.map(Path::new));
    let is_here = |label: &Label| {
        let is_file = |file: &String| same.is_it(Path::new(file));
        label.line == Some(line) && label.file.as_ref().is_some_and(is_file)
    };
    let is_here: Vec<bool> = profile.labels.iter().map(|(_, label)| is_here(label)).collect();
    let (tree, column) = (&profile.tree, profile.first());
    // Whether each stack has the line anywhere: parents come before their children.
    let mut through = vec![false; tree.len()];
    let mut found = Vec::new();
    for stack in tree.ids() {
        let here = is_here[tree.label(stack).index()] || through[tree.parent(stack).index()];
        through[stack.index()] = here;
        let own = column.own(stack);
        if here && !own.is_zero() {
            found.push((stack, own));
        }
    }
    found.sort_rows_by(|a, b| b.1.sum().total_cmp(&a.1.sum()).then(a.0.cmp(&b.0)));
    found.truncate(most);
    let told = found.into_iter().map(|(stack, own)| {
        let mut labels =
            tree.labels_innermost_first(stack).map(|id| profile.labels.get(id).clone());
        let frames = labels.by_ref().take(MOST_FRAMES).collect();
        LineStack { frames, left_out: labels.count(), own: column.estimate(own) }
    });
    told.collect()
}

/// Decides which file of a trace is a source file. The compiler may have been given a different path: it is the same file
/// if one path is a suffix of the other, or if no other file in the trace has its name.
struct SameFile<'a> {
    source: &'a Path,
    /// The only file with the name of the source, if there is just one.
    only: Option<PathBuf>,
}

impl<'a> SameFile<'a> {
    fn new<'b>(source: &'a Path, files: impl Iterator<Item = &'b Path>) -> SameFile<'a> {
        let named: BTreeSet<_> =
            files.filter(|file| file.file_name() == source.file_name()).collect();
        let only =
            if named.len() == 1 { named.first().map(|file| file.to_path_buf()) } else { None };
        SameFile { source, only }
    }

    fn is_it(&self, file: &Path) -> bool {
        are_same(self.source, file) || self.only.as_deref() == Some(file)
    }
}

/// Whether one path is a suffix of the other.
fn are_same(one: &Path, other: &Path) -> bool {
    let clean =
        |path: &Path| path.components().filter(|c| c.as_os_str() != ".").collect::<PathBuf>();
    let (one, other) = (clean(one), clean(other));
    one.ends_with(&other) || other.ends_with(&one)
}

/// Extensions of OCaml, Reason and C sources. Other files are never read, whatever a trace says.
const ENDINGS: [&str; 9] = ["ml", "mli", "mll", "mly", "re", "rei", "eliom", "c", "h"];
/// Larger files are not written by people.
const MOST_BYTES: u64 = 16 << 20;
/// How many directories above a program are searched for its sources: `_build/default/bin/main.exe` belongs
/// to `bin/main.ml`.
const LEVELS: usize = 6;

/// Finds a source file named in a trace: by its path, from the current directory, from the trace's directory,
/// from a directory above the program, or in the installed standard library.
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
    let is_source = |path: &PathBuf| {
        let metadata = path.metadata();
        metadata.is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MOST_BYTES)
    };
    let of_library = || {
        let library = standard_library::folder()?;
        let path = library.join(named).canonicalize().ok()?;
        (path.starts_with(library) && is_source(&path)).then_some(path)
    };
    candidates.find(is_source).or_else(of_library)
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

    #[test]
    fn the_standard_library_has_its_sources() {
        let find = |named: &str| find_source(named, Path::new("x.ctf"), Path::new("/no/program"));
        let list = find("list.ml").expect("the compiler that tests use comes with its sources");
        assert!(std::fs::read_to_string(&list).expect("a file").contains("let rec"));
        assert!(standard_library::note_on(&list).expect("a note").contains("installed here"));
        // Whatever a trace names, only library sources are read there.
        assert_eq!(find("../../../etc/passwd"), None);
        assert_eq!(find("no_such_module.ml"), None);
    }
}
