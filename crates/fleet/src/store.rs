//! Where profiles are stored: a folder, which may be a mount, or anything else with named files. A file appears completely or not
//! at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The extension of files that are being written, which readers ignore.
const UNFINISHED: &str = "unfinished";

/// A store of profiles. Names are paths with `/` between folders.
pub trait Store: Send + Sync {
    /// Writes a file, which appears when it is complete, and replaces one of this name.
    ///
    /// # Errors
    /// If the store is full or cannot be reached.
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// The contents of a file.
    ///
    /// # Errors
    /// If there is none, or the store cannot be reached.
    fn get(&self, name: &str) -> io::Result<Vec<u8>>;

    /// The names of all files in a folder and its subfolders; none if the folder does not exist.
    ///
    /// # Errors
    /// If it exists but cannot be read.
    fn names(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// If it could not be removed.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Renames a file, and replaces one of the new name.
    ///
    /// # Errors
    /// If it does not exist, or cannot be renamed; then it keeps its name.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
}

/// A folder of profiles.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// The store in this folder, which need not exist yet.
    pub fn new(path: &Path) -> Folder {
        Folder(path.to_owned())
    }

    /// The path of a file, and its folder, which is created.
    fn place(&self, name: &str) -> io::Result<(PathBuf, PathBuf)> {
        let place = self.0.join(name);
        let folder = place.parent().unwrap_or(&self.0).to_owned();
        fs::create_dir_all(&folder)?;
        Ok((place, folder))
    }

    fn list(&self, folder: &Path, names: &mut Vec<String>) -> io::Result<()> {
        let files = match fs::read_dir(folder) {
            Err(error) if is_missing(&error) => return Ok(()),
            files => files?,
        };
        for file in files {
            let file = file?;
            let path = file.path();
            if file.file_type()?.is_dir() {
                self.list(&path, names)?;
            } else if path.extension().is_none_or(|end| end != UNFINISHED)
                && let Ok(name) = path.strip_prefix(&self.0)
            {
                names.push(name.to_string_lossy().into_owned());
            }
        }
        Ok(())
    }
}

impl Store for Folder {
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let (place, folder) = self.place(name)?;
        let unfinished = place.with_extension(UNFINISHED);
        let mut file = File::create(&unfinished)?;
        if let Err(error) = file.write_all(bytes).and_then(|()| file.sync_all()) {
            // What is left of it is overwritten by the next attempt.
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        fs::rename(&unfinished, &place)?;
        // Its name must survive a crash of the machine, too.
        File::open(folder)?.sync_all()
    }

    fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.0.join(name))
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        self.list(&self.0.join(folder), &mut names)?;
        names.sort_unstable();
        Ok(names)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        match fs::remove_file(self.0.join(name)) {
            Err(error) if !is_missing(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (place, folder) = self.place(to)?;
        fs::rename(self.0.join(from), place)?;
        File::open(folder)?.sync_all()
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}
