//! How the domain state of OCaml 5 has grown.
//!
//! Layouts are written down for 5.3 ([`crate::heap_layout`], [`crate::accounting`], [`crate::collector`],
//! [`crate::runtime`]). Later releases have put words between the old ones and moved no others: here it stands which, from
//! `domain_state.tbl` of each release, so that each layout stands once.

use crate::version::Version;

/// A release of OCaml 5 whose domain state is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Release {
    /// 5.3.
    V5_3,
    /// 5.4: three words before `swept_words` of 5.3, and `gc_policy` after it.
    V5_4,
    /// 5.5: `major_work_done_between_slices` has become two words.
    V5_5,
}

/// Where `swept_words` is in 5.3.
const SWEPT_WORDS: usize = 18;
/// Where `major_work_done_between_slices` is in 5.4.
const WORK_DONE: usize = 49;

impl Release {
    /// The release of a version; none if it is not of these.
    pub(crate) fn of(version: Version) -> Option<Release> {
        match (version.major, version.minor) {
            (5, 3) => Some(Release::V5_3),
            (5, 4) => Some(Release::V5_4),
            (5, 5) => Some(Release::V5_5),
            _ => None,
        }
    }

    /// Its version.
    pub(crate) const fn version(self) -> Version {
        match self {
            Release::V5_3 => Version::new(5, 3),
            Release::V5_4 => Version::new(5, 4),
            Release::V5_5 => Version::new(5, 5),
        }
    }

    /// Where a word of 5.3's domain state is in this release.
    pub(crate) const fn word(self, of_5_3: usize) -> usize {
        let of_5_4 = match of_5_3 {
            0..SWEPT_WORDS => of_5_3,
            SWEPT_WORDS => of_5_3 + 3,
            _ => of_5_3 + 4,
        };
        match self {
            Release::V5_3 => of_5_3,
            Release::V5_4 => of_5_4,
            Release::V5_5 if of_5_4 > WORK_DONE => of_5_4 + 1,
            Release::V5_5 => of_5_4,
        }
    }

    /// As [`Release::word`], for what only some versions have.
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

    /// Counted in `domain_state.tbl` of each release.
    #[test]
    fn words_are_where_the_releases_have_them() {
        let of = |release: Release| {
            [7, 16, 18, 20, 36, 38, 45, 48, 54, 58].map(|word| release.word(word))
        };
        assert_eq!(of(Release::V5_3), [7, 16, 18, 20, 36, 38, 45, 48, 54, 58]);
        assert_eq!(of(Release::V5_4), [7, 16, 21, 24, 40, 42, 49, 52, 58, 62]);
        assert_eq!(of(Release::V5_5), [7, 16, 21, 24, 40, 42, 49, 53, 59, 63]);
    }
}
