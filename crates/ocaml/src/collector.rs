//! Where the collector keeps what tells that a snapshot of the heap is due, and how it is asked to come to a
//! safe point, by version of OCaml.
//!
//! Numbers are 8-byte words of the domain state, taken from `domain_state.tbl` of each release.

use crate::domain_state::Release;
use crate::version::Version;

/// The parts of a collector that the agent uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectorLayout {
    /// OCaml 4: one domain.
    One {
        /// `stat_major_collections`.
        cycles: usize,
        /// `stat_heap_wsz`.
        heap_words: usize,
    },
    /// OCaml 5.
    Many {
        /// `young_limit`: if it is raised, the domain comes to a safe point.
        young_limit: usize,
        /// `requested_external_interrupt`.
        interrupt: usize,
        /// `shared_heap`.
        heap: usize,
    },
}

impl CollectorLayout {
    /// The layout for a version; None if it is unknown.
    pub fn of(version: Version) -> Option<CollectorLayout> {
        if version == Version::new(4, 11) {
            return Some(CollectorLayout::One { cycles: 40, heap_words: 41 });
        }
        if (Version::new(4, 12)..=Version::new(4, 14)).contains(&version) {
            return Some(CollectorLayout::One { cycles: 41, heap_words: 42 });
        }
        let release = Release::of(version)?;
        Some(CollectorLayout::Many {
            young_limit: 0,
            interrupt: release.word(32),
            heap: release.word(35),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_versions_have_no_layout() {
        for (major, minor, known) in [
            (4, 10, false),
            (4, 11, true),
            (4, 13, true),
            (5, 0, true),
            (5, 3, true),
            (5, 5, true),
            (5, 6, false),
        ] {
            let layout = CollectorLayout::of(Version::new(major, minor));
            assert_eq!(layout.is_some(), known, "{major}.{minor}");
        }
    }
}
