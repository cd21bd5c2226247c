//! `bactrian annotate --lsp`: the numbers of a trace beside the lines of an editor. The protocol is in `bactrian-lsp`; this
//! file chooses the trace and writes the texts for each line.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use bactrian_analysis::{
    By, Estimate, Filter, Measure, Metric, Profile, Top, Unit, keeps_little, lines_of,
    stacks_through, top,
};
use bactrian_lsp::{Annotations, Ended, LineNote, serve as speak};

use crate::failure::{Failure, Status};
use crate::open;
use crate::output::{show_estimate, show_share, show_value};

/// Lines that allocate this share of everything or more have a lens above them.
const LENS_SHARE: f64 = 0.01;
/// Stacks that a hover tells.
const MOST_STACKS: usize = 5;
/// Larger files are not written by people.
const MOST_SOURCE_BYTES: u64 = 16 << 20;
/// How deep below the editor's folders traces are looked for, and how many files are looked at: an editor waits.
const MOST_LEVELS: usize = 3;
const MOST_ENTRIES: usize = 50_000;
/// Folders that builds fill.
const NOT_SEARCHED: &[&str] = &["_build", "_opam", "node_modules", "target"];

/// Speaks with an editor until it leaves.
pub fn serve(named: Option<PathBuf>, metric: Metric, filter: Filter) -> Result<Status, Failure> {
    let mut notes = TraceNotes { named, folders: Vec::new(), metric, filter, measured: None };
    let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
    match speak(&mut input, &mut output, &mut notes).map_err(anyhow::Error::from)? {
        Ended::Orderly => Ok(Status::Done),
        // As the protocol wants it: status 1.
        Ended::Abruptly => Ok(Status::Finding),
    }
}

struct TraceNotes {
    /// The trace that the command line names.
    named: Option<PathBuf>,
    /// Where the newest is looked for if it names none.
    folders: Vec<PathBuf>,
    metric: Metric,
    filter: Filter,
    measured: Option<Measured>,
}

/// What a trace says, without the trace: it may be written over at any time.
struct Measured {
    path: PathBuf,
    /// What tells whether it is still the same.
    modified: SystemTime,
    bytes: u64,
    by_line: Top,
    by_site: Profile,
}

/// A trace on the disk.
struct Found {
    path: PathBuf,
    modified: SystemTime,
    bytes: u64,
}

impl TraceNotes {
    /// The numbers of the trace that is shown now.
    fn measured(&mut self) -> Result<&Measured, String> {
        let found = match &self.named {
            Some(path) => look_at(path.clone())
                .map_err(|error| format!("{}: {error}", path.display()))?,
            None => newest_trace(&self.folders).ok_or(
                "no trace (*.ctf) in the editor's folders: record one with `bactrian record -- PROGRAM`",
            )?,
        };
        let is_same = |old: &Measured| {
            (&old.path, old.modified, old.bytes) == (&found.path, found.modified, found.bytes)
        };
        let measured = match self.measured.take() {
            Some(old) if is_same(&old) => old,
            _ => self.measure(found)?,
        };
        Ok(self.measured.insert(measured))
    }

    fn measure(&self, found: Found) -> Result<Measured, String> {
        let trace = open::open(&found.path).map_err(|failure| failure.to_string())?;
        let measure = self.metric.measure(|| keeps_little(&trace));
        let by_line = top(&trace, &self.filter, By::Line, measure);
        let by_site = Profile::new(&trace, &self.filter, By::Site, &[measure]);
        let Found { path, modified, bytes } = found;
        Ok(Measured { path, modified, bytes, by_line, by_site })
    }
}

impl Annotations for TraceNotes {
    fn set_folders(&mut self, folders: Vec<PathBuf>) {
        self.folders = folders;
    }

    fn notes(&mut self, file: &Path) -> Result<Vec<LineNote>, String> {
        let measured = self.measured()?;
        let lines = lines_of(file, &measured.by_line.rows);
        let ends = ends_of_lines(file)?;
        let notes = lines.into_iter().filter_map(|(number, (own, total))| {
            let line = number.checked_sub(1)?;
            // A trace may be of an older version of the file, which was longer.
            let end = *ends.get(usize::try_from(line).ok()?)?;
            Some(measured.note(line, end, &own, &total))
        });
        Ok(notes.collect())
    }

    fn hover(&mut self, file: &Path, line: u32) -> Result<Option<String>, String> {
        let measured = self.measured()?;
        let number = line.saturating_add(1);
        let lines = lines_of(file, &measured.by_line.rows);
        let Some((own, total)) = lines.get(&number) else { return Ok(None) };
        let unit = measured.measure().unit;
        let mut text = format!("**{}**\n", measured.sentence(own, total));
        for stack in stacks_through(file, number, &measured.by_site, MOST_STACKS) {
            let share = measured.share(&stack.own);
            let own = show_estimate(unit, &stack.own);
            // Names come from the trace, and could be anything: a fence of four is not ended by them.
            let _ = write!(text, "\n{own} ({share}) by the stack\n\n````text\n");
            for frame in &stack.frames {
                let _ = writeln!(text, "{}", frame.text().replace(['`', '\n', '\r'], " "));
            }
            if stack.left_out > 0 {
                let _ = writeln!(text, ".. {} more", stack.left_out);
            }
            text.push_str("````\n");
        }
        Ok(Some(text))
    }
}

