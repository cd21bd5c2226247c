//! ELF files, as far as they decide what can be observed.
//!
//! Reading only visits headers; names are looked up on request ([`Names`]). So a large mapped executable costs
//! a few of its pages. Whatever a hostile file could make expensive is bounded.

use std::string::{String, ToString};
use std::vec::Vec;

use object::Endianness;
use object::elf;
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, SectionTable};

use super::debug_file::DebugSymbols;
use super::names::{Names, Symbol};
use crate::error::OcamlError;

/// Programs have about ten segments and libraries.
const MOST_SEGMENTS: usize = 64;
const MOST_LIBRARIES: usize = 1024;
/// Every OCaml runtime has one of these: the first for native code, the second for bytecode.
const RUNTIMES: [&str; 2] = ["caml_start_program", "caml_prim_table"];

/// The architecture of machine code.
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
    /// Another one, by its number in ELF.
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

/// The purpose of an ELF file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To be executed.
    Program,
    /// To be loaded by programs.
    Library,
    /// To be linked.
    Object,
    /// The memory of a process that died.
    Core,
}

/// An ELF file.
#[derive(Clone, Debug)]
pub struct Elf<'a> {
    /// Size of an address in bits: 64 or 32.
    pub bits: u8,
    /// The purpose of the file.
    pub purpose: Purpose,
    /// Its architecture.
    pub machine: Machine,
    /// The dynamic linker that it requests. None for a statically linked program.
    pub loader: Option<String>,
    /// Whether it can be loaded at any address.
    pub is_relocatable: bool,
    /// Whether the full symbol table was removed.
    pub is_stripped: bool,
    /// Whether it has DWARF, the debug information of C.
    pub has_dwarf: bool,
    /// The shared libraries that it requires.
    pub libraries: Vec<String>,
    /// The dynamic symbols, shared with libraries.
    dynamic: Option<Names<'a>>,
    /// All symbols; None if it was stripped.
    all: Option<Names<'a>>,
    /// Whether the dynamic symbols include an OCaml runtime. Then they include all global names: the linker was
    /// told to export them.
    has_runtime_exported: bool,
    segments: Vec<Segment<'a>>,
    /// Sections that are loaded and are neither code nor writable: constants.
    constants: Vec<&'a [u8]>,
    is_little_endian: bool,
}

/// Bytes of the file and where they are loaded.
#[derive(Clone, Copy, Debug)]
struct Segment<'a> {
    address: u64,
    /// Byte offset in the file.
    offset: u64,
    is_code: bool,
    bytes: &'a [u8],
}

impl<'a> Elf<'a> {
    /// Whether these bytes begin like an ELF file.
    pub(super) fn is(bytes: &[u8]) -> bool {
        bytes.starts_with(&elf::ELFMAG)
    }

    pub(super) fn read(bytes: &'a [u8]) -> Result<Elf<'a>, OcamlError> {
        match bytes.get(4) {
            Some(&elf::ELFCLASS64) => read::<elf::FileHeader64<Endianness>>(bytes, 64),
            Some(&elf::ELFCLASS32) => read::<elf::FileHeader32<Endianness>>(bytes, 32),
            Some(_) => Err(damaged(4, "an ELF file of neither 32 nor 64 bits")),
            None => Err(damaged(bytes.len(), "the file ends in its first header")),
        }
    }

    /// Takes symbols from a debug file if it has none of its own.
    pub(super) fn know(&mut self, symbols: DebugSymbols<'a>) {
        if self.all.is_none() && self.has_usual_words() {
            let DebugSymbols { symbols, strings } = symbols;
            self.all = Names::new(64, Endianness::Little, symbols, strings, None);
        }
    }

    /// Whether a library loaded into the program finds this name.
    pub fn exports(&self, name: &str) -> bool {
        self.exported(name).is_some()
    }

    /// Whether the program imports this name from a library.
    pub fn imports(&self, name: &str) -> bool {
        self.dynamic.as_ref().is_some_and(|names| names.imports(name))
    }

    /// Whether the program defines this name, exported or not.
    pub fn defines(&self, name: &str) -> bool {
        self.address(name).is_some()
    }

    /// Whether words are those of 64-bit little-endian machines, the only ones that are supported.
    pub(crate) fn has_usual_words(&self) -> bool {
        self.bits == 64 && self.is_little_endian
    }

    pub(super) fn address(&self, name: &str) -> Option<u64> {
        self.find(name).map(|symbol| symbol.address)
    }

    /// The address of a name that is global in C or OCaml. The full symbol table is searched only if the
    /// program does not export its runtime.
    pub(super) fn global(&self, name: &str) -> Option<u64> {
        let symbol = if self.has_runtime_exported { self.exported(name) } else { self.find(name) };
        symbol.map(|symbol| symbol.address)
    }

    /// All global names with their addresses. Some occur twice.
    pub(super) fn globals(&self) -> impl Iterator<Item = (&'a [u8], u64)> {
        let all = if self.has_runtime_exported { None } else { self.all.as_ref() };
        let tables = self.dynamic.iter().chain(all);
        tables.flat_map(Names::all).map(|(name, symbol)| (name, symbol.address))
    }

    /// The byte offset and size of a named object in the file.
    pub fn object(&self, name: &str) -> Option<(usize, usize)> {
        let Symbol { address, size, .. } = self.find(name)?;
        let offset = self.segments.iter().find_map(|segment| {
            let start = address.checked_sub(segment.address)?;
            let is_inside = start < segment.bytes.len() as u64;
            is_inside.then(|| segment.offset.checked_add(start))?
        })?;
        Some((usize::try_from(offset).ok()?, usize::try_from(size).ok()?))
    }

    fn exported(&self, name: &str) -> Option<Symbol> {
        self.dynamic.as_ref()?.defined(name).filter(|symbol| symbol.is_visible)
    }

    fn find(&self, name: &str) -> Option<Symbol> {
        self.exported(name).or_else(|| self.all.as_ref()?.defined(name))
    }

    /// The loaded bytes from `address` to the end of its segment.
    pub(crate) fn bytes_at(&self, address: u64) -> Option<&'a [u8]> {
        self.segments.iter().find_map(|segment| {
            let start = usize::try_from(address.checked_sub(segment.address)?).ok()?;
            segment.bytes.get(start..).filter(|bytes| !bytes.is_empty())
        })
    }

