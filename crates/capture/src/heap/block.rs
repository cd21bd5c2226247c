//! What a block consists of, derived from its header and first words.

use bactrian_ocaml::value::{header_tag, header_words};
use bactrian_ocaml::{RuntimeCode, Version};
use bactrian_snapshot::tag;

/// The tag of an infix header, inside a closure.
pub const INFIX: u8 = 249;

/// A block's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Size in words, without the header.
    pub words: u64,
    /// The block's tag.
    pub tag: u8,
    /// The two bits for the collector.
    pub colour: u8,
}

impl Header {
    /// The colour of blocks that OCaml 5 does not manage.
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

/// Which words of a block are values, and whether it needs special treatment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contents {
    /// All words are values.
    Values,
    /// A closure: values from the start of its environment on.
    Closure,
    /// A continuation: its first word is a fiber.
    Continuation,
    /// No values. A custom block begins with a pointer to its operations.
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

/// How a closure encodes its functions and the start of its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closures {
    /// Since OCaml 4.12: the word after a function's code holds its arity and the start of the environment.
    Told,
    /// Native code of OCaml 4.11: that word holds only the arity.
    Counted,
    /// Bytecode of OCaml 4.11: there is no such word.
    Bare,
}

impl Closures {
    /// The encoding of a program.
    pub fn of(version: Version, code: RuntimeCode) -> Closures {
        match code {
            _ if version >= Version::new(4, 12) => Closures::Told,
            RuntimeCode::Native => Closures::Counted,
            RuntimeCode::Bytecode => Closures::Bare,
        }
    }

    /// The index of the first value in a closure of `words` words; `second` is its second word. In OCaml 4.11
    /// there may be functions after it, which its collector also treats as values: they point to no block.
    #[inline]
    pub fn values(self, second: Option<u64>, words: u64) -> u64 {
        let start = match (self, second) {
            (Closures::Bare, _) => 1,
            (_, None) => words,
            (Closures::Told, Some(info)) => (info << 8) >> 9,
            (Closures::Counted, Some(arity)) => {
                if has_two_entries(arity as i64 >> 1) {
                    3
                } else {
                    2
                }
            }
        };
        start.min(words)
    }

    /// How many words of a closure must be read to find its functions.
    #[inline]
    pub fn heads(self, values: u64, words: u64) -> u64 {
        if self == Closures::Told { values } else { words }
    }

    /// Calls `each` with the code addresses of a closure's functions. `words` are its first words, as many as
    /// [`Closures::heads`] says.
    pub fn functions(self, words: &[u64], mut each: impl FnMut(u64)) {
        let mut at = 0;
        while let Some(&code) = words.get(at) {
            let info = words.get(at + 1).map(|info| *info as i64);
            let arity = match self {
                Closures::Told => info.map(|info| info >> 56),
                Closures::Counted => info.map(|info| info >> 1),
                Closures::Bare => Some(1),
            };
            let Some(arity) = arity else { return };
            let direct = words.get(at + 2).copied().filter(|_| has_two_entries(arity));
            each(direct.unwrap_or(code));
            // Next comes the infix header of the next function.
            let own = if self == Closures::Bare { 1 } else { 2 };
            at += own + usize::from(direct.is_some()) + 1;
            let header = words.get(at - 1).map(|header| Header::of(*header));
            let is_next = |header: Header| header.tag == INFIX && header.words == at as u64;
            if self != Closures::Told && !header.is_some_and(is_next) {
                return;
            }
        }
    }
}

/// Whether a function has a second entry point, for all of its arguments at once. A function that takes a
/// tuple has a negative arity.
fn has_two_entries(arity: i64) -> bool {
    !(0..=1).contains(&arity)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(closures: Closures, words: &[u64]) -> Vec<u64> {
        let mut codes = Vec::new();
        closures.functions(words, |code| codes.push(code));
        codes
    }

    #[test]
    fn closures_since_4_12_are_decoded() {
        let info = |arity: i64| (arity as u64) << 56 | 9 << 1 | 1;
        let found = |words: &[u64]| found(Closures::Told, words);
        assert_eq!(found(&[10, info(1)]), [10]);
        assert_eq!(found(&[10, info(2), 20]), [20]);
        // A function that takes a tuple has a negative arity.
        assert_eq!(found(&[10, info(-2), 20]), [20]);
        assert_eq!(found(&[10, info(1), 0xF9, 30, info(3), 40]), [10, 40]);
        assert_eq!(found(&[]), []);
        assert_eq!(found(&[10]), []);
        assert_eq!(Closures::Told.values(Some(info(1)), 20), 9);
        assert_eq!(Closures::Told.values(Some(u64::MAX), 20), 20);
        assert_eq!(Closures::Told.values(None, 1), 1);
    }

    #[test]
    fn closures_of_4_11_are_decoded() {
        let arity = |arity: i64| (arity as u64) << 1 | 1;
        let infix = |words: u64| words << 10 | u64::from(INFIX);
        let native = |words: &[u64]| found(Closures::Counted, words);
        assert_eq!(native(&[10, arity(1), 1664]), [10]);
        assert_eq!(native(&[10, arity(2), 20, 1664]), [20]);
        assert_eq!(native(&[10, arity(-2), 20]), [20]);
        assert_eq!(native(&[10, arity(1), infix(3), 30, arity(3), 40, 1664]), [10, 40]);
        assert_eq!(native(&[10, arity(1), infix(4), 30, arity(1)]), [10]);
        assert_eq!(native(&[10]), []);
        assert_eq!([1, 2, -2].map(|n| Closures::Counted.values(Some(arity(n)), 9)), [2, 3, 3]);
        let bytecode = |words: &[u64]| found(Closures::Bare, words);
        assert_eq!(bytecode(&[10]), [10]);
        assert_eq!(bytecode(&[10, 1664, 30]), [10]);
        assert_eq!(bytecode(&[10, infix(2), 20, infix(4), 30, 1664]), [10, 20, 30]);
        assert_eq!(Closures::Bare.values(None, 1), 1);
        assert_eq!(Closures::Bare.values(Some(1664), 2), 1);
    }
}