impl Measured {
    fn measure(&self) -> Measure {
        self.by_line.measure
    }

    fn share(&self, estimate: &Estimate) -> String {
        show_share(estimate.value / self.by_line.all.value.max(f64::MIN_POSITIVE))
    }

    /// What a line allocates, in full.
    fn sentence(&self, own: &Estimate, total: &Estimate) -> String {
        let unit = self.measure().unit;
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        format!(
            "{}: {} by this line itself, {} with all it calls ({name})",
            self.measure().title(),
            show_estimate(unit, own),
            show_estimate(unit, total),
        )
    }

    fn note(&self, line: u32, end: u32, own: &Estimate, total: &Estimate) -> LineNote {
        let unit: Unit = self.measure().unit;
        let share = self.share(total);
        let total_shown = show_value(unit, total.value);
        let hint = match own.value > 0.0 {
            true if own.value == total.value => format!("{total_shown}  {share}"),
            true => format!("{} of {total_shown}  {share}", show_value(unit, own.value)),
            false => format!("calls: {total_shown}  {share}"),
        };
        let matters = own.value >= LENS_SHARE * self.by_line.all.value && own.value > 0.0;
        let lens = || format!("{} {} here", show_estimate(unit, own), self.measure().title());
        LineNote { line, end, hint, tooltip: self.sentence(own, total), lens: matters.then(lens) }
    }
}

/// Where each line of a file ends, in UTF-16 code units.
fn ends_of_lines(file: &Path) -> Result<Vec<u32>, String> {
    let context = |error: io::Error| format!("{}: {error}", file.display());
    let metadata = fs::metadata(file).map_err(context)?;
    if !metadata.is_file() || metadata.len() > MOST_SOURCE_BYTES {
        return Err(format!("{}: this is not a source file", file.display()));
    }
    let text = fs::read(file).map_err(context)?;
    let text = String::from_utf8_lossy(&text);
    let ends = text.lines().map(|line| line.encode_utf16().count() as u32);
    Ok(ends.collect())
}

fn look_at(path: PathBuf) -> io::Result<Found> {
    let metadata = fs::metadata(&path)?;
    Ok(Found { modified: metadata.modified()?, bytes: metadata.len(), path })
}

/// The trace that was written last, in these folders and not far below.
fn newest_trace(folders: &[PathBuf]) -> Option<Found> {
    let mut entries_left = MOST_ENTRIES;
    let mut newest: Option<Found> = None;
    let mut waiting: Vec<_> = folders.iter().map(|folder| (folder.clone(), 0)).collect();
    while let Some((folder, level)) = waiting.pop() {
        // A folder that cannot be read has no trace for us.
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entries_left == 0 {
                return newest;
            }
            entries_left -= 1;
            let (path, name) = (entry.path(), entry.file_name());
            let name = name.to_string_lossy();
            // Not through symbolic links, which may lead in circles.
            let Ok(kind) = entry.file_type() else { continue };
            let is_searched = !name.starts_with('.') && !NOT_SEARCHED.contains(&&*name);
            if kind.is_dir() && level < MOST_LEVELS && is_searched {
                waiting.push((path, level + 1));
            } else if kind.is_file() && name.ends_with(".ctf") {
                let Ok(found) = look_at(path) else { continue };
                if newest.as_ref().is_none_or(|newest| newest.modified < found.modified) {
                    newest = Some(found);
                }
            }
        }
    }
    newest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_trace_near_the_top_is_found() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let write = |path: &str, age: u64| {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().expect("it is in a folder")).expect("it is ours");
            let file = fs::File::create(&path).expect("it is ours");
            let when = SystemTime::now() - std::time::Duration::from_secs(age);
            file.set_modified(when).expect("it is ours");
            path
        };
        assert!(newest_trace(&[folder.path().to_path_buf()]).is_none());
        write("old.ctf", 100);
        let newest = write("traces/new.ctf", 50);
        write("_build/newer.ctf", 1);
        write(".git/newer.ctf", 1);
        write("a/b/c/d/deep.ctf", 1);
        write("newer.txt", 1);
        let found = newest_trace(&[folder.path().to_path_buf()]).expect("there are some");
        assert_eq!(found.path, newest);
    }

    #[test]
    fn lines_end_where_an_editor_says() {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        fs::write(file.path(), "let é = 1\n\n(* 🐪 *)").expect("it is ours");
        assert_eq!(ends_of_lines(file.path()), Ok(vec![9, 0, 8]));
        assert!(ends_of_lines(Path::new("/dev/zero")).is_err());
    }
}
