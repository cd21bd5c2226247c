//! The reader: everything is read on request, and damage costs only the damaged part.

mod directory;
mod fields;
mod group;
mod source;
mod tables;
mod verify;

use std::fmt;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::OnceLock;

use crate::error::Result;
use crate::losses::Losses;
use crate::model::{BlockId, Columns, GroupFacts, Info, Tables};
use crate::wire::{FileHeader, MAGIC, SECTION_HEADER, SectionKind};
use directory::Directory;
use source::Source;

pub use fields::{Edge, Edges, Field, FieldValue, Fields, FieldsIter};
pub use group::{Block, Closure, Custom, Equal, Group, Text};

/// A snapshot that is being read.
pub struct Snapshot {
    source: Source,
    header: FileHeader,
    info: Info,
    directory: Directory,
    /// Losses found when the file was opened.
    losses: Losses,
    tables: OnceLock<(Tables, Losses)>,
}

impl Snapshot {
    /// Opens the snapshot at `path`.
    ///
    /// # Errors
    /// There is no such file, or it is not a snapshot. A file that is cut or damaged after its header is not an
    /// error: see [`Snapshot::losses`].
    pub fn open(path: &Path) -> Result<Snapshot> {
        Snapshot::new(Source::open(path)?)
    }

    /// Reads a snapshot from bytes in memory: a vector or a mapped file.
    ///
    /// # Errors
    /// As [`Snapshot::open`].
    pub fn from_bytes(
        bytes: impl Deref<Target = [u8]> + Send + Sync + 'static,
    ) -> Result<Snapshot> {
        Snapshot::new(Source::Bytes(Box::new(bytes)))
    }

    fn new(source: Source) -> Result<Snapshot> {
        let header = FileHeader::read(&source.read(0, FileHeader::LENGTH as u64)?)?;
        let mut losses = Losses::default();
        let directory = Directory::find(&source, &header, &mut losses)?;
        let info =
            tables::record(&source, &directory.others, SectionKind::Info).unwrap_or_else(|error| {
                losses.tables += 1;
                losses.note_error(&error);
                Info::default()
            });
        Ok(Snapshot { source, header, info, directory, losses, tables: OnceLock::new() })
    }

    /// The circumstances in which it was taken.
    pub fn info(&self) -> &Info {
        &self.info
    }

    /// What it records of blocks.
    pub fn columns(&self) -> &Columns {
        &self.header.columns
    }

    /// The size of the file in bytes.
    pub fn file_bytes(&self) -> u64 {
        self.source.len()
    }

    /// A hash of the headers of all sections except the directory's, and of a checksum of the whole file. It
    /// distinguishes a snapshot from all others and from a damaged copy of itself. It has 64 bits because
    /// everything derived from all snapshots of a user is kept in one directory. The file is read but not
    /// decompressed.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn fingerprint(&self) -> Result<u64> {
        // FNV-1a.
        let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        let mut hash = 0xcbf2_9ce4_8422_2325;
        let groups = self.directory.sections.iter().flatten();
        for place in groups.chain(&self.directory.others) {
            // A checksum over headers that contain their own checksums would be the same for all files, so they
            // are hashed.
            let header = self.source.read(place.offset, SECTION_HEADER as u64)?;
            hash = header.iter().fold(hash, step);
        }
        const AT_ONCE: u64 = 1 << 20;
        let mut sum = crc32fast::Hasher::new();
        for offset in (0..self.source.len()).step_by(AT_ONCE as usize) {
            sum.update(&self.source.read(offset, AT_ONCE)?);
        }
        Ok(sum.finalize().to_le_bytes().iter().fold(hash, step))
    }

    /// The highest number of a readable block plus one; in a complete file, the number of blocks. Never more
    /// than 2,000 times the size of the file in bytes.
    pub fn blocks(&self) -> u64 {
        self.directory.groups.last().map_or(0, GroupFacts::end)
    }

    /// The number of blocks of the complete file, according to its header.
    pub fn blocks_announced(&self) -> u64 {
        u64::from(self.header.blocks)
    }

    /// The number of pointers from block to block.
    pub fn edges(&self) -> u64 {
        self.directory.groups.iter().fold(0, |sum, group| sum.saturating_add(group.edges))
    }

    /// The readable groups, in order.
    pub fn groups(&self) -> &[GroupFacts] {
        &self.directory.groups
    }

    /// Reads the shapes and addresses of a group; the rest is read on request.
    ///
    /// # Errors
    /// The group is damaged or does not exist.
    pub fn group(&self, index: usize) -> Result<Group<'_>> {
        Group::read(self, index)
    }

    /// The index of the group that contains a block.
    pub fn group_of(&self, block: BlockId) -> Option<usize> {
        let groups = self.groups();
        let after = groups.partition_point(|group| group.first <= block);
        let index = after.checked_sub(1)?;
        (u64::from(block.0) < groups[index].end()).then_some(index)
    }

    /// A block by its number; `None` if there is none.
    ///
    /// # Errors
    /// Its group is damaged.
    pub fn block(&self, block: BlockId) -> Result<Option<Block>> {
        let Some(index) = self.group_of(block) else { return Ok(None) };
        let group = self.group(index)?;
        Ok(group.blocks().get(block.index() - group.facts().first.index()).copied())
    }

    /// The block that contains an address, its header included; `None` if there is none.
    ///
    /// # Errors
    /// The group that would contain it is damaged.
    pub fn find(&self, address: u64) -> Result<Option<Block>> {
        // The header precedes the address of a block, so the search is for the next word.
        let first_field = address.saturating_add(8);
        let after = self.groups().partition_point(|group| group.first_address <= first_field);
        let Some(index) = after.checked_sub(1) else { return Ok(None) };
        let group = self.group(index)?;
        let after = group.blocks().partition_point(|block| block.address <= first_field);
        let block = after.checked_sub(1).map(|at| group.blocks()[at]);
        Ok(block.filter(|block| {
            address < block.address || (address - block.address) >> 3 < block.words
        }))
    }

    /// Everything except blocks. Read by the first call. Damaged tables are empty and from then on counted in
    /// [`Snapshot::losses`].
    pub fn tables(&self) -> &Tables {
        let (tables, _) = self.tables.get_or_init(|| {
            let mut losses = self.losses.clone();
            let others = &self.directory.others;
            let tables = tables::read(&self.source, others, self.blocks(), &mut losses);
            (tables, losses)
        });
        tables
    }

    /// Losses known so far. Only [`Snapshot::verify`] reads everything.
    pub fn losses(&self) -> &Losses {
        self.tables.get().map_or(&self.losses, |(_, losses)| losses)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let groups = self.groups().len();
        f.debug_struct("Snapshot")
            .field("source", &self.source)
            .field("header", &self.header)
            .field("info", &self.info)
            .field("groups", &groups)
            .finish_non_exhaustive()
    }
}

/// Whether these are the first bytes of a snapshot; eight suffice.
pub fn is_snapshot(beginning: &[u8]) -> bool {
    beginning.starts_with(MAGIC)
}

/// Whether the file at `path` begins like a snapshot.
///
/// # Errors
/// The file cannot be read.
pub fn is_snapshot_file(path: &Path) -> io::Result<bool> {
    let mut beginning = Vec::new();
    io::Read::read_to_end(
        &mut io::Read::take(std::fs::File::open(path)?, MAGIC.len() as u64),
        &mut beginning,
    )?;
    Ok(is_snapshot(&beginning))
}
