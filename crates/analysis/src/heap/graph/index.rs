//! Index files: columns of numbers computed from a snapshot, kept for later questions and memory-mapped.
//!
//! A header identifies the snapshot and locates the sections. The header and each section have a checksum; a
//! section's is verified at its first use. Sections are aligned to 64 bytes. Header and numbers are in the
//! machine's byte order, so an index from a machine of the other byte order is not recognised.
//! [`store`](super::store) manages the files.
//!
//! The meaning of an index is not trusted: the code that takes numbers from it verifies that they are
//! possible.

use std::io::{self, Write};
use std::ops::Range;

use bactrian_graph::{Column, MappedFile};
use bactrian_snapshot::Snapshot;
use bytemuck::Pod;

use super::store::IndexStore;
use crate::parallel;

const MAGIC: u64 = u64::from_be_bytes(*b"\x89HEAPIDX");
/// To be incremented when the meaning of a section changes, when nodes or classes are numbered differently,
/// or when type inference changes.
const VERSION: u64 = 7;
const ALIGNMENT: usize = 64;
/// An upper bound on the number of sections.
const MOST_SECTIONS: u64 = 64;

/// The contents of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum IndexSection {
    Offsets = 1,
    Targets,
    Weights,
    ClassOf,
    ClassNumbers,
    Census,
    Dominators,
    Retained,
    Components,
    ComponentCount,
    Shares,
    Shortest,
    ReversedOffsets,
    ReversedTargets,
    Held,
    ClassTotals,
    TagTotals,
    /// Shapes of nodes and types of shapes, if the heap was opened with types.
    ShapeOf,
    ShapeTypes,
    TypeOverview,
    /// What is known of each block's type.
    TypeOf,
    Categories,
    Origins,
    Reasons,
    Forms,
    BlockWords,
    TypeDetails,
}

/// The snapshot and the type table that an index belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subject {
    file_bytes: u64,
    blocks: u64,
    fingerprint: u64,
    /// The digest of the type table; 0 without one.
    types: u64,
}

impl Subject {
    /// Identifies a snapshot and a type table (0 without one). None if the snapshot is damaged, because
    /// nothing is kept of damaged snapshots.
    pub fn of(snapshot: &Snapshot, types: u64) -> Option<Subject> {
        let fingerprint = snapshot.fingerprint().ok()?;
        let is_whole = snapshot.losses().is_clean();
        let (file_bytes, blocks) = (snapshot.file_bytes(), snapshot.blocks());
        is_whole.then_some(Subject { file_bytes, blocks, fingerprint, types })
    }

    /// The file name of its index. It contains the whole identity, so that names never collide, and the
    /// version, so that two versions of this program do not replace each other's indexes.
    fn name(&self) -> String {
        let Subject { file_bytes, blocks, fingerprint, types } = self;
        format!("{fingerprint:016x}-{file_bytes:x}-{blocks:x}-{types:016x}-v{VERSION}")
    }
}

/// The header: magic, version, number of sections; the snapshot's file size, number of blocks and
/// fingerprint; the digest of the type table; the checksum of all this and of the list of sections.
type Header = [u64; 8];

/// An entry in the list of sections: kind, checksum, offset, bytes.
type Entry = [u64; 4];

#[derive(Clone, Copy, Debug)]
struct Section {
    kind: u64,
    sum: u64,
    range: (u64, u64),
}

/// An open index.
#[derive(Debug)]
pub(super) struct Index {
    map: MappedFile,
    sections: Vec<Section>,
}

impl Index {
    /// Opens the index of a snapshot, if there is one.
    pub fn open(store: &IndexStore, subject: &Subject) -> Option<Index> {
        Index::read(store.find(&subject.name())?, subject)
    }

    /// Reads an index; None if it does not belong to this snapshot.
    pub fn read(map: MappedFile, subject: &Subject) -> Option<Index> {
        let bytes = map.bytes();
        let (header, rest) = bytes.split_at_checked(size_of::<Header>())?;
        let header: Header = bytemuck::try_pod_read_unaligned(header).ok()?;
        let [.., sum] = header;
        let count = Some(header[2]).filter(|&count| count <= MOST_SECTIONS)?;
        let list = rest.get(..count as usize * size_of::<Entry>())?;
        if header != head(count, subject, sum) || sum_of(&header, list) != sum {
            return None;
        }
        let entries = list.chunks_exact(size_of::<Entry>());
        let sections = entries.map(|bytes| {
            let [kind, sum, offset, length]: Entry =
                bytemuck::try_pod_read_unaligned(bytes).ok()?;
            Some(Section { kind, sum, range: (offset, offset.checked_add(length)?) })
        });
        let sections = sections.collect::<Option<Vec<Section>>>()?;
        Some(Index { map, sections })
    }

