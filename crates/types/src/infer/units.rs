//! Which units of a table belong to the program, and what they say about its modules' blocks.
//!
//! A wrong unit would give wrong types to everything that its globals hold. So a unit is used only if the
//! program contains its digest, and its layout only if the module's block has as many fields. A module without
//! a digest in the program, as in a stripped executable, has no types.

use bactrian_snapshot::{CodeKind, Module, RootKind, Snapshot};
use std::borrow::Cow;

use crate::{DeclarationKind, LayoutId, Table, Unit, UnitId};

use super::hash::Map;
use super::typing::{UnitFate, UnitStanding};

/// The maximum number of leading parts of a name, such as `Stdlib.Map.t`, that are tried as a unit's name.
const MOST_PARTS: usize = 8;

/// The units that are used.
pub(crate) struct Units {
    /// For each module of the snapshot its layout, and how many of the layout's fields exist.
    pub layouts: Vec<Option<(LayoutId, u32)>>,
    /// For each unit of the table, whether it is used.
    pub is_used: Vec<bool>,
    /// The used units by their plain names.
    pub used: Map<String, UnitId>,
    pub standings: Vec<UnitStanding>,
    /// Whether the program is bytecode. Then a global is the block of a module, a predefined exception, or a
    /// constant.
    pub is_bytecode: bool,
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
            used: Map::default(),
            standings: Vec::new(),
            is_bytecode: snapshot.info().code == CodeKind::Bytecode,
        };
        for (at, module) in tables.modules.iter().enumerate() {
            let name = tables.names.get(module.name);
            let candidates = known.get(&plain(name)).map_or(&[][..], |found| found);
            let fitting: Vec<UnitId> = candidates
                .iter()
                .copied()
                .filter(|unit| fits(&table.units[unit.index()], module) == Some(true))
                .collect();
            // In bytecode, the only field is the module's block.
            let last = greatest[at].filter(|_| !units.is_bytecode);
            let fate = match (&fitting[..], candidates) {
                // Not a module.
                (_, []) if units.is_bytecode && module.interface.is_none() => UnitFate::Whole,
                (_, []) => UnitFate::Missing,
                (&[unit], _) => {
                    units.used.insert(plain(name), unit);
                    units.take(table, unit, at, (module.fields, last))
                }
                ([], &[unit]) if fits(&table.units[unit.index()], module).is_none() => {
                    UnitFate::Unchecked
                }
                ([], _) => UnitFate::Stale,
                _ => UnitFate::Ambiguous,
            };
            units.standings.push(UnitStanding { name: name.to_owned(), fate });
        }
        units.parts();
        units
    }

    /// With flambda, a module's hidden value may be a module of its own in the snapshot, such as `Main.table`.
    /// It gets the standing of its module.
    fn parts(&mut self) {
        let fates: Map<String, UnitFate> =
            self.standings.iter().map(|unit| (unit.name.clone(), unit.fate)).collect();
        for standing in &mut self.standings {
            let of = standing.name.rsplit_once('.').and_then(|(unit, _)| fates.get(unit));
            if let (UnitFate::Missing, Some(&of)) = (standing.fate, of) {
                standing.fate = if of == UnitFate::Whole { UnitFate::Public } else { of };
            }
        }
    }

    /// Whether all modules of the program are known, so that every declaration is in the table.
    pub(crate) fn is_closed(&self) -> bool {
        let is_known = |standing: &UnitStanding| {
            matches!(standing.fate, UnitFate::Whole | UnitFate::Public | UnitFate::SitesOnly)
        };
        !self.standings.is_empty() && self.standings.iter().all(is_known)
    }

    /// The table without the representations of types declared in units that are not those of the program;
    /// `None` if there are no such types. Other units only know the names of these types.
    pub(crate) fn believable(&self, table: &Table) -> Option<Table> {
        let is_other = |standing: &&UnitStanding| {
            matches!(standing.fate, UnitFate::Stale | UnitFate::Unchecked)
        };
        let names = self
            .standings
            .iter()
            .filter(is_other)
            .map(|standing| written(&standing.name).into_owned());
        let names: Map<String, ()> = names.map(|name| (name, ())).collect();
        let is_of_other = |name: &str| {
            let ends = name.match_indices('.').map(|(at, _)| at);
            ends.take(MOST_PARTS).any(|end| names.contains_key(&name[..end]))
        };
        if !table.declarations.iter().any(|declaration| is_of_other(&declaration.name)) {
            return None;
        }
        let mut table = table.clone();
        for declaration in &mut table.declarations {
            if is_of_other(&declaration.name) {
                declaration.kind = DeclarationKind::Abstract("of another build".into());
                declaration.generic = None;
            }
        }
        Some(table)
    }

    /// Uses a unit for a module. `fields` is the number of fields of the module's block, if known; `last` is
    /// the last of them that points to something.
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
        // In bytecode the number of fields is unknown, and there are no hidden ones.
        let count = fields.unwrap_or(layout.public);
        let is_whole = count as usize == layout.fields.len();
        if (!is_whole && count != layout.public) || last.is_some_and(|last| last >= count) {
            return UnitFate::SitesOnly;
        }
        self.layouts[module] = Some((layout_id, count));
        if is_whole { UnitFate::Whole } else { UnitFate::Public }
    }
}

/// Whether a module was built from a unit; `None` if there is no digest to compare.
fn fits(unit: &Unit, module: &Module) -> Option<bool> {
    let same = |one: Option<[u8; 16]>, other: Option<[u8; 16]>| Some(one? == other?);
    same(unit.implementation, module.implementation)
        .or_else(|| same(unit.interface, module.interface))
}

/// A unit's name without mangling: `Stdlib__Map` and `Stdlib.Map` become the same.
pub(crate) fn plain(name: &str) -> String {
    name.replace("__", ".")
}

/// A unit, or something in it, as written in source code: `Stdlib__Map` is `Map`, `Dune__exe__Main.load` is
/// `Main.load`, `Lib__Mod` is `Lib.Mod`. Other names, such as those of files and of C functions, are unchanged.
pub fn written(name: &str) -> Cow<'_, str> {
    let (unit, rest) = name.split_at(name.find('.').unwrap_or(name.len()));
    if !unit.contains("__") || !unit.starts_with(|first: char| first.is_ascii_uppercase()) {
        return name.into();
    }
    let unit = plain(unit);
    let prefixes = ["Stdlib.", "Dune.exe."];
    let short = prefixes.iter().find_map(|prefix| unit.strip_prefix(prefix));
    format!("{}{rest}", short.unwrap_or(&unit)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_written_as_in_the_source() {
        for (name, expected) in [
            ("Stdlib__List.map", "List.map"),
            ("Dune__exe__Cache.Table.add.(fun)", "Cache.Table.add.(fun)"),
            ("Lib__Mod.f__2", "Lib.Mod.f__2"),
            ("Lib__Sub__Mod", "Lib.Sub.Mod"),
            ("Stdlib.(^)", "Stdlib.(^)"),
            ("Main.f", "Main.f"),
            ("my__file.ml:3", "my__file.ml:3"),
            ("caml__x", "caml__x"),
        ] {
            assert_eq!(written(name), expected);
            assert_eq!(written(&written(name)), expected, "once is enough");
        }
    }
}
