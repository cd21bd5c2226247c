//! Where the bytes of a trace come from: a mapped file, or a pipe copied to a temporary file.
//!
//! The reader needs the whole file: domains are merged by time, and some questions take two passes. So a pipe
//! is first copied to an unnamed temporary file and then mapped like any other, which bounds memory whatever
//! comes through the pipe. This is the only module with `unsafe` code, so it also serves callers that want some
//! pages of a large file, such as an executable.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::ops::Deref;
use std::os::fd::AsFd;
use std::path::Path;

use memmap2::Mmap;

/// The bytes of a trace, available while this value lives.
#[derive(Debug)]
pub struct Input(Bytes);

#[derive(Debug)]
enum Bytes {
    Mapped(Mmap),
    Owned(Vec<u8>),
}

impl Input {
    /// Opens the file at `path`; `-` is standard input.
    ///
    /// # Errors
    /// The error of the operating system: no such file, not permitted, no room for a temporary copy.
    pub fn open(path: &Path) -> io::Result<Input> {
        let mut file = match path == Path::new("-") {
            true => File::from(io::stdin().as_fd().try_clone_to_owned()?),
            false => File::open(path)?,
        };
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a directory"));
        }
        if metadata.is_file() { Input::map(&file) } else { Input::from_pipe(&mut file) }
    }

    /// Copies everything that comes through a pipe.
    ///
    /// # Errors
    /// As [`Input::open`].
    pub fn from_pipe(pipe: &mut dyn Read) -> io::Result<Input> {
        let mut spool = tempfile::tempfile()?;
        io::copy(pipe, &mut spool)?;
        spool.flush()?;
        spool.rewind()?;
        Input::map(&spool)
    }

    /// Maps an open file.
    ///
    /// # Errors
    /// As [`Input::open`].
    #[expect(unsafe_code, reason = "mapping a file is unsafe because the file may change under it")]
    pub fn map(file: &File) -> io::Result<Input> {
        if file.metadata()?.len() == 0 {
            return Ok(Input(Bytes::Owned(Vec::new())));
        }
        // SAFETY: the map is private and read-only, and readers of this crate check every field each time they
        // look at it, so bytes that change meanwhile give wrong numbers at worst. Shortening the file while it
        // is read kills the process with SIGBUS; recorders only append, and linkers create new executables
        // instead of truncating.
        let map = unsafe { memmap2::MmapOptions::new().map_copy_read_only(file)? };
        Ok(Input(Bytes::Mapped(map)))
    }
}

impl From<Vec<u8>> for Input {
    fn from(bytes: Vec<u8>) -> Input {
        Input(Bytes::Owned(bytes))
    }
}

impl Deref for Input {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Mapped(map) => map,
            Bytes::Owned(bytes) => bytes,
        }
    }
}
