//! The page that we share with the agent in a program: its pauses, and the switch for sampling.
//!
//! We read and write it as a file; only the agent maps it. It is in memory where possible, so that the kernel
//! does not write it to the disk again and again.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bactrian_agent_abi::page::{
    self, BUCKETS, BYTES, LONG_KEPT, LONG_WORDS, MAGIC, VERSION, WORDS, word,
};
use bactrian_live::Histogram;

use super::events::Pause;
use crate::temporary::{Owner, TemporaryFolder};

/// A page. If it is ours, it is removed when this is dropped.
#[derive(Debug)]
pub struct Page {
    file: File,
    ours: Option<TemporaryFolder>,
}

/// The name of the file, and the purpose of its directory.
const NAME: &str = "page";

/// What the agent has measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measured {
    /// The pauses of the program, in nanoseconds.
    pub pauses: Histogram,
    /// The last long pauses, oldest first.
    pub long: Vec<Pause>,
}

/// When a program ended by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramEnd {
    /// In nanoseconds on the monotonic clock.
    pub at: u64,
    /// Its processor time, in nanoseconds.
    pub cpu: u64,
}

impl Page {
    /// Creates a page.
    ///
    /// # Errors
    /// If there is no room for it.
    pub fn new(is_sampling: bool) -> io::Result<Page> {
        let folder = TemporaryFolder::in_memory(NAME)?;
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create_new(true).open(folder.file(NAME))?;
        // Written rather than only extended: a program that writes to a page of a mapping for which there is
        // no memory is killed.
        file.write_all_at(&[0; BYTES], 0)?;
        let page = Page { file, ours: Some(folder) };
        page.set_sampling(is_sampling)?;
        page.write(word::VERSION, VERSION)?;
        page.write(word::MAGIC, MAGIC)?;
        Ok(page)
    }

    /// Creates a page for the agent in a running process, perhaps of another user.
    ///
    /// # Errors
    /// If there is no room for it, or it may not be given to that user.
    pub fn for_process(pid: u32) -> io::Result<Page> {
        let page = Page::new(true)?;
        if let (Some(owner), Some(folder)) = (Owner::of_process(pid), &page.ours) {
            owner.gets(folder.path())?;
            owner.gets(&folder.file(NAME))?;
        }
        Ok(page)
    }

    /// A page that somebody else has created.
    pub fn of_others(file: File) -> Page {
        Page { file, ours: None }
    }

    /// Whether a file that a process has mapped is a page.
    pub fn is_one(path: &Path) -> bool {
        path.ends_with(NAME) && TemporaryFolder::has(NAME, path)
    }

    /// Its path, if it is ours.
    pub fn path(&self) -> Option<PathBuf> {
        self.ours.as_ref().map(|folder| folder.file(NAME))
    }

