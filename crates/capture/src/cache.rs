//! The cache, for things that can be made again: in directories that only this user can change, because some
//! of the contents are executed.

use std::env;
use std::io;
use std::path::PathBuf;

use bactrian_private::{PrivateError, PrivateFolder};

/// The user's cache directory: below `XDG_CACHE_HOME`, or else `HOME`. It need not exist.
pub fn user_directory() -> Option<PathBuf> {
    below_cache_home().or_else(below_home)
}

/// Directories of this user to try, the best first. Others may have created the last one before us.
fn directories() -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let own = [
        below_cache_home(),
        below_home(),
        variable("XDG_RUNTIME_DIR").map(|path| path.join("bactrian")),
        Some(tempfile::env::temp_dir().join(format!("bactrian-{user}"))),
    ];
    let mut all: Vec<PathBuf> = Vec::new();
    for path in own.into_iter().flatten().filter(|path| path.is_absolute()) {
        if !all.contains(&path) {
            all.push(path);
        }
    }
    all
}

/// Tries `put` in one directory after the other, the best first, creating each if necessary; with `inner`, in
/// a subdirectory of that name.
///
/// # Errors
/// If no directory belongs to us alone, or `put` has failed in all of them; the error says what is wrong with
/// each.
pub(crate) fn in_first<T>(
    inner: Option<&str>,
    mut put: impl FnMut(&PrivateFolder) -> io::Result<T>,
) -> io::Result<T> {
    let mut reasons = Vec::new();
    let mut kind = io::ErrorKind::NotFound;
    for mut path in directories() {
        path.extend(inner);
        let done = PrivateFolder::make(&path).map_err(io::Error::from).and_then(|folder| {
            let named = |error| io::Error::from(PrivateError::Io(path.clone(), error));
            put(&folder).map_err(named)
        });
        match done {
            Ok(value) => return Ok(value),
            Err(error) => {
                kind = error.kind();
                reasons.push(error.to_string());
            }
        }
    }
    let reasons = reasons.join("; ");
    let what = format!(
        "there is no folder for it: {reasons}. Set XDG_CACHE_HOME to a folder that only this \
         user can change, on a file system not mounted noexec"
    );
    Err(io::Error::new(kind, what))
}

/// Calls `look` with each existing directory, the best first, until it finds something.
pub(crate) fn find<T>(
    inner: Option<&str>,
    look: impl FnMut(PrivateFolder) -> Option<T>,
) -> Option<T> {
    let paths = directories().into_iter().map(|mut path| {
        path.extend(inner);
        path
    });
    paths.filter_map(|path| PrivateFolder::open(&path).ok()).find_map(look)
}

fn below_cache_home() -> Option<PathBuf> {
    variable("XDG_CACHE_HOME").map(|path| path.join("bactrian"))
}

/// A home that does not exist is not created: `/nonexistent` is for users who must not have one.
fn below_home() -> Option<PathBuf> {
    let home = variable("HOME").filter(|home| home.is_dir());
    home.map(|path| path.join(".cache/bactrian"))
}

/// A path in an environment variable. Relative paths must be ignored.
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// A fingerprint of bytes (FNV-1a).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    pub fn new() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }

    pub fn with(self, bytes: &[u8]) -> Fingerprint {
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        Fingerprint(bytes.iter().fold(self.0, step))
    }

    pub fn number(self) -> u64 {
        self.0
    }
}
