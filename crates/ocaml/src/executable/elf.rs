//! ELF files, as much of them as decides what can be observed.
//!
//! Reading goes over headers and symbol tables only, and takes names from the file as they stand, so a
//! large executable costs little. What a hostile file could make expensive is bounded: a name that does
//! not end soon is passed over.

use std::string::{String, ToString};
use std::vec::Vec;

use object::Endianness;
use object::elf;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, SectionTable, Sym};

use crate::error::Error;

/// Longer names are passed over. The longest of a large OCaml program have some hundred bytes.
const LONGEST_NAME: usize = 1024;
/// Programs have about ten segments and libraries.
const MOST_SEGMENTS: usize = 64;
const MOST_LIBRARIES: usize = 1024;

/// What kind of machine code is in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Machine {
    /// Intel and AMD, 64 bits.
    X86_64,
    /// Intel and AMD, 32 bits.
    X86,
    /// ARM, 64 bits.
    Aarch64,
    /// ARM, 32 bits.
    Arm,
    /// RISC-V.
    RiscV,
    /// POWER, 64 bits.
    Power64,
    /// IBM Z.
    S390,
    /// Another, by its number in ELF.
    Other(u16),
}

impl Machine {
    fn new(number: u16) -> Machine {
        match number {
            elf::EM_X86_64 => Machine::X86_64,
            elf::EM_386 => Machine::X86,
            elf::EM_AARCH64 => Machine::Aarch64,
            elf::EM_ARM => Machine::Arm,
            elf::EM_RISCV => Machine::RiscV,
            elf::EM_PPC64 => Machine::Power64,
            elf::EM_S390 => Machine::S390,
            other => Machine::Other(other),
        }
    }
}

impl std::fmt::Display for Machine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = match self {
            Machine::X86_64 => "x86-64",
            Machine::X86 => "x86",
            Machine::Aarch64 => "arm64",
            Machine::Arm => "arm",
            Machine::RiscV => "riscv",
            Machine::Power64 => "ppc64",
            Machine::S390 => "s390x",
            Machine::Other(number) => return write!(f, "machine {number}"),
        };
        f.write_str(name)
    }
}

/// What an ELF file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be run.
    Program,
    /// To be loaded by programs.
    Library,
    /// To be linked.
    Object,
    /// The memory of a process that died.
    Core,
}

/// A symbol that the file defines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Symbol<'a> {
    pub name: &'a [u8],
    pub address: u64,
    pub size: u64,
}

/// An ELF file.
#[derive(Clone, Debug)]
pub struct Elf<'a> {
    /// Bits of an address: 64 or 32.
    pub bits: u8,
    /// What it is for.
    pub purpose: Purpose,
    /// What runs it.
    pub machine: Machine,
    /// The dynamic loader it asks for. A program without one is linked statically.
    pub loader: Option<String>,
    /// Whether it can be loaded at any address.
    pub is_relocatable: bool,
    /// Whether the table of all symbols is gone.
    pub is_stripped: bool,
    /// Whether it has DWARF, the debug information of C.
    pub has_dwarf: bool,
    /// The shared libraries it asks for.
    pub libraries: Vec<String>,
    /// Sorted names that a library loaded into it can find.
    exports: Vec<Symbol<'a>>,
    /// Sorted names that it takes from libraries.
    imports: Vec<&'a [u8]>,
    /// All sorted names that it defines, exported or not.
    symbols: Vec<Symbol<'a>>,
    segments: Vec<Segment<'a>>,
    is_little_endian: bool,
}

/// Bytes of the file and where they are loaded.
#[derive(Clone, Copy, Debug)]
struct Segment<'a> {
    address: u64,
    /// Where the bytes stand in the file.
    offset: u64,
    is_code: bool,
    bytes: &'a [u8],
}

impl<'a> Elf<'a> {
    /// Whether these bytes begin as an ELF file does.
    pub(super) fn is(bytes: &[u8]) -> bool {
        bytes.starts_with(&elf::ELFMAG)
    }

