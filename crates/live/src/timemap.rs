//! Maps ordered by time, after section 3.4 of the Ocamlviz paper: entries arrive in order, lookups want the
//! latest at or before a moment, and the oldest are removed in one step.
//!
//! Times and values are in two ring buffers. Adding takes constant time (amortised over reallocations),
//! finding is a binary search, and removing all entries before a moment is that search plus a shift of the
//! buffers' starts.

use std::collections::VecDeque;
use std::ops::Range;

/// Values by the time at which they came.
#[derive(Clone, Debug)]
pub struct Timemap<T> {
    times: VecDeque<u64>,
    things: VecDeque<T>,
    /// The number of removed entries.
    removed: u64,
}

impl<T> Default for Timemap<T> {
    fn default() -> Timemap<T> {
        Timemap { times: VecDeque::new(), things: VecDeque::new(), removed: 0 }
    }
}

impl<T> Timemap<T> {
    /// Adds an entry. If its time is before the last entry's, it gets the last entry's time.
    pub fn add(&mut self, time: u64, thing: T) {
        let latest = self.times.back().copied().unwrap_or(0);
        self.times.push_back(time.max(latest));
        self.things.push_back(thing);
    }

    /// The latest entry at or before `time`.
    pub fn find(&self, time: u64) -> Option<(u64, &T)> {
        let after = self.times.partition_point(|it| *it <= time);
        self.get(after.checked_sub(1)?)
    }

    /// Removes and returns all entries before the one that [`Timemap::find`] finds for `time`, the oldest
    /// first.
    pub fn remove_before(&mut self, time: u64) -> impl Iterator<Item = T> {
        let after = self.times.partition_point(|it| *it <= time);
        let count = after.saturating_sub(1);
        self.times.drain(..count);
        self.removed += count as u64;
        self.things.drain(..count)
    }

    /// Entries later than `after`, up to and including `up_to`, in order.
    pub fn between(&self, after: u64, up_to: u64) -> impl DoubleEndedIterator<Item = (u64, &T)> {
        let first = self.times.partition_point(|time| *time <= after);
        let end = self.times.partition_point(|time| *time <= up_to).max(first);
        self.times.range(first..end).copied().zip(self.things.range(first..end))
    }

    /// Entries up to and including `up_to`, in order.
    pub fn until(&self, up_to: u64) -> impl DoubleEndedIterator<Item = (u64, &T)> {
        let end = self.times.partition_point(|time| *time <= up_to);
        self.times.range(..end).copied().zip(self.things.range(..end))
    }

    /// All entries, in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, &T)> {
        self.times.iter().copied().zip(&self.things)
    }

    /// The numbers of the present entries. An entry's number is how many were added before it, and never
    /// changes.
    pub fn numbers(&self) -> Range<u64> {
        self.removed..self.removed + self.len() as u64
    }

    /// The entry with this number, if it is still present.
    pub fn numbered(&self, number: u64) -> Option<(u64, &T)> {
        self.get(usize::try_from(number.checked_sub(self.removed)?).ok()?)
    }

    /// The number of the first entry that came, or will come, after `time`.
    pub fn number_after(&self, time: u64) -> u64 {
        self.removed + self.times.partition_point(|it| *it <= time) as u64
    }

    /// The entry at an index.
    fn get(&self, position: usize) -> Option<(u64, &T)> {
        Some((*self.times.get(position)?, self.things.get(position)?))
    }

    /// The oldest entry.
    pub fn first(&self) -> Option<(u64, &T)> {
        self.get(0)
    }

    /// The newest entry.
    pub fn last(&self) -> Option<(u64, &T)> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.times.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.times.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lookup_before_the_first_entry_finds_nothing() {
        let mut map = Timemap::default();
        assert_eq!(map.find(u64::MAX), None);
        map.add(5, 'a');
        assert_eq!(map.find(4), None);
        assert_eq!(map.find(5), Some((5, &'a')));
        assert_eq!(map.remove_before(100).count(), 0, "what is true at 100 stays");
        assert_eq!(map.find(100), Some((5, &'a')));
    }

    proptest! {
        /// Compares with a list that is searched from its end.
        #[test]
        fn timemap_behaves_like_a_list(
            steps in prop::collection::vec((0..20_u64, 0..4_u8), 1..200),
            asked in 0..2000_u64,
        ) {
            let mut map = Timemap::default();
            let mut list: Vec<(u64, usize)> = Vec::new();
            let mut time = 0;
            for (number, (step, what)) in steps.into_iter().enumerate() {
                time += step;
                if what == 0 {
                    let cut = time.saturating_sub(50);
                    let kept = list.iter().rposition(|(time, _)| *time <= cut).unwrap_or(0);
                    let removed: Vec<usize> = list.drain(..kept).map(|(_, thing)| thing).collect();
                    prop_assert_eq!(map.remove_before(cut).collect::<Vec<_>>(), removed);
                } else {
                    map.add(time, number);
                    list.push((time, number));
                }
            }
            let naive = list.iter().rev().find(|(time, _)| *time <= asked);
            prop_assert_eq!(map.find(asked).map(|(time, thing)| (time, *thing)), naive.copied());
            let between: Vec<_> = map.between(asked, asked + 100).map(|(time, thing)| (time, *thing)).collect();
            let naive = list.iter().filter(|(time, _)| (asked + 1..=asked + 100).contains(time));
            prop_assert_eq!(between, naive.copied().collect::<Vec<_>>());
            prop_assert_eq!(map.len(), list.len());
            // Each value is the number of values that were added before it.
            let added = map.numbers().end - map.len() as u64;
            for (position, (time, thing)) in list.iter().enumerate() {
                prop_assert_eq!(map.numbered(added + position as u64), Some((*time, thing)));
                prop_assert!(map.number_after(*time) > added + position as u64);
            }
            prop_assert_eq!(map.numbered(map.numbers().end), None);
            prop_assert_eq!(added.checked_sub(1).and_then(|number| map.numbered(number)), None);
        }
    }
}
