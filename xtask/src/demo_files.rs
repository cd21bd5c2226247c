//! Records the files that `bactrian view --demo` shows anew into `crates/bactrian/demo`: a trace, three
//! snapshots and the types of the demo's program.
//!
//! Traces and snapshots name the machine and the program's folder, and everybody gets these files. So the
//! program runs in a temporary folder and on a machine called `demo`: a UTS namespace has its own host name.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::command::{root, succeed};
use crate::demo::{self, PROGRAM};

const CARRIED: &str = "crates/bactrian/demo";
/// Enough to leak something, and few enough for some 300 kB of files.
const REQUESTS: &str = "2000";
const RECORDING: [&str; 8] = [
    "record",
    "--rate=5e-4",
    "--strings=8",
    "--snapshots=major",
    // No snapshot is skipped because the previous one is still being written.
    "--snapshot-limits=copies=64",
    "-o",
    "leaky_cache.ctf",
    "--",
];

/// Records the files with this bactrian and compresses them.
pub fn write(bactrian: &Path) -> Outcome {
    let bactrian = root().join(bactrian);
    let folder = std::env::temp_dir().join("bactrian-demo");
    let _ = fs::remove_dir_all(&folder);
    demo::compile(&folder)?;
    let mut record = Command::new("unshare");
    record.args([
        "--user",
        "--map-root-user",
        "--uts",
        "sh",
        "-c",
        "hostname demo && exec \"$@\"",
        "sh",
    ]);
    record.arg(&bactrian).args(RECORDING).arg(format!("./{PROGRAM}")).arg(REQUESTS);
    succeed(record.current_dir(&folder))?;
    let heap = |number: usize| folder.join(format!("{PROGRAM}.{number}.heap"));
    let count = (1..).take_while(|number| heap(*number).exists()).count();
    if count < 3 {
        return Err(format!("three snapshots are wanted, and there are {count}"));
    }
    for (number, chosen) in [1, count.div_ceil(2), count].into_iter().enumerate() {
        pack(&heap(chosen), &format!("{PROGRAM}.{}.heap", number + 1))?;
    }
    for end in ["ctf", "types"] {
        let name = format!("{PROGRAM}.{end}");
        pack(&folder.join(&name), &name)?;
    }
    fs::remove_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))
}

/// Compresses a file into the repository.
fn pack(file: &Path, name: &str) -> Outcome {
    let place: PathBuf = root().join(CARRIED).join(format!("{name}.gz"));
    let packed = Command::new("gzip").args(["-9", "--no-name", "--stdout"]).arg(file).output();
    let packed = packed.map_err(|error| format!("gzip: {error}"))?;
    if !packed.status.success() {
        return Err(format!("gzip {}: {}", file.display(), packed.status));
    }
    println!("{}: {} bytes", place.display(), packed.stdout.len());
    let folder = place.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(&place, &packed.stdout));
    written.map_err(|error| format!("{}: {error}", place.display()))
}
