//! A table of strings, for formats that write each once and then say its number.

use std::collections::HashMap;

/// Distinct strings, numbered from 0 in the order in which they were asked for.
#[derive(Debug, Default)]
pub struct Strings<'a> {
    numbers: HashMap<&'a str, usize>,
    all: Vec<&'a str>,
}

impl<'a> Strings<'a> {
    /// The number of a string, new or known.
    pub fn number(&mut self, text: &'a str) -> usize {
        *self.numbers.entry(text).or_insert_with(|| {
            self.all.push(text);
            self.all.len() - 1
        })
    }

    /// All strings in order.
    pub fn all(&self) -> &[&'a str] {
        &self.all
    }
}
