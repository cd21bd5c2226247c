//! Where profiles go: a folder, be it a mount of something larger. A file is there as a whole or not at all.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::layout::Run;

/// What is being written has this ending, and is nobody's business.
const UNFINISHED: &str = "unfinished";

/// A folder of profiles.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// This one, which need not be there yet.
    pub fn new(path: &Path) -> Folder {
        Folder(path.to_owned())
    }

    /// Writes a file, which is there when all of it is.
    ///
    /// # Errors
    /// If there is no room, or no such folder any more.
    pub fn put(&self, path: &Path, write: impl FnOnce(File) -> io::Result<()>) -> io::Result<()> {
        let place = self.0.join(path);
        let folder = place.parent().unwrap_or(&self.0);
        fs::create_dir_all(folder)?;
        let unfinished = place.with_extension(UNFINISHED);
        let file = File::create(&unfinished)?;
        let written = write(file.try_clone()?).and_then(|()| file.sync_all());
        if let Err(error) = written {
            // What is left of it is overwritten by the next try.
            let _ = fs::remove_file(&unfinished);
            return Err(error);
        }
        fs::rename(&unfinished, &place)?;
        // Its name, too, outlives a crash of the machine.
        File::open(folder)?.sync_all()
    }

    /// The last minute that was told of a run, and up to where.
    ///
    /// # Errors
    /// If the folder is there and cannot be read.
    pub fn last_of(&self, run: &Run) -> io::Result<Option<(u64, u64)>> {
        let mut last = None;
        for date in listed(&self.0.join("samples"))? {
            for hour in listed(&date)? {
                for file in listed(&hour)? {
                    let name = file.file_name().unwrap_or_default().to_string_lossy();
                    last = last.max(run.told(&name));
                }
            }
        }
        Ok(last)
    }
}

/// What is in a folder; nothing if there is none.
fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    match fs::read_dir(folder) {
        Ok(files) => files.map(|file| file.map(|file| file.path())).collect(),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(Vec::new())
        }
        Err(error) => Err(error),
    }
}