    /// Tells the agent whether to sample.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn set_sampling(&self, is_wanted: bool) -> io::Result<()> {
        self.write(word::SAMPLING, is_wanted.into())
    }

    /// The process whose agent has taken it, if any.
    pub fn owner(&self) -> Option<u32> {
        self.read()?
            .get(word::OWNER)
            .and_then(|&pid| u32::try_from(pid).ok())
            .filter(|pid| *pid > 0)
    }

    /// What the agent has measured; None if it does not measure.
    pub fn measured(&self) -> Option<Measured> {
        let words = self.read()?;
        let at = |index: usize| words.get(index).copied().unwrap_or(0);
        if at(word::MEASURES) == 0 {
            return None;
        }
        let counts = words.get(word::COUNTS..word::COUNTS + BUCKETS).unwrap_or_default();
        let counts = counts.iter().copied().enumerate();
        let pauses =
            Histogram::from_counts(counts, at(word::SUM), at(word::SHORTEST), at(word::LONGEST));
        let written = at(word::LONG);
        let kept = written.saturating_sub(LONG_KEPT as u64)..written;
        let long = kept.filter_map(|number| {
            let start = word::LONG_ONES + number as usize % LONG_KEPT * LONG_WORDS;
            // Invalid while it is being written.
            let phase = page::Pause::from_number(at(start))?.name();
            let domain = at(start + 1).try_into().ok()?;
            Some(Pause { begin: at(start + 2), nanos: at(start + 3), domain, phase })
        });
        Some(Measured { pauses, long: long.collect() })
    }

    /// Makes the program wait at its end until [`Page::end_was_read`] is called. To be called before the program starts.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn read_at_end(&self) -> io::Result<()> {
        self.write(word::READS_AT_END, 1)
    }

    /// The end of the program, which now waits for us.
    pub fn end(&self) -> Option<ProgramEnd> {
        // Called often, so only these two words are read.
        let at = |word: usize| {
            let mut bytes = [0; 8];
            self.file.read_exact_at(&mut bytes, word as u64 * 8).ok()?;
            Some(u64::from_le_bytes(bytes))
        };
        let end = at(word::END).filter(|end| *end > 0)?;
        Some(ProgramEnd { at: end, cpu: at(word::END_CPU)? })
    }

    /// Lets the program end.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn end_was_read(&self) -> io::Result<()> {
        self.write(word::END_WAS_READ, 1)
    }

    fn read(&self) -> Option<Vec<u64>> {
        let mut bytes = vec![0; BYTES];
        self.file.read_exact_at(&mut bytes, 0).ok()?;
        let words: Vec<_> =
            bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        (words.len() == WORDS).then_some(words)
    }

    fn write(&self, at: usize, value: u64) -> io::Result<()> {
        self.file.write_all_at(&value.to_le_bytes(), at as u64 * 8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_buckets_are_those_of_histograms() {
        assert_eq!(BUCKETS, Histogram::BUCKETS);
        for bucket in 0..BUCKETS {
            for number in [Histogram::lowest_in(bucket), Histogram::highest_in(bucket)] {
                assert_eq!(page::bucket_of(number), Histogram::bucket_of(number), "{number}");
            }
        }
    }

    #[test]
    fn an_end_is_seen_when_the_agent_writes_it() {
        let page = Page::new(false).expect("room");
        page.read_at_end().expect("room");
        assert_eq!(page.end(), None);
        page.write(word::END_CPU, 5).expect("room");
        page.write(word::END, 77).expect("room");
        assert_eq!(page.end(), Some(ProgramEnd { at: 77, cpu: 5 }));
    }

    #[test]
    fn what_an_agent_writes_is_read() {
        let page = Page::new(true).expect("room");
        assert_eq!((page.owner(), page.measured()), (None, None));
        let write = |at: usize, value: u64| page.write(at, value).expect("room");
        write(word::OWNER, 77);
        write(word::MEASURES, 1);
        assert_eq!(page.measured(), Some(Measured::default()));
        write(word::COUNTS + page::bucket_of(2_000_000), 70);
        for (at, value) in [(word::SUM, 140_000_000), (word::SHORTEST, 5), (word::LONGEST, 9)] {
            write(at, value);
        }
        for number in 0..70 {
            let start = word::LONG_ONES + number % LONG_KEPT * LONG_WORDS;
            let slice = page::Pause::Slice as u64;
            for (at, value) in [slice, 3, number as u64, 2_000_000].into_iter().enumerate() {
                write(start + at, value);
            }
            write(word::LONG, number as u64 + 1);
        }
        let measured = page.measured().expect("it measures");
        assert_eq!((page.owner(), measured.pauses.count()), (Some(77), 70));
        assert_eq!((measured.pauses.min(), measured.pauses.max()), (5, 9));
        assert_eq!(measured.long.len(), LONG_KEPT);
        let [first, .., last] = &measured.long[..] else { panic!("two at least") };
        assert_eq!((first.begin, last.begin), (6, 69));
        assert_eq!((last.nanos, last.domain, last.phase), (2_000_000, 3, "major_slice"));
        // An entry that is being written has no valid kind yet.
        write(word::LONG_ONES + 69 % LONG_KEPT * LONG_WORDS, u64::MAX);
        let rest = page.measured().map(|measured| measured.long.len());
        assert_eq!(rest, Some(LONG_KEPT - 1));
    }
}
