//! The files that `bactrian view --demo` shows, recorded anew into `crates/bactrian/demo`: a trace, three snapshots and the types
//! of the program that the demo is about.
//!
//! Traces and snapshots name the machine and the folder of the program, and these go to everybody. So the program runs in a
//! folder of temporary files, and on a machine that is called `demo`: a UTS namespace has a name of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::command::{root, succeed};
use crate::demo::{self, PROGRAM};

const CARRIED: &str = "crates/bactrian/demo";
/// Enough to leak something, and little enough to be carried: some 300 kB in all.
const REQUESTS: &str = "2000";
const RECORDING: [&str; 8] = [
    "record",
    "--rate=5e-4",
    "--strings=8",
    "--snapshots=major",
    // None is skipped because the one before is still being written.
    "--snapshot-limits=copies=64",
    "-o",
    "leaky_cache.ctf",
    "--",
];

/// Records the files with this bactrian, and packs them.
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
