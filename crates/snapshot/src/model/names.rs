//! Interned strings: texts that occur many times and are stored once.

use std::collections::HashMap;

use super::NameId;

/// The texts of a snapshot. Number 0 is always the empty text.
#[derive(Clone, Debug)]
pub struct Names {
    texts: Vec<Box<str>>,
    known: HashMap<Box<str>, NameId>,
}

impl Default for Names {
    fn default() -> Names {
        let mut names = Names { texts: Vec::new(), known: HashMap::new() };
        names.add("");
        names
    }
}

impl PartialEq for Names {
    fn eq(&self, other: &Names) -> bool {
        self.texts == other.texts
    }
}

impl Names {
    /// The number of a text, which is added if it is new.
    pub fn add(&mut self, text: &str) -> NameId {
        if let Some(&id) = self.known.get(text) {
            return id;
        }
        self.push(text.into())
    }

    /// Like [`Names::add`], for bytes that may not be UTF-8, such as names in a program's memory.
    pub fn add_bytes(&mut self, text: &[u8]) -> NameId {
        self.add(&String::from_utf8_lossy(text))
    }

    /// Adds a text under the next number even if it exists already: files may contain duplicates.
    pub(crate) fn push(&mut self, text: Box<str>) -> NameId {
        let id = NameId(self.texts.len() as u32);
        self.texts.push(text.clone());
        self.known.entry(text).or_insert(id);
        id
    }

    /// The text with this number; empty if there is none.
    pub fn get(&self, id: NameId) -> &str {
        self.texts.get(id.index()).map_or("", |text| text)
    }

    /// The number of texts.
    pub fn len(&self) -> usize {
        self.texts.len()
    }

    /// Whether there is only the empty text.
    pub fn is_empty(&self) -> bool {
        self.texts.len() <= 1
    }

    /// All texts in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }
}
