//! The writer: a stream, without seeking.

mod group;

use std::io::Write;

use crate::error::{Error, Result};
use crate::model::{Columns, GroupFacts, Info, Tables};
use crate::wire::{FileHeader, Header, Kind, Packed, Packer, Place, Record, Trailer};

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
    sections: Vec<Place>,
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
        writer.record(Kind::Info, info)?;
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
            return Err(Error::Misuse("a group does not begin where the one before ends"));
        }
        if last.is_some_and(|last| last.last_address >= facts.first_address) {
            return Err(Error::Misuse("groups are not in order of addresses"));
        }
        let number = self.groups.len() as u32;
        let mut bytes = Vec::new();
        facts.put(&mut bytes);
        self.section(Kind::Group, number, &Packed::plain(bytes))?;
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
        self.record(Kind::Names, names)?;
        self.record(Kind::Spaces, spaces)?;
        self.record(Kind::Memory, memory)?;
        self.record(Kind::Statistics, statistics)?;
        self.record(Kind::Modules, modules)?;
        self.record(Kind::Threads, threads)?;
        self.record(Kind::Frames, frames)?;
        self.record(Kind::Roots, roots)?;
        self.record(Kind::Finalisers, finalisers)?;
        self.record(Kind::Ephemerons, ephemerons)?;
        self.record(Kind::Continuations, continuations)?;
        self.record(Kind::Codes, codes)?;
        self.record(Kind::Customs, customs)?;
        self.record(Kind::Labels, labels)?;
        self.record(Kind::Samples, samples)?;
        self.record(Kind::Stacks, stacks)?;
        self.record(Kind::GapSentences, gaps)?;
        self.record(Kind::Oddities, oddities)?;
        if let Some(fibers) = fibers {
            self.record(Kind::FiberStacks, fibers)?;
        }
        if let Some(variables) = variables {
            self.record(Kind::Variables, variables)?;
        }
        if !plugins.is_empty() {
            self.record(Kind::Plugins, plugins)?;
        }
        if !size_classes.is_empty() {
            self.record(Kind::SizeClasses, size_classes)?;
        }
        match sampling {
            None => Ok(()),
            Some(sampling) => self.record(Kind::Sampling, sampling),
        }
    }

    /// Ends the snapshot and returns the sink, flushed.
    ///
    /// # Errors
    /// The number of blocks is not the announced one, or `out` cannot be written to.
    pub fn finish(mut self) -> Result<W> {
        if self.groups.last().map_or(0, GroupFacts::end) != u64::from(self.blocks) {
            return Err(Error::Misuse("the number of blocks is not the announced one"));
        }
        let mut directory = Vec::new();
        self.groups.put(&mut directory);
        self.sections.put(&mut directory);
        let offset = self.position;
        let packed = self.packer.pack(&directory)?;
        self.section(Kind::Directory, 0, &packed)?;
        let trailer = Trailer { offset, length: self.position - offset };
        self.put(&trailer.to_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn record(&mut self, kind: Kind, record: &impl Record) -> Result<()> {
        let mut bytes = Vec::new();
        record.put(&mut bytes);
        let packed = self.packer.pack(&bytes)?;
        self.section(kind, 0, &packed)
    }

    fn section(&mut self, kind: Kind, number: u32, packed: &Packed) -> Result<()> {
        let header = Header::of(kind, number, packed);
        self.sections.push(Place { kind: kind as u16, number, offset: self.position });
        self.put(&header.to_bytes())?;
        self.put(&packed.bytes)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.out.write_all(bytes)?;
        self.position += bytes.len() as u64;
        Ok(())
    }
}
