//! Lines of functions from the debugger's line tables (`.debug_line`): frame tables only cover functions that
//! call something.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use gimli::{
    AttributeValue, DebugLine, DebugLineOffset, EndianSlice, LineProgramHeader, LittleEndian,
};
use object::{Object as _, ObjectSection as _, ReadCache};

/// Larger sections are not read: it would take seconds.
const LARGEST: u64 = 256 << 20;
/// File name extensions of C and assembler.
const OTHERS: [&[u8]; 6] = [b".c", b".h", b".S", b".s", b".cc", b".cpp"];

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// The source location of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file, as it was named to the compiler.
    pub file: String,
    /// The line number.
    pub line: u32,
}

/// The first lines of functions, which must be sorted by their address in the file; None where the file does
/// not say.
pub fn first_lines(path: &Path, functions: &[Range<u64>]) -> Vec<Option<Line>> {
    let mut lines = vec![None; functions.len()];
    // Read, not mapped: if somebody truncates the file meanwhile, a mapping would crash us.
    let Ok(file) = File::open(path) else { return lines };
    let file = ReadCache::new(file);
    let Ok(elf) = object::File::parse(&file) else { return lines };
    let section = |name: &str| {
        let section = elf.section_by_name(name).filter(|section| section.size() <= LARGEST)?;
        // Compressed sections are not supported.
        let compression = section.compressed_file_range().ok()?.format;
        section.data().ok().filter(|_| compression == object::CompressionFormat::None)
    };
    let Some(bytes) = section(".debug_line") else { return lines };
    let texts = section(".debug_line_str").unwrap_or_default();
    find(bytes, texts, functions, &mut lines);
    lines
}

/// Scans the line table of each unit.
fn find(bytes: &[u8], texts: &[u8], functions: &[Range<u64>], lines: &mut [Option<Line>]) {
    let all = DebugLine::new(bytes, LittleEndian);
    let mut offset = 0;
    while let Some(length) = bytes.get(offset..).and_then(<[u8]>::first_chunk) {
        // Units of 4 GiB and more have another format.
        let next = offset.saturating_add(4).saturating_add(u32::from_le_bytes(*length) as usize);
        if next > bytes.len() {
            return;
        }
        if let Ok(unit) = all.program(DebugLineOffset(offset), 8, None, None)
            && !is_other(unit.header(), texts)
        {
            let mut rows = unit.rows();
            while let Ok(Some((header, row))) = rows.next_row() {
                let at = functions.partition_point(|function| function.end <= row.address());
                let is_in = |function: &Range<u64>| function.contains(&row.address());
                let (Some(line), false) = (row.line(), row.end_sequence()) else { continue };
                if functions.get(at).is_some_and(is_in) && lines[at].is_none() {
                    let file = file_name(header, row.file_index(), texts).unwrap_or_default();
                    let line = u32::try_from(line.get()).unwrap_or(0);
                    lines[at] = Some(Line { file, line });
                }
            }
        }
        offset = next;
    }
}

/// Whether a unit is entirely of another language.
fn is_other(header: &LineProgramHeader<Bytes<'_>>, texts: &[u8]) -> bool {
    let is_other = |name: &[u8]| OTHERS.iter().any(|end| name.ends_with(end));
    let mut names = header.file_names().iter().filter_map(|file| text(&file.path_name(), texts));
    names.all(is_other)
}

fn file_name(header: &LineProgramHeader<Bytes<'_>>, file: u64, texts: &[u8]) -> Option<String> {
    let file = header.file(file)?;
    let name = text(&file.path_name(), texts)?;
    // Directory 0 is where the compiler ran.
    let folder = Some(file).filter(|file| file.directory_index() != 0);
    let folder = folder.and_then(|file| file.directory(header));
    let folder = folder.as_ref().and_then(|folder| text(folder, texts));
    let name = String::from_utf8_lossy(name);
    Some(match folder {
        Some(folder) => format!("{}/{name}", String::from_utf8_lossy(folder)),
        None => name.into_owned(),
    })
}

/// A string in the table itself, or one that it refers to.
fn text<'a>(value: &AttributeValue<Bytes<'a>>, texts: &'a [u8]) -> Option<&'a [u8]> {
    match value {
        AttributeValue::String(text) => Some(text.slice()),
        AttributeValue::DebugLineStrRef(offset) => {
            let rest = texts.get(offset.0..)?;
            rest.get(..memchr::memchr(0, rest)?)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_line_tables_give_no_line() {
        let (all, mut lines) = (0..u64::MAX, vec![None]);
        let all = std::slice::from_ref(&all);
        for bytes in [&[][..], &[0xFF; 64], &[20, 0, 0, 0, 3, 0, 1, 0], &[4, 0, 0, 0, 9, 9, 9, 9]] {
            find(bytes, b"no end", all, &mut lines);
        }
        assert_eq!(lines, [None]);
        assert_eq!(first_lines(Path::new("/nowhere"), all), [None]);
    }
}
