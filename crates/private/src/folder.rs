//! A folder that only this user can change.

use std::ffi::{CStr, OsStr};
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::{self, AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use crate::above::{self, WRITABLE_BY_OTHERS};
use crate::{PartialFile, PrivateError};

/// An open folder that only this user can change.
#[derive(Debug)]
pub struct PrivateFolder {
    folder: OwnedFd,
    path: PathBuf,
}

/// A private folder inside an open folder.
#[derive(Clone, Copy, Debug)]
pub struct FolderWithin<'a> {
    /// The containing folder.
    pub place: BorrowedFd<'a>,
    /// Its name there.
    pub name: &'a OsStr,
    /// The folder itself.
    pub folder: &'a PrivateFolder,
}

impl FolderWithin<'_> {
    /// Whether no file was created or removed in it for longer than `age`.
    pub fn is_older_than(&self, age: Duration) -> bool {
        self.folder.modified().is_ok_and(|time| time.elapsed().is_ok_and(|old| old > age))
    }

    /// Removes some of its files, and the folder itself if it is empty then.
    pub fn remove(&self, which: impl Fn(&FileFacts) -> bool) {
        let files = self.folder.files().unwrap_or_default();
        files.iter().filter(|file| which(file)).for_each(|file| self.folder.remove(&file.name));
        // The kernel refuses if anything is left.
        let _ = fs::unlinkat(self.place, self.name, AtFlags::REMOVEDIR);
    }
}

/// A file in a private folder: name, time and size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileFacts {
    /// Its name.
    pub name: String,
    /// When it was last written.
    pub modified: SystemTime,
    /// Its size in bytes.
    pub bytes: u64,
}

const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl PrivateFolder {
    /// Opens the folder if it exists and only this user can change it.
    ///
    /// # Errors
    /// If it does not exist, or others can change it.
    pub fn open(path: &Path) -> Result<PrivateFolder, PrivateError> {
        let failed = |error: io::Error| PrivateError::Io(path.to_owned(), error);
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(failed(io::ErrorKind::InvalidInput.into()));
        };
        // Links above it are resolved once; after that its path has none, and nobody can add any.
        let parent = parent.canonicalize().map_err(failed)?;
        above::check(&parent)?;
        PrivateFolder::open_at(fs::CWD, parent.join(name).as_ref(), parent.join(name))
    }

    /// Like [`PrivateFolder::open`], but creates the folder for this user alone if it does not exist. It is not
    /// created in a folder of another user: someone who is root for a moment with another user's `HOME` must
    /// not leave anything there that its owner cannot use.
    ///
    /// # Errors
    /// If it cannot be created, or others can change it.
    pub fn make(path: &Path) -> Result<PrivateFolder, PrivateError> {
        let failed = |error: io::Error| PrivateError::Io(path.to_owned(), error);
        let above = path.ancestors().skip(1).find(|folder| folder.is_dir());
        let above = above.ok_or(io::ErrorKind::NotFound.into()).map_err(failed)?;
        above::check(&above.canonicalize().map_err(failed)?)?;
        if let Err(error) = DirBuilder::new().recursive(true).mode(0o700).create(path)
            && error.kind() != io::ErrorKind::AlreadyExists
        {
            return Err(failed(error));
        }
        PrivateFolder::open(path)
    }

    /// A folder that the user named in order to put something there for others, such as `/usr/local/lib`. Who
    /// else may write to it is the user's business. If necessary it is created, readable for all.
    ///
    /// # Errors
    /// If it cannot be created or opened.
    pub fn named_by_user(path: &Path) -> Result<PrivateFolder, PrivateError> {
        let failed = |error: io::Error| PrivateError::Io(path.to_owned(), error);
        DirBuilder::new().recursive(true).mode(0o755).create(path).map_err(failed)?;
        let flags = FOLDER.difference(OFlags::NOFOLLOW);
        let folder = fs::open(path, flags, Mode::empty()).map_err(|error| failed(error.into()))?;
        Ok(PrivateFolder { folder, path: path.to_owned() })
    }

    /// A folder inside an open folder such as `/dev/shm`. Users who may write to the outer folder must not be
    /// able to replace files of others.
    ///
    /// # Errors
    /// If it does not exist, or others can change it.
    pub fn within(parent: impl AsFd, name: &OsStr) -> Result<PrivateFolder, PrivateError> {
        PrivateFolder::open_at(parent, name, PathBuf::from(name))
    }

    /// Calls `each` for the private folders in a folder that all users may write to, such as `/dev/shm`, whose
    /// names begin with a prefix. Symbolic links are not followed, and folders of other users are skipped.
    pub fn each_within(place: &Path, prefix: &str, mut each: impl FnMut(FolderWithin<'_>)) {
        let Ok(place) = File::open(place) else { return };
        for entry in Dir::read_from(&place).into_iter().flatten().flatten() {
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name.as_bytes().starts_with(prefix.as_bytes())
                && let Ok(folder) = PrivateFolder::within(&place, name)
            {
                each(FolderWithin { place: place.as_fd(), name, folder: &folder });
            }
        }
    }

    fn open_at(
        parent: impl AsFd,
        name: &OsStr,
        path: PathBuf,
    ) -> Result<PrivateFolder, PrivateError> {
        let folder = match fs::openat(parent.as_fd(), name, FOLDER, Mode::empty()) {
            Ok(folder) => folder,
            Err(error) => return Err(refused(parent.as_fd(), name, path, error)),
        };
        check(&folder, &path)?;
        Ok(PrivateFolder { folder, path })
    }

    /// Its path, without symbolic links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its file descriptor.
    pub fn descriptor(&self) -> BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Opens a file in it for reading.
    ///
    /// # Errors
    /// If it does not exist, or is not a regular file that only this user can change.
    pub fn find(&self, name: &str) -> Result<File, PrivateError> {
        let path = self.path.join(name);
        // Opening a FIFO would otherwise wait for its other end.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match fs::openat(&self.folder, name, flags, Mode::empty()) {
            Ok(file) => file,
            Err(error) => return Err(refused(self.descriptor(), name.as_ref(), path, error)),
        };
        match check(&file, &path)? {
            FileType::RegularFile => Ok(file.into()),
            _ => Err(PrivateError::OtherType(path)),
        }
    }

    /// A new file with this mode, to write to. It gets its name only when it is complete.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn new_file(&self, mode: u32) -> io::Result<PartialFile<'_>> {
        PartialFile::new(self, mode)
    }

    /// The regular files in it. Anything else there is not ours.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn files(&self) -> io::Result<Vec<FileFacts>> {
        let mut files = Vec::new();
        for entry in Dir::read_from(&self.folder)? {
            files.extend(self.facts(entry?.file_name()));
        }
        Ok(files)
    }

    fn facts(&self, name: &CStr) -> Option<FileFacts> {
        let stat = fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let name = name.to_str().ok().filter(|_| is_file)?.to_owned();
        Some(FileFacts { name, modified: modified(&stat), bytes: stat.st_size.try_into().ok()? })
    }

    /// When a file was last created, renamed or removed in it.
    ///
    /// # Errors
    /// If the operating system does not tell.
    pub fn modified(&self) -> io::Result<SystemTime> {
        Ok(modified(&fs::fstat(&self.folder)?))
    }

    /// Removes a file. If it is gone already, another process was faster.
    pub fn remove(&self, name: &str) {
        let _ = fs::unlinkat(&self.folder, name, AtFlags::empty());
    }
}

