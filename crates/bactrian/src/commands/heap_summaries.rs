//! Puts summaries of snapshots, by class and root, into the store of a fleet: for `ship`, which finds snapshots beside the traces,
//! and for `snapshot --summary`.
//!
//! The name of a summary in the store is made from its snapshot, and its file appears completely or not at all. So this may be
//! killed at any moment: the next attempt makes only the summaries that are missing.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use bactrian_fleet::{HeapSummary, Store};
use bactrian_snapshot::Snapshot;

use crate::commands::ship::FileIdentity;
use crate::failure::Failure;
use crate::file_args::HeapArg;
use crate::indexes::IndexArg;
use crate::open::bad_snapshot;
use crate::origin_args::OriginArgs;
use crate::output::Console;
use crate::types::TypesArg;

/// The options about snapshots.
pub struct HeapOptions<'a> {
    /// Snapshots, traces and folders of both.
    pub files: &'a [PathBuf],
    /// The service, host and labels to ship them with.
    pub origin: &'a OriginArgs,
    /// Snapshots of more bytes are skipped.
    pub largest: u64,
}

/// Snapshots whose summaries are being shipped.
#[derive(Default)]
pub struct HeapSummaries {
    /// Those that are in the store, or cannot be read.
    done: BTreeMap<PathBuf, FileIdentity>,
    /// The number of summaries that were put there.
    pub shipped: u64,
    /// The last one that could not be read, and why.
    pub unreadable: Option<String>,
    /// The last error of the store; None if it works.
    pub failed: Option<String>,
    /// The number of failures in a row.
    pub failures: u32,
}

/// Why there is no summary.
enum SummaryError {
    /// The snapshot cannot be summed up; another attempt would fail in the same way.
    Snapshot(Failure),
    /// The store cannot be written; it may be available later.
    Store(io::Error),
}

impl HeapSummaries {
    /// Puts summaries of new snapshots into the store. Returns whether that was everything.
    pub fn ship(
        &mut self,
        options: HeapOptions<'_>,
        store: &dyn Store,
        console: &mut Console,
    ) -> Result<bool, Failure> {
        for path in found(options.files) {
            let identity = FileIdentity::of(&path);
            if self.done.get(&path) == Some(&identity) {
                continue;
            }
            let size = path.metadata().map_or(0, |file| file.len());
            let shipped = if size > options.largest {
                Err(SummaryError::Snapshot(Failure::Input(anyhow::anyhow!(
                    "{}: it is larger than --largest-snapshot: `bactrian snapshot --summary` of the program ships what it holds",
                    path.display()
                ))))
            } else {
                ship(&path, options.origin, true, store, console)
            };
            match shipped {
                Ok(is_new) => self.shipped += u64::from(is_new),
                Err(SummaryError::Snapshot(failure)) => {
                    console.warn(&failure.to_string())?;
                    self.unreadable = Some(failure.to_string());
                }
                Err(SummaryError::Store(error)) => {
                    let what = format!("the summary of {}: {error}", path.display());
                    if self.failed.is_none() {
                        console.warn(&format!("{what}; trying again"))?;
                    }
                    self.failed = Some(what);
                    self.failures = self.failures.saturating_add(1);
                    return Ok(false);
                }
            }
            self.done.insert(path, identity);
            (self.failed, self.failures) = (None, 0);
        }
        Ok(true)
    }
}

/// Puts the summary of a snapshot that is not kept into a store.
pub fn ship_unkept(
    path: &Path,
    origin: &OriginArgs,
    store: &dyn Store,
    console: &mut Console,
) -> Result<(), Failure> {
    match ship(path, origin, false, store, console) {
        Ok(_) => Ok(()),
        Err(SummaryError::Snapshot(failure)) => Err(failure),
        Err(SummaryError::Store(error)) => Err(Failure::Input(error.into())),
    }
}

/// Puts the summary of a snapshot into the store. Returns false if it was there already.
fn ship(
    path: &Path,
    origin: &OriginArgs,
    is_kept: bool,
    store: &dyn Store,
    console: &mut Console,
) -> Result<bool, SummaryError> {
    let origin = origin.origin();
    let snapshot = Snapshot::open(path)
        .map_err(|error| SummaryError::Snapshot(bad_snapshot(path, &error).into()))?;
    let name = HeapSummary::name(snapshot.info(), &origin);
    drop(snapshot);
    let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
    if store.names(folder).map_err(SummaryError::Store)?.contains(&name) {
        return Ok(false);
    }
    let arg = HeapArg {
        file: path.to_owned(),
        strict: false,
        types: TypesArg::default(),
        // No other question will be asked about it.
        index: IndexArg::NONE,
    };
    let heap = arg.open(console).map_err(SummaryError::Snapshot)?;
    let summary = HeapSummary::of(&heap, origin, is_kept.then_some(path));
    summary.put(store).map_err(SummaryError::Store)?;
    Ok(true)
}

/// Whether a file has the name of a snapshot.
pub fn is_snapshot_name(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "heap")
}

/// The named snapshots, those in named folders, and those beside a named trace, whose names begin like the trace's.
fn found(files: &[PathBuf]) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for path in files {
        if path.is_file() && is_snapshot_name(path) {
            all.push(path.clone());
            continue;
        }
        let (folder, prefix) = match (path.is_dir(), path.parent(), path.file_stem()) {
            (true, ..) => (path.as_path(), None),
            (false, Some(folder), Some(stem)) => {
                let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                (folder, Some(format!("{}.", stem.to_string_lossy())))
            }
            _ => continue,
        };
        let Ok(listed) = folder.read_dir() else { continue };
        let is_ours = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
            let (Some(prefix), Some(name)) = (&prefix, name) else { return prefix.is_none() };
            let number = name.strip_prefix(prefix.as_str()).and_then(|it| it.strip_suffix(".heap"));
            number.is_some_and(|number| number.parse::<u32>().is_ok())
        };
        let listed = listed.flatten().map(|file| file.path());
        all.extend(listed.filter(|path| is_snapshot_name(path) && path.is_file() && is_ours(path)));
    }
    all.sort_unstable();
    all.dedup();
    all
}
