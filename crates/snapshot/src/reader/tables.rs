//! Tables, each read on its own: a damaged one does not affect the others.

use super::directory::read_section;
use super::source::Source;
use crate::error::SnapshotError;
use crate::losses::Losses;
use crate::model::{Continuation, Ephemeron, FiberOwner, Pointer, Tables, WeakSlot};
use crate::wire::{Cursor, Record, SectionEntry, SectionKind};

/// Reads all tables. Entries about blocks that do not exist are dropped and counted.
pub(super) fn read(
    source: &Source,
    places: &[SectionEntry],
    blocks: u64,
    losses: &mut Losses,
) -> Tables {
    let mut reading = Reading { source, places, losses };
    let mut tables = Tables {
        names: reading.table(SectionKind::Names),
        spaces: reading.table(SectionKind::Spaces),
        memory: reading.table(SectionKind::Memory),
        statistics: reading.table(SectionKind::Statistics),
        modules: reading.table(SectionKind::Modules),
        threads: reading.table(SectionKind::Threads),
        frames: reading.table(SectionKind::Frames),
        roots: reading.table(SectionKind::Roots),
        finalisers: reading.table(SectionKind::Finalisers),
        ephemerons: reading.table(SectionKind::Ephemerons),
        continuations: reading.table(SectionKind::Continuations),
        codes: reading.table(SectionKind::Codes),
        customs: reading.table(SectionKind::Customs),
        labels: reading.table(SectionKind::Labels),
        samples: reading.table(SectionKind::Samples),
        stacks: reading.table(SectionKind::Stacks),
        gaps: reading.table(SectionKind::GapSentences),
        oddities: reading.table(SectionKind::Oddities),
        fibers: reading.later_table(SectionKind::FiberStacks),
        variables: reading.later_table(SectionKind::Variables),
        plugins: reading.later_table(SectionKind::Plugins).unwrap_or_default(),
        size_classes: reading.later_table(SectionKind::SizeClasses).unwrap_or_default(),
        sampling: reading.later_table(SectionKind::Sampling),
    };
    losses.entries += keep_sound(&mut tables, blocks);
    tables
}

struct Reading<'a> {
    source: &'a Source,
    places: &'a [SectionEntry],
    losses: &'a mut Losses,
}

impl Reading<'_> {
    fn table<T: Record + Default>(&mut self, kind: SectionKind) -> T {
        self.sound(kind).unwrap_or_default()
    }

    /// A table that older files do not have: it is no loss if it is missing.
    fn later_table<T: Record>(&mut self, kind: SectionKind) -> Option<T> {
        let is_there = self.places.iter().any(|place| place.kind == kind as u16);
        is_there.then(|| self.sound(kind)).flatten()
    }

    fn sound<T: Record>(&mut self, kind: SectionKind) -> Option<T> {
        match record(self.source, self.places, kind) {
            Ok(table) => Some(table),
            Err(error) => {
                self.losses.tables += 1;
                self.losses.note_error(&error);
                None
            }
        }
    }
}

/// Reads the only section of this kind.
pub(super) fn record<T: Record>(
    source: &Source,
    places: &[SectionEntry],
    kind: SectionKind,
) -> Result<T, SnapshotError> {
    let missing = || SnapshotError::Damaged {
        offset: source.len(),
        reason: format!("section \"{}\" is missing", kind.name()),
    };
    let place = places.iter().find(|place| place.kind == kind as u16).ok_or_else(missing)?;
    let contents = read_section(source, place)?;
    let damaged = |what: &str| SnapshotError::Damaged {
        offset: place.offset,
        reason: format!("section \"{}\": {what}", kind.name()),
    };
    let mut cursor = Cursor::new(&contents);
    let table = T::get(&mut cursor).map_err(|fault| damaged(fault.0))?;
    if cursor.at_end() { Ok(table) } else { Err(damaged("it is longer than it says")) }
}

/// Drops entries that refer to blocks that do not exist, so that nobody else has to check. Returns how many
/// were dropped.
fn keep_sound(tables: &mut Tables, blocks: u64) -> u64 {
    let mut dropped = 0;
    let is_block = |block: crate::BlockId| u64::from(block.0) < blocks;
    let is_sound = |pointer: &Pointer| is_block(pointer.block);
    let mut keep = |sound: bool| {
        dropped += u64::from(!sound);
        sound
    };
    tables.roots.retain(|root| keep(is_sound(&root.target)));
    tables
        .finalisers
        .retain(|finaliser| keep(finaliser.value.iter().chain(&finaliser.function).all(is_sound)));
    tables.ephemerons.retain(|Ephemeron { block, data, keys }| {
        let mut slots = keys.iter().chain([data]);
        keep(
            is_block(*block)
                && slots.all(|slot| match slot {
                    WeakSlot::Block(pointer) => is_sound(pointer),
                    WeakSlot::Empty | WeakSlot::Other | WeakSlot::Dead => true,
                }),
        )
    });
    tables.continuations.retain(|Continuation { block, held, .. }| {
        keep(is_block(*block) && held.iter().all(|held| is_sound(&held.target)))
    });
    tables.fibers.iter_mut().for_each(|fibers| {
        fibers.retain(|fiber| match fiber.owner {
            FiberOwner::Continuation(block) => keep(is_block(block)),
            FiberOwner::Thread(_) | FiberOwner::Cache { .. } => true,
        });
    });
    tables.labels.retain(|label| keep(is_block(label.block)));
    tables.samples.retain(|sample| keep(is_block(sample.block)));
    dropped
}
