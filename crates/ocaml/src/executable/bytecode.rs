//! Bytecode at the end of a file: after a line that names `ocamlrun`, after a complete runtime (`ocamlc
//! -custom`), or after nothing.
//!
//! This module only reads what decides how a program can be observed; `crate::bytecode` reads the rest.

use crate::bytecode::{Sections, version_of};
use crate::error::OcamlError;
use crate::version::Version;

/// The bytecode at the end of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytecode {
    /// The version part of its magic number.
    pub magic: u16,
    /// Whether it has a section of debug information.
    pub has_debug_info: bool,
}

impl Bytecode {
    /// None if there is no bytecode at the end.
    pub(super) fn read(bytes: &[u8]) -> Result<Option<Bytecode>, OcamlError> {
        let sections = Sections::read(bytes)?;
        Ok(sections.map(|sections| Bytecode {
            magic: sections.magic,
            has_debug_info: sections.find(b"DBUG").is_some(),
        }))
    }

    /// The version it was compiled for, if its magic number is known.
    pub fn version(&self) -> Option<Version> {
        version_of(self.magic)
    }
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
    fn trailers_give_version_and_debug_info() {
        let read = |bytes: &[u8]| Bytecode::read(bytes).expect("it is whole").expect("bytecode");
        let plain = read(&file(&[(b"CODE", 8), (b"DATA", 4)], 12, "Caml1999X030"));
        assert_eq!((plain.version(), plain.has_debug_info), (Some(Version::new(4, 13)), false));
        let debug = read(&file(&[(b"CODE", 8), (b"DBUG", 4)], 100, "Caml1999X035"));
        assert_eq!((debug.version(), debug.has_debug_info), (Some(Version::new(5, 3)), true));
        assert_eq!(read(&file(&[], 0, "Caml1999X999")).version(), None);
    }

    #[test]
    fn sections_beyond_the_file_are_damage() {
        let cut = file(&[(b"CODE", 8), (b"DATA", 4)], 11, "Caml1999X030");
        assert!(matches!(Bytecode::read(&cut), Err(OcamlError::Damaged { offset: 27, .. })));
        for bytes in [&b"\xff\xff\xff\xffCaml1999X030"[..], b"\0\0\0\x01Caml1999X030"] {
            assert!(Bytecode::read(bytes).is_err());
        }
    }

    #[test]
    fn files_without_a_trailer_are_no_bytecode() {
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
