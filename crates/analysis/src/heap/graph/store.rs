//! The index store: one directory for the indexes of all snapshots, with a limit on their total size.
//!
//! The name of an index identifies its snapshot, so it is found wherever the snapshot's file is. The
//! directory must be writable by this user only (crates/private); otherwise nothing is saved or read.
//!
//! Several processes may use the store at the same time, without locks. An index appears complete, by a
//! rename, and is never modified. Removing an index does not harm processes that have it mapped. Processes
//! that make room at the same time remove the same files: in LRU order by modification time, which is updated
//! on each use. A killed writer leaves a file with a distinct name, which is removed when it is old.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bactrian_graph::MappedFile;
use bactrian_private::{FileFacts, PartialFile, PrivateFolder};

/// The suffix of index files.
const SUFFIX: &str = ".index";
/// A partial file is abandoned if nothing was written to it for this long.
const ABANDONED: Duration = Duration::from_secs(3600);

/// The outcome of saving an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexNews<'a> {
    /// It was written.
    Written {
        /// The store's directory.
        directory: &'a Path,
        /// Its size, in bytes.
        bytes: u64,
    },
    /// It was not written, for it is larger than the limit of all indexes together.
    TooLarge {
        /// Its size, in bytes.
        bytes: u64,
        /// The limit, in bytes.
        limit: u64,
    },
}

