//! The sections of bytecode at the end of a file.
//!
//! From the end backwards: a magic number of twelve bytes, the number of sections, a table of their names and
//! lengths, the sections themselves. The name of a section is four letters: CODE, DATA (constants), PRIM (names
//! of C primitives), SYMB (names of global variables), CRCS (of interfaces), DBUG (debug information, with
//! `-g`), DLLS and DLPT (libraries with primitives, and their search path), RNTM (the runtime to use).

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::error::OcamlError;
use crate::version::Version;

const MAGIC_PREFIX: &[u8] = b"Caml1999X";
const MAGIC_BYTES: usize = 12;
/// The magic number, and the number of sections before it.
const TRAILER_BYTES: usize = MAGIC_BYTES + 4;
/// Name and length.
const ENTRY_BYTES: usize = 8;

/// Magic numbers of executables, from the tags of OCaml's repository; those of 5.4 and 5.5 are from Debian's
/// files. Before 4.07 all versions had the same one.
const MAGIC_NUMBERS: &[(u16, Version)] = &[
    (23, Version::new(4, 7)),
    (25, Version::new(4, 8)),
    (26, Version::new(4, 9)),
    (27, Version::new(4, 10)),
    (28, Version::new(4, 11)),
    (29, Version::new(4, 12)),
    (30, Version::new(4, 13)),
    (31, Version::new(4, 14)),
    (32, Version::new(5, 0)),
    (33, Version::new(5, 1)),
    (34, Version::new(5, 2)),
    (35, Version::new(5, 3)),
    (36, Version::new(5, 4)),
    (37, Version::new(5, 5)),
];

/// The version of the OCaml compiler that wrote a file with this beginning. `.cmi`, `.cmt`, `.cmx` and other
/// files have the same numbers as executables, with another letter.
pub fn version_of_file(beginning: &[u8; 12]) -> Option<Version> {
    let [letter, digits @ ..] = beginning.strip_prefix(b"Caml1999")? else { return None };
    if !letter.is_ascii_alphabetic() {
        return None;
    }
    version_of(number(digits)?)
}

/// The version of OCaml with a magic number.
pub(crate) fn version_of(magic: u16) -> Option<Version> {
    MAGIC_NUMBERS.iter().find(|(number, _)| *number == magic).map(|&(_, version)| version)
}

/// A part of the bytecode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// Four letters.
    pub name: [u8; 4],
    /// Its byte offset in the file.
    pub offset: usize,
    /// Its contents.
    pub bytes: &'a [u8],
}

impl Section<'_> {
    /// Its name as text.
    pub fn title(&self) -> String {
        String::from_utf8_lossy(&self.name).to_string()
    }
}

/// The bytecode at the end of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sections<'a> {
    /// The version part of its magic number.
    pub magic: u16,
    /// Its sections, in the order of the file.
    pub all: Vec<Section<'a>>,
}

impl<'a> Sections<'a> {
    /// Finds the sections; None if there is no bytecode at the end.
    ///
    /// # Errors
    /// If the table announces more than the file contains.
    pub fn read(bytes: &'a [u8]) -> Result<Option<Sections<'a>>, OcamlError> {
        let Some((before, magic)) = bytes.split_last_chunk::<MAGIC_BYTES>() else {
            return Ok(None);
        };
        let Some(magic) = magic.strip_prefix(MAGIC_PREFIX).and_then(number) else {
            return Ok(None);
        };
        let Some((before, count)) = before.split_last_chunk::<4>() else { return Ok(None) };
        let damaged =
            |reason| OcamlError::Damaged { offset: (bytes.len() - TRAILER_BYTES) as u64, reason };
        let count = u32::from_be_bytes(*count) as usize;
        let table_bytes = count.checked_mul(ENTRY_BYTES).filter(|&wanted| wanted <= before.len());
        let Some((contents, table)) =
            table_bytes.and_then(|n| before.split_at_checked(before.len() - n))
        else {
            return Err(damaged(format!(
                "no room for the {count} sections that the bytecode promises"
            )));
        };
        let table = table.as_chunks::<ENTRY_BYTES>().0;
        let length = |entry: &[u8; ENTRY_BYTES]| {
            let [.., a, b, c, d] = *entry;
            u32::from_be_bytes([a, b, c, d])
        };
        let total: u64 = table.iter().map(|entry| u64::from(length(entry))).sum();
        let start = usize::try_from(total).ok().and_then(|n| contents.len().checked_sub(n));
        let Some(mut offset) = start else {
            return Err(damaged(format!("sections of {total} bytes in a shorter file")));
        };
        let mut all = Vec::with_capacity(count);
        for entry in table {
            let [a, b, c, d, ..] = *entry;
            let end = offset + length(entry) as usize;
            let bytes = contents.get(offset..end).unwrap_or(&[]);
            all.push(Section { name: [a, b, c, d], offset, bytes });
            offset = end;
        }
        Ok(Some(Sections { magic, all }))
    }

    /// The section with a name.
    pub fn find(&self, name: &[u8; 4]) -> Option<Section<'a>> {
        self.all.iter().find(|section| section.name == *name).copied()
    }

    /// The version it was compiled for, if its magic number is known.
    pub fn version(&self) -> Option<Version> {
        version_of(self.magic)
    }
}

fn number(digits: &[u8]) -> Option<u16> {
    digits.iter().try_fold(0_u16, |number, &digit| {
        let digit = digit.is_ascii_digit().then(|| u16::from(digit - b'0'))?;
        Some(number * 10 + digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_counted_from_the_end() {
        let mut bytes = b"#!/usr/bin/ocamlrun\nabcdef".to_vec();
        for (name, length) in [(b"CODE", 4_u32), (b"DLPT", 0), (b"DATA", 2)] {
            bytes.extend(name);
            bytes.extend(length.to_be_bytes());
        }
        bytes.extend(3_u32.to_be_bytes());
        bytes.extend(b"Caml1999X030");
        let sections = Sections::read(&bytes).expect("sound").expect("bytecode");
        let find = |name| sections.find(name).map(|section| (section.offset, section.bytes));
        assert_eq!(find(b"CODE"), Some((20, &b"abcd"[..])));
        assert_eq!(find(b"DLPT"), Some((24, &b""[..])));
        assert_eq!(find(b"DATA"), Some((24, &b"ef"[..])));
        assert_eq!(find(b"DBUG"), None);
        assert_eq!(sections.version(), Some(Version::new(4, 13)));
    }
}
