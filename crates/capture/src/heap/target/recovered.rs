//! Recovers the symbols of a stripped runtime by comparing its code with the library that it was linked from.
//!
//! The linker copies sections of a library's object files unchanged, except that it writes addresses into the
//! places that relocations name. So if the other bytes of a section occur in the program exactly once, that
//! is where the section is. The addresses that were written into it give the locations of the functions and
//! variables that it refers to, including those that are local to its file; and their code in turn gives
//! those of others. Sections of one object file are adjacent. A few large functions are searched for; the
//! rest follows from them, and each piece of code is compared before it is accepted.
//!
//! The library must be exactly the right one: of the same version, compiler and options. Hardly any function
//! of another library matches.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use bactrian_ocaml::executable::has_runtime_variable;
use bactrian_ocaml::value;
use memchr::memmem;
use object::elf::{
    R_X86_64_32, R_X86_64_32S, R_X86_64_64, R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX,
    R_X86_64_GOTTPOFF, R_X86_64_PC32, R_X86_64_PLT32, R_X86_64_REX_GOTPCRELX, R_X86_64_TPOFF32,
    SHF_ALLOC, SHF_EXECINSTR, SHF_MERGE,
};
use object::read::archive::ArchiveFile;
use object::read::elf::ElfFile64;
use object::{
    LittleEndian, Object as _, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SectionFlags, SymbolFlags,
};

use super::elf::EXECUTABLE;
use super::symbols::{FILE, Symbols, Table};
use super::{Object, Tls};
use crate::elf::{MAGIC, PROGRAM_HEADER, Segment, kind, word, word16};
use crate::memory::{Memory, Region};

/// The minimal length in bytes of the pieces that are searched for, without relocations in them.
const SEED: usize = 48;
/// How many pieces of an object file are tried at most, until one is found.
const SEEDS: usize = 3;
/// How far from the first piece others are searched for, in bytes.
const NEAR: usize = 8 << 20;
const MOST_MODULES: usize = 1 << 20;
const STRING: u8 = 252;
/// With fewer matching pieces of code, the match is a coincidence.
const FEWEST: usize = 32;
/// If at least this many bytes of code differ, it is not a modified program, but another file.
const MOST_CHANGED: usize = 256;
/// Larger regions of memory are not read.
const LARGEST: u64 = 1 << 28;
/// The libraries in a compiler's directory that a program may be linked from: one of its runtimes, and its
/// threads library.
const RUNTIMES: &[&str] = &["libasmrun.a", "libasmrun_pic.a", "libasmruni.a", "libasmrund.a"];
const THREADS: &str = "libthreadsnat.a";

/// Whether an object contains an OCaml runtime, with or without symbols.
pub(super) fn has_runtime(memory: &dyn Memory, object: &Object) -> bool {
    let constants = regions(memory, object).filter(|region| region.readable && !region.writable);
    constants.filter_map(|region| read(memory, region)).any(|bytes| has_runtime_variable(&bytes))
}

/// The symbols of an object whose runtime comes from a compiler in one of these directories.
pub(super) fn symbols(
    memory: &dyn Memory,
    object: &Object,
    files: &[PathBuf],
    folders: impl Iterator<Item = impl AsRef<Path>>,
) -> Option<Symbols> {
    let (start, code) = code(memory, object, files)?;
    let program = Nameless {
        code: &code,
        start,
        tls_end: object.tls.map_or(0, |tls| tls.end()),
        word: &|address| memory.word(address),
    };
    // The addresses are those in memory already.
    Some(Symbols::read(&[from_folders(&program, folders)?], 0))
}

