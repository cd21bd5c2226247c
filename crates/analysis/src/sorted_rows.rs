//! Sorts the rows of tables.
//!
//! The standard library's sort is compiled again for every kind of row and every order. With the dozens of tables here,
//! these copies were a tenth of this crate. So positions are sorted instead, by code that exists once, and then rows are
//! moved to their places. Tables are short; what sorts millions of blocks uses the standard library.

use std::cmp::Ordering;

pub trait SortRows<T> {
    /// Sorts rows; equal ones keep their order.
    fn sort_rows_by(&mut self, order: impl Fn(&T, &T) -> Ordering);

    /// Sorts rows by a key; equal ones keep their order.
    fn sort_rows_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K);
}

impl<T> SortRows<T> for [T] {
    fn sort_rows_by(&mut self, order: impl Fn(&T, &T) -> Ordering) {
        if self.len() < 2 {
            return;
        }
        let mut places = places(self.len(), &|one, other| order(&self[one], &self[other]));
        for at in 0..places.len() {
            // Every exchange moves a row to its place.
            while places[at] != at {
                let place = places[at];
                self.swap(at, place);
                places.swap(at, place);
            }
        }
    }

    fn sort_rows_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        self.sort_rows_by(|one, other| key(one).cmp(&key(other)));
    }
}

/// For each of `count` rows its place in the order.
fn places(count: usize, order: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut sorted: Vec<usize> = (0..count).collect();
    sorted.sort_by(|&one, &other| order(one, other));
    let mut places = vec![0; count];
    for (place, at) in sorted.into_iter().enumerate() {
        places[at] = place;
    }
    places
}

#[cfg(test)]
mod tests {
    use std::cmp::Reverse;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn rows_are_sorted_as_by_the_standard_library(rows: Vec<(u8, u8)>) {
            let (mut one, mut other) = (rows.clone(), rows);
            one.sort_rows_by_key(|row| Reverse(row.0 % 16));
            other.sort_by_key(|row| Reverse(row.0 % 16));
            prop_assert_eq!(&one, &other);
            one.sort_rows_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            other.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            prop_assert_eq!(one, other);
        }
    }
}