    /// The numbers of a section; None if it is missing or damaged.
    pub fn column<T: Pod>(&self, kind: IndexSection) -> Option<Column<T>> {
        self.section(kind).and_then(|(range, _)| self.map.column(range).ok())
    }

    /// The bytes of a section; None if it is missing or damaged.
    fn bytes(&self, kind: IndexSection) -> Option<&[u8]> {
        self.section(kind).map(|(_, bytes)| bytes)
    }

    fn section(&self, kind: IndexSection) -> Option<(Range<usize>, &[u8])> {
        let section = self.sections.iter().find(|section| section.kind == kind as u64)?;
        let (start, end) = section.range;
        let range = usize::try_from(start).ok()?..usize::try_from(end).ok()?;
        let bytes = self.map.bytes().get(range.clone())?;
        (u64::from(crc32fast::hash(bytes)) == section.sum).then_some((range, bytes))
    }
}

fn head(sections: u64, subject: &Subject, sum: u64) -> Header {
    let Subject { file_bytes, blocks, fingerprint, types } = *subject;
    [MAGIC, VERSION, sections, file_bytes, blocks, fingerprint, types, sum]
}

fn sum_of(header: &Header, list: &[u8]) -> u64 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(bytemuck::cast_slice(&header[..header.len() - 1]));
    hasher.update(list);
    hasher.finalize().into()
}

/// Sections to be written.
#[derive(Default)]
pub(super) struct Sections<'a>(Vec<(IndexSection, &'a [u8])>);

impl<'a> Sections<'a> {
    /// Adds a section.
    pub fn add<T: Pod>(&mut self, kind: IndexSection, numbers: &'a [T]) {
        self.0.push((kind, bytemuck::cast_slice(numbers)));
    }

    /// Adds sections of the old index whose kinds are still missing.
    pub fn add_old(&mut self, old: &'a Index, kinds: &[IndexSection]) {
        for &kind in kinds {
            let is_there = self.0.iter().any(|(known, _)| *known == kind);
            // Damaged sections must not get a new checksum.
            if let Some(bytes) = (!is_there).then(|| old.bytes(kind)).flatten() {
                self.0.push((kind, bytes));
            }
        }
    }

    /// Writes the index of a snapshot, replacing the old one.
    pub fn keep(&self, store: &IndexStore, subject: &Subject) -> io::Result<()> {
        store.put(&subject.name(), self.file_bytes(), |out| self.write_to(out, subject))
    }

    /// The size of the file.
    fn file_bytes(&self) -> u64 {
        let start = size_of::<Header>() + self.0.len() * size_of::<Entry>();
        let add = |at: usize, (_, bytes): &(IndexSection, &[u8])| {
            at.next_multiple_of(ALIGNMENT) + bytes.len()
        };
        self.0.iter().fold(start, add) as u64
    }

    /// Writes an index.
    pub fn write_to(&self, out: &mut dyn Write, subject: &Subject) -> io::Result<()> {
        let start = size_of::<Header>() + self.0.len() * size_of::<Entry>();
        let mut offset = start.next_multiple_of(ALIGNMENT);
        let sums = parallel::map(&self.0, |(_, bytes)| crc32fast::hash(bytes));
        let mut list: Vec<Entry> = Vec::new();
        for ((kind, bytes), sum) in self.0.iter().zip(sums) {
            list.push([*kind as u64, sum.into(), offset as u64, bytes.len() as u64]);
            offset = (offset + bytes.len()).next_multiple_of(ALIGNMENT);
        }
        let list: &[u8] = bytemuck::cast_slice(&list);
        let mut header = head(self.0.len() as u64, subject, 0);
        header[7] = sum_of(&header, list);
        out.write_all(bytemuck::cast_slice(&header))?;
        out.write_all(list)?;
        let mut at = start;
        for (_, bytes) in &self.0 {
            out.write_all(&[0; ALIGNMENT][..at.next_multiple_of(ALIGNMENT) - at])?;
            out.write_all(bytes)?;
            at = at.next_multiple_of(ALIGNMENT) + bytes.len();
        }
        Ok(())
    }
}