    pub(super) fn read(bytes: &'a [u8]) -> Result<Elf<'a>, Error> {
        match bytes.get(4) {
            Some(&elf::ELFCLASS64) => read::<elf::FileHeader64<Endianness>>(bytes, 64),
            Some(&elf::ELFCLASS32) => read::<elf::FileHeader32<Endianness>>(bytes, 32),
            Some(_) => Err(damaged(4, "an ELF file of neither 32 nor 64 bits")),
            None => Err(damaged(bytes.len(), "the file ends in its first header")),
        }
    }

    /// Whether a library that is loaded into the program finds this name.
    pub fn exports(&self, name: &str) -> bool {
        find(&self.exports, name.as_bytes()).is_some()
    }

    /// Whether the program takes this name from a library.
    pub fn imports(&self, name: &str) -> bool {
        self.imports.binary_search(&name.as_bytes()).is_ok()
    }

    /// Whether the program defines this name, for others to find or not.
    pub fn defines(&self, name: &str) -> bool {
        self.address(name).is_some()
    }

    /// Whether words are those of 64-bit little-endian machines, which is all that is read here.
    pub(crate) fn has_usual_words(&self) -> bool {
        self.bits == 64 && self.is_little_endian
    }

    pub(super) fn address(&self, name: &str) -> Option<u64> {
        find(&self.symbols, name.as_bytes()).map(|symbol| symbol.address)
    }

    /// Where the object of a name stands in the file, and how many bytes it takes.
    pub fn object(&self, name: &str) -> Option<(usize, usize)> {
        let Symbol { address, size, .. } = *find(&self.symbols, name.as_bytes())?;
        let offset = self.segments.iter().find_map(|segment| {
            let start = address.checked_sub(segment.address)?;
            let is_inside = start < segment.bytes.len() as u64;
            is_inside.then(|| segment.offset.checked_add(start))?
        })?;
        Some((usize::try_from(offset).ok()?, usize::try_from(size).ok()?))
    }

    /// All that is defined, by name.
    pub(super) fn symbols(&self) -> &[Symbol<'a>] {
        &self.symbols
    }

    /// What is loaded at `address`, to the end of its segment.
    pub(crate) fn bytes_at(&self, address: u64) -> Option<&'a [u8]> {
        self.segments.iter().find_map(|segment| {
            let start = usize::try_from(address.checked_sub(segment.address)?).ok()?;
            segment.bytes.get(start..).filter(|bytes| !bytes.is_empty())
        })
    }

    /// What is loaded, segment by segment.
    pub(super) fn loaded(&self) -> impl Iterator<Item = &'a [u8]> {
        self.segments.iter().map(|segment| segment.bytes)
    }

    /// What is loaded and not code, segment by segment.
    pub(super) fn data(&self) -> impl Iterator<Item = &'a [u8]> {
        self.segments.iter().filter(|segment| !segment.is_code).map(|segment| segment.bytes)
    }
}

fn find<'s, 'a>(symbols: &'s [Symbol<'a>], name: &[u8]) -> Option<&'s Symbol<'a>> {
    let at = symbols.binary_search_by(|symbol| symbol.name.cmp(name)).ok()?;
    symbols.get(at)
}

fn damaged(offset: impl TryInto<u64>, reason: impl ToString) -> Error {
    Error::Damaged { offset: offset.try_into().unwrap_or(0), reason: reason.to_string() }
}