/// The same for an executable that is not running, with the addresses of the file.
pub(crate) fn table_of_file(
    file: &[u8],
    folders: impl Iterator<Item = impl AsRef<Path>>,
) -> Option<Table> {
    let (at, count) = word(file, 32).zip(word16(file, 56)).filter(|_| file.starts_with(MAGIC))?;
    let headers = file.get(usize::try_from(at).ok()?..)?;
    let segments = Segment::all(headers.get(..usize::from(count) * PROGRAM_HEADER)?);
    let loaded = || segments.iter().filter(|segment| segment.kind == kind::LOAD);
    let contents = |segment: &Segment| {
        let from = usize::try_from(segment.offset).ok()?;
        file.get(from..usize::try_from(segment.file_end()).ok()?)
    };
    let code = loaded().find(|segment| segment.flags & EXECUTABLE != 0)?;
    let tls = segments.iter().find(|segment| segment.kind == kind::TLS);
    let program = Nameless {
        code: contents(code)?,
        start: code.address,
        tls_end: tls.map_or(0, |tls| Tls { size: tls.size, alignment: tls.alignment }.end()),
        word: &|address| {
            let at =
                |segment: &Segment| usize::try_from(address.checked_sub(segment.address)?).ok();
            loaded().find_map(|segment| word(contents(segment)?, at(segment)?))
        },
    };
    from_folders(&program, folders)
}

fn from_folders(
    program: &Nameless<'_>,
    mut folders: impl Iterator<Item = impl AsRef<Path>>,
) -> Option<Table> {
    folders.find_map(|folder| {
        let library = |name: &str| fs::read(folder.as_ref().join(name)).ok();
        let threads = library(THREADS).unwrap_or_default();
        let mut runtimes = RUNTIMES.iter().filter_map(|name| library(name));
        runtimes.find_map(|runtime| names(program, &[&runtime, &threads]))
    })
}

fn regions<'a>(memory: &'a dyn Memory, object: &'a Object) -> impl Iterator<Item = &'a Region> {
    let is_within = |region: &&Region| {
        object.range.contains(&region.range.start) && region.file.as_ref() == Some(&object.path)
    };
    memory.regions().iter().filter(is_within)
}

/// The code of an object, and its address. A recorder may have changed some of it; the original is in the
/// file.
fn code(memory: &dyn Memory, object: &Object, files: &[PathBuf]) -> Option<(u64, Vec<u8>)> {
    let mut regions = regions(memory, object).filter(|region| region.executable);
    let mut whole = regions.next()?.clone();
    // The changed part may be a region of its own.
    for region in regions.filter(|region| region.readable) {
        whole.range.end = whole.range.end.max(region.range.end);
    }
    let found = read(memory, &whole)?;
    let in_file = files.iter().find_map(|path| {
        let mut bytes = vec![0; found.len()];
        let file = fs::File::open(path).ok()?;
        let mut filled = 0;
        while filled < bytes.len() {
            match file.read_at(&mut bytes[filled..], whole.offset + filled as u64).ok()? {
                0 => break,
                count => filled += count,
            }
        }
        let changed = bytes.iter().zip(&found).filter(|(file, memory)| file != memory);
        (changed.take(MOST_CHANGED).count() < MOST_CHANGED).then_some(bytes)
    });
    Some((whole.range.start, in_file.unwrap_or(found)))
}

fn read(memory: &dyn Memory, region: &Region) -> Option<Vec<u8>> {
    let length = region.range.end.checked_sub(region.range.start)?;
    let mut bytes = vec![0; usize::try_from(length).ok().filter(|_| length <= LARGEST)?];
    memory.read(region.range.start, &mut bytes).then_some(bytes)
}

/// A program without symbols.
struct Nameless<'a> {
    /// Its code.
    code: &'a [u8],
    /// The address of its code in memory.
    start: u64,
    /// The offset of the end of the thread-local variables from their start.
    tls_end: u64,
    /// Reads a word of its memory.
    word: &'a dyn Fn(u64) -> Option<u64>,
}

/// The symbols of these libraries that a program contains, with its addresses; None if it was not linked from
/// them.
fn names(program: &Nameless<'_>, libraries: &[&[u8]]) -> Option<Table> {
    let members: Vec<_> = libraries.iter().flat_map(|library| members(library)).collect();
    let mut placing = Placing::new(program, &members);
    placing.search();
    (placing.pieces >= FEWEST).then(|| placing.table())
}

