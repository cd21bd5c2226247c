//! Where indexes of snapshots are stored: in the user's cache directory, up to a limit.

use std::env;
use std::io::{self, IsTerminal};

use bactrian_analysis::heap::{IndexNews, IndexStore};
use bactrian_analysis::units::{Bytes, show_bytes};
use bactrian_capture::cache;

use crate::failure::Failure;
use crate::output::{Console, visible};

/// The total size limit in bytes, unless [`LIMIT`] is set. The option's help repeats it.
const DEFAULT_LIMIT: u64 = 2_000_000_000;
/// The environment variable for the limit.
const LIMIT: &str = "BACTRIAN_INDEX_LIMIT";
/// Larger indexes are announced, so that nobody wonders where the disk space went.
const LARGE: u64 = 16_000_000;

/// Whether to use an index.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct IndexArg {
    /// Do not use or keep an index (in ~/.cache/bactrian/indexes, at most 2 GB)
    ///
    /// An index contains what was computed from a snapshot, so that the next question is answered at once. Indexes are kept in
    /// $XDG_CACHE_HOME/bactrian/indexes or ~/.cache/bactrian/indexes, at most 2 GB in total; the least recently used are removed
    /// first. BACTRIAN_INDEX_LIMIT=SIZE sets another limit; 0 keeps none.
    #[arg(long)]
    no_index: bool,
}

impl IndexArg {
    /// Without an index: for files that are read only once.
    pub const NONE: IndexArg = IndexArg { no_index: true };

    /// The index store; None if disabled, or if the user has no cache directory.
    pub fn store(self, console: &Console) -> Result<Option<IndexStore>, Failure> {
        if self.no_index {
            return Ok(None);
        }
        let (limit @ 1.., Some(directory)) = (limit()?, cache::user_directory()) else {
            return Ok(None);
        };
        let note = console.noting();
        let announce = move |news: IndexNews<'_>| {
            if let Some(what) = sentence(news).filter(|_| io::stderr().is_terminal()) {
                note(&what);
            }
        };
        Ok(Some(IndexStore::new(directory.join("indexes"), limit).announcing(announce)))
    }
}

/// The message about an index, if any.
fn sentence(news: IndexNews<'_>) -> Option<String> {
    let size = |bytes: u64| show_bytes(bytes as f64);
    match news {
        IndexNews::Written { bytes: 0..LARGE, .. } => None,
        IndexNews::Written { directory, bytes } => Some(format!(
            "an index of {} was written to {}: it speeds up further questions about this \
             snapshot (--no-index or {LIMIT}=0 turns this off)",
            size(bytes),
            visible(&directory.display().to_string())
        )),
        IndexNews::TooLarge { bytes, limit } => Some(format!(
            "no index was written: it would take {}, but all indexes together may take {} \
             ({LIMIT}); the next question will take as long",
            size(bytes),
            size(limit)
        )),
    }
}

fn limit() -> Result<u64, Failure> {
    let Some(text) = env::var_os(LIMIT).filter(|text| !text.is_empty()) else {
        return Ok(DEFAULT_LIMIT);
    };
    let limit = text.to_string_lossy().parse::<Bytes>();
    limit.map(|bytes| bytes.0).map_err(|error| Failure::Usage(format!("{LIMIT}: {error}")))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn large_indexes_are_announced() {
        let directory = Path::new("/u/.cache/bactrian/indexes");
        let written = |bytes| sentence(IndexNews::Written { directory, bytes });
        assert_eq!(written(LARGE - 1), None);
        let said = written(148_000_000).expect("it is large");
        assert!(said.contains("148 MB") && said.contains("/u/.cache/bactrian/indexes"));
        assert!(said.contains("--no-index"));
        let limit = DEFAULT_LIMIT;
        let said = sentence(IndexNews::TooLarge { bytes: 5_000_000_000, limit }).expect("always");
        assert!(said.contains("5.00 GB") && said.contains("2.00 GB"), "{said}");
    }

    /// The help states this value.
    #[test]
    fn default_limit_is_2_gb() {
        assert_eq!("2 GB".parse::<Bytes>(), Ok(Bytes(DEFAULT_LIMIT)));
    }
}
