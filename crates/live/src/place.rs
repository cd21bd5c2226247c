//! Where observed programs can be found: each has its own socket in a directory that only its user may enter.

use std::env;
use std::path::{Path, PathBuf};

/// The directory of a user's sockets. The agent has another one beside it, which everybody may read.
pub fn folder(user: u32) -> PathBuf {
    match env::var_os("XDG_RUNTIME_DIR").filter(|path| Path::new(path).is_absolute()) {
        Some(runtime) => PathBuf::from(runtime).join("bactrian-live"),
        None => PathBuf::from(format!("/tmp/bactrian-live-{user}")),
    }
}

/// The socket of a process.
pub fn socket(folder: &Path, pid: u32) -> PathBuf {
    folder.join(format!("{pid}.sock"))
}

/// The file with the token of a process that listens on the network.
pub fn token(folder: &Path, pid: u32) -> PathBuf {
    folder.join(format!("{pid}.token"))
}

/// The ids of processes with a socket in the directory, dead ones included.
pub fn processes(folder: &Path) -> Vec<u32> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let pid = |name: &str| name.strip_suffix(".sock").and_then(|pid| pid.parse().ok());
    let mut pids: Vec<u32> = entries.filter_map(|entry| pid(entry.file_name().to_str()?)).collect();
    pids.sort_unstable();
    pids
}

/// Identifies a run of a program: the system's boot id and the process's start time in clock ticks. A process
/// id alone does not suffice: ids are reused, and in a container the id is always 1. Empty if the system does
/// not provide these.
pub fn run_of(process: &Path) -> String {
    let read = || {
        let stat = std::fs::read_to_string(process.join("stat")).ok()?;
        // The process name, in parentheses, may contain anything. The start time is the 20th field after it.
        let (_, after_name) = stat.rsplit_once(')')?;
        let start: u64 = after_name.split_whitespace().nth(19)?.parse().ok()?;
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(format!("{}/{start}", boot.trim()))
    };
    read().unwrap_or_default()
}

/// The TCP port of the Ocamlviz protocol.
pub const OCAMLVIZ_PORT: u16 = 51000;
