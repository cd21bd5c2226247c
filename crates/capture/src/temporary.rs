//! Where temporary files go.

use std::path::Path;

use rustix::fs::Access;

/// Where they may go if `TMPDIR` is of no use, the best first.
const OTHERS: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Takes another folder for temporary files if the one that `TMPDIR` names cannot be used. Only for this process: programs
/// that it starts have the variable as it is.
pub fn settle() {
    let named = std::env::temp_dir();
    if is_usable(&named) {
        return;
    }
    if let Some(other) = OTHERS.iter().map(Path::new).find(|other| is_usable(other)) {
        // Nobody has asked for it before, so it can still be set.
        let _ = tempfile::env::override_temp_dir(other);
    }
}

fn is_usable(folder: &Path) -> bool {
    folder.is_dir() && rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}
