//! What is where in a file: read from its directory, or found by going from section to section.

use super::source::Source;
use crate::error::{Result, SnapshotError};
use crate::losses::Losses;
use crate::model::{GROUP_BLOCKS, GroupFacts};
use crate::wire::{
    Cursor, FileHeader, Header, Record, SECTION_HEADER, SectionEntry, SectionKind, Trailer, unpack,
};

/// The groups and sections of a file.
#[derive(Debug, Default)]
pub(super) struct Directory {
    pub groups: Vec<GroupFacts>,
    /// For each of `groups`, where its facts and its columns are.
    pub sections: Vec<Vec<SectionEntry>>,
    /// Sections that belong to no group.
    pub others: Vec<SectionEntry>,
}

impl Directory {
    /// Finds out what is where. Parts missing from a cut or damaged file are added to `losses`.
    pub fn find(source: &Source, header: &FileHeader, losses: &mut Losses) -> Result<Directory> {
        match Directory::told(source, header) {
            Ok(directory) => Ok(directory),
            Err(SnapshotError::Damaged { offset, reason }) => {
                losses.is_cut = true;
                losses.note(offset, reason);
                let directory = Directory::search(source, losses)?;
                let found: u64 = directory.groups.iter().map(|group| u64::from(group.blocks)).sum();
                losses.blocks += u64::from(header.blocks).saturating_sub(found);
                Ok(directory)
            }
            Err(other) => Err(other),
        }
    }

    /// The file's own directory, if it has one and it makes sense.
    fn told(source: &Source, header: &FileHeader) -> Result<Directory> {
        let end = source.len();
        let trailer_at = end.saturating_sub(Trailer::LENGTH as u64);
        let trailer = source.read(trailer_at, Trailer::LENGTH as u64)?;
        let damaged =
            |reason: &str| SnapshotError::Damaged { offset: trailer_at, reason: reason.into() };
        let trailer = Trailer::read(&trailer).map_err(|fault| damaged(fault.0))?;
        if trailer.offset.checked_add(trailer.length) != Some(trailer_at) {
            return Err(damaged("the directory is not where the trailer says"));
        }
        let place =
            SectionEntry { kind: SectionKind::Directory as u16, number: 0, offset: trailer.offset };
        let contents = read_section(source, &place)?;
        let damaged =
            |reason: &str| SnapshotError::Damaged { offset: trailer.offset, reason: reason.into() };
        let mut cursor = Cursor::new(&contents);
        let groups = Vec::get(&mut cursor).map_err(|fault| damaged(fault.0))?;
        let places: Vec<SectionEntry> = Vec::get(&mut cursor).map_err(|fault| damaged(fault.0))?;
        let directory = Directory::sorted(groups, &places, trailer.offset).map_err(damaged)?;
        directory.check(header).map_err(damaged)?;
        Ok(directory)
    }

