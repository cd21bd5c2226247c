//! The program's own `Sys.ocaml_version`.
//!
//! It is a string constant of the module Sys, and constants are between two symbols that mark where the
//! module's data begins and ends. These symbols survive stripping. Pointers there have to be relocated by the
//! dynamic linker, but a string needs none: its header contains its length and its tag.

use alloc::string::String;
use core::ops::Range;

use crate::version::Version;

/// The symbols at the beginning and the end of the module's data, in all standard libraries so far: since 5.1,
/// since 4.13, since 4.07, before. A program may itself have a module with the last name, so that one counts
/// only if the old Pervasives is present.
const PLACES: [(&str, &str, Option<&str>); 4] = [
    ("camlStdlib__Sys.data_begin", "camlStdlib__Sys.data_end", None),
    ("camlStdlib__Sys__data_begin", "camlStdlib__Sys__data_end", None),
    ("camlStdlib__sys__data_begin", "camlStdlib__sys__data_end", None),
    ("camlSys__data_begin", "camlSys__data_end", Some("camlPervasives")),
];
/// The module's data takes about a kilobyte.
const MOST_BYTES: u64 = 1 << 16;
const WORD: usize = 8;
const STRING_TAG: u64 = 252;
/// The longest string considered, in words. `4.14.0+domains` takes two.
const LONGEST: u64 = 16;

/// The version that a program reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// The part on which layouts depend.
    pub version: Version,
    /// The full text, such as `5.3.0` or `4.14.0+domains`.
    pub text: String,
}

/// The address range of the module's data, if it is linked. `address` returns the address of a symbol.
pub fn place(address: impl Fn(&str) -> Option<u64>) -> Option<Range<u64>> {
    let is_there = |beside: &Option<&str>| beside.is_none_or(|name| address(name).is_some());
    let mut places = PLACES.iter().filter(|(.., beside)| is_there(beside));
    places.find_map(|(begin, end, _)| {
        let (begin, end) = (address(begin)?, address(end)?);
        (begin <= end).then(|| begin..end.min(begin.saturating_add(MOST_BYTES)))
    })
}

/// The version in the module's data.
pub fn said(data: &[u8]) -> Option<Said> {
    let words = data.as_chunks::<WORD>().0;
    words.iter().enumerate().find_map(|(at, header)| {
        let header = u64::from_le_bytes(*header);
        let size = header >> 10;
        if header & 0xff != STRING_TAG || size == 0 || size > LONGEST {
            return None;
        }
        let contents = words.get(at + 1..)?.get(..size as usize)?.as_flattened();
        // The last byte is the number of padding bytes before it.
        let (&padding, contents) = contents.split_last()?;
        let length = contents.len().checked_sub(usize::from(padding))?;
        let text = str::from_utf8(contents.get(..length)?).ok()?;
        let version = Version::parse(text)?;
        let is_plain = |c: char| c.is_ascii_graphic();
        text.chars().all(is_plain).then(|| Said { version, text: text.into() })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    fn string(text: &str) -> Vec<u8> {
        let words = text.len() / WORD + 1;
        let mut bytes = ((words as u64) << 10 | 3 << 8 | STRING_TAG).to_le_bytes().to_vec();
        bytes.extend(text.as_bytes());
        bytes.resize(8 + words * WORD - 1, 0);
        bytes.push((words * WORD - 1 - text.len()) as u8);
        bytes
    }

    #[test]
    fn the_first_string_that_is_a_version_counts() {
        let mut data = [0; 24].to_vec();
        data.extend(string("Unix"));
        data.extend(string("4.14.0+domains"));
        data.extend(string("5.0.0"));
        let found = said(&data).expect("a version");
        assert_eq!((found.version, found.text.as_str()), (Version::new(4, 14), "4.14.0+domains"));
    }

    #[test]
    fn truncated_strings_and_other_texts_are_skipped() {
        let whole = string("4.13.1");
        for end in 0..whole.len() {
            assert_eq!(said(&whole[..end]), None);
        }
        assert_eq!(said(&string("4.13.1\n")), None);
        assert_eq!(said(&string("1.5")), None);
        let mut wrong_padding = string("4.13.1");
        *wrong_padding.last_mut().expect("bytes") = 200;
        assert_eq!(said(&wrong_padding), None);
    }
}
