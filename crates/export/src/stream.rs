//! JSON arrays that are generated while they are written.

use serde::{Serialize, Serializer};

/// The array of an iterator's items. It holds a function that makes the iterator, because serde only lends
/// values and an iterator can be walked only once.
pub struct Stream<F>(pub F);

impl<F, I> Serialize for Stream<F>
where
    F: Fn() -> I,
    I: Iterator,
    I::Item: Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// The array that contains a value this many times.
#[derive(Clone, Copy, Debug)]
pub struct Same<T>(pub T, pub usize);

impl<T: Serialize> Serialize for Same<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(std::iter::repeat_n(&self.0, self.1))
    }
}
