//! The file of a snapshot: whole or not there, and for its owner only.

use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use bactrian_snapshot::Error;
use tempfile::NamedTempFile;

use super::Failure;
use crate::heap::{Options, Subject, Summary, walk};

/// A snapshot that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// Where it is.
    pub path: PathBuf,
    /// What is in it.
    pub summary: Summary,
}

/// Where a snapshot goes.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'p> {
    /// The file.
    pub path: &'p Path,
    /// Whether a file that is there may be replaced.
    pub replaces: bool,
    /// How large the file may be.
    pub most_bytes: Option<u64>,
}

/// Walks a heap into a file. `release` is called with addresses that are not needed any more.
pub fn write(
    subject: &Subject<'_>,
    options: &Options,
    destination: Destination<'_>,
    release: impl FnMut(&[Range<u64>]),
) -> Result<Written, Failure> {
    let Destination { path, replaces, most_bytes } = destination;
    let cannot = |why: &dyn std::fmt::Display| {
        Failure::io(format_args!("cannot write {}", path.display()), why)
    };
    let folder = path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."));
    // The name tells what it is if we are killed and it stays.
    let mut file = tempfile::Builder::new();
    let file = file.prefix(".bactrian-").suffix(".unfinished").tempfile_in(folder);
    let file = file.map_err(|why| match why.get_ref().and_then(std::error::Error::source) {
        // What is wrong, without the name that nobody asked for.
        Some(cause) => cannot(&cause),
        None => cannot(&why),
    })?;
    let out = Limited { out: BufWriter::with_capacity(1 << 20, file), left: most_bytes };
    let (Limited { out, .. }, summary) =
        walk(subject, options, release, out).map_err(|why| match (why, subject.signal()) {
            (_, Some(signal)) => Failure::Interrupted(signal),
            (Error::Misuse(what), None) => {
                Failure::Refused(format!("the heap cannot be put into a snapshot: {what}"))
            }
            (other, None) => cannot(&other),
        })?;
    let file = out.into_inner().map_err(|why| cannot(why.error()))?;
    let persisted = if replaces { file.persist(path) } else { file.persist_noclobber(path) };
    persisted.map_err(|why| cannot(&why.error))?;
    Ok(Written { path: path.to_owned(), summary })
}

/// Writes no more than it may.
struct Limited {
    out: BufWriter<NamedTempFile>,
    left: Option<u64>,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if let Some(left) = &mut self.left {
            *left = left.checked_sub(bytes.len() as u64).ok_or_else(|| {
                std::io::Error::other("snapshots would take more room than they were allowed")
            })?;
        }
        self.out.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.out.flush()
    }
}
