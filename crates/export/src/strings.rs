//! A string table, for formats that write each string once and refer to it by number.

use std::collections::HashMap;

/// Distinct strings, numbered from 0 in order of first use.
#[derive(Debug, Default)]
pub struct Strings<'a> {
    numbers: HashMap<&'a str, usize>,
    all: Vec<&'a str>,
}

impl<'a> Strings<'a> {
    /// The number of a string, which is added if it is new.
    pub fn number(&mut self, text: &'a str) -> usize {
        *self.numbers.entry(text).or_insert_with(|| {
            self.all.push(text);
            self.all.len() - 1
        })
    }

    /// All strings, in order of their numbers.
    pub fn all(&self) -> &[&'a str] {
        &self.all
    }
}
