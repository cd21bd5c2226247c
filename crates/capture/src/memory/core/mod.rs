//! Memory of a core file: what the kernel leaves of a crashed program, or gcore of a running one.
//!
//! A core file contains memory that the program has written. Memory that it only read, above all code, is in
//! the mapped files; the core file lists those. They are taken from their paths, the executable from where
//! the caller says, provided that they begin with the same bytes as they did in the core. Everything that is
//! missing is listed in [`Core::gaps`].

mod image;
mod notes;

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

pub use image::Bytes;
use image::ElfHeaders;
pub(crate) use image::Fixed;
use notes::{Mapped, Notes};

use super::{Memory, Region};
use crate::elf::{Segment, kind};
use crate::heap::target::{Files, Thread};

const CORE: u16 = 4;
const X86_64: u16 = 62;
const EXECUTABLE: u32 = 1;
const WRITABLE: u32 = 2;
const READABLE: u32 = 4;
const PAGE: usize = 4096;
/// The start of the kernel's addresses: some core files contain one page there.
const KERNEL: u64 = 1 << 47;
/// At most this many bytes of notes are read. A thread takes about three kilobytes.
const LONGEST_NOTES: u64 = 256 << 20;
/// More mapped files than the kernel allows mappings.
const MOST_FILES: usize = 1 << 20;
/// How many files may be open at a time.
const MOST_OPEN: usize = 500;
/// The maximal number of gaps that are listed, since people read them.
const MOST_GAPS: usize = 50;

/// The memory of a core file.
pub struct Core {
    core: Box<dyn Bytes>,
    files: Vec<Box<dyn Bytes>>,
    regions: Vec<Region>,
    /// Where bytes are found, in order of addresses.
    pieces: Vec<Piece>,
    threads: Vec<Thread>,
    calls: Vec<Option<u64>>,
    pid: Option<u32>,
    /// The size that the core file should have, in bytes.
    whole: u64,
    gaps: Vec<String>,
    executable: PathBuf,
}

/// A range of addresses, and where its bytes are found.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u64,
    end: u64,
    source: Source,
    offset: u64,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Core,
    File(usize),
}

/// Why a core file cannot be used.
#[derive(Debug)]
pub struct BadCore {
    /// The file that is wrong.
    pub path: PathBuf,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for BadCore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for BadCore {}

impl Core {
    /// Opens a core file, and the executable that it belongs to.
    ///
    /// # Errors
    /// If one of them cannot be read, the first is not a core file of a program for x86-64, or the second is
    /// not the executable that it belongs to.
    pub fn open(core: &Path, executable: &Path) -> Result<Core, BadCore> {
        let bad = |path: &Path, error: &dyn fmt::Display| BadCore {
            path: path.to_owned(),
            reason: error.to_string(),
        };
        let open = |path: &Path| {
            File::open(path).and_then(Fixed::new).map_err(|error: io::Error| bad(path, &error))
        };
        let (bytes, program) = (open(core)?, open(executable)?);
        let find = |path: &Path| -> Option<Box<dyn Bytes>> {
            // Opening a pipe would block until its other end is opened.
            std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file)?;
            let file = File::open(path).and_then(Fixed::new).ok()?;
            Some(Box::new(file))
        };
        let mut read = Core::read(Box::new(bytes), Box::new(program), &find).map_err(|wrong| {
            bad(if wrong.is_executable { executable } else { core }, &wrong.reason)
        })?;
        executable.clone_into(&mut read.executable);
        Ok(read)
    }

    /// Reads a core file. `find` opens mapped files.
    ///
    /// # Errors
    /// As with [`Core::open`].
    pub fn read(
        core: Box<dyn Bytes>,
        executable: Box<dyn Bytes>,
        find: &dyn Fn(&Path) -> Option<Box<dyn Bytes>>,
    ) -> Result<Core, Wrong> {
        let image = ElfHeaders::read(core.as_ref()).map_err(Wrong::core)?;
        if image.purpose != CORE {
            return Err(Wrong::core("it is not a core file"));
        }
        if image.machine != X86_64 {
            return Err(Wrong::core("it is not of an x86-64 program"));
        }
        let mut found = Core {
            core,
            files: Vec::new(),
            regions: Vec::new(),
            pieces: Vec::new(),
            threads: Vec::new(),
            calls: Vec::new(),
            pid: None,
            whole: image.segments.iter().map(Segment::file_end).max().unwrap_or(0),
            gaps: Vec::new(),
            executable: PathBuf::new(),
        };
        let mut notes = found.notes(&image.segments);
        found.threads = std::mem::take(&mut notes.threads);
        found.calls = std::mem::take(&mut notes.calls);
        found.pid = notes.pid;
        if found.threads.is_empty() {
            found.gap("registers of its threads");
        }
        for damage in &notes.damage {
            found.gap(damage);
        }
        found.segments(&image.segments, &mut notes);
        found.take_from_files(executable, &notes, find)?;
        Ok(found)
    }