/// An object file of a library.
struct Member<'a> {
    file: String,
    /// Sections by their index in the file.
    sections: Vec<Section<'a>>,
    symbols: Vec<Symbol<'a>>,
}

#[derive(Default)]
struct Section<'a> {
    /// Whether the linker keeps it in one piece.
    is_kept: bool,
    code: &'a [u8],
    alignment: u64,
    relocations: Vec<Relocation>,
    /// The sections before and after it in the program, if that contains this object file.
    neighbours: [Option<usize>; 2],
}

struct Relocation {
    at: usize,
    kind: u32,
    symbol: usize,
    addend: i64,
}

struct Symbol<'a> {
    name: &'a str,
    /// Binding and type.
    info: u8,
    section: Option<usize>,
    value: u64,
    size: u64,
}

/// Groups of sections that the linker collects separately, by the prefix of their names; all other code comes
/// last.
const GROUPS: &[&str] = &[".text.unlikely", ".text.exit", ".text.startup", ".text.hot", ""];

fn group_of(section: &str) -> &'static str {
    GROUPS.iter().find(|group| section.starts_with(**group)).copied().unwrap_or_default()
}

fn members(library: &[u8]) -> Vec<Member<'_>> {
    let Ok(archive) = ArchiveFile::parse(library) else { return Vec::new() };
    let members = archive.members().filter_map(|member| {
        let member = member.ok()?;
        let file = ElfFile64::<LittleEndian>::parse(member.data(library).ok()?).ok()?;
        let mut sections = Vec::new();
        for section in file.sections() {
            let at = section.index().0;
            sections.resize_with(sections.len().max(at + 1), Section::default);
            *sections.get_mut(at)? = read_section(&section);
        }
        for group in GROUPS {
            let is_in = |name: &str| group_of(name) == *group;
            let code = file.sections().filter(|section| section.name().is_ok_and(is_in));
            let code = code.map(|section| section.index().0);
            let code: Vec<_> =
                code.filter(|at| sections.get(*at).is_some_and(|s| !s.code.is_empty())).collect();
            for two in code.windows(2) {
                let [before, after] = *two else { continue };
                sections.get_mut(before)?.neighbours[1] = Some(after);
                sections.get_mut(after)?.neighbours[0] = Some(before);
            }
        }
        let mut symbols = Vec::new();
        for symbol in file.symbols() {
            let at = symbol.index().0;
            let SymbolFlags::Elf { st_info, .. } = symbol.flags() else { return None };
            symbols.resize_with(at + 1, || Symbol {
                name: "",
                info: 0,
                section: None,
                value: 0,
                size: 0,
            });
            *symbols.get_mut(at)? = Symbol {
                name: symbol.name().unwrap_or_default(),
                info: st_info,
                section: symbol.section_index().map(|section| section.0),
                value: symbol.address(),
                size: symbol.size(),
            };
        }
        let file = String::from_utf8_lossy(member.name()).into_owned();
        Some(Member { file, sections, symbols })
    });
    members.collect()
}

fn read_section<'a>(
    section: &object::read::elf::ElfSection64<'a, '_, LittleEndian>,
) -> Section<'a> {
    let SectionFlags::Elf { sh_flags } = section.flags() else { return Section::default() };
    let has = |flag: u32| sh_flags & u64::from(flag) != 0;
    let is_kept = has(SHF_ALLOC) && !has(SHF_MERGE);
    if !has(SHF_EXECINSTR) {
        return Section { is_kept, ..Section::default() };
    }
    let relocations = section.relocations().filter_map(|(at, relocation)| {
        let RelocationFlags::Elf { r_type } = relocation.flags() else { return None };
        let RelocationTarget::Symbol(symbol) = relocation.target() else { return None };
        let addend = relocation.addend();
        Some(Relocation { at: usize::try_from(at).ok()?, kind: r_type, symbol: symbol.0, addend })
    });
    let mut relocations: Vec<_> = relocations.collect();
    relocations.sort_by_key(|relocation| relocation.at);
    Section {
        is_kept,
        code: section.data().unwrap_or_default(),
        alignment: section.align().max(1),
        relocations,
        neighbours: [None; 2],
    }
}