type Announce = Arc<dyn Fn(IndexNews<'_>) + Send + Sync>;

/// A directory of indexes with a limit on their total size.
#[derive(Clone)]
pub struct IndexStore {
    directory: PathBuf,
    limit: u64,
    announce: Option<Announce>,
}

impl IndexStore {
    /// A store in `directory`, which is created when needed, with at most `limit` bytes.
    pub fn new(directory: impl Into<PathBuf>, limit: u64) -> IndexStore {
        IndexStore { directory: directory.into(), limit, announce: None }
    }

    /// Calls `announce` with the outcome of each save.
    #[must_use]
    pub fn announcing(
        self,
        announce: impl Fn(IndexNews<'_>) + Send + Sync + 'static,
    ) -> IndexStore {
        IndexStore { announce: Some(Arc::new(announce)), ..self }
    }

    fn announce(&self, news: IndexNews<'_>) {
        if let Some(announce) = &self.announce {
            announce(news);
        }
    }

    /// Finds the index with this name and marks it as used.
    pub(super) fn find(&self, name: &str) -> Option<MappedFile> {
        let file = PrivateFolder::open(&self.directory).ok()?.find(&file_name(name)).ok()?;
        // If that fails, the index is merely removed earlier.
        let _ = file.set_modified(SystemTime::now());
        MappedFile::new(&file).ok()
    }

    /// Writes an index of `bytes` bytes after making room for it, replacing the one with this name. An index
    /// larger than the limit is not written.
    pub(super) fn put(
        &self,
        name: &str,
        bytes: u64,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        if bytes > self.limit {
            self.announce(IndexNews::TooLarge { bytes, limit: self.limit });
            return Err(io::Error::other("it is larger than the limit of all indexes"));
        }
        let name = file_name(name);
        let directory = PrivateFolder::make(&self.directory)?;
        trim(&directory, self.limit - bytes, Some(&name))?;
        let mut out = BufWriter::new(directory.new_file(0o600)?);
        write(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.persist(&name)?;
        // Other processes may have written in the meantime.
        trim(&directory, self.limit, None)?;
        self.announce(IndexNews::Written { directory: &self.directory, bytes });
        Ok(())
    }
}

impl fmt::Debug for IndexStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let IndexStore { directory, limit, .. } = self;
        f.debug_struct("IndexStore")
            .field("directory", directory)
            .field("limit", limit)
            .finish_non_exhaustive()
    }
}

fn file_name(name: &str) -> String {
    format!("{name}{SUFFIX}")
}

/// Removes the least recently used indexes until the others have at most `limit` bytes together. `spared`
/// stays and does not count, because it is about to be replaced. Partial files count and stay, unless they
/// are abandoned.
fn trim(directory: &PrivateFolder, limit: u64, spared: Option<&str>) -> io::Result<()> {
    let mut indexes = Vec::new();
    let mut total = 0u64;
    for FileFacts { name, modified, bytes } in directory.files()? {
        if name.ends_with(PartialFile::SUFFIX) {
            if modified.elapsed().is_ok_and(|age| age > ABANDONED) {
                directory.remove(&name);
            } else {
                total = total.saturating_add(bytes);
            }
        } else if name.ends_with(SUFFIX) && Some(&*name) != spared {
            total = total.saturating_add(bytes);
            indexes.push((modified, name, bytes));
        }
    }
    indexes.sort_unstable();
    for (_, name, bytes) in indexes {
        if total <= limit {
            break;
        }
        directory.remove(&name);
        total = total.saturating_sub(bytes);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};
    use std::sync::Mutex;
    use std::thread;

    use rustix::process::geteuid;

    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// A store with a limit of 100 bytes, in a directory that is removed at the end.
    fn store() -> (tempfile::TempDir, IndexStore) {
        let folder = tempfile::tempdir().expect("room");
        let store = IndexStore::new(folder.path().join("cache/indexes"), 100);
        (folder, store)
    }

    fn put(store: &IndexStore, name: &str, bytes: usize) -> io::Result<()> {
        store.put(name, bytes as u64, |out| out.write_all(&vec![7; bytes]))
    }

    /// The file names in the store, sorted.
    fn names(store: &IndexStore) -> Vec<String> {
        let entries = fs::read_dir(&store.directory).expect("a directory");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        let mut names: Vec<_> =
            entries.map(|entry| name(entry).into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    fn set_age(store: &IndexStore, file: &str, age: Duration) {
        let file = File::open(store.directory.join(file)).expect("it is there");
        file.set_modified(SystemTime::now() - age).expect("it is ours");
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().expect("it is there").mode() & 0o777
    }

    #[test]
    fn indexes_are_private_and_found_by_name() {
        let (_folder, store) = store();
        assert!(store.find("a").is_none());
        assert!(!store.directory.exists(), "looking for an index makes no directory");
        put(&store, "a", 10).expect("room");
        assert_eq!(store.find("a").expect("it was put there").bytes(), [7; 10]);
        assert!(store.find("b").is_none());
        assert_eq!(mode(&store.directory), 0o700);
        assert_eq!(mode(&store.directory.join("a.index")), 0o600);
        put(&store, "a", 20).expect("room");
        assert_eq!(store.find("a").expect("it was replaced").bytes().len(), 20);
        assert_eq!(names(&store), ["a.index"]);
    }

    #[test]
    fn least_recently_used_is_removed_first() {
        let (_folder, store) = store();
        for (name, age) in [("a", 30), ("b", 40), ("c", 20)] {
            put(&store, name, 30).expect("room");
            set_age(&store, &format!("{name}.index"), age * MINUTE);
        }
        // Using the oldest index makes it the most recent.
        let mapped = store.find("b").expect("it was put there");
        put(&store, "d", 40).expect("room after one is removed");
        assert_eq!(names(&store), ["b.index", "c.index", "d.index"]);
        set_age(&store, "d.index", MINUTE);
        put(&store, "e", 70).expect("room after two are removed");
        assert_eq!(names(&store), ["b.index", "e.index"]);
        put(&store, "f", 100).expect("room if it is alone");
        assert_eq!(names(&store), ["f.index"]);
        assert_eq!(mapped.bytes(), [7; 30], "what was removed can still be read");
    }

    #[test]
    fn index_larger_than_bound_is_not_written() {
        let (_folder, store) = store();
        put(&store, "a", 60).expect("room");
        assert!(put(&store, "b", 101).is_err());
        assert!(put(&store, "a", 101).is_err());
        assert_eq!(names(&store), ["a.index"]);
        assert_eq!(store.find("a").expect("the old one").bytes().len(), 60);
        let none = IndexStore::new(&store.directory, 0);
        assert!(put(&none, "c", 1).is_err());
    }

    #[test]
    fn replaced_index_does_not_count() {
        let (_folder, store) = store();
        put(&store, "a", 40).expect("room");
        put(&store, "b", 50).expect("room");
        set_age(&store, "a.index", MINUTE);
        put(&store, "b", 60).expect("room");
        assert_eq!(names(&store), ["a.index", "b.index"]);
    }

    #[test]
    fn directory_that_others_may_change_is_refused() {
        let (folder, store) = store();
        put(&store, "a", 10).expect("room");
        let set = |mode| fs::set_permissions(&store.directory, PermissionsExt::from_mode(mode));
        for wrong in [0o770, 0o707, 0o777, 0o1777] {
            set(wrong).expect("it is ours");
            assert!(store.find("a").is_none(), "{wrong:o}");
            assert!(put(&store, "b", 10).is_err(), "{wrong:o}");
        }
        set(0o755).expect("it is ours");
        assert!(store.find("a").is_some());
        // A symbolic link to our own directory is refused.
        let link = folder.path().join("link");
        symlink(&store.directory, &link).expect("room");
        let linked = IndexStore::new(link, 100);
        assert!(linked.find("a").is_none());
        assert!(put(&linked, "b", 10).is_err());
        // A directory of another user is refused. Only root can test this.
        if geteuid().is_root() {
            chown(&store.directory, Some(12345), None).expect("root may");
            assert!(store.find("a").is_none());
            assert!(put(&store, "b", 10).is_err());
            let inner = IndexStore::new(store.directory.join("inner"), 100);
            assert!(put(&inner, "b", 10).is_err());
            assert!(!inner.directory.exists());
        }
        assert_eq!(names(&store), ["a.index"]);
    }

    #[test]
    fn files_that_others_may_have_made_are_not_read() {
        let (folder, store) = store();
        put(&store, "a", 10).expect("room");
        let index = store.directory.join("a.index");
        fs::set_permissions(&index, PermissionsExt::from_mode(0o620)).expect("it is ours");
        assert!(store.find("a").is_none());
        if geteuid().is_root() {
            fs::set_permissions(&index, PermissionsExt::from_mode(0o600)).expect("it is ours");
            chown(&index, Some(12345), None).expect("root may");
            assert!(store.find("a").is_none());
        }
        fs::write(folder.path().join("elsewhere"), [7; 10]).expect("room");
        symlink(folder.path().join("elsewhere"), store.directory.join("b.index")).expect("room");
        assert!(store.find("b").is_none());
        fs::create_dir(store.directory.join("c.index")).expect("room");
        assert!(store.find("c").is_none());
        assert!(put(&store, "c", 10).is_err());
        // A link is replaced; its target is not modified.
        put(&store, "b", 20).expect("room");
        assert_eq!(fs::read(folder.path().join("elsewhere")).expect("it is there"), [7; 10]);
        assert_eq!(names(&store), ["a.index", "b.index", "c.index"]);
    }

    #[test]
    fn leftovers_of_killed_writers_are_swept() {
        let (_folder, store) = store();
        put(&store, "a", 50).expect("room");
        for (name, age) in [("1-0-1.partial", 50), ("2-0-2.partial", 70), ("notes.txt", 700)] {
            fs::write(store.directory.join(name), [0; 45]).expect("room");
            set_age(&store, name, age * MINUTE);
        }
        // Partial files count; foreign files stay.
        put(&store, "b", 50).expect("room");
        assert_eq!(names(&store), ["1-0-1.partial", "b.index", "notes.txt"]);
    }

    #[test]
    fn failed_write_leaves_nothing() {
        let (_folder, store) = store();
        put(&store, "a", 10).expect("room");
        let failed = store.put("b", 10, |out| {
            out.write_all(b"part")?;
            Err(io::ErrorKind::StorageFull.into())
        });
        assert!(failed.is_err());
        assert_eq!(names(&store), ["a.index"]);
    }

    #[test]
    fn outcome_of_each_save_is_announced() {
        let (_folder, store) = store();
        let announced = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&announced);
        let store = store.announcing(move |news| {
            told.lock().expect("no panic").push(format!("{news:?}"));
        });
        put(&store, "a", 10).expect("room");
        put(&store, "a", 101).expect_err("it is too large");
        let written = IndexNews::Written { directory: &store.directory, bytes: 10 };
        let too_large = IndexNews::TooLarge { bytes: 101, limit: 100 };
        let expected = [written, too_large].map(|news| format!("{news:?}"));
        assert_eq!(*announced.lock().expect("no panic"), expected);
    }

    /// Threads stand for processes here: they share nothing but the directory.
    #[test]
    fn many_writers_at_once_do_no_harm() {
        let (_folder, store) = store();
        thread::scope(|scope| {
            for writer in 0..4 {
                let store = &store;
                scope.spawn(move || {
                    for round in 0..100 {
                        let name = format!("{}", (writer + round) % 5);
                        // Other threads may have removed the index, or used up the space.
                        put(store, &name, 40).expect("room");
                        if let Some(found) = store.find(&name) {
                            assert_eq!(found.bytes(), [7; 40]);
                        }
                    }
                });
            }
        });
        put(&store, "last", 40).expect("room");
        assert!(names(&store).len() <= 2, "{:?}", names(&store));
        assert!(store.find("last").is_some());
    }
}
