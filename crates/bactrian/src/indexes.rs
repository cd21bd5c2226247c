//! Where indexes of snapshots are kept: in the user's cache directory, up to a bound.

use std::env;
use std::io::{self, IsTerminal};

use bactrian_analysis::heap::{IndexNews, IndexStore};
use bactrian_analysis::units::{Bytes, show_bytes};
use bactrian_capture::cache;

use crate::failure::Failure;
use crate::output::{Console, visible};

/// How large all indexes may be together, unless [`LIMIT`] says otherwise. The option's text says it too.
const DEFAULT_LIMIT: u64 = 2_000_000_000;
/// The variable that says how large they may be.
const LIMIT: &str = "BACTRIAN_INDEX_LIMIT";
/// What is larger is announced: nobody should wonder where the disk's room is.
const LARGE: u64 = 16_000_000;

/// Whether to do without an index.
#[derive(clap::Args, Clone, Copy, Debug, Default)]
pub struct IndexArg {
    /// Neither use nor keep an index (in ~/.cache/bactrian/indexes, 2 GB at most)
    ///
    /// An index has what was computed from a snapshot, so that the next question to it is answered at once. Indexes are kept
    /// in $XDG_CACHE_HOME/bactrian/indexes or ~/.cache/bactrian/indexes, 2 GB of them at most; the least recently used are
    /// removed first. BACTRIAN_INDEX_LIMIT=SIZE sets another bound; 0 keeps none.
    #[arg(long)]
    no_index: bool,
}

impl IndexArg {
    /// Without any: for files that nobody will ask again.
    pub const NONE: IndexArg = IndexArg { no_index: true };

    /// Where indexes are; none if there are to be none, or the user has no directory for them.
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

/// What is said of an index, if anything is.
fn sentence(news: IndexNews<'_>) -> Option<String> {
    let size = |bytes: u64| show_bytes(bytes as f64);
    match news {
        IndexNews::Written { bytes: 0..LARGE, .. } => None,
        IndexNews::Written { directory, bytes } => Some(format!(
            "an index of {} is kept in {}: it makes the next questions to this snapshot quick \
             (--no-index or {LIMIT}=0 keeps none)",
            size(bytes),
            visible(&directory.display().to_string())
        )),
        IndexNews::TooLarge { bytes, limit } => Some(format!(
            "no index is kept: it would take {}, and all together may take {} ({LIMIT}); so the next question \
             takes as long",
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

    /// The help says so.
    #[test]
    fn default_limit_is_2_gb() {
        assert_eq!("2 GB".parse::<Bytes>(), Ok(Bytes(DEFAULT_LIMIT)));
    }
}