impl Section<'_> {
    /// The ranges of the code that the linker leaves unchanged.
    fn fixed(&self) -> impl Iterator<Item = std::ops::Range<usize>> {
        let end = self.code.len();
        let changed = self.relocations.iter().map(|relocation| {
            let at = relocation.at;
            match relocation.kind {
                R_X86_64_64 => at..at + 8,
                R_X86_64_PC32 | R_X86_64_PLT32 | R_X86_64_GOTPCREL | R_X86_64_32 | R_X86_64_32S
                | R_X86_64_TPOFF32 => at..at + 4,
                // The linker may substitute a cheaper equivalent instruction.
                R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX | R_X86_64_GOTTPOFF => {
                    at.saturating_sub(3)..at + 4
                }
                // Instruction sequences that access thread-local variables.
                _ => at.saturating_sub(4)..at + 12,
            }
        });
        let mut from = 0;
        changed.chain(std::iter::once(end..end)).filter_map(move |hole| {
            let fixed = from..hole.start.min(end);
            from = from.max(hole.end);
            (fixed.start < fixed.end).then_some(fixed)
        })
    }

    /// Whether these bytes begin with this code.
    fn is_at(&self, bytes: &[u8]) -> bool {
        bytes.len() >= self.code.len()
            && self.fixed().all(|range| bytes.get(range.clone()) == self.code.get(range))
    }
}

/// The location of a section.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SectionPlace {
    Unknown,
    At(u64),
    /// Two different locations were derived for it.
    Doubtful,
}

struct Placing<'a> {
    program: &'a Nameless<'a>,
    members: &'a [Member<'a>],
    /// Locations by member and section.
    places: Vec<Vec<SectionPlace>>,
    /// For each global symbol, the member that defines it, and the index of the symbol.
    definitions: HashMap<&'a str, (usize, usize)>,
    /// Global symbols that no member defines: the compiler generates them for each program.
    others: HashMap<&'a str, u64>,
    /// Code that was placed and not followed yet.
    waiting: Vec<(usize, usize)>,
    /// The number of placed pieces of code.
    pieces: usize,
    /// The offset of the first piece that was found by searching.
    first: Option<usize>,
}

