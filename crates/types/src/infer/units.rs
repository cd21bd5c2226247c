//! Which units of a table are those of the program, and what they say of its modules' blocks.
//!
//! A wrong unit would give wrong types to all that its globals hold. So one is used only if the program repeats its
//! digest, and what it says of the module's block only if that has as many fields. A module of which the
//! program says no digest, as in a stripped executable, has no types.

use bactrian_snapshot::{Module, RootKind, Snapshot};

use crate::{LayoutId, Table, Unit, UnitId};

use super::hash::Map;
use super::typing::{UnitFate, UnitStanding};

/// Units that are used.
pub(crate) struct Units {
    /// For each module of the snapshot: its layout and how many fields of it hold.
    pub layouts: Vec<Option<(LayoutId, u32)>>,
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
            is_used: vec![false; table.units.len()],
            standings: Vec::new(),
        };
        for (at, module) in tables.modules.iter().enumerate() {
            let name = tables.names.get(module.name);
            let candidates = known.get(&plain(name)).map_or(&[][..], |found| found);
            let fitting: Vec<UnitId> = candidates
                .iter()
                .copied()
                .filter(|unit| fits(&table.units[unit.index()], module) == Some(true))
                .collect();
            let fate = match (&fitting[..], candidates) {
                (_, []) => UnitFate::Missing,
                (&[unit], _) => units.take(table, unit, at, (module.fields, greatest[at])),
                ([], &[unit]) if fits(&table.units[unit.index()], module).is_none() => {
                    UnitFate::Unchecked
                }
                ([], _) => UnitFate::Stale,
                _ => UnitFate::Ambiguous,
            };
            units.standings.push(UnitStanding { name: name.to_owned(), fate });
        }
        units
    }

    /// Whether all modules of the program are known, so that what is not in the table is not there at all.
    pub(crate) fn is_closed(&self) -> bool {
        let is_known = |standing: &UnitStanding| {
            matches!(standing.fate, UnitFate::Whole | UnitFate::Public | UnitFate::SitesOnly)
        };
        !self.standings.is_empty() && self.standings.iter().all(is_known)
    }

    /// Uses a unit for a module, whose block has so many fields, if that is known, of which the last that points to
    /// something is this.
    fn take(
        &mut self,
        table: &Table,
        id: UnitId,
        module: usize,
        (fields, last): (Option<u32>, Option<u32>),
    ) -> UnitFate {
        self.is_used[id.index()] = true;
        let layout = table.units[id.index()].layout;
        let Some(layout_id) = layout.filter(|id| id.index() < table.layouts.len()) else {
            return UnitFate::SitesOnly;
        };
        let layout = &table.layouts[layout_id.index()];
        // In bytecode the number of fields is not known, and hidden ones are not there.
        let count = fields.unwrap_or(layout.public);
        let is_whole = count as usize == layout.fields.len();
        if (!is_whole && count != layout.public) || last.is_some_and(|last| last >= count) {
            return UnitFate::SitesOnly;
        }
        self.layouts[module] = Some((layout_id, count));
        if is_whole { UnitFate::Whole } else { UnitFate::Public }
    }
}

/// Whether a unit is what a module was made from; `None` if nothing tells.
fn fits(unit: &Unit, module: &Module) -> Option<bool> {
    let same = |one: Option<[u8; 16]>, other: Option<[u8; 16]>| Some(one? == other?);
    same(unit.implementation, module.implementation)
        .or_else(|| same(unit.interface, module.interface))
}

/// A unit's name without how it is mangled: `Stdlib__Map` and `Stdlib.Map` are the same.
pub(crate) fn plain(name: &str) -> String {
    name.replace("__", ".")
}
