//! The contents of closure environments and stacks in bytecode, by the source variables in its debug
//! information.
//!
//! Native code keeps all values of a module in the module's block. Bytecode keeps only the public ones there,
//! and only after the module was initialised. Everything else is where it is used: in the environments of the
//! module's functions, and on the stack.

use bactrian_snapshot::{RootKind, VariableId, Variables};

use crate::{ModuleItem, Variable};

use super::evidence::Evidence;
use super::hash::Map;
use super::image::number;
use super::spread::Origin;
use super::terms::{Head, Scope, Term};
use super::typing::Category;
use super::units::plain;

/// A variable of the snapshot that the table knows.
struct Known<'t> {
    item: &'t ModuleItem,
    /// Its type, if that is the same for all its values.
    term: Option<Term>,
    origin: Option<Origin>,
}

/// Variables by their numbers in the snapshot.
type KnownVariables<'t> = Map<u32, Known<'t>>;

impl<'t> Evidence<'_, 't> {
    /// The types of variables' values.
    pub(crate) fn variables(&mut self) {
        let Some(variables) = &self.tables.variables else { return };
        let mut known = self.known_variables(variables);
        let slots = self.slots(variables);
        let closures = self.closures(variables);
        for &(block, variable) in slots.iter().chain(&closures) {
            match known.get(&variable.0).map(|known| known.item) {
                Some(ModuleItem::Extension(id)) => self.spread.note_extension(block, *id),
                Some(ModuleItem::Module(layout)) => self.spread.note_modules(block, *layout),
                _ => {}
            }
        }
        for (block, variable) in slots.into_iter().chain(closures) {
            if let Some(known) = known.get_mut(&variable.0) {
                self.give_variable(block, variable, known, variables);
            }
        }
    }

    fn known_variables(&self, variables: &Variables) -> KnownVariables<'t> {
        let names = &self.tables.names;
        let mut known = Map::default();
        for (at, variable) in (0..).zip(&variables.all) {
            let Some(unit) = self.units.used.get(&plain(names.get(variable.module))) else {
                continue;
            };
            let key = (*unit, variable.stamp);
            let place = |known: &Variable| (known.unit, known.stamp);
            let found = self.table.variables.binary_search_by_key(&key, place).ok();
            let found = found.map(|found| &self.table.variables[found]);
            if let Some(found) = found.filter(|found| *found.name == *names.get(variable.name)) {
                known.insert(at, Known { item: &found.item, term: None, origin: None });
            }
        }
        known
    }

    /// The values of variables on stacks.
    fn slots(&self, variables: &Variables) -> Vec<(u32, VariableId)> {
        let by_slot: Map<u64, VariableId> =
            variables.slots.iter().map(|known| (known.slot, known.variable)).collect();
        let roots = self.tables.roots.iter().filter_map(|root| match root.kind {
            RootKind::Stack { slot, .. } => Some((slot, root.target)),
            _ => None,
        });
        let suspended = self.tables.continuations.iter().flat_map(|of| &of.held);
        let held = roots.chain(suspended.map(|held| (held.slot, held.target)));
        let found = held.filter_map(|(slot, target)| {
            let variable = by_slot.get(&slot).filter(|_| target.infix == 0)?;
            Some((number(target.block, self.spread.image)?, *variable))
        });
        found.collect()
    }

    /// The values of variables in environments.
    fn closures(&self, variables: &Variables) -> Vec<(u32, VariableId)> {
        let image = self.spread.image;
        let mut by_code: Map<u32, Map<u32, VariableId>> = Map::default();
        for environment in &variables.environments {
            let fields = environment.fields.iter().map(|known| (known.field, known.variable));
            by_code.insert(environment.code.0, fields.collect());
        }
        let mut found = Vec::new();
        for closure in &image.closures {
            let Some(fields) = by_code.get(&closure.code) else { continue };
            for (position, target) in image.pointers(closure.block) {
                if let Some(variable) = fields.get(&u32::from(position)) {
                    found.push((target, *variable));
                }
            }
        }
        found
    }

    fn give_variable(
        &mut self,
        block: u32,
        variable: VariableId,
        known: &mut Known<'t>,
        variables: &Variables,
    ) {
        let terms = &mut self.spread.terms;
        let term = match (known.term, known.item) {
            (Some(term), _) => term,
            (None, ModuleItem::Value(of)) => terms.instantiate(*of, &mut Scope::fresh()),
            (None, ModuleItem::Module(layout)) => terms.make(Head::Module(*layout), &[]),
            (None, ModuleItem::Extension(_) | ModuleItem::Other(_)) => return,
        };
        if terms.is_ground(term) {
            known.term = Some(term);
        }
        let origin = match known.origin {
            Some(origin) => origin,
            None => {
                let names = &self.tables.names;
                let told = variables.all.get(variable.index());
                let [module, name] = told
                    .map_or(["?"; 2], |told| [told.module, told.name].map(|name| names.get(name)));
                let text = format!("variable {name} of {module}");
                self.origins.add(self.spread, text, Category::Exact)
            }
        };
        known.origin = Some(origin);
        self.spread.give(block, term, origin);
        self.spread.run();
    }
}
