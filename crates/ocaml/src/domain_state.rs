//! Differences of the domain state between releases of OCaml 5.
//!
//! Layouts are written down for 5.3 ([`crate::heap_layout`], [`crate::accounting`], [`crate::collector`],
//! [`crate::runtime`]). Other releases have the same words in the same order, with some words more or fewer
//! between them. This module says where, according to `domain_state.tbl` of each release, so that each layout
//! is written down once.

use crate::version::Version;

/// A release of OCaml 5 whose domain state is known, oldest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Release {
    /// 5.0.
    V5_0,
    /// 5.1.
    V5_1,
    /// 5.2: has the words of a sampler that does not work yet, at the end.
    V5_2,
    /// 5.3.
    V5_3,
    /// 5.4: three words before `swept_words` of 5.3, and `gc_policy` after it.
    V5_4,
    /// 5.5: `major_work_done_between_slices` became two words.
    V5_5,
}

impl Release {
    /// The release of a version; None if it is not one of these.
    pub(crate) fn of(version: Version) -> Option<Release> {
        match (version.major, version.minor) {
            (5, 0) => Some(Release::V5_0),
            (5, 1) => Some(Release::V5_1),
            (5, 2) => Some(Release::V5_2),
            (5, 3) => Some(Release::V5_3),
            (5, 4) => Some(Release::V5_4),
            (5, 5) => Some(Release::V5_5),
            _ => None,
        }
    }

    /// Its version.
    pub(crate) const fn version(self) -> Version {
        Version::new(5, self as u8)
    }

    /// Whether it has Gc.Memprof, which the first releases of OCaml 5 lack.
    pub(crate) const fn has_sampler(self) -> bool {
        self as u8 >= Release::V5_3 as u8
    }

    /// Pairs of a word of 5.3 and a shift: from that word on, up to that of the next pair, words are shifted by
    /// so much.
    const fn shifts(self) -> &'static [(usize, isize)] {
        match self {
            // Without `young_trigger`; then words come and go before `swept_words`, `local_roots`,
            // `requested_minor_gc`, `dls_root`, `extern_state` and `stat_forced_major_collections`.
            Release::V5_0 => &[(5, -1), (18, -2), (20, 0), (31, -1), (38, 2), (46, -1), (51, 0)],
            // Without `allocated_words_direct`.
            Release::V5_1 | Release::V5_2 => &[(18, -1)],
            Release::V5_3 => &[],
            Release::V5_4 => &[(18, 3), (19, 4)],
            Release::V5_5 => &[(18, 3), (19, 4), (46, 5)],
        }
    }

    /// The position in this release of a word of 5.3's domain state, which this release must have.
    pub(crate) const fn word(self, of_5_3: usize) -> usize {
        let shifts = self.shifts();
        let mut word = of_5_3;
        let mut at = 0;
        while at < shifts.len() && shifts[at].0 <= of_5_3 {
            word = of_5_3.wrapping_add_signed(shifts[at].1);
            at += 1;
        }
        word
    }

    /// Like [`Release::word`], for a word that only some versions have.
    pub(crate) const fn maybe(self, of_5_3: Option<usize>) -> Option<usize> {
        match of_5_3 {
            Some(word) => Some(self.word(word)),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Release;

    /// Counted in `domain_state.tbl` of each release: action_pending, gc_regs, allocated_words, swept_words,
    /// local_roots, final_info, backtrace_last_exn, requested_external_interrupt, id, dls_root,
    /// dependent_allocated, stat_minor_words, stat_forced_major_collections, trap_sp_off.
    #[test]
    fn domain_state_words_match_each_release() {
        let of = |release: Release| {
            [7, 11, 16, 18, 20, 22, 26, 32, 36, 38, 42, 48, 51, 54].map(|word| release.word(word))
        };
        let of_5_1 = [7, 11, 16, 17, 19, 21, 25, 31, 35, 37, 41, 47, 50, 53];
        assert_eq!(of(Release::V5_0), [6, 10, 15, 16, 20, 22, 26, 31, 35, 40, 44, 47, 51, 54]);
        assert_eq!(of(Release::V5_1), of_5_1);
        assert_eq!(of(Release::V5_2), of_5_1);
        assert_eq!(of(Release::V5_3), [7, 11, 16, 18, 20, 22, 26, 32, 36, 38, 42, 48, 51, 54]);
        let later = |release: Release| {
            [7, 16, 18, 20, 36, 38, 45, 48, 54, 58].map(|word| release.word(word))
        };
        assert_eq!(later(Release::V5_4), [7, 16, 21, 24, 40, 42, 49, 52, 58, 62]);
        assert_eq!(later(Release::V5_5), [7, 16, 21, 24, 40, 42, 49, 53, 59, 63]);
    }

    #[test]
    fn releases_know_their_versions() {
        for minor in 0..=5 {
            let version = crate::Version::new(5, minor);
            assert_eq!(Release::of(version).map(Release::version), Some(version));
        }
        assert_eq!(Release::of(crate::Version::new(5, 6)), None);
        assert!(!Release::V5_2.has_sampler() && Release::V5_3.has_sampler());
    }
}