impl<'a> Placing<'a> {
    fn new(program: &'a Nameless<'a>, members: &'a [Member<'a>]) -> Placing<'a> {
        let mut definitions = HashMap::new();
        for (at, member) in members.iter().enumerate() {
            for (number, symbol) in member.symbols.iter().enumerate() {
                if symbol.section.is_some() && symbol.is_global() {
                    definitions.entry(symbol.name).or_insert((at, number));
                }
            }
        }
        let places =
            members.iter().map(|member| vec![SectionPlace::Unknown; member.sections.len()]);
        Placing {
            program,
            members,
            places: places.collect(),
            definitions,
            others: HashMap::new(),
            waiting: Vec::new(),
            pieces: 0,
            first: None,
        }
    }

    /// Searches for the most distinctive code of each member, and follows it.
    fn search(&mut self) {
        let mut seeds = Vec::new();
        for (member, file) in self.members.iter().enumerate() {
            let longest = file.sections.iter().enumerate().filter_map(|(at, section)| {
                let longest = section.fixed().max_by_key(ExactSizeIterator::len)?;
                (longest.len() >= SEED).then_some((longest, member, at))
            });
            let mut longest: Vec<_> = longest.collect();
            longest.sort_by_key(|(longest, ..)| std::cmp::Reverse(longest.len()));
            seeds.extend(longest.into_iter().take(SEEDS));
        }
        seeds.sort_by_key(|(longest, ..)| std::cmp::Reverse(longest.len()));
        for (longest, member, at) in seeds {
            let is_there = |place: &SectionPlace| matches!(place, SectionPlace::At(_));
            let sections = self.members[member].sections.iter().zip(&self.places[member]);
            let mut code = sections.filter(|(section, _)| !section.code.is_empty());
            if code.any(|(_, place)| is_there(place)) {
                continue;
            }
            let Some(section) = self.section(member, at) else { continue };
            let needle = section.code.get(longest.clone()).unwrap_or_default();
            let (window, code) = self.near();
            let found = memmem::find_iter(code, needle).filter_map(|found| {
                let from = (window + found).checked_sub(longest.start)?;
                section.is_at(self.program.code.get(from..)?).then_some(from)
            });
            let mut found = found.take(2);
            if let (Some(only), None) = (found.next(), found.next()) {
                self.first.get_or_insert(only);
                self.place(member, at, self.program.start.wrapping_add(only as u64));
                self.follow_all();
            }
        }
        self.startup();
    }

    /// The code near the first piece that was found, and its offset; all code if there is none yet. The parts
    /// of a library are close together.
    fn near(&self) -> (usize, &'a [u8]) {
        let Some(first) = self.first else { return (0, self.program.code) };
        let start = first.saturating_sub(NEAR);
        let rest = self.program.code.get(start..).unwrap_or_default();
        (start, rest.get(..2 * NEAR).unwrap_or(rest))
    }

    /// Finds two tables that the runtime of OCaml 5 does not refer to. The compiler generates them for each
    /// program, directly behind the list of its modules: a string with the linked units, and the data
    /// segments of all modules, the first of which contains these tables.
    fn startup(&mut self) -> Option<()> {
        let globals = *self.others.get("caml_globals")?;
        let word = self.program.word;
        let mut at = globals;
        for _ in 0..MOST_MODULES {
            let module = word(at)?;
            at = at.checked_add(8)?;
            if module == 0 {
                break;
            }
        }
        let header = word(at)? as usize;
        let map = at.checked_add(8)?;
        let segments = map.checked_add((value::header_words(header) as u64).checked_mul(8)?)?;
        let own = word(segments)?..word(segments.checked_add(8)?)?;
        if value::header_tag(header) == STRING && own.contains(&globals) {
            self.others.insert("caml_globals_map", map);
            self.others.insert("caml_data_segments", segments);
        }
        Some(())
    }

    fn section(&self, member: usize, at: usize) -> Option<&'a Section<'a>> {
        self.members.get(member)?.sections.get(at)
    }

    /// Records the location of a section, if it is plausible.
    fn place(&mut self, member: usize, at: usize, address: u64) {
        let Some(section) = self.section(member, at).filter(|section| section.is_kept) else {
            return;
        };
        if !section.code.is_empty() {
            let offset = usize::try_from(address.wrapping_sub(self.program.start)).ok();
            let bytes = offset.and_then(|offset| self.program.code.get(offset..));
            if !bytes.is_some_and(|bytes| section.is_at(bytes)) {
                return;
            }
        }
        let place = &mut self.places[member][at];
        match *place {
            SectionPlace::Unknown => {
                *place = SectionPlace::At(address);
                if !section.code.is_empty() {
                    self.waiting.push((member, at));
                    self.pieces += 1;
                }
            }
            SectionPlace::At(before) if before != address => *place = SectionPlace::Doubtful,
            SectionPlace::At(_) | SectionPlace::Doubtful => {}
        }
    }

    /// Follows the references of placed code, transitively.
    fn follow_all(&mut self) {
        while let Some((member, at)) = self.waiting.pop() {
            let (Some(section), SectionPlace::At(base)) =
                (self.section(member, at), self.places[member][at])
            else {
                continue;
            };
            for relocation in &section.relocations {
                if let Some(address) = self.target(section, relocation, base) {
                    self.learn(member, relocation.symbol, address);
                }
            }
            let [before, after] = section.neighbours;
            let neighbour =
                |at: Option<usize>| at.and_then(|at| Some((at, self.section(member, at)?)));
            let before = neighbour(before).and_then(|(at, before)| {
                let last = base.checked_sub(before.code.len() as u64)?;
                Some((at, last - last % before.alignment))
            });
            let after = neighbour(after).and_then(|(at, after)| {
                let end = base.checked_add(section.code.len() as u64)?;
                Some((at, end.checked_next_multiple_of(after.alignment)?))
            });
            for (at, address) in before.into_iter().chain(after) {
                if self.places[member][at] == SectionPlace::Unknown {
                    self.place(member, at, address);
                }
            }
        }
    }

    /// The address that the linker wrote for a relocation in code at `base`.
    fn target(&self, section: &Section<'_>, relocation: &Relocation, base: u64) -> Option<u64> {
        let Relocation { at, kind, addend, .. } = *relocation;
        let address = base.checked_add(at as u64)?;
        let offset = usize::try_from(address.checked_sub(self.program.start)?).ok()?;
        let bytes = self.program.code.get(offset..)?.first_chunk()?;
        let word = i64::from(i32::from_le_bytes(*bytes));
        // The opcode is two bytes before, in the library and in the program.
        let before = |code: &[u8], at: usize| code.get(at.checked_sub(2)?).copied();
        let (was, now) = (before(section.code, at)?, before(self.program.code, offset)?);
        let next = address.checked_add(4)?.checked_add_signed(word);
        match kind {
            R_X86_64_PC32 | R_X86_64_PLT32 => address.checked_add_signed(word.checked_sub(addend)?),
            R_X86_64_32 | R_X86_64_32S => 0_u64.checked_add_signed(word.checked_sub(addend)?),
            R_X86_64_GOTPCREL | R_X86_64_GOTPCRELX | R_X86_64_REX_GOTPCRELX => match now {
                // lea instead of mov, or mov with an immediate address.
                0x8d if was == 0x8b => next,
                0xc7 if was == 0x8b => u64::try_from(word).ok(),
                _ if now == was => (self.program.word)(next?),
                _ => None,
            },
            R_X86_64_GOTTPOFF if now == was => {
                self.program.tls_end.checked_add_signed((self.program.word)(next?)?.cast_signed())
            }
            R_X86_64_GOTTPOFF => self.program.tls_end.checked_add_signed(word),
            R_X86_64_TPOFF32 => self.program.tls_end.checked_add_signed(word.checked_sub(addend)?),
            _ => None,
        }
    }

    /// Records the location of what a member's symbol refers to.
    fn learn(&mut self, member: usize, symbol: usize, address: u64) {
        let Some(named) = self.members[member].symbols.get(symbol) else { return };
        let defined = match named.section {
            Some(_) => Some((member, symbol)),
            None => self.definitions.get(named.name).copied(),
        };
        match defined {
            Some((member, symbol)) => {
                let Some(definition) = self.members[member].symbols.get(symbol) else { return };
                if let Some(section) = definition.section {
                    self.place(member, section, address.wrapping_sub(definition.value));
                }
            }
            // Functions of libc may be reached through stubs.
            None if named.name.starts_with("caml") => {
                self.others.entry(named.name).or_insert(address);
            }
            None => {}
        }
    }

    /// All symbols that are now known, as a symbol table.
    fn table(&self) -> Table {
        let mut table = Table { symbols: Vec::new(), strings: vec![0] };
        let mut add = |name: &str, info: u8, address: u64, size: u64| {
            let at = table.strings.len() as u64;
            table.strings.extend_from_slice(name.as_bytes());
            table.strings.push(0);
            // Any defined section.
            let first = at | u64::from(info) << 32 | 1 << 48;
            for word in [first, address, size] {
                table.symbols.extend(word.to_le_bytes());
            }
        };
        for (member, places) in self.members.iter().zip(&self.places) {
            add(&member.file, FILE, 0, 0);
            for symbol in member.symbols.iter().filter(|symbol| !symbol.name.is_empty()) {
                let place = symbol.section.and_then(|section| places.get(section));
                if let Some(SectionPlace::At(base)) = place {
                    add(symbol.name, symbol.info, base.wrapping_add(symbol.value), symbol.size);
                }
            }
        }
        const GLOBAL: u8 = 1 << 4;
        for (name, address) in &self.others {
            add(name, GLOBAL, *address, 0);
        }
        table
    }
}

