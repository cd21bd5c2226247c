//! Bytecode, which stands at the end of a file: after a line that names `ocamlrun`, after a whole runtime
//! (`ocamlc -custom`), or after nothing.
//!
//! From the end backwards: twelve bytes of magic number, the number of sections, a table of their names and
//! lengths, the sections themselves.

use std::format;

use crate::error::Error;
use crate::version::Version;

const MAGIC_PREFIX: &[u8] = b"Caml1999X";
const MAGIC_BYTES: usize = 12;
/// The magic number, and the number of sections before it.
const TRAILER_BYTES: usize = MAGIC_BYTES + 4;
/// Name and length.
const ENTRY_BYTES: usize = 8;

/// Magic numbers of executables, from the tags of OCaml's repository; of 5.4 and 5.5, from Debian's files.
/// Before 4.07 all versions had one.
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

/// What stands at the end of a file with bytecode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytecode {
    /// The number in its magic number.
    pub magic: u16,
    /// Whether it has a section of debug information.
    pub has_debug_info: bool,
}

impl Bytecode {
    /// None if no bytecode stands at the end.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Bytecode>, Error> {
        let Some((before, magic)) = bytes.split_last_chunk::<MAGIC_BYTES>() else {
            return Ok(None);
        };
        let Some(magic) = magic.strip_prefix(MAGIC_PREFIX).and_then(number) else {
            return Ok(None);
        };
        let Some((before, count)) = before.split_last_chunk::<4>() else { return Ok(None) };
        let damaged =
            |reason| Error::Damaged { offset: (bytes.len() - TRAILER_BYTES) as u64, reason };
        let count = u32::from_be_bytes(*count) as usize;
        let table_bytes = count.checked_mul(ENTRY_BYTES).filter(|&wanted| wanted <= before.len());
        let Some((sections, table)) =
            table_bytes.and_then(|n| before.split_at_checked(before.len() - n))
        else {
            return Err(damaged(format!(
                "no room for the {count} sections that the bytecode promises"
            )));
        };
        let mut sections_bytes = 0;
        let mut has_debug_info = false;
        for entry in table.as_chunks::<ENTRY_BYTES>().0 {
            let [name @ .., a, b, c, d] = entry;
            sections_bytes += u64::from(u32::from_be_bytes([*a, *b, *c, *d]));
            has_debug_info |= name == b"DBUG";
        }
        if sections_bytes > sections.len() as u64 {
            return Err(damaged(format!("sections of {sections_bytes} bytes in a shorter file")));
        }
        Ok(Some(Bytecode { magic, has_debug_info }))
    }

    /// The version it was compiled for, if its magic number is known.
    pub fn version(&self) -> Option<Version> {
        MAGIC_NUMBERS.iter().find(|(magic, _)| *magic == self.magic).map(|&(_, version)| version)
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
    use std::vec::Vec;

    fn file(sections: &[(&[u8; 4], u32)], room: usize, magic: &str) -> Vec<u8> {
        let mut bytes = std::vec![0; room];
        for (name, length) in sections {
            bytes.extend(*name);
            bytes.extend(length.to_be_bytes());
        }
        bytes.extend((sections.len() as u32).to_be_bytes());
        bytes.extend(magic.as_bytes());
        bytes
    }

    #[test]
    fn trailers_tell_version_and_debug_info() {
        let read = |bytes: &[u8]| Bytecode::read(bytes).expect("it is whole").expect("bytecode");
        let plain = read(&file(&[(b"CODE", 8), (b"DATA", 4)], 12, "Caml1999X030"));
        assert_eq!((plain.version(), plain.has_debug_info), (Some(Version::new(4, 13)), false));
        let debug = read(&file(&[(b"CODE", 8), (b"DBUG", 4)], 100, "Caml1999X035"));
        assert_eq!((debug.version(), debug.has_debug_info), (Some(Version::new(5, 3)), true));
        assert_eq!(read(&file(&[], 0, "Caml1999X999")).version(), None);
    }

    #[test]
    fn what_does_not_fit_is_damage() {
        let cut = file(&[(b"CODE", 8), (b"DATA", 4)], 11, "Caml1999X030");
        assert!(matches!(Bytecode::read(&cut), Err(Error::Damaged { offset: 27, .. })));
        for bytes in [&b"\xff\xff\xff\xffCaml1999X030"[..], b"\0\0\0\x01Caml1999X030"] {
            assert!(Bytecode::read(bytes).is_err());
        }
    }

    #[test]
    fn other_ends_are_no_bytecode() {
        for bytes in [
            &b""[..],
            b"Caml1999X030",
            b"0000Caml1999X03",
            b"0000Caml1999O030",
            b"0000Caml1999X0a0",
        ] {
            assert_eq!(Bytecode::read(bytes), Ok(None));
        }
    }
}
