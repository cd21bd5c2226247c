//! Debug files: the symbols of an executable in a separate file (`objcopy --only-keep-debug`).
//!
//! Only sections are read: a debug file has the segments of its executable, but they are empty.

use object::Endianness;
use object::elf::{self, FileHeader64};
use object::read::elf::{FileHeader, SectionHeader, SectionTable};

type Header = FileHeader64<Endianness>;

/// What links a 64-bit executable with its debug file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity<'a> {
    /// The same in both, and in no other file.
    pub build_id: &'a [u8],
    /// The name of the debug file, if the executable contains it.
    pub link: Option<&'a [u8]>,
}

/// A table of symbols as it is in a file, and its strings.
#[derive(Clone, Copy, Debug)]
pub struct DebugSymbols<'a> {
    /// Entries of 24 bytes.
    pub symbols: &'a [u8],
    /// Their names.
    pub strings: &'a [u8],
}

impl<'a> Identity<'a> {
    /// None if the file has no build id.
    pub fn read(file: &'a [u8]) -> Option<Identity<'a>> {
        let (endian, sections) = sections(file)?;
        let notes = sections.iter().filter_map(|section| section.notes(endian, file).ok()?);
        let build_id = notes.into_iter().find_map(|mut notes| {
            while let Ok(Some(note)) = notes.next() {
                let is_it = note.name() == elf::ELF_NOTE_GNU;
                if is_it && note.n_type(endian) == elf::NT_GNU_BUILD_ID {
                    return Some(note.desc());
                }
            }
            None
        });
        let build_id = build_id.filter(|id| !id.is_empty())?;
        let link = sections.section_by_name(endian, b".gnu_debuglink");
        let link = link.and_then(|(_, section)| section.data(endian, file).ok());
        let link = link.and_then(|link| link.split(|byte| *byte == 0).next());
        Some(Identity { build_id, link: link.filter(|name| !name.is_empty()) })
    }
}

impl<'a> DebugSymbols<'a> {
    /// Reads the debug file of the executable with this build id; None if it belongs to another one.
    pub fn read(file: &'a [u8], build_id: &[u8]) -> Option<DebugSymbols<'a>> {
        if Identity::read(file)?.build_id != build_id {
            return None;
        }
        let (endian, sections) = sections(file)?;
        let table = sections.iter().find(|section| section.sh_type(endian) == elf::SHT_SYMTAB)?;
        let strings = sections.section(table.link(endian)).ok()?;
        let content = |section: &elf::SectionHeader64<Endianness>| section.data(endian, file).ok();
        Some(DebugSymbols { symbols: content(table)?, strings: content(strings)? })
    }
}

fn sections(file: &[u8]) -> Option<(Endianness, SectionTable<'_, Header>)> {
    let header = Header::parse(file).ok()?;
    let endian = header.endian().ok().filter(|endian| *endian == Endianness::Little)?;
    Some((endian, header.sections(endian, file).ok()?))
}
