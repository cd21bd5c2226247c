//! Where profiles go: a folder, be it a mount of something larger, or whatever else has files by name. A file is there as a whole or
//! not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What is being written has this ending, and is nobody's business.
const UNFINISHED: &str = "unfinished";

/// A store of profiles. Names are paths with `/` between folders.
pub trait Store: Send + Sync {
    /// Writes a file, which is there when all of it is, and replaces one of this name.
    ///
    /// # Errors
    /// If there is no room, or nobody to ask.
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()>;

    /// What is in a file.
    ///
    /// # Errors
    /// If there is none, or nobody to ask.
    fn get(&self, name: &str) -> io::Result<Vec<u8>>;

    /// The names of all files in a folder and in those in it; none if there is no such folder.
    ///
    /// # Errors
    /// If there is one and it cannot be read.
    fn names(&self, folder: &str) -> io::Result<Vec<String>>;

    /// Removes a file, if it is there.
    ///
    /// # Errors
    /// If it is still there.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Gives a file another name, and replaces one of that.
    ///
    /// # Errors
    /// If there is none, or it cannot be done: then it is there as before.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
}

/// A folder of profiles.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// This one, which need not be there yet.
    pub fn new(path: &Path) -> Folder {
        Folder(path.to_owned())
    }

    /// The place of a file, in a folder that is there.
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
            // What is left of it is overwritten by the next try.
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        fs::rename(&unfinished, &place)?;
        // Its name, too, outlives a crash of the machine.
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
