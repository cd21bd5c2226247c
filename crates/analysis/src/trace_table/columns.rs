//! Columns: one number for each object, in as few bytes as most objects need.

use std::collections::HashMap;

use bactrian_trace::Micros;

/// Numbers that are nearly always small: two bytes each; the few large ones are stored separately.
#[derive(Debug, Default)]
pub(super) struct SmallNumbers {
    small: Vec<u16>,
    large: HashMap<u32, u64>,
}

/// Marks a number that is stored separately.
const LARGE: u16 = u16::MAX;

impl SmallNumbers {
    pub fn with_capacity(capacity: usize) -> SmallNumbers {
        SmallNumbers { small: Vec::with_capacity(capacity), large: HashMap::new() }
    }

    #[inline]
    pub fn push(&mut self, number: u64) {
        let small = u16::try_from(number).ok().filter(|&small| small != LARGE);
        if small.is_none() {
            self.large.insert(self.small.len() as u32, number);
        }
        self.small.push(small.unwrap_or(LARGE));
    }

    /// Appends other numbers.
    pub fn append(&mut self, others: &SmallNumbers) {
        let before = self.small.len() as u32;
        self.small.extend_from_slice(&others.small);
        self.large.extend(others.large.iter().map(|(at, number)| (before + at, *number)));
    }

    #[inline]
    pub fn get(&self, at: usize) -> u64 {
        match self.small[at] {
            LARGE => self.large[&(at as u32)],
            small => u64::from(small),
        }
    }
}

/// A time in as few bytes as the trace's duration permits.
pub(super) trait Moment: Copy + Ord + Send + Sync {
    /// Later than all others.
    const NEVER: Self;

    #[inline]
    fn is_never(self) -> bool {
        self == Self::NEVER
    }

    fn of(time: Micros) -> Self;
    /// Must not be called on [`Moment::NEVER`].
    fn micros(self) -> Micros;
}

impl Moment for u32 {
    const NEVER: u32 = u32::MAX;

    #[inline]
    fn of(time: Micros) -> u32 {
        u32::try_from(time.0).unwrap_or(u32::MAX)
    }

    #[inline]
    fn micros(self) -> Micros {
        Micros(u64::from(self))
    }
}

impl Moment for u64 {
    const NEVER: u64 = u64::MAX;

    #[inline]
    fn of(time: Micros) -> u64 {
        time.0
    }

    #[inline]
    fn micros(self) -> Micros {
        Micros(self)
    }
}

/// Allocation times of objects, which never decrease, and their collection times.
#[derive(Debug)]
pub(super) struct Spans<T> {
    pub born: Vec<T>,
    pub died: Vec<T>,
}

impl<T: Moment> Spans<T> {
    pub fn with_capacity(capacity: usize) -> Spans<T> {
        Spans { born: Vec::with_capacity(capacity), died: Vec::with_capacity(capacity) }
    }
}

/// Spans of traces of up to about half an hour, and of longer ones.
#[derive(Debug)]
pub(super) enum Times {
    Short(Spans<u32>),
    Long(Spans<u64>),
}

/// Evaluates the same expression with spans of either type.
macro_rules! with_spans {
    ($times:expr, $spans:ident => $does:expr) => {
        match $times {
            $crate::trace_table::columns::Times::Short($spans) => $does,
            $crate::trace_table::columns::Times::Long($spans) => $does,
        }
    };
}
pub(super) use with_spans;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_numbers_are_preserved() {
        let numbers = [0, 7, 65_534, 65_535, 65_536, u64::MAX, 3];
        let mut column = SmallNumbers::default();
        numbers.iter().for_each(|&number| column.push(number));
        assert_eq!(std::array::from_fn(|at| column.get(at)), numbers);
        let mut twice = SmallNumbers::default();
        [&column, &column].into_iter().for_each(|column| twice.append(column));
        let all: Vec<u64> = (0..14).map(|at| twice.get(at)).collect();
        assert_eq!(all, [numbers, numbers].concat());
    }
}
