//! Tables of pointers in an executable.
//!
//! The file of a program that can be loaded anywhere contains no pointers: the dynamic linker writes them,
//! following a list of relocations that gives for each its address and its distance from the program's
//! beginning. A program that is always loaded at one address contains them.

use std::collections::BTreeMap;
use std::vec::Vec;

use object::Endianness;
use object::elf::{FileHeader64, SHT_RELA};
use object::read::elf::{FileHeader, SectionHeader};

use super::elf::Elf;

const POINTER: usize = 8;

impl Elf<'_> {
    /// The addresses in the table with this name, up to the first entry that is not an address. `file` is the
    /// file that this was read from.
    pub(crate) fn pointers(&self, file: &[u8], name: &str) -> Option<Vec<u64>> {
        let (offset, length) = self.object(name)?;
        let address = self.address(name)?;
        let table = file.get(offset..)?.get(..length)?.as_chunks::<POINTER>().0;
        let relocated = relocations(file, address, length as u64);
        let addresses = (address..).step_by(POINTER).zip(table).map(|(at, in_place)| {
            relocated.get(&at).copied().unwrap_or(u64::from_le_bytes(*in_place))
        });
        Some(addresses.take_while(|address| *address != 0).collect())
    }
}

/// What the dynamic linker writes into `length` bytes from an address on: address and contents.
fn relocations(file: &[u8], address: u64, length: u64) -> BTreeMap<u64, u64> {
    let mut found = BTreeMap::new();
    let Ok(header) = FileHeader64::<Endianness>::parse(file) else { return found };
    let Ok(endian) = header.endian() else { return found };
    let Ok(sections) = header.sections(endian, file) else { return found };
    for section in sections.iter().filter(|section| section.sh_type(endian) == SHT_RELA) {
        let Ok(Some((entries, _))) = section.rela(endian, file) else { continue };
        for entry in entries {
            let at = entry.r_offset.get(endian);
            // Relocations without a symbol are relative to the program's beginning.
            let is_relative = entry.r_sym(endian, false) == 0;
            if is_relative && at.checked_sub(address).is_some_and(|distance| distance < length) {
                found.insert(at, entry.r_addend.get(endian) as u64);
            }
        }
    }
    found
}
