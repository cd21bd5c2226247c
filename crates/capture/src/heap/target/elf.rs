//! The loaded objects, and where their symbols are: 64-bit little-endian ELF files.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use bactrian_ocaml::executable::DebugSymbols;
use bactrian_trace::Input;

use super::symbols::{Symbols, Table};
use super::{Files, Object, Tls};
use crate::debug_file::DebugFile;
use crate::elf::{HEADER, MAGIC, PROGRAM_HEADER, Segment, kind, word, word16, word32};
use crate::memory::{Memory, Region};

const SECTION_HEADER: usize = 64;
/// An upper bound; objects have about ten.
const MOST_PROGRAM_HEADERS: u16 = 128;
const MOST_SECTIONS: u16 = 10_000;
const MOST_DYNAMIC_ENTRIES: u64 = 1000;
/// Larger tables are not read, in bytes.
const LARGEST_TABLE: u64 = 1 << 30;
const LARGEST_NOTE: u64 = 4096;

pub(super) const EXECUTABLE: u32 = 1;
const SECTION_SYMBOLS: u32 = 2;
const SECTION_DYNAMIC_SYMBOLS: u32 = 11;

/// The loaded objects, in order of addresses.
pub(super) fn objects(memory: &dyn Memory, files: &Files) -> Vec<Object> {
    let regions = memory.regions().iter().filter(|region| region.offset == 0 && region.readable);
    regions.filter_map(|region| object(memory, files, region)).collect()
}

fn object(memory: &dyn Memory, files: &Files, region: &Region) -> Option<Object> {
    let path = region.file.as_ref().filter(|path| path.is_absolute())?;
    let headers = Headers::read(&mut |at, buffer| {
        memory.read(region.range.start.saturating_add(at), buffer)
    })?;
    let segments = headers.segments();
    let loads = || segments.iter().filter(|segment| segment.kind == kind::LOAD);
    let first = loads().find(|segment| segment.offset == 0)?;
    let bias = region.range.start.wrapping_sub(first.address);
    let end = loads().map(|load| load.address.saturating_add(load.size)).max()?;
    let range = region.range.start..end.wrapping_add(bias);
    // A file that is mapped only for reading looks the same, but its code is mapped elsewhere or not at all.
    let code = loads().find(|load| load.flags & EXECUTABLE != 0)?;
    let code_at = code.address.wrapping_add(bias);
    let is_code = |region: &Region| region.executable && region.range.contains(&code_at);
    memory.regions().iter().find(|region| is_code(region))?;
    let notes =
        notes(&segments, |segment, buffer| memory.read(segment.address.wrapping_add(bias), buffer));
    let tables = files.candidates(path).iter().find_map(|file| {
        let (mut tables, mut has_all) = file_tables(file, &headers, &notes).ok().flatten()?;
        if !has_all && let Some(table) = debug_table(file, path, files) {
            tables.push(table);
            has_all = true;
        }
        (!tables.is_empty()).then(|| (tables, has_all, Some(file.clone())))
    });
    let (tables, has_all_symbols, file) = tables.unwrap_or_else(|| {
        (dynamic_table(memory, &segments, bias, &range).into_iter().collect(), false, None)
    });
    let tls = segments.iter().find(|segment| segment.kind == kind::TLS);
    Some(Object {
        path: path.clone(),
        file,
        bias,
        range,
        tls: tls.map(|tls| Tls { size: tls.size, alignment: tls.alignment.max(1) }),
        symbols: Symbols::read(&tables, bias),
        has_all_symbols,
    })
}

/// The beginning of an object, which is the same in the file and in memory.
#[derive(PartialEq, Eq)]
struct Headers {
    program_headers: Vec<u8>,
    /// The offset of the section headers in the file, their number, and the length of each.
    sections: (u64, u16, u16),
}

impl Headers {
    fn read(read: &mut dyn FnMut(u64, &mut [u8]) -> bool) -> Option<Headers> {
        let mut header = [0; HEADER];
        if !read(0, &mut header) || !header.starts_with(MAGIC) {
            return None;
        }
        let (at, length, count) = (word(&header, 32)?, word16(&header, 54)?, word16(&header, 56)?);
        if usize::from(length) != PROGRAM_HEADER || count > MOST_PROGRAM_HEADERS {
            return None;
        }
        let mut program_headers = vec![0; PROGRAM_HEADER * usize::from(count)];
        let sections = (word(&header, 40)?, word16(&header, 60)?, word16(&header, 58)?);
        read(at, &mut program_headers).then_some(Headers { program_headers, sections })
    }

    fn segments(&self) -> Vec<Segment> {
        Segment::all(&self.program_headers)
    }
}

/// All notes, which include the build id.
fn notes(segments: &[Segment], read: impl Fn(&Segment, &mut [u8]) -> bool) -> Vec<u8> {
    let mut all = Vec::new();
    for segment in segments.iter().filter(|segment| segment.kind == kind::NOTE) {
        let mut note = vec![0; segment.size.min(LARGEST_NOTE) as usize];
        if read(segment, &mut note) {
            all.extend(note);
        }
    }
    all
}

