//! The writer: a stream, without seeking.

mod group;

use std::io::Write;

use crate::error::{Result, SnapshotError};
use crate::model::{Columns, GroupFacts, Info, Tables};
use crate::wire::{FileHeader, Header, Packed, Packer, Record, SectionEntry, SectionKind, Trailer};

pub use group::{EncodedGroup, GroupBuilder};

/// The zstd level of tables, which are small compared to the blocks.
const TABLE_LEVEL: i32 = 3;

/// Writes a snapshot: groups in order of blocks, then tables, then the end.
pub struct Writer<W> {
    out: W,
    position: u64,
    packer: Packer,
    /// The announced number of blocks.
    blocks: u32,
    groups: Vec<GroupFacts>,
    sections: Vec<SectionEntry>,
}

impl<W: Write> Writer<W> {
    /// Begins a snapshot of `blocks` blocks.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn new(out: W, columns: Columns, blocks: u32, info: &Info) -> Result<Writer<W>> {
        let mut writer = Writer {
            out,
            position: 0,
            packer: Packer::new(TABLE_LEVEL)?,
            blocks,
            groups: Vec::new(),
            sections: Vec::new(),
        };
        writer.put(&FileHeader { columns, blocks }.to_bytes())?;
        writer.record(SectionKind::Info, info)?;
        Ok(writer)
    }

    /// The number of bytes written so far.
    pub fn bytes_written(&self) -> u64 {
        self.position
    }

    /// Writes a group. Groups must come in order of blocks, without gaps.
    ///
    /// # Errors
    /// The group is not the next one, or `out` cannot be written to.
    pub fn group(&mut self, group: EncodedGroup) -> Result<()> {
        let EncodedGroup { facts, columns } = group;
        let last = self.groups.last();
        if last.map_or(0, GroupFacts::end) != u64::from(facts.first.0) {
            return Err(SnapshotError::Misuse("a group does not begin where the one before ends"));
        }
        if last.is_some_and(|last| last.last_address >= facts.first_address) {
            return Err(SnapshotError::Misuse("groups are not in order of addresses"));
        }
        let number = self.groups.len() as u32;
        let mut bytes = Vec::new();
        facts.put(&mut bytes);
        self.section(SectionKind::Group, number, &Packed::plain(bytes))?;
        for (kind, packed) in &columns {
            self.section(*kind, number, packed)?;
        }
        self.groups.push(facts);
        Ok(())
    }

    /// Writes everything except blocks.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn tables(&mut self, tables: &Tables) -> Result<()> {
        let Tables {
            names,
            spaces,
            memory,
            statistics,
            modules,
            threads,
            frames,
            roots,
            finalisers,
            ephemerons,
            continuations,
            codes,
            customs,
            labels,
            samples,
            stacks,
            gaps,
            oddities,
            fibers,
            variables,
            plugins,
            size_classes,
            sampling,
        } = tables;
        self.record(SectionKind::Names, names)?;
        self.record(SectionKind::Spaces, spaces)?;
        self.record(SectionKind::Memory, memory)?;
        self.record(SectionKind::Statistics, statistics)?;
        self.record(SectionKind::Modules, modules)?;
        self.record(SectionKind::Threads, threads)?;
        self.record(SectionKind::Frames, frames)?;
        self.record(SectionKind::Roots, roots)?;
        self.record(SectionKind::Finalisers, finalisers)?;
        self.record(SectionKind::Ephemerons, ephemerons)?;
        self.record(SectionKind::Continuations, continuations)?;
        self.record(SectionKind::Codes, codes)?;
        self.record(SectionKind::Customs, customs)?;
        self.record(SectionKind::Labels, labels)?;
        self.record(SectionKind::Samples, samples)?;
        self.record(SectionKind::Stacks, stacks)?;
        self.record(SectionKind::GapSentences, gaps)?;
        self.record(SectionKind::Oddities, oddities)?;
        if let Some(fibers) = fibers {
            self.record(SectionKind::FiberStacks, fibers)?;
        }
        if let Some(variables) = variables {
            self.record(SectionKind::Variables, variables)?;
        }
        if !plugins.is_empty() {
            self.record(SectionKind::Plugins, plugins)?;
        }
        if !size_classes.is_empty() {
            self.record(SectionKind::SizeClasses, size_classes)?;
        }
        match sampling {
            None => Ok(()),
            Some(sampling) => self.record(SectionKind::Sampling, sampling),
        }
    }

    /// Ends the snapshot and returns the sink, flushed.
    ///
    /// # Errors
    /// The number of blocks is not the announced one, or `out` cannot be written to.
    pub fn finish(mut self) -> Result<W> {
        if self.groups.last().map_or(0, GroupFacts::end) != u64::from(self.blocks) {
            return Err(SnapshotError::Misuse("the number of blocks is not the announced one"));
        }
        let mut directory = Vec::new();
        self.groups.put(&mut directory);
        self.sections.put(&mut directory);
        let offset = self.position;
        let packed = self.packer.pack(&directory)?;
        self.section(SectionKind::Directory, 0, &packed)?;
        let trailer = Trailer { offset, length: self.position - offset };
        self.put(&trailer.to_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn record(&mut self, kind: SectionKind, record: &impl Record) -> Result<()> {
        let mut bytes = Vec::new();
        record.put(&mut bytes);
        let packed = self.packer.pack(&bytes)?;
        self.section(kind, 0, &packed)
    }

    fn section(&mut self, kind: SectionKind, number: u32, packed: &Packed) -> Result<()> {
        let header = Header::of(kind, number, packed);
        self.sections.push(SectionEntry { kind: kind as u16, number, offset: self.position });
        self.put(&header.to_bytes())?;
        self.put(&packed.bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}