    /// What is missing, as sentences.
    pub fn gaps(&self) -> &[String] {
        &self.gaps
    }

    /// The threads and their registers, starting with the thread that crashed.
    pub fn threads(&self) -> &[Thread] {
        &self.threads
    }

    /// The system call that each thread was in.
    pub fn calls(&self) -> &[Option<u64>] {
        &self.calls
    }

    /// The process id, if the core file contains it.
    pub fn pid(&self) -> Option<u32> {
        // The id of a single thread is that of the process.
        let only = || self.threads.first().filter(|_| self.threads.len() == 1);
        self.pid.or_else(|| only().map(|thread| thread.id))
    }

    /// A sentence that the core file is truncated, if it is.
    pub fn cut(&self) -> Option<String> {
        let (there, whole) = (self.core.length(), self.whole);
        (there < whole).then(|| {
            format!(
                "the core file is truncated: {there} of {whole} bytes \
            are there"
            )
        })
    }

    /// Where to look for symbols.
    pub fn files(&self) -> Files {
        Files { others: vec![self.executable.clone()], ..Files::default() }
    }

    fn gap(&mut self, what: &str) {
        if self.gaps.len() < MOST_GAPS {
            self.gaps.push(what.to_owned());
        }
    }

    fn notes(&mut self, segments: &[Segment]) -> Notes {
        let mut notes = Notes::default();
        // Segments that overlap do not add anything.
        let mut room = LONGEST_NOTES.min(self.core.length());
        for segment in segments.iter().filter(|segment| segment.kind == kind::NOTE) {
            let there = self.core.length().saturating_sub(segment.offset);
            let length = segment.file_size.min(there).min(room);
            if length < segment.file_size {
                self.gap("the end of the notes");
            }
            room -= length;
            let mut bytes = vec![0; usize::try_from(length).unwrap_or(0)];
            if self.core.read(segment.offset, &mut bytes) {
                notes.add(&bytes);
            }
        }
        notes.files.truncate(MOST_FILES);
        notes.files.sort_by_key(|file| file.range.start);
        notes
    }

    /// Takes over what the core file contains: regions and bytes.
    fn segments(&mut self, segments: &[Segment], notes: &mut Notes) {
        let mut loads: Vec<_> =
            segments.iter().filter(|segment| segment.kind == kind::LOAD).collect();
        loads.sort_by_key(|load| load.address);
        let (mut end_before, mut cut) = (0, 0_u64);
        for load in loads {
            let Some(end) = load.address.checked_add(load.size) else { continue };
            if load.address >= KERNEL || load.size == 0 {
                continue;
            }
            if load.address < end_before {
                self.gap("pieces of memory that overlap");
                continue;
            }
            end_before = end;
            let there = self.core.length().saturating_sub(load.offset);
            let dumped = load.file_size.min(load.size);
            cut += dumped.saturating_sub(there);
            let present = dumped.min(there);
            if present > 0 {
                self.pieces.push(Piece {
                    start: load.address,
                    end: load.address + present,
                    source: Source::Core,
                    offset: load.offset,
                });
            }
            let file = at(&notes.files, load.address);
            self.regions.push(Region {
                range: load.address..end,
                readable: load.flags & READABLE != 0,
                writable: load.flags & WRITABLE != 0,
                executable: load.flags & EXECUTABLE != 0,
                shared: false,
                offset: file
                    .map_or(0, |file| file.offset.saturating_add(load.address - file.range.start)),
                file: file.map(|file| file.path.clone()),
                inode: 0,
            });
        }
        if let Some(why) = self.cut() {
            self.gap(&format!("{cut} bytes of memory: {why}, perhaps because of a size limit"));
        }
    }

