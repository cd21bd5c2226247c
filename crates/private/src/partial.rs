//! A file that is being written.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::process;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{self, Mode, OFlags};

use crate::PrivateFolder;

/// A file that is being written. It is removed unless it gets its name.
#[derive(Debug)]
pub struct PartialFile<'a> {
    folder: &'a PrivateFolder,
    name: String,
    file: File,
    mode: u32,
    is_done: bool,
}

impl PartialFile<'_> {
    /// The suffix of files that are being written. A killed writer leaves them behind.
    pub const SUFFIX: &'static str = ".partial";

    pub(crate) fn new(folder: &PrivateFolder, mode: u32) -> io::Result<PartialFile<'_>> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        // Includes the time because process ids are not unique on a disk that two machines share.
        let time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos());
        let suffix = PartialFile::SUFFIX;
        let name = format!("{}-{count}-{time:x}{suffix}", process::id());
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = fs::openat(folder.descriptor(), &*name, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(PartialFile { folder, name, file: file.into(), mode, is_done: false })
    }

    /// Renames it to its final name, replacing any file of that name.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn persist(mut self, name: &str) -> io::Result<()> {
        self.file.set_permissions(Permissions::from_mode(self.mode))?;
        let folder = self.folder.descriptor();
        fs::renameat(folder, &*self.name, folder, name)?;
        self.is_done = true;
        Ok(())
    }
}

impl Write for PartialFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PartialFile<'_> {
    fn drop(&mut self) {
        if !self.is_done {
            self.folder.remove(&self.name);
        }
    }
}
