//! Snapshots as their reader sees them, and taking them with the command.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use bactrian_snapshot::{Info, Snapshot, SpaceKind};

/// OCaml 5 allocates blocks of at least this many words, header included, separately.
const LARGE: u64 = 129;

/// The number of blocks and of their words with headers, as the runtime counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    pub blocks: u64,
    pub words: u64,
}

/// The contents of a snapshot.
#[derive(Clone, Debug)]
pub struct Heap {
    pub info: Info,
    pub major: Count,
    pub minor: Count,
    pub fixed: Count,
    /// Blocks in none of the spaces listed in the snapshot.
    pub elsewhere: Count,
    /// Large blocks of the major heap.
    pub large_blocks: u64,
    /// What could not be read of the program.
    pub gaps: Vec<String>,
}

impl Heap {
    /// Reads a complete snapshot, which must be intact.
    pub fn read(path: &Path) -> Result<Heap, String> {
        let context = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let snapshot = Snapshot::open(path).map_err(|error| context(&error))?;
        let losses = snapshot.verify(&mut |_| {});
        if !losses.is_clean() {
            return Err(context(&losses.sentences().join("; ")));
        }
        let tables = snapshot.tables();
        let mut heap = Heap {
            info: snapshot.info().clone(),
            major: Count::default(),
            minor: Count::default(),
            fixed: Count::default(),
            elsewhere: Count::default(),
            large_blocks: 0,
            gaps: tables.gaps.clone(),
        };
        for index in 0..snapshot.groups().len() {
            let group = snapshot.group(index).map_err(|error| context(&error))?;
            for block in group.blocks() {
                let words = block.words + 1;
                let count = match tables.space_of(block.address).map(|space| space.kind) {
                    Some(SpaceKind::Major) => {
                        heap.large_blocks += u64::from(words >= LARGE);
                        &mut heap.major
                    }
                    Some(SpaceKind::Minor) => &mut heap.minor,
                    Some(SpaceKind::Static) => &mut heap.fixed,
                    None => &mut heap.elsewhere,
                };
                count.blocks += 1;
                count.words += words;
            }
        }
        Ok(heap)
    }
}

/// The beginnings of strings in a snapshot; empty if it has no contents.
pub fn beginnings(path: &Path) -> Vec<Vec<u8>> {
    let snapshot = Snapshot::open(path).expect("a snapshot");
    let groups = (0..snapshot.groups().len()).map(|index| snapshot.group(index).expect("a group"));
    let texts = groups.flat_map(|group| group.strings().expect("strings"));
    texts.filter_map(|text| text.prefix).collect()
}

/// The snapshots named after an output, with their numbers, in order.
pub fn heaps_of(output: &Path) -> Vec<(u32, PathBuf)> {
    let folder = output.parent().expect("a folder");
    let stem = output.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8");
    let stem = stem.strip_suffix(".ctf").unwrap_or(stem);
    let entries = folder.read_dir().expect("the folder").flatten();
    let mut heaps: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let number = name.strip_prefix(stem)?.strip_prefix('.')?.strip_suffix(".heap")?;
            Some((number.parse().ok()?, entry.path()))
        })
        .collect();
    heaps.sort();
    heaps
}

/// Runs `bactrian snapshot` with these arguments to a file.
pub fn snapshot(arguments: &[&str], output: &Path) -> Result<(), String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.arg("snapshot").args(arguments).arg("-o").arg(output).stdin(Stdio::null());
    let said = command.output().expect("bactrian starts");
    match said.status.success() {
        true => Ok(()),
        false => Err(format!("{}: {}", said.status, String::from_utf8_lossy(&said.stderr))),
    }
}