impl Symbol<'_> {
    fn is_global(&self) -> bool {
        self.info >> 4 != 0 && !self.name.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::process::Command;

    use bactrian_fixtures::{Compiler, Variant, program, run, stripped};

    fn folder(compiler: Compiler) -> String {
        run(Command::new(compiler.tool("ocamlopt")).arg("-where")).trim().to_owned()
    }

    #[test]
    fn recovered_symbols_are_those_that_were_stripped() {
        for compiler in [Compiler::OCaml4, Compiler::OCaml5] {
            for variant in [Variant::Static, Variant::Hidden] {
                let what = format!("{compiler:?} {variant:?}");
                let whole = program("heap_threads", compiler, variant);
                let nameless = fs::read(stripped(&whole)).expect("a program");
                let folders = std::iter::once(folder(compiler));
                let table = table_of_file(&nameless, folders).expect("it was linked from there");
                let found = Symbols::read(&[table], 0);
                let listed = run(Command::new("nm").arg(&whole));
                let listed: HashSet<(u64, &str)> = listed
                    .lines()
                    .filter_map(|line| {
                        let (address, rest) = line.split_once(' ')?;
                        Some((u64::from_str_radix(address, 16).ok()?, rest.split_once(' ')?.1))
                    })
                    .collect();
                for symbol in found.all() {
                    let name = found.name(symbol);
                    // The assembler's own symbols exist in object files only.
                    let is_right =
                        listed.contains(&(symbol.address, name)) || name.starts_with('.');
                    assert!(is_right, "{what}: {name} at {:#x}", symbol.address);
                }
                let wanted =
                    ["caml_globals", "caml_frametable", "caml_do_roots", "caml_garbage_collection"];
                for name in wanted {
                    assert!(found.find(name).is_some(), "{what}: {name}");
                }
                assert!(found.all().len() > 1000, "{what}: {found:?}");
            }
        }
    }

    #[test]
    fn the_library_of_another_runtime_recovers_no_symbols() {
        let whole = program("heap_threads", Compiler::OCaml4, Variant::Static);
        let nameless = fs::read(stripped(&whole)).expect("a program");
        let other = std::iter::once(folder(Compiler::OCaml5));
        assert!(table_of_file(&nameless, other).is_none());
        assert!(table_of_file(&nameless, std::iter::empty::<&str>()).is_none());
        assert!(table_of_file(&nameless[..100], std::iter::once("/")).is_none());
    }

    #[test]
    fn damaged_libraries_never_panic() {
        let whole = program("heap_threads", Compiler::OCaml4, Variant::Static);
        let code = fs::read(stripped(&whole)).expect("a program");
        let program = Nameless { code: &code, start: 0, tls_end: 0, word: &|at| at.checked_mul(3) };
        let path = Path::new(&folder(Compiler::OCaml4)).join(RUNTIMES[0]);
        let library = fs::read(path).expect("a library");
        assert!(names(&program, &[&library]).is_some());
        for part in [0, 8, 100, library.len() / 3, library.len() - 1] {
            names(&program, &[&library[..part]]);
        }
        for step in [97, 1013, 10_007] {
            let mut damaged = library.clone();
            for byte in damaged.iter_mut().skip(step).step_by(step) {
                *byte ^= 0x55;
            }
            names(&program, &[&damaged]);
        }
    }
}
