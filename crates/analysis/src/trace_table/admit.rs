//! Applies a filter to the table: a parallel scan of the columns that its conditions refer to.
//!
//! Allocation times never decrease, so conditions on them become a range of object numbers. All other
//! conditions are evaluated column by column, for 64 objects at a time.

use std::ops::{Range, RangeInclusive};

use bactrian_trace::Micros;

use super::bits::{Bits, WORD};
use super::columns::{Moment, Spans, with_spans};
use super::lives::{Lives, PROMOTED, PeakMoment, source_bits};
use crate::filter::{Filter, Live};
use crate::parallel;
use crate::selection::End;
use crate::units::{Between, Bytes, Time};

/// A word with a bit for each of its objects.
///
/// Always inlined: filters spend nearly all their time in this loop, and releases optimise this crate for size.
#[inline(always)]
pub(super) fn word_of(first: usize, len: usize, mut of: impl FnMut(usize) -> bool) -> u64 {
    let mut word = 0;
    let mut at = (first + WORD).min(len);
    while at > first {
        at -= 1;
        word = word << 1 | u64::from(of(at));
    }
    word
}

/// The bits of a word that lie in a range.
#[inline]
fn word_of_range(first: usize, range: &Range<usize>) -> u64 {
    let below = |end: usize| match end.saturating_sub(first) {
        0 => 0,
        bits if bits >= WORD => u64::MAX,
        bits => (1 << bits) - 1,
    };
    below(range.end) & !below(range.start)
}

/// A range of sizes in words from a range of sizes in bytes.
fn words_of(sizes: &Between<Bytes>, word_bytes: u64) -> RangeInclusive<u64> {
    let word_bytes = word_bytes.max(1);
    let least = sizes.from.map_or(0, |from| from.0.div_ceil(word_bytes));
    // The largest size in bytes also includes sizes that do not fit into a `u64` of bytes.
    let most = sizes.to.filter(|to| to.0 < u64::MAX).map_or(u64::MAX, |to| to.0 / word_bytes);
    least..=most
}

impl Lives {
    /// The objects that a filter admits, ignoring its conditions on stacks and on the peak.
    pub fn admitted(&self, filter: &Filter, word_bytes: u64) -> Bits {
        let range = self.born_in(filter);
        let end = End::of(filter);
        let sizes = (filter.size != Between::default()).then(|| words_of(&filter.size, word_bytes));
        let sources =
            filter.sources.iter().fold(0u8, |bits, &source| bits | 1 << source_bits(source));
        let domains = &filter.domains;
        self.collect_words(|first| {
            let mut word = word_of_range(first, &range);
            if word != 0 && !end.is_any() {
                word &= with_spans!(&self.times, spans => spans.ending(first, &end));
            }
            if word != 0
                && let Some(sizes) = &sizes
            {
                word &= self.word_of(first, |at| sizes.contains(&self.words.get(at)));
            }
            if word != 0 && sources != 0 {
                word &= self.word_of(first, |at| sources >> (self.kinds[at] & !PROMOTED) & 1 != 0);
            }
            if word != 0 && !domains.is_empty() {
                // With a single domain there is no column.
                word &= self.word_of(first, |at| {
                    let domain = self.domains.get(at).map_or(self.only_domain, |&domain| domain);
                    domains.iter().any(|wanted| wanted.0 == domain)
                });
            }
            word
        })
    }

    /// The objects in `among` that are never collected.
    pub fn never_collected(&self, among: &Bits) -> Bits {
        self.narrowed(
            among,
            |first| with_spans!(&self.times, spans => spans.ending(first, &End::never())),
        )
    }

    /// The objects in `among` that are promoted.
    pub fn promoted(&self, among: &Bits) -> Bits {
        self.narrowed(among, |first| self.word_of(first, |at| self.kinds[at] & PROMOTED != 0))
    }

    /// The objects in `among` that are alive right after the peak's object was allocated.
    pub fn alive_at(&self, among: &Bits, peak: PeakMoment) -> Bits {
        with_spans!(&self.times, spans => {
            let time = spans.born[peak.number];
            let mut alive = self.narrowed(among, |first| {
                let born = word_of_range(first, &(0..peak.number + 1));
                born & self.word_of(first, |at| spans.died[at] >= time)
            });
            // Of the objects that die at the same time, those whose deaths precede the peak in event order
            // are dead.
            let dead = self.deaths[..peak.deaths].iter().rev();
            for &number in dead.take_while(|&&number| spans.died[number as usize] == time) {
                alive.unset(number as usize);
            }
            alive
        })
    }

    /// The numbers of the objects whose allocation time satisfies the filter.
    fn born_in(&self, filter: &Filter) -> Range<usize> {
        let at_most = |time: Option<Time>| time.map_or(self.len(), |time| self.born_until(time.0));
        let mut last = at_most(filter.allocated.to);
        for live in &filter.live {
            last = last.min(match live {
                Live::In(range) => at_most(range.to),
                Live::At(time) => at_most(Some(*time)),
                Live::AtEnd | Live::AtPeak => self.len(),
            });
        }
        let first = filter.allocated.from.map_or(0, |from| match from.0.0.checked_sub(1) {
            Some(before) => self.born_until(Micros(before)),
            None => 0,
        });
        first..last.max(first)
    }

    /// The number of objects allocated at or before this time.
    fn born_until(&self, time: Micros) -> usize {
        with_spans!(&self.times, spans => spans.born.partition_point(|born| born.micros() <= time))
    }

    #[inline(always)]
    pub(super) fn word_of(&self, first: usize, of: impl FnMut(usize) -> bool) -> u64 {
        word_of(first, self.len(), of)
    }

    /// Builds bits word by word; `word` gets the number of the word's first object.
    pub(super) fn collect_words(&self, word: impl Fn(usize) -> u64 + Sync) -> Bits {
        let mut words = vec![0; self.len().div_ceil(WORD)];
        parallel::fill(&mut words, |first, piece| {
            piece.iter_mut().zip(first..).for_each(|(it, at)| *it = word(at * WORD));
        });
        Bits::from_words(words, self.len())
    }

    /// Intersects `among` with words; `word` gets the number of the word's first object.
    pub(super) fn narrowed(&self, among: &Bits, word: impl Fn(usize) -> u64 + Sync) -> Bits {
        self.collect_words(|first| match among.words()[first / WORD] {
            0 => 0,
            bits => bits & word(first),
        })
    }
}

impl<T: Moment> Spans<T> {
    /// The objects of a word whose end satisfies the conditions.
    #[inline]
    fn ending(&self, first: usize, end: &End) -> u64 {
        word_of(first, self.died.len(), |at| match self.died[at] {
            died if died == T::NEVER => end.admits_survivor(),
            died => {
                let died = died.micros();
                end.admits_death(died) && end.admits_lifetime(died.since(self.born[at].micros()))
            }
        })
    }
}