/// The symbol tables of a file, and whether they contain all symbols. None if it is not the file that was
/// loaded.
fn file_tables(
    path: &Path,
    loaded: &Headers,
    loaded_notes: &[u8],
) -> io::Result<Option<(Vec<Table>, bool)>> {
    let file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let read = |at, buffer: &mut [u8]| file.read_exact_at(buffer, at).is_ok();
    let Some(headers) = Headers::read(&mut |at, buffer| read(at, buffer)) else { return Ok(None) };
    let notes = notes(&headers.segments(), |segment, buffer| read(segment.offset, buffer));
    if headers != *loaded || notes != loaded_notes {
        return Ok(None);
    }
    let (at, count, length) = headers.sections;
    if usize::from(length) != SECTION_HEADER || count > MOST_SECTIONS {
        return Ok(None);
    }
    let mut sections = vec![0; SECTION_HEADER * usize::from(count)];
    file.read_exact_at(&mut sections, at)?;
    let sections = sections.as_chunks::<SECTION_HEADER>().0;
    let content = |section: &[u8; SECTION_HEADER]| {
        let place = word(section, 24).zip(word(section, 32));
        let (at, size) = place.filter(|(_, size)| *size <= LARGEST_TABLE)?;
        let length = file.metadata().ok()?.len();
        // Do not allocate more memory than the file could fill.
        at.checked_add(size).filter(|end| *end <= length)?;
        let mut bytes = vec![0; usize::try_from(size).ok()?];
        read(at, &mut bytes).then_some(bytes)
    };
    let table = |kind: u32| {
        let section = sections.iter().find(|section| word32(*section, 4) == Some(kind))?;
        let strings = sections.get(word32(section, 40)? as usize)?;
        Some(Table { symbols: content(section)?, strings: content(strings)? })
    };
    let [all, dynamic] = [SECTION_SYMBOLS, SECTION_DYNAMIC_SYMBOLS].map(table);
    let has_all = all.is_some();
    // The full table includes the dynamic symbols, unless someone has partly stripped the file.
    Ok(Some((dynamic.into_iter().chain(all).collect(), has_all)))
}

/// The symbol table in the debug file of a stripped executable, whose path in the program is `path`.
fn debug_table(file: &Path, path: &Path, files: &Files) -> Option<Table> {
    let executable = Input::open(file).ok()?;
    let debug_file = DebugFile::find(&executable, path, files.root.as_deref())?;
    let DebugSymbols { symbols, strings } = debug_file.symbols()?;
    Some(Table { symbols: symbols.to_vec(), strings: strings.to_vec() })
}

/// The table that the dynamic linker uses, from memory.
fn dynamic_table(
    memory: &dyn Memory,
    segments: &[Segment],
    bias: u64,
    range: &Range<u64>,
) -> Option<Table> {
    let dynamic = segments.iter().find(|segment| segment.kind == kind::DYNAMIC)?;
    let at = dynamic.address.wrapping_add(bias);
    let [mut symbols, mut strings, mut size, mut gnu_hash, mut hash] = [None; 5];
    for entry in 0..MOST_DYNAMIC_ENTRIES {
        let entry = at.checked_add(16 * entry)?;
        let (tag, value) = (memory.word(entry)?, memory.word(entry + 8)?);
        // In most objects the dynamic linker replaces file addresses by memory addresses.
        let address = if range.contains(&value) { value } else { value.wrapping_add(bias) };
        match tag {
            0 => break,
            4 => hash = Some(address),
            5 => strings = Some(address),
            6 => symbols = Some(address),
            10 => size = Some(value),
            0x6fff_fef5 => gnu_hash = Some(address),
            _ => {}
        }
    }
    let count = match hash {
        Some(hash) => memory.word(hash)? >> 32,
        None => gnu_count(memory, gnu_hash?)?,
    };
    let largest = range.end.saturating_sub(range.start).min(LARGEST_TABLE);
    let read = |at: u64, size: u64| {
        let mut bytes = vec![0; usize::try_from(size).ok().filter(|_| size <= largest)?];
        memory.read(at, &mut bytes).then_some(bytes)
    };
    Some(Table {
        symbols: read(symbols?, count.checked_mul(24)?)?,
        strings: read(strings?, size?)?,
    })
}

/// The number of symbols in a GNU hash table: one more than the last symbol of the chain that starts last.
fn gnu_count(memory: &dyn Memory, at: u64) -> Option<u64> {
    let word32 = |at: u64| {
        let mut bytes = [0; 4];
        memory.read(at, &mut bytes).then_some(u64::from(u32::from_le_bytes(bytes)))
    };
    let (buckets, first, bloom) = (word32(at)?, word32(at + 4)?, word32(at + 8)?);
    let buckets_at = at.checked_add(16 + 8 * bloom)?;
    let mut last = 0;
    for bucket in 0..buckets.min(LARGEST_TABLE / 4) {
        last = last.max(word32(buckets_at + 4 * bucket)?);
    }
    if last < first {
        return Some(first);
    }
    let chains = buckets_at + 4 * buckets;
    for symbol in last..last + LARGEST_TABLE / 24 {
        if word32(chains + 4 * (symbol - first))? & 1 != 0 {
            return Some(symbol + 1);
        }
    }
    None
}