    /// Takes what the core file lacks from the mapped files.
    fn take_from_files(
        &mut self,
        executable: Box<dyn Bytes>,
        notes: &Notes,
        find: &dyn Fn(&Path) -> Option<Box<dyn Bytes>>,
    ) -> Result<(), Wrong> {
        let program = notes.program_headers.and_then(|address| at(&notes.files, address));
        let program = program.map(|file| file.path.clone());
        if program.is_none() {
            self.gap("the name of its executable");
        }
        let mut executable = Some(executable);
        // For each file, its start in memory; and its index, if it was found and is unchanged.
        let beginnings = notes.files.iter().filter(|mapped| mapped.offset == 0);
        let beginnings: BTreeMap<_, _> =
            beginnings.map(|mapped| (mapped.path.as_path(), mapped.range.start)).collect();
        let mut opened: BTreeMap<&Path, Option<usize>> = BTreeMap::new();
        let mut missing: BTreeMap<&Path, u64> = BTreeMap::new();
        let (mut pieces, mut regions) = (Vec::new(), Vec::new());
        for mapped in &notes.files {
            let path = mapped.path.as_path();
            let is_program = program.as_deref() == Some(path);
            let hole = self.hole(&mapped.range);
            if hole.is_none() && !is_program {
                continue;
            }
            let file = match opened.get(path) {
                Some(file) => *file,
                None => {
                    let file = match is_program {
                        true => executable.take(),
                        false => Some(path).filter(|_| self.files.len() < MOST_OPEN).and_then(find),
                    };
                    let file = self.checked(path, beginnings.get(path).copied(), file);
                    if file.is_none() && is_program {
                        return Err(Wrong {
                            is_executable: true,
                            reason: format!(
                                "it is not the program of this core, which is {}",
                                path.display()
                            ),
                        });
                    }
                    opened.insert(path, file);
                    file
                }
            };
            let Some(hole) = hole else { continue };
            match file.and_then(|file| Some((file, self.files.get(file)?))) {
                Some((file, bytes)) => {
                    let offset = mapped.offset.saturating_add(hole.start - mapped.range.start);
                    let size = (hole.end - hole.start).min(bytes.length().saturating_sub(offset));
                    if size > 0 {
                        let (start, end) = (hole.start, hole.start + size);
                        pieces.push(Piece { start, end, source: Source::File(file), offset });
                    }
                    regions.extend(self.left_out(mapped, bytes.as_ref()));
                }
                None => *missing.entry(path).or_default() += hole.end - hole.start,
            }
        }
        for (path, bytes) in missing {
            self.gap(&format!("{bytes} bytes that only {} had", path.display()));
        }
        self.pieces.extend(pieces);
        self.regions.extend(regions);
        self.pieces.sort_by_key(|piece| piece.start);
        // In a damaged list files may overlap; the first one wins.
        let mut end = 0;
        self.pieces.retain_mut(|piece| {
            let skipped = end.max(piece.start) - piece.start;
            (piece.start, piece.offset) =
                (piece.start + skipped, piece.offset.saturating_add(skipped));
            end = end.max(piece.end);
            piece.start < piece.end
        });
        self.regions.sort_by_key(|region| region.range.start);
        let anonymous = self.missing_anonymous();
        if anonymous > 0 {
            self.gap(&format!("{anonymous} bytes of memory that were not dumped"));
        }
        Ok(())
    }

    /// Keeps a file if it begins with the same bytes as in the core file, or the core file does not contain
    /// its beginning.
    fn checked(
        &mut self,
        path: &Path,
        beginning: Option<u64>,
        file: Option<Box<dyn Bytes>>,
    ) -> Option<usize> {
        let file = file?;
        let mut before = [0; PAGE];
        if beginning.is_some_and(|beginning| self.read_from(beginning, &mut before)) {
            let mut now = vec![0; usize::try_from(file.length()).unwrap_or(PAGE).min(PAGE)];
            if !file.read(0, &mut now) || !before.starts_with(&now) {
                self.gap(&format!("{}: the file has been replaced", path.display()));
                return None;
            }
        }
        self.files.push(file);
        Some(self.files.len() - 1)
    }