fn read<'a, H>(bytes: &'a [u8], bits: u8) -> Result<Elf<'a>, Error>
where
    H: FileHeader<Endian = Endianness>,
{
    let header = H::parse(bytes).map_err(|error| damaged(0, error))?;
    let endian = header.endian().map_err(|error| damaged(5, error))?;
    let segment_offset: u64 = header.e_phoff(endian).into();
    let section_offset: u64 = header.e_shoff(endian).into();
    // Sections stand last, so that this is what is seen of a file that was not copied to its end.
    if section_offset > bytes.len() as u64 {
        return Err(damaged(bytes.len(), "the file ends before its sections"));
    }
    let programs =
        header.program_headers(endian, bytes).map_err(|error| damaged(segment_offset, error))?;
    let sections =
        header.sections(endian, bytes).map_err(|error| damaged(section_offset, error))?;

    let mut segments = Vec::new();
    let mut loader = None;
    let mut dynamic = Dynamic::default();
    for program in programs {
        let offset = program.p_offset(endian).into();
        if let Ok(Some(name)) = program.interpreter(endian, bytes) {
            loader = Some(lossy(name));
        } else if program.p_type(endian) == elf::PT_LOAD {
            let data = program.data(endian, bytes);
            let data = data.map_err(|()| damaged(offset, "a segment ends after the file"))?;
            segments.push(Segment {
                address: program.p_vaddr(endian).into(),
                offset,
                is_code: program.p_flags(endian) & elf::PF_X != 0,
                bytes: data,
            });
        } else if let Ok(Some(entries)) = program.dynamic(endian, bytes) {
            dynamic = Dynamic::read(entries, endian);
        }
    }
    if segments.len() > MOST_SEGMENTS {
        return Err(damaged(segment_offset, std::format!("{} segments to load", segments.len())));
    }
    let mut exports = Vec::new();
    let mut imports = Vec::new();
    let dynamic_strings = tables(&sections, endian, bytes, elf::SHT_DYNSYM, |symbol, name| {
        if symbol.is_undefined(endian) {
            imports.push(name);
        } else if symbol.st_bind() != elf::STB_LOCAL && symbol.st_visibility() == elf::STV_DEFAULT {
            exports.push(named(symbol, name, endian));
        }
    })?;
    let mut symbols = exports.clone();
    let all_strings = tables(&sections, endian, bytes, elf::SHT_SYMTAB, |symbol, name| {
        if !symbol.is_undefined(endian) {
            symbols.push(named(symbol, name, endian));
        }
    })?;
    for table in [&mut exports, &mut symbols] {
        table.sort_unstable();
        // A name that stands twice is the same thing, or two local ones that nobody asks for.
        table.dedup_by_key(|symbol| symbol.name);
    }
    imports.sort_unstable();
    let libraries = dynamic
        .libraries
        .iter()
        .take(MOST_LIBRARIES)
        .filter_map(|&at| name_at(dynamic_strings?, at));
    let has_dwarf = sections.iter().any(|section| {
        let name = sections.section_name(endian, section).unwrap_or_default();
        name == b".debug_info" || name == b".zdebug_info"
    });
    let purpose = match header.e_type(endian) {
        elf::ET_EXEC => Purpose::Program,
        elf::ET_REL => Purpose::Object,
        elf::ET_CORE => Purpose::Core,
        // Both programs and libraries may be of this type. Only programs ask for a loader, or say so.
        elf::ET_DYN if loader.is_some() || dynamic.is_program => Purpose::Program,
        elf::ET_DYN => Purpose::Library,
        other => return Err(damaged(16, std::format!("an ELF file of unknown type {other}"))),
    };
    Ok(Elf {
        bits,
        purpose,
        machine: Machine::new(header.e_machine(endian)),
        loader,
        is_relocatable: header.e_type(endian) == elf::ET_DYN,
        is_stripped: all_strings.is_none(),
        has_dwarf,
        libraries: libraries.map(lossy).collect(),
        exports,
        imports,
        symbols,
        segments,
        is_little_endian: endian == Endianness::Little,
    })
}

fn named<'a, S: Sym<Endian = Endianness>>(
    symbol: &S,
    name: &'a [u8],
    endian: Endianness,
) -> Symbol<'a> {
    Symbol { name, address: symbol.st_value(endian).into(), size: symbol.st_size(endian).into() }
}

/// What is wanted of the dynamic section.
#[derive(Default)]
struct Dynamic {
    /// Where their names stand among the strings.
    libraries: Vec<u64>,
    is_program: bool,
}

impl Dynamic {
    fn read<D: Dyn<Endian = Endianness>>(entries: &[D], endian: Endianness) -> Dynamic {
        let mut found = Dynamic::default();
        for entry in entries {
            let value: u64 = entry.d_val(endian).into();
            match entry.tag32(endian) {
                Some(elf::DT_NULL) => break,
                Some(elf::DT_NEEDED) => found.libraries.push(value),
                Some(elf::DT_FLAGS_1) => found.is_program = value & u64::from(elf::DF_1_PIE) != 0,
                _ => {}
            }
        }
        found
    }
}

/// Hands all symbols with a name to `each`, and returns the strings; none if there is no such table.
fn tables<'a, H: FileHeader<Endian = Endianness>>(
    sections: &SectionTable<'a, H>,
    endian: Endianness,
    bytes: &'a [u8],
    kind: u32,
    mut each: impl FnMut(&H::Sym, &'a [u8]),
) -> Result<Option<&'a [u8]>, Error> {
    let Some(section) = sections.iter().find(|section| section.sh_type(endian) == kind) else {
        return Ok(None);
    };
    let offset: u64 = section.sh_offset(endian).into();
    let symbols: &[H::Sym] =
        section.data_as_array(endian, bytes).map_err(|error| damaged(offset, error))?;
    let strings = sections
        .section(section.link(endian))
        .and_then(|strings| strings.data(endian, bytes))
        .map_err(|error| damaged(offset, error))?;
    for symbol in symbols {
        if let Some(name) = name_at(strings, symbol.st_name(endian).into()) {
            each(symbol, name);
        }
    }
    Ok(Some(strings))
}

/// The string that begins at an offset, if it ends.
fn name_at(strings: &[u8], offset: u64) -> Option<&[u8]> {
    let rest = strings.get(usize::try_from(offset).ok()?..)?;
    let end = rest.iter().take(LONGEST_NAME).position(|&byte| byte == 0)?;
    rest.get(..end).filter(|name| !name.is_empty())
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
