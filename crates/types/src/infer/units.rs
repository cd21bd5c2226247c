//! Which units of a table are those of the program, and what they say of its modules' blocks.
//!
//! A wrong unit would give wrong types to all that its globals hold. So one is used only if nothing speaks
//! against it: its name is that of one module, no other unit has it, and the module has no field that it does
//! not know.

use bactrian_snapshot::{CodeKind, RootKind, Snapshot};

use crate::{LayoutId, Table, UnitId};

use super::hash::Map;
use super::typing::{UnitFate, UnitStanding};

/// Units that are used.
pub(crate) struct Units {
    /// For each module of the snapshot: its layout and how many fields of it hold.
    pub layouts: Vec<Option<(LayoutId, u32)>>,
    /// For each module, its unit.
    pub units: Vec<Option<UnitId>>,
    /// For each unit of the table, whether it is used.
    pub is_used: Vec<bool>,
    pub standings: Vec<UnitStanding>,
}

impl Units {
    pub(crate) fn find(table: &Table, snapshot: &Snapshot) -> Units {
        let tables = snapshot.tables();
        let mut known: Map<String, Vec<UnitId>> = Map::default();
        for (at, unit) in table.units.iter().enumerate() {
            known.entry(plain(&unit.name)).or_default().push(UnitId(at as u32));
        }
        let mut greatest = vec![None; tables.modules.len()];
        for root in &tables.roots {
            if let RootKind::Global { module, field } | RootKind::DynamicGlobal { module, field } =
                root.kind
                && let Some(last) = greatest.get_mut(module.index())
            {
                *last = (*last).max(Some(field));
            }
        }
        let mut units = Units {
            layouts: vec![None; tables.modules.len()],
            units: vec![None; tables.modules.len()],
            is_used: vec![false; table.units.len()],
            standings: Vec::new(),
        };
        let is_native = snapshot.info().code == CodeKind::Native;
        for (at, module) in tables.modules.iter().enumerate() {
            let name = tables.names.get(module.name);
            let candidates = known.get(&plain(name)).map_or(&[][..], |found| found);
            let fate = match candidates {
                [] => UnitFate::Missing,
                &[unit] => units.judge(table, unit, at, greatest[at], is_native),
                _ => UnitFate::Ambiguous,
            };
            units.standings.push(UnitStanding { name: name.to_owned(), fate });
        }
        units
    }

    /// Decides whether a unit is used for a module, of which it is known which field is the last that points to
    /// something.
    fn judge(
        &mut self,
        table: &Table,
        id: UnitId,
        module: usize,
        last: Option<u32>,
        is_native: bool,
    ) -> UnitFate {
        let unit = &table.units[id.index()];
        let layout = unit.layout.and_then(|id| Some((id, table.layouts.get(id.index())?)));
        let Some((layout_id, layout)) = layout else {
            self.is_used[id.index()] = true;
            self.units[module] = Some(id);
            return UnitFate::Public;
        };
        let count = if is_native { layout.fields.len() as u32 } else { layout.public };
        if last.is_some_and(|last| last >= count) {
            return UnitFate::Stale;
        }
        self.is_used[id.index()] = true;
        self.units[module] = Some(id);
        self.layouts[module] = Some((layout_id, count));
        if is_native { UnitFate::Whole } else { UnitFate::Public }
    }
}

/// A unit's name without how it is mangled: `Stdlib__Map` and `Stdlib.Map` are the same.
pub(crate) fn plain(name: &str) -> String {
    name.replace("__", ".")
}