    /// Assigns sections to groups. Each section takes room in the file, which bounds how many blocks a
    /// directory can claim.
    fn sorted(
        groups: Vec<GroupFacts>,
        places: &[SectionEntry],
        end: u64,
    ) -> std::result::Result<Directory, &'static str> {
        let apart = |pair: &[SectionEntry]| {
            let next = pair[0].offset.checked_add(SECTION_HEADER as u64);
            next.is_some_and(|next| next <= pair[1].offset)
        };
        if !places.windows(2).all(apart) || places.last().is_some_and(|last| last.offset >= end) {
            return Err("sections are not in the order of the file");
        }
        let mut directory =
            Directory { sections: vec![Vec::new(); groups.len()], ..Directory::default() };
        let mut announced = 0_u32;
        for &place in places {
            match SectionKind::from_code(place.kind) {
                Some(kind) if kind == SectionKind::Group || kind.is_column() => {
                    announced += u32::from(kind == SectionKind::Group);
                    if announced.checked_sub(1) != Some(place.number) {
                        return Err("groups are not in order");
                    }
                    let sections = directory.sections.get_mut(place.number as usize);
                    sections.ok_or("a section belongs to no group")?.push(place);
                }
                Some(_) => directory.others.push(place),
                // A section of a later version, which is not needed.
                None => {}
            }
        }
        if announced as usize != groups.len() {
            return Err("the number of groups is not the announced one");
        }
        directory.groups = groups;
        Ok(directory)
    }

    fn check(&self, header: &FileHeader) -> std::result::Result<(), &'static str> {
        let mut end = 0;
        let mut address = None;
        for group in &self.groups {
            if u64::from(group.first.0) != end || !is_sound(group) {
                return Err("groups do not follow each other");
            }
            if address >= Some(group.first_address) {
                return Err("groups are not in order of addresses");
            }
            (end, address) = (group.end(), Some(group.last_address));
        }
        if end == u64::from(header.blocks) { Ok(()) } else { Err("some blocks are in no group") }
    }

    /// Goes from section to section as far as they can be read.
    fn search(source: &Source, losses: &mut Losses) -> Result<Directory> {
        let mut directory = Directory::default();
        let mut at = FileHeader::LENGTH as u64;
        // The group to which columns belong; None if that group is lost.
        let mut current = None;
        while at < source.len() {
            let bytes = source.read(at, SECTION_HEADER as u64)?;
            let header = match Header::read(&bytes) {
                Ok(header) => header,
                Err(fault) => {
                    losses.note(at, fault.0);
                    break;
                }
            };
            let place = SectionEntry { kind: header.kind, number: header.number, offset: at };
            let next = at.saturating_add(SECTION_HEADER as u64).saturating_add(header.stored);
            if next > source.len() {
                losses.note(at, format!("the file ends inside a section: {}", name(header.kind)));
                break;
            }
            match SectionKind::from_code(header.kind) {
                Some(SectionKind::Group) => {
                    current = None;
                    match next_group(source, &place, directory.groups.last()) {
                        Ok(facts) => {
                            current = Some(place.number);
                            directory.groups.push(facts);
                            directory.sections.push(vec![place]);
                        }
                        Err(error @ SnapshotError::Damaged { .. }) => {
                            losses.groups += 1;
                            losses.note_error(&error);
                        }
                        Err(other) => return Err(other),
                    }
                }
                Some(kind) if kind.is_column() => {
                    if let (Some(sections), true) =
                        (directory.sections.last_mut(), current == Some(place.number))
                    {
                        sections.push(place);
                    }
                }
                Some(_) => directory.others.push(place),
                None => {}
            }
            at = next;
        }
        losses.bytes_unread = source.len().saturating_sub(at);
        Ok(directory)
    }
}

/// The facts of a group as written before its columns.
pub(super) fn group_facts(source: &Source, place: &SectionEntry) -> Result<GroupFacts> {
    let contents = read_section(source, place)?;
    GroupFacts::get(&mut Cursor::new(&contents)).map_err(|fault| SnapshotError::Damaged {
        offset: place.offset,
        reason: format!("the facts of a group: {}", fault.0),
    })
}

/// The facts of a group that was found after another.
fn next_group(
    source: &Source,
    place: &SectionEntry,
    before: Option<&GroupFacts>,
) -> Result<GroupFacts> {
    let facts = group_facts(source, place)?;
    // Groups may be lost in between, but no more than there is room for.
    let room = place.offset / SECTION_HEADER as u64 * u64::from(GROUP_BLOCKS);
    let follows = before.is_none_or(|before| {
        u64::from(facts.first.0) >= before.end() && facts.first_address > before.last_address
    });
    if is_sound(&facts) && follows && u64::from(facts.first.0) <= room {
        return Ok(facts);
    }
    let reason = "a group does not follow the one before".to_owned();
    Err(SnapshotError::Damaged { offset: place.offset, reason })
}

fn is_sound(facts: &GroupFacts) -> bool {
    let limit = u64::from(u32::MAX) + 1;
    (1..=GROUP_BLOCKS).contains(&facts.blocks)
        && facts.end() <= limit
        && facts.first_address <= facts.last_address
}

fn name(code: u16) -> &'static str {
    SectionKind::from_code(code).map_or("of an unknown kind", SectionKind::name)
}

/// The contents of the section at a place. The section must be of the kind that the place says.
pub(super) fn read_section(source: &Source, place: &SectionEntry) -> Result<Vec<u8>> {
    let damaged = |what: &str| SnapshotError::Damaged {
        offset: place.offset,
        reason: format!("section \"{}\": {what}", name(place.kind)),
    };
    let bytes = source.read(place.offset, SECTION_HEADER as u64)?;
    let header = Header::read(&bytes).map_err(|fault| damaged(fault.0))?;
    if (header.kind, header.number) != (place.kind, place.number) {
        return Err(damaged("another section is in its place"));
    }
    let at = place.offset.saturating_add(SECTION_HEADER as u64);
    let stored = source.read(at, header.stored)?;
    if stored.len() as u64 != header.stored {
        return Err(damaged("the file ends inside it"));
    }
    if crc32fast::hash(&stored) != header.sum {
        return Err(damaged("its checksum is wrong"));
    }
    unpack(&stored, header.raw, header.is_compressed).map_err(|fault| damaged(fault.0))
}
