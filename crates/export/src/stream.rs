//! JSON arrays that are made while they are written.

use serde::{Serialize, Serializer};

/// The array of what the iterator yields that the function makes. serde only lends values out, and an
/// iterator can be walked once: hence a function.
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

/// The array that holds a value so many times.
#[derive(Clone, Copy, Debug)]
pub struct Same<T>(pub T, pub usize);

impl<T: Serialize> Serialize for Same<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(std::iter::repeat_n(&self.0, self.1))
    }
}