    /// The loaded bytes, segment by segment.
    pub(super) fn loaded(&self) -> impl Iterator<Item = &'a [u8]> {
        self.segments.iter().map(|segment| segment.bytes)
    }

    /// The loaded bytes that are not code, segment by segment.
    pub(super) fn data(&self) -> impl Iterator<Item = &'a [u8]> {
        self.segments.iter().filter(|segment| !segment.is_code).map(|segment| segment.bytes)
    }

    /// The loaded bytes that do not change, such as C strings; everything that is loaded if there are no
    /// sections.
    pub(super) fn constants(&self) -> impl Iterator<Item = &'a [u8]> {
        let no_sections = self.constants.is_empty();
        self.constants.iter().copied().chain(self.loaded().filter(move |_| no_sections))
    }
}

fn damaged(offset: impl TryInto<u64>, reason: impl ToString) -> OcamlError {
    OcamlError::Damaged { offset: offset.try_into().unwrap_or(0), reason: reason.to_string() }
}

fn read<'a, H>(bytes: &'a [u8], bits: u8) -> Result<Elf<'a>, OcamlError>
where
    H: FileHeader<Endian = Endianness>,
{
    let header = H::parse(bytes).map_err(|error| damaged(0, error))?;
    let endian = header.endian().map_err(|error| damaged(5, error))?;
    let segment_offset: u64 = header.e_phoff(endian).into();
    let section_offset: u64 = header.e_shoff(endian).into();
    // The section headers are last, so this is what a truncated copy looks like.
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
    let table = |kind| names(&sections, endian, bytes, bits, kind);
    let (shared, all) = (table(elf::SHT_DYNSYM)?, table(elf::SHT_SYMTAB)?);
    let has_runtime_exported = RUNTIMES.iter().any(|name| {
        shared
            .as_ref()
            .and_then(|names| names.defined(name))
            .is_some_and(|symbol| symbol.is_visible)
    });
    let libraries = dynamic
        .libraries
        .iter()
        .take(MOST_LIBRARIES)
        .filter_map(|&at| shared.as_ref()?.string(at))
        .map(lossy)
        .collect();
    let constants = sections.iter().filter(|section| {
        let flags: u64 = section.sh_flags(endian).into();
        let others = elf::SHF_ALLOC | elf::SHF_WRITE | elf::SHF_EXECINSTR;
        section.sh_type(endian) == elf::SHT_PROGBITS
            && flags & u64::from(others) == u64::from(elf::SHF_ALLOC)
    });
    let constants = constants.filter_map(|section| section.data(endian, bytes).ok());
    let constants = constants.take(MOST_SEGMENTS).collect();
    let has_dwarf = sections.iter().any(|section| {
        let name = sections.section_name(endian, section).unwrap_or_default();
        name == b".debug_info" || name == b".zdebug_info"
    });
    let purpose = match header.e_type(endian) {
        elf::ET_EXEC => Purpose::Program,
        elf::ET_REL => Purpose::Object,
        elf::ET_CORE => Purpose::Core,
        // Both programs and libraries may have this type. Only programs request a dynamic linker or are flagged
        // as such.
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
        is_stripped: all.is_none(),
        has_dwarf,
        libraries,
        dynamic: shared,
        all,
        has_runtime_exported,
        segments,
        constants,
        is_little_endian: endian == Endianness::Little,
    })
}

/// The required parts of the dynamic section.
#[derive(Default)]
struct Dynamic {
    /// Offsets of their names among the strings.
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

/// The symbol table of a kind; None if there is none.
fn names<'a, H: FileHeader<Endian = Endianness>>(
    sections: &SectionTable<'a, H>,
    endian: Endianness,
    bytes: &'a [u8],
    bits: u8,
    kind: u32,
) -> Result<Option<Names<'a>>, OcamlError> {
    let Some((at, section)) = sections.enumerate().find(|(_, other)| other.sh_type(endian) == kind)
    else {
        return Ok(None);
    };
    let offset: u64 = section.sh_offset(endian).into();
    let symbols = section.data(endian, bytes).map_err(|error| damaged(offset, error))?;
    let strings = sections
        .section(section.link(endian))
        .and_then(|strings| strings.data(endian, bytes))
        .map_err(|error| damaged(offset, error))?;
    let hash = sections
        .iter()
        .find(|hash| hash.sh_type(endian) == elf::SHT_GNU_HASH && hash.link(endian) == at);
    let hash = hash.and_then(|hash| hash.data(endian, bytes).ok());
    let names = Names::new(bits, endian, symbols, strings, hash);
    names.map(Some).ok_or_else(|| damaged(offset, "a table of symbols that are not whole"))
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
