//! Verification: reads everything to know that it is readable.

use super::directory::group_facts;
use super::{FieldValue, Snapshot};
use crate::error::{Result, SnapshotError};
use crate::losses::Losses;
use crate::model::{
    FiberOwner, FrameId, NameId, RootKind, SnapshotLocation, StackValue, Tables, ThreadId,
    VariableId,
};

impl Snapshot {
    /// Reads everything, checks its consistency, and reports all that is missing or damaged. `progress` is
    /// called with the fraction that is done.
    pub fn verify(&self, progress: &mut dyn FnMut(f64)) -> Losses {
        let tables = self.tables();
        let mut losses = self.losses().clone();
        let groups = self.groups().len();
        for index in 0..groups {
            progress(index as f64 / groups as f64);
            match self.verify_group(index, tables) {
                Ok(dangling) => losses.entries += dangling,
                Err(error) => losses.note_group(&error, self.groups()[index].blocks),
            }
            // The facts before the columns are only needed if the directory is lost.
            if let Err(error) = self.verify_facts(index) {
                losses.note_error(&error);
            }
        }
        verify_tables(tables, &mut losses);
        progress(1.0);
        losses
    }

    fn verify_facts(&self, index: usize) -> Result<()> {
        let sections = &self.directory.sections[index];
        let place = sections.first().ok_or(SnapshotError::Misuse("a group without sections"))?;
        if group_facts(&self.source, place)? == self.groups()[index] {
            return Ok(());
        }
        let reason = format!("group {index}: the directory contradicts it");
        Err(SnapshotError::Damaged { offset: place.offset, reason })
    }

    /// Reads all columns of a group. Returns how many closures and custom blocks refer to missing table
    /// entries.
    fn verify_group(&self, index: usize, tables: &Tables) -> Result<u64> {
        let group = self.group(index)?;
        let mut missing = 0_u64;
        for field in group.fields()?.iter() {
            missing += u64::from(field?.value == FieldValue::Missing);
        }
        if missing > 0 && !self.losses.is_cut {
            let reason = format!("group {index}: {missing} pointers to blocks that are missing");
            return Err(SnapshotError::Damaged { offset: group.offset(), reason });
        }
        let closures = group.closures()?;
        let closures = closures
            .iter()
            .filter(|closure| closure.codes.iter().any(|code| code.index() >= tables.codes.len()));
        let customs = group.customs()?;
        let customs =
            customs.iter().filter(|custom| custom.identifier.index() >= tables.customs.len());
        let dangling = closures.count() + customs.count();
        group.strings()?;
        group.equals()?;
        Ok(dangling as u64)
    }
}

/// Counts references from table to table that lead nowhere.
fn verify_tables(tables: &Tables, losses: &mut Losses) {
    let mut wrong = 0;
    let mut expect = |sound: bool| wrong += u64::from(!sound);
    let name = |id: NameId| id.index() < tables.names.len();
    let location = |at: &SnapshotLocation| name(at.function) && name(at.file);
    let frame = |id: Option<FrameId>| id.is_none_or(|id| id.index() < tables.frames.len());
    let thread = |id: ThreadId| id.index() < tables.threads.len();
    let frames = |first: FrameId, count: u32| {
        first.index().saturating_add(count as usize) <= tables.frames.len()
    };
    for pair in tables.spaces.windows(2) {
        expect(pair[0].end <= pair[1].start);
    }
    tables.spaces.iter().for_each(|space| expect(space.start <= space.end));
    tables.statistics.iter().for_each(|statistic| expect(name(statistic.name)));
    tables.modules.iter().for_each(|module| expect(name(module.name)));
    for thread in &tables.threads {
        expect(name(thread.name) && frames(thread.first_frame, thread.frames));
    }
    tables.frames.iter().for_each(|frame| expect(location(&frame.location)));
    for root in &tables.roots {
        expect(match root.kind {
            RootKind::Global { module, .. } | RootKind::DynamicGlobal { module, .. } => {
                module.index() < tables.modules.len()
            }
            RootKind::Stack { thread: of, frame: at, slot: _ } => thread(of) && frame(at),
            RootKind::Local { thread: of } => thread(of),
            RootKind::ThreadField { thread: of, what } => thread(of) && name(what),
            RootKind::CGlobal { name: what, .. }
            | RootKind::Hook { what }
            | RootKind::Sampler { what } => name(what),
            RootKind::Finaliser { .. } | RootKind::Unknown { .. } => true,
        });
    }
    for continuation in &tables.continuations {
        let held = |held: &StackValue| frame(held.frame);
        expect(
            frames(continuation.first_frame, continuation.frames)
                && continuation.held.iter().all(held),
        );
    }
    for fiber in tables.fiber_stacks() {
        expect(match fiber.owner {
            FiberOwner::Thread(of) => thread(of),
            FiberOwner::Continuation(_) | FiberOwner::Cache { .. } => true,
        });
    }
    tables.codes.iter().for_each(|code| expect(location(&code.location)));
    for variables in tables.variables.iter() {
        let variable = |id: VariableId| id.index() < variables.all.len();
        variables.all.iter().for_each(|known| expect(name(known.module) && name(known.name)));
        for environment in &variables.environments {
            let mut fields = environment.fields.iter();
            let is_code = environment.code.index() < tables.codes.len();
            expect(is_code && fields.all(|field| variable(field.variable)));
        }
        variables.slots.iter().for_each(|slot| expect(variable(slot.variable)));
    }
    tables.customs.iter().for_each(|&custom| expect(name(custom)));
    tables.labels.iter().for_each(|label| expect(name(label.name)));
    for sample in &tables.samples {
        expect(sample.stack.is_none_or(|stack| stack.index() < tables.stacks.len()));
    }
    for (at, node) in tables.stacks.iter().enumerate() {
        expect(location(&node.location) && node.caller.is_none_or(|caller| caller.index() < at));
    }
    tables.oddities.iter().for_each(|oddity| expect(name(oddity.what)));
    losses.entries += wrong;
}
