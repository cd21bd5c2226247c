//! The folder in memory that a keeper and the processes it keeps traces of have in common: the board, and rings.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bactrian_agent_abi::ring::{self, board, word};

use crate::temporary::{Owner, TemporaryFolder};

/// A folder, with its board.
#[derive(Debug)]
pub struct Folder {
    folder: TemporaryFolder,
    board: File,
    beats: u64,
    /// How often somebody has called, as far as we have heard.
    calls: u64,
    rings: u64,
    /// Who is to have it.
    owner: Option<Owner>,
}

impl Folder {
    /// Makes one that nobody else may look into.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn new() -> io::Result<Folder> {
        let folder = TemporaryFolder::in_memory("keeper")?;
        let board = create(&folder.file(board::NAME), board::BYTES)?;
        let mut folder = Folder { folder, board, beats: 0, calls: 0, rings: 0, owner: None };
        folder.beat();
        folder.write(board::MAGIC, ring::MAGIC)?;
        Ok(folder)
    }

    /// Gives it to somebody.
    ///
    /// # Errors
    /// If we may not.
    pub fn given_to(mut self, owner: Option<Owner>) -> io::Result<Folder> {
        self.owner = owner;
        self.give(self.path())?;
        self.give(&self.folder.file(board::NAME))?;
        Ok(self)
    }

    fn give(&self, path: &Path) -> io::Result<()> {
        self.owner.map_or(Ok(()), |owner| owner.gets(path))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where a ring is.
    pub fn ring(&self, number: u64) -> PathBuf {
        self.folder.file(&ring::name(number))
    }

    /// Makes a ring, and gives its number.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn new_ring(&mut self) -> io::Result<(u64, File)> {
        let number = self.rings;
        let memory = create(&self.ring(number), ring::BYTES)?;
        self.give(&self.ring(number))?;
        memory.write_all_at(&ring::MAGIC.to_le_bytes(), 8 * word::MAGIC as u64)?;
        self.rings += 1;
        Ok((number, memory))
    }

    /// Offers a ring to whoever comes first.
    ///
    /// # Errors
    /// If the board cannot be written.
    pub fn offer(&self, number: u64) -> io::Result<()> {
        self.write(board::FREE, number + 1)
    }

    /// Whether somebody has taken what was offered.
    pub fn is_taken(&self) -> bool {
        read_word(&self.board, board::FREE) == Some(0)
    }

    /// Whether somebody has called since this was asked last.
    pub fn is_called(&mut self) -> bool {
        let calls = read_word(&self.board, board::CALLS).unwrap_or(self.calls);
        let is_called = calls != self.calls;
        self.calls = calls;
        is_called
    }

    /// Shows that we live.
    pub fn beat(&mut self) {
        self.beats += 1;
        // If it fails, we are taken for dead, and nothing is lost.
        let _ = self.write(board::HEART, self.beats);
    }

    /// Shows that we take nothing out any more.
    pub fn leave(&self) {
        // If it fails, we are taken for dead a little later.
        let _ = self.write(board::LEFT, 1);
    }

    fn write(&self, at: usize, value: u64) -> io::Result<()> {
        self.board.write_all_at(&value.to_le_bytes(), 8 * at as u64)
    }
}

/// The soft limit of file sizes.
pub fn most_bytes() -> u64 {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Fsize);
    limit.current.unwrap_or(u64::MAX)
}

/// A word of a board or a ring.
pub fn read_word(file: &File, at: usize) -> Option<u64> {
    let mut bytes = [0; 8];
    file.read_exact_at(&mut bytes, 8 * at as u64).ok()?;
    Some(u64::from_le_bytes(bytes))
}

/// A file of zeros, for all of which there is room: a program that writes to a page for which there is none is killed.
fn create(path: &Path, bytes: usize) -> io::Result<File> {
    if most_bytes() < bytes as u64 {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all_at(&vec![0; bytes], 0)?;
    Ok(file)
}
