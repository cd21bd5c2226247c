//! The file of a snapshot: it appears whole or not at all, and only its owner can read it.

use std::ffi::OsStr;
use std::io::{self, BufWriter, Write};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use bactrian_agent_abi::frozen::unfinished;
use bactrian_snapshot::SnapshotError;
use tempfile::NamedTempFile;

use super::Failure;
use crate::heap::{Options, Subject, Summary, walk};

/// A snapshot file that was written.
#[derive(Clone, Debug)]
pub struct Written {
    /// Its path.
    pub path: PathBuf,
    /// A summary of its contents.
    pub summary: Summary,
}

/// Where to write a snapshot.
#[derive(Clone, Copy, Debug)]
pub struct Destination<'p> {
    /// The file.
    pub path: &'p Path,
    /// Whether an existing file may be replaced.
    pub replaces: bool,
    /// The maximal size of the file in bytes.
    pub most_bytes: Option<u64>,
}

/// Walks a heap and writes the result to a file. `release` is called with address ranges that are no longer
/// needed.
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
    let file = create_unfinished(path, folder).map_err(|why| {
        match why.get_ref().and_then(std::error::Error::source) {
            // The cause, without the name of the temporary file.
            Some(cause) => cannot(&cause),
            None => cannot(&why),
        }
    })?;
    let out = Limited { out: BufWriter::with_capacity(1 << 20, file), left: most_bytes };
    let (Limited { out, .. }, summary) =
        walk(subject, options, release, out).map_err(|why| match (why, subject.signal()) {
            (_, Some(signal)) => Failure::Interrupted(signal),
            (SnapshotError::Misuse(what), None) => {
                Failure::Refused(format!("the heap cannot be written as a snapshot: {what}"))
            }
            (other, None) => cannot(&other),
        })?;
    let file = out.into_inner().map_err(|why| cannot(why.error()))?;
    let persisted = if replaces { file.persist(path) } else { file.persist_noclobber(path) };
    persisted.map_err(|why| cannot(&why.error))?;
    Ok(Written { path: path.to_owned(), summary })
}

/// Creates the file that a snapshot is written to. Its name says what it is, and what it belongs to: if we are killed,
/// the program that we read removes it. What somebody else has left or is writing there stays.
fn create_unfinished(path: &Path, folder: &Path) -> io::Result<NamedTempFile> {
    let name = unfinished(path.file_name().unwrap_or_default().as_bytes());
    let mut file = tempfile::Builder::new();
    match file.rand_bytes(0).prefix(OsStr::from_bytes(&name)).tempfile_in(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            tempfile::Builder::new().prefix(".bactrian-").suffix(".unfinished").tempfile_in(folder)
        }
        created => created,
    }
}

/// A writer with a maximal number of bytes.
struct Limited {
    out: BufWriter<NamedTempFile>,
    left: Option<u64>,
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Some(left) = &mut self.left {
            *left = left
                .checked_sub(bytes.len() as u64)
                .ok_or_else(|| io::Error::other("snapshots would exceed their disk limit"))?;
        }
        self.out.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