    /// The part of a mapped file that is not in the core file: the end of it, or all.
    fn hole(&self, range: &std::ops::Range<u64>) -> Option<std::ops::Range<u64>> {
        if range.end > KERNEL {
            return None;
        }
        let mut start = range.start;
        let from = self.pieces.partition_point(|piece| piece.end <= start);
        for piece in self.pieces.get(from..)? {
            if piece.start > start {
                break;
            }
            start = start.max(piece.end);
        }
        let next = self.pieces.get(self.pieces.partition_point(|piece| piece.start <= start)..)?;
        let end = next.first().map_or(range.end, |piece| piece.start.min(range.end));
        (start < end).then_some(start..end)
    }

    /// A mapping that the core file leaves out, as gcore does if it was never written. Its permissions are
    /// those of the file's segment.
    fn left_out(&self, mapped: &Mapped, file: &dyn Bytes) -> Option<Region> {
        let start = mapped.range.start;
        let after = self.regions.partition_point(|region| region.range.start <= start);
        let before = after.checked_sub(1).and_then(|at| self.regions.get(at));
        if before.is_some_and(|region| region.range.contains(&start)) {
            return None;
        }
        let segments = ElfHeaders::read(file).map_or(Vec::new(), |image| image.segments);
        let flags = segments.iter().find(|segment| {
            let first = segment.offset & !(PAGE as u64 - 1);
            let end = segment.offset.saturating_add(segment.file_size);
            segment.kind == kind::LOAD && (first..end).contains(&mapped.offset)
        });
        let flags = flags.map_or(READABLE, |segment| segment.flags);
        Some(Region {
            range: mapped.range.clone(),
            readable: flags & READABLE != 0,
            writable: flags & WRITABLE != 0,
            executable: flags & EXECUTABLE != 0,
            shared: false,
            file: Some(mapped.path.clone()),
            offset: mapped.offset,
            inode: 0,
        })
    }

    /// Bytes of anonymous memory that the core file does not contain.
    fn missing_anonymous(&self) -> u64 {
        let anonymous =
            self.regions.iter().filter(|region| region.file.is_none() && region.writable);
        let mut bytes = 0_u64;
        for region in anonymous {
            let mut at = region.range.start;
            while let Some(hole) = self.hole(&(at..region.range.end)) {
                bytes = bytes.saturating_add(hole.end - hole.start);
                at = hole.end;
            }
        }
        bytes
    }

    /// Reads bytes that may be in several adjacent pieces.
    fn read_from(&self, mut address: u64, mut buffer: &mut [u8]) -> bool {
        while !buffer.is_empty() {
            let after = self.pieces.partition_point(|piece| piece.start <= address);
            let piece = after.checked_sub(1).and_then(|at| self.pieces.get(at));
            let Some(piece) = piece.filter(|piece| address < piece.end) else { return false };
            let there = usize::try_from(piece.end - address).unwrap_or(usize::MAX);
            let (now, later) = buffer.split_at_mut(there.min(buffer.len()));
            let Some(offset) = piece.offset.checked_add(address - piece.start) else {
                return false;
            };
            let source = match piece.source {
                Source::Core => Some(&self.core),
                Source::File(file) => self.files.get(file),
            };
            if !source.is_some_and(|source| source.read(offset, now)) {
                return false;
            }
            address += now.len() as u64;
            buffer = later;
        }
        true
    }
}

impl Memory for Core {
    fn read(&self, address: u64, buffer: &mut [u8]) -> bool {
        self.read_from(address, buffer)
    }

    fn regions(&self) -> &[Region] {
        &self.regions
    }
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a core of {} regions, {} threads", self.regions.len(), self.threads.len())
    }
}

/// An error in a core file or its executable.
#[derive(Debug)]
pub struct Wrong {
    /// Whether the error is in the executable.
    pub is_executable: bool,
    /// What is wrong.
    pub reason: String,
}

impl Wrong {
    fn core(reason: &str) -> Wrong {
        Wrong { is_executable: false, reason: reason.to_owned() }
    }
}

/// The file that was mapped at an address. `files` is in order of addresses.
fn at(files: &[Mapped], address: u64) -> Option<&Mapped> {
    let after = files.partition_point(|file| file.range.start <= address);
    files.get(after.checked_sub(1)?).filter(|file| file.range.contains(&address))
}
