//! The directory in memory that a keeper shares with the processes whose traces it keeps: the board, and the
//! ring buffers.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use bactrian_agent_abi::ring::{self, board, word};

use crate::temporary::{Owner, TemporaryFolder};

/// The directory, with its board.
#[derive(Debug)]
pub struct Folder {
    folder: TemporaryFolder,
    board: File,
    beats: u64,
    /// The count of calls when it was last read.
    calls: u64,
    rings: u64,
    /// The user that is to own it.
    owner: Option<Owner>,
}

impl Folder {
    /// Creates a directory that only this user can access.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new() -> io::Result<Folder> {
        let folder = TemporaryFolder::in_memory("keeper")?;
        let board = create(&folder.file(board::NAME), board::BYTES)?;
        let mut folder = Folder { folder, board, beats: 0, calls: 0, rings: 0, owner: None };
        folder.beat();
        folder.write(board::MAGIC, ring::MAGIC)?;
        Ok(folder)
    }

    /// Gives it to another user.
    ///
    /// # Errors
    /// If we are not permitted to.
    pub fn given_to(mut self, owner: Option<Owner>) -> io::Result<Folder> {
        self.owner = owner;
        self.give(self.path())?;
        self.give(&self.folder.file(board::NAME))?;
        Ok(self)
    }

    fn give(&self, path: &Path) -> io::Result<()> {
        self.owner.map_or(Ok(()), |owner| owner.gets(path))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a ring.
    pub fn ring(&self, number: u64) -> PathBuf {
        self.folder.file(&ring::name(number))
    }

    /// Creates a ring; returns its number.
    ///
    /// # Errors
    /// If there is no memory for it.
    pub fn new_ring(&mut self) -> io::Result<(u64, File)> {
        let number = self.rings;
        let memory = create(&self.ring(number), ring::BYTES)?;
        self.give(&self.ring(number))?;
        memory.write_all_at(&ring::MAGIC.to_le_bytes(), 8 * word::MAGIC as u64)?;
        self.rings += 1;
        Ok((number, memory))
    }

    /// Offers a ring to the first process that takes it.
    ///
    /// # Errors
    /// If the board cannot be written.
    pub fn offer(&self, number: u64) -> io::Result<()> {
        self.write(board::FREE, number + 1)
    }

    /// Offers none, until there is one.
    pub fn offer_none(&self) {
        // If this fails, processes look at a ring that has an owner, and leave it.
        let _ = self.write(board::FREE, 0);
    }

    /// Whether a process has called since the last time.
    pub fn is_called(&mut self) -> bool {
        let calls = read_word(&self.board, board::CALLS).unwrap_or(self.calls);
        let is_called = calls != self.calls;
        self.calls = calls;
        is_called
    }

    /// Beats the heart, to show that we are alive.
    pub fn beat(&mut self) {
        self.beats += 1;
        // If this fails, we are believed dead, and nothing is lost.
        let _ = self.write(board::HEART, self.beats);
    }

    /// Announces that we take out no more.
    pub fn leave(&self) {
        // If this fails, we are believed dead a little later.
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

/// A file of zeros whose memory is allocated: a program that writes to a page of a mapping for which there is
/// no memory is killed. If there is not enough memory, none is kept.
fn create(path: &Path, bytes: usize) -> io::Result<File> {
    if most_bytes() < bytes as u64 {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    let written = file.write_all_at(&vec![0; bytes], 0);
    written.inspect_err(|_| drop(fs::remove_file(path)))?;
    Ok(file)
}
