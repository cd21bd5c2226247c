//! What a block is made of, from its header and first words.

use bactrian_ocaml::value::{header_tag, header_words};
use bactrian_snapshot::tag;

/// Tag of what looks like a block inside a closure.
pub const INFIX: u8 = 249;

/// What a block's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Words without the header.
    pub words: u64,
    /// What they are.
    pub tag: u8,
    /// Two bits for the collector.
    pub colour: u8,
}

impl Header {
    /// Not to be marked: the colour of blocks that OCaml 5 does not manage.
    pub const NOT_MARKABLE: u8 = 3;

    #[inline]
    pub fn of(word: u64) -> Header {
        Header {
            words: header_words(word as usize) as u64,
            tag: header_tag(word as usize),
            colour: (word >> 8) as u8 & 3,
        }
    }
}

/// Which words of a block are values, and whether it is something to be looked at more closely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// All are values.
    Values,
    /// A closure: values from its environment on.
    Closure,
    /// A continuation: its first word is a stack.
    Continuation,
    /// No values. Custom blocks begin with a pointer to their operations.
    Custom,
    /// No values.
    Opaque,
}

impl Contents {
    #[inline]
    pub fn of(tag: u8, has_continuations: bool) -> Contents {
        match tag {
            tag::CLOSURE => Contents::Closure,
            tag::CUSTOM => Contents::Custom,
            tag::ABSTRACT.. => Contents::Opaque,
            tag::CONTINUATION if has_continuations => Contents::Continuation,
            _ => Contents::Values,
        }
    }
}

/// Where the environment of a closure starts, from its second word (since OCaml 4.12).
#[inline]
pub fn environment(info: u64, words: u64) -> u64 {
    ((info << 8) >> 9).min(words)
}

/// Calls `each` with the code addresses of a closure's functions. `words` are the closure's, up to its
/// environment.
pub fn functions(words: &[u64], mut each: impl FnMut(u64)) {
    let mut at = 0;
    while let [code, info, ..] = words[at.min(words.len())..] {
        // A function of several arguments has another entry for all of them at once.
        let arity = (info as i64) >> 56;
        let direct = words.get(at + 2).copied().filter(|_| !(0..=1).contains(&arity));
        each(direct.unwrap_or(code));
        // Then comes the header of the next one.
        at += if direct.is_some() { 4 } else { 3 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_closures() {
        let info = |arity: i64| (arity as u64) << 56 | 9 << 1 | 1;
        let found = |words: &[u64]| {
            let mut codes = Vec::new();
            functions(words, |code| codes.push(code));
            codes
        };
        assert_eq!(found(&[10, info(1)]), [10]);
        assert_eq!(found(&[10, info(2), 20]), [20]);
        // A function that takes a tuple has a negative arity.
        assert_eq!(found(&[10, info(-2), 20]), [20]);
        assert_eq!(found(&[10, info(1), 0xF9, 30, info(3), 40]), [10, 40]);
        assert_eq!(found(&[]), []);
        assert_eq!(found(&[10]), []);
        assert_eq!(environment(info(1), 20), 9);
        assert_eq!(environment(u64::MAX, 20), 20);
    }
}
