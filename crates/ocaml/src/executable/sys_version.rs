//! The version that a program's own `Sys.ocaml_version` tells.
//!
//! It is a string constant of the module Sys, and constants stand between two symbols that mark where the
//! module's data begins and ends. Those survive stripping. Pointers there wait for the dynamic loader, but a
//! string needs none: its header says how long it is and that it is a string.

use std::string::String;

use super::elf::Elf;
use crate::version::Version;

/// The unit of the module in the standard libraries that have been: since 4.13, since 4.07, before.
/// A program may have a module of the last name itself, so that one counts only beside the old Pervasives.
const UNITS: &[(&str, Option<&str>)] =
    &[("camlStdlib__Sys", None), ("camlStdlib__sys", None), ("camlSys", Some("camlPervasives"))];
/// Since 5.1 a dot, before two underscores, stands between a unit and a name in it.
const SEPARATORS: &[&str] = &[".", "__"];
/// The module's data takes about a kilobyte.
const MOST_BYTES: usize = 1 << 16;
const WORD: usize = 8;
const STRING_TAG: u64 = 252;
/// Longest string looked at, in words. `4.14.0+domains` takes two.
const LONGEST: u64 = 16;

/// What a program says its version is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// As far as layouts depend on it.
    pub version: Version,
    /// In its own words, as `5.3.0` or `4.14.0+domains`.
    pub text: String,
}

/// Finds it, if the module is linked.
pub(super) fn find(elf: &Elf<'_>) -> Option<Said> {
    if !elf.has_usual_words() {
        return None;
    }
    let units =
        UNITS.iter().filter(|(_, beside)| beside.is_none_or(|name| elf.global(name).is_some()));
    units.flat_map(|(unit, _)| SEPARATORS.iter().map(move |separator| (unit, separator))).find_map(
        |(unit, separator)| {
            let address = |name| elf.global(&std::format!("{unit}{separator}{name}"));
            let (begin, end) = (address("data_begin")?, address("data_end")?);
            let length = usize::try_from(end.checked_sub(begin)?).ok()?.min(MOST_BYTES);
            let data = elf.bytes_at(begin)?;
            search(data.get(..length).unwrap_or(data))
        },
    )
}

fn search(data: &[u8]) -> Option<Said> {
    let words = data.as_chunks::<WORD>().0;
    words.iter().enumerate().find_map(|(at, header)| {
        let header = u64::from_le_bytes(*header);
        let size = header >> 10;
        if header & 0xff != STRING_TAG || size == 0 || size > LONGEST {
            return None;
        }
        let contents = words.get(at + 1..)?.get(..size as usize)?.as_flattened();
        // The last byte says how many before it are padding.
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
        let said = search(&data).expect("a version");
        assert_eq!((said.version, said.text.as_str()), (Version::new(4, 14), "4.14.0+domains"));
    }

    #[test]
    fn what_is_cut_or_no_version_is_passed_over() {
        let whole = string("4.13.1");
        for end in 0..whole.len() {
            assert_eq!(search(&whole[..end]), None);
        }
        assert_eq!(search(&string("4.13.1\n")), None);
        assert_eq!(search(&string("1.5")), None);
        let mut wrong_padding = string("4.13.1");
        *wrong_padding.last_mut().expect("bytes") = 200;
        assert_eq!(search(&wrong_padding), None);
    }
}
