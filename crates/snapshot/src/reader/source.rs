//! Where the bytes of a snapshot come from: a file that is read piece by piece, or bytes in memory.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Deref;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes in memory, such as a vector or a mapped file.
pub(super) type Bytes = Box<dyn Deref<Target = [u8]> + Send + Sync>;

/// The bytes of a snapshot.
pub(super) enum Source {
    File(File, u64),
    Bytes(Bytes),
}

impl Source {
    pub fn open(path: &Path) -> io::Result<Source> {
        let file = File::open(path)?;
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        if metadata.is_file() {
            return Ok(Source::File(file, metadata.len()));
        }
        let mut bytes = Vec::new();
        io::Read::read_to_end(&mut &file, &mut bytes)?;
        Ok(Source::Bytes(Box::new(bytes)))
    }

    pub fn len(&self) -> u64 {
        match self {
            Source::File(_, length) => *length,
            Source::Bytes(bytes) => bytes.len() as u64,
        }
    }

    /// `length` bytes from `offset` on; fewer if the source ends earlier.
    pub fn read(&self, offset: u64, length: u64) -> io::Result<Cow<'_, [u8]>> {
        let length = length.min(self.len().saturating_sub(offset));
        match self {
            Source::File(file, _) => {
                let mut bytes = vec![0; length as usize];
                file.read_exact_at(&mut bytes, offset)?;
                Ok(Cow::Owned(bytes))
            }
            Source::Bytes(bytes) => {
                let start = offset.min(bytes.len() as u64) as usize;
                Ok(Cow::Borrowed(&bytes[start..start + length as usize]))
            }
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Source::File(file, length) => write!(f, "{file:?} of {length} bytes"),
            Source::Bytes(bytes) => write!(f, "{} bytes", bytes.len()),
        }
    }
}
