//! Where programs can be found: each that is observed has a socket of its own in a folder that only its user may enter.

use std::env;
use std::path::{Path, PathBuf};

/// The folder of sockets of a user. The agent has one beside it that all may read.
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

/// The processes that have a socket there, living or dead.
pub fn processes(folder: &Path) -> Vec<u32> {
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let pid = |name: &str| name.strip_suffix(".sock").and_then(|pid| pid.parse().ok());
    let mut pids: Vec<u32> = entries.filter_map(|entry| pid(entry.file_name().to_str()?)).collect();
    pids.sort_unstable();
    pids
}

/// What tells a run of a program from others: when the system was started, and when the process was, as the system counts. Numbers
/// of processes are used again, and in a container the number is always 1. Empty if the system does not say it.
pub fn run_of(process: &Path) -> String {
    let read = || {
        let stat = std::fs::read_to_string(process.join("stat")).ok()?;
        // The name, in brackets, may hold anything. After it the start is the 20th.
        let (_, after_name) = stat.rsplit_once(')')?;
        let start: u64 = after_name.split_whitespace().nth(19)?.parse().ok()?;
        let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
        Some(format!("{}/{start}", boot.trim()))
    };
    read().unwrap_or_default()
}

/// The port of Ocamlviz's protocol.
pub const OCAMLVIZ_PORT: u16 = 51000;
