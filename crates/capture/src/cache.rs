//! Where things are put that can be made again.

use std::env;
use std::path::PathBuf;

/// The directory that this user has for it: below `XDG_CACHE_HOME`, or else `HOME`. It need not be there.
pub fn user_directory() -> Option<PathBuf> {
    below_cache_home().or_else(below_home)
}

/// Directories of this user's to try, the best first.
pub(crate) fn directories() -> Vec<PathBuf> {
    let user = rustix::process::geteuid().as_raw();
    let own = [
        below_cache_home(),
        below_home(),
        variable("XDG_RUNTIME_DIR").map(|path| path.join("bactrian")),
        Some(env::temp_dir().join(format!("bactrian-{user}"))),
    ];
    own.into_iter().flatten().collect()
}

fn below_cache_home() -> Option<PathBuf> {
    variable("XDG_CACHE_HOME").map(|path| path.join("bactrian"))
}

fn below_home() -> Option<PathBuf> {
    variable("HOME").map(|path| path.join(".cache/bactrian"))
}

/// A path that a variable holds. Relative ones are to be ignored.
fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute())
}

/// Tells things apart by their bytes (FNV-1a).
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