fn modified(stat: &Stat) -> SystemTime {
    let seconds = u64::try_from(stat.st_mtime).map(Duration::from_secs).unwrap_or_default();
    let nanos = u32::try_from(stat.st_mtime_nsec).unwrap_or(0);
    UNIX_EPOCH + seconds + Duration::from_nanos(nanos.into())
}

/// Rejects files that belong to another user or that others may write to; returns the type of the file.
fn check(file: impl AsFd, path: &Path) -> Result<FileType, PrivateError> {
    let stat = fs::fstat(file).map_err(|error| PrivateError::Io(path.to_owned(), error.into()))?;
    if !above::is_trusted(stat.st_uid) {
        return Err(PrivateError::OtherOwner(path.to_owned(), stat.st_uid));
    }
    if stat.st_mode & WRITABLE_BY_OTHERS != 0 {
        return Err(PrivateError::WritableByOthers(path.to_owned(), stat.st_mode & 0o7777));
    }
    Ok(FileType::from_raw_mode(stat.st_mode))
}

/// Why something could not be opened: the error codes for symbolic links vary.
fn refused(parent: BorrowedFd<'_>, name: &OsStr, path: PathBuf, error: Errno) -> PrivateError {
    let stat = fs::statat(parent, name, AtFlags::SYMLINK_NOFOLLOW);
    match stat.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::Symlink) => PrivateError::Link(path),
        _ => PrivateError::Io(path, error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Read, Write};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

    use rustix::process::geteuid;

    use super::*;

    const STRANGER: u32 = 12345;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("it is ours");
    }

    fn put(folder: &PrivateFolder, name: &str) {
        let mut file = folder.new_file(0o600).expect("room");
        file.write_all(b"ours").expect("room");
        file.persist(name).expect("room");
    }

    fn text(folder: &PrivateFolder, name: &str) -> Option<String> {
        let mut text = String::new();
        folder.find(name).ok()?.read_to_string(&mut text).ok()?;
        Some(text)
    }

    #[test]
    fn folder_is_made_for_this_user_alone() {
        let place = tempfile::tempdir().expect("room");
        let path = place.path().join("a/b");
        assert!(PrivateFolder::open(&path).is_err());
        let folder = PrivateFolder::make(&path).expect("room");
        put(&folder, "x");
        assert_eq!(text(&folder, "x").as_deref(), Some("ours"));
        let mode = |path: &Path| path.metadata().expect("it is there").mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("x"))), (0o700, 0o600));
        assert_eq!(mode(&place.path().join("a")), 0o700);
        assert_eq!(fs::read_dir(&path).expect("a folder").count(), 1, "something is left over");
    }

    #[test]
    fn folder_that_others_can_change_is_refused() {
        let place = tempfile::tempdir().expect("room");
        let path = place.path().join("ours");
        PrivateFolder::make(&path).expect("room");
        for wrong in [0o770, 0o707, 0o1777, 0o720] {
            set_mode(&path, wrong);
            let refused = PrivateFolder::make(&path).expect_err("others may write there");
            assert!(matches!(refused, PrivateError::WritableByOthers(_, mode) if mode == wrong));
            assert!(refused.to_string().contains(path.to_str().expect("UTF-8")), "{refused}");
        }
        set_mode(&path, 0o755);
        PrivateFolder::make(&path).expect("others may look");
        let link = place.path().join("link");
        symlink(&path, &link).expect("room");
        assert!(matches!(PrivateFolder::make(&link), Err(PrivateError::Link(_))));
        let nowhere = place.path().join("nowhere");
        symlink(place.path().join("new"), &nowhere).expect("room");
        assert!(matches!(PrivateFolder::make(&nowhere), Err(PrivateError::Link(_))));
        assert!(!place.path().join("new").exists(), "a link was followed");
        fs::write(place.path().join("file"), "").expect("room");
        assert!(PrivateFolder::make(&place.path().join("file")).is_err());
        // Only root can give folders away.
        if geteuid().is_root() {
            chown(&path, Some(STRANGER), None).expect("root may");
            let refused = PrivateFolder::make(&path).expect_err("it is another user's");
            assert!(matches!(refused, PrivateError::OtherOwner(_, STRANGER)), "{refused}");
            assert!(PrivateFolder::make(&path.join("inner")).is_err());
            assert!(!path.join("inner").exists(), "it was made in another user's folder");
        }
    }

    #[test]
    fn folder_that_others_can_replace_is_refused() {
        let place = tempfile::tempdir().expect("room");
        let above = place.path().join("above");
        let path = above.join("between/ours");
        PrivateFolder::make(&path).expect("room");
        set_mode(&above, 0o777);
        assert!(PrivateFolder::open(&path).is_err());
        assert!(PrivateFolder::make(&path).is_err());
        // Like /tmp: nobody can remove what is ours.
        set_mode(&above, 0o1777);
        PrivateFolder::open(&path).expect("a sticky folder will do");
        // The path of the opened folder contains no link from above it.
        let link = place.path().join("link");
        symlink(&above, &link).expect("room");
        let folder = PrivateFolder::open(&link.join("between/ours")).expect("it is the same");
        assert_eq!(folder.path(), path.canonicalize().expect("it is there"));
        if geteuid().is_root() {
            chown(&above, Some(STRANGER), None).expect("root may");
            let refused = PrivateFolder::open(&path).expect_err("its owner can replace it");
            assert!(matches!(refused, PrivateError::OtherOwner(_, STRANGER)), "{refused}");
        }
    }

    #[test]
    fn files_writable_by_others_are_rejected() {
        let place = tempfile::tempdir().expect("room");
        let folder = PrivateFolder::make(&place.path().join("ours")).expect("room");
        let at = |name: &str| folder.path().join(name);
        put(&folder, "x");
        set_mode(&at("x"), 0o620);
        assert!(matches!(folder.find("x"), Err(PrivateError::WritableByOthers(..))));
        fs::write(place.path().join("elsewhere"), "elsewhere").expect("room");
        symlink(place.path().join("elsewhere"), at("link")).expect("room");
        assert!(matches!(folder.find("link"), Err(PrivateError::Link(_))));
        fs::create_dir(at("folder")).expect("room");
        assert!(matches!(folder.find("folder"), Err(PrivateError::OtherType(_))));
        if geteuid().is_root() {
            set_mode(&at("x"), 0o600);
            chown(at("x"), Some(STRANGER), None).expect("root may");
            assert!(matches!(folder.find("x"), Err(PrivateError::OtherOwner(_, STRANGER))));
        }
        // A link is replaced, and its target is not touched.
        put(&folder, "link");
        assert_eq!(text(&folder, "link").as_deref(), Some("ours"));
        assert_eq!(fs::read(place.path().join("elsewhere")).expect("it is there"), b"elsewhere");
        let mut files: Vec<_> = folder.files().expect("ours").into_iter().map(|f| f.name).collect();
        files.sort();
        assert_eq!(files, ["link", "x"]);
    }

    #[test]
    fn unfinished_file_leaves_nothing() {
        let place = tempfile::tempdir().expect("room");
        let folder = PrivateFolder::make(&place.path().join("ours")).expect("room");
        let mut file = folder.new_file(0o600).expect("room");
        file.write_all(b"half").expect("room");
        drop(file);
        assert_eq!(folder.files().expect("ours"), []);
    }
}
