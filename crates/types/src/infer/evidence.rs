//! Evidence for types: globals, samples, finalisers. Variables are in `variables.rs`.

use bactrian_snapshot::{RootKind, Snapshot, SnapshotLocation, Tables};

use crate::{Builtin, DeclarationKind, ExtensionId, LayoutId, ModuleItem, Table};

use super::eliminate::Elimination;
use super::hash::Map;
use super::image::{HeapImage, number};
use super::sites::{Found, Sites};
use super::spread::{Origin, Spread};
use super::terms::{Head, Scope, Term};
use super::typing::Category;
use super::units::Units;

/// Origins of types, as text for people.
#[derive(Default)]
pub(crate) struct Origins {
    pub texts: Vec<String>,
}

impl Origins {
    pub(super) fn add(&mut self, spread: &mut Spread<'_>, text: String, rank: Category) -> Origin {
        self.texts.push(text);
        spread.ranks.push(rank);
        self.texts.len() as Origin - 1
    }
}

/// Counts of samples by result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct SampleCounts {
    pub found: u64,
    pub ambiguous: u64,
    pub nothing: u64,
}

/// Collects all evidence and spreads it.
pub(crate) struct Evidence<'a, 't> {
    pub table: &'t Table,
    pub tables: &'t Tables,
    pub units: &'t Units,
    pub spread: &'a mut Spread<'t>,
    pub origins: Origins,
    pub samples: SampleCounts,
}

impl<'t> Evidence<'_, 't> {
    /// The types of the fields of modules.
    pub(crate) fn globals(&mut self) {
        let image = self.spread.image;
        let mut fields: Vec<(u32, ModuleItem, String)> = Vec::new();
        for root in &self.tables.roots {
            let (RootKind::Global { module, field } | RootKind::DynamicGlobal { module, field }) =
                root.kind
            else {
                continue;
            };
            let Some(&Some((layout, count))) = self.units.layouts.get(module.index()) else {
                continue;
            };
            let target = Some(root.target).filter(|target| target.infix == 0);
            let Some(block) = target.and_then(|target| number(target.block, image)) else {
                continue;
            };
            let module = self.tables.modules.get(module.index());
            let module = module.map_or("?", |module| self.tables.names.get(module.name));
            if self.units.is_bytecode {
                fields.push((block, ModuleItem::Module(layout), format!("module {module}")));
                continue;
            }
            let known = self.table.layouts.get(layout.index()).filter(|_| field < count);
            if let Some(known) = known.and_then(|layout| layout.fields.get(field as usize)) {
                fields.push((block, known.item.clone(), format!("global {module}.{}", known.name)));
            }
        }
        self.extensions(&fields);
        for (block, item, text) in fields {
            let term = match item {
                ModuleItem::Value(of) => self.spread.terms.instantiate(of, &mut Scope::closed(&[])),
                ModuleItem::Module(layout) => self.module(layout),
                ModuleItem::Extension(_) | ModuleItem::Other(_) => continue,
            };
            let origin = self.origins.add(self.spread, text, Category::Exact);
            self.spread.give(block, term, origin);
            self.spread.run();
        }
    }

    fn module(&mut self, layout: LayoutId) -> Term {
        self.spread.terms.make(Head::Module(layout), &[])
    }

    /// Notes the constructors of extensible types in modules, and the built-in ones.
    fn extensions(&mut self, fields: &[(u32, ModuleItem, String)]) {
        for (block, item, _) in fields {
            match item {
                ModuleItem::Extension(id) => self.spread.note_extension(*block, *id),
                ModuleItem::Module(layout) => self.spread.note_modules(*block, *layout),
                ModuleItem::Value(_) | ModuleItem::Other(_) => {}
            }
        }
        let by_name: Map<&str, ExtensionId> = self
            .table
            .extensions
            .iter()
            .enumerate()
            .filter(|(_, extension)| !extension.name.contains('.'))
            .map(|(at, extension)| (&*extension.name, ExtensionId(at as u32)))
            .collect();
        for label in &self.tables.labels {
            let name = self.tables.names.get(label.name);
            if let Some(&id) = name.strip_prefix("caml_exn_").and_then(|name| by_name.get(name))
                && let Some(block) = number(label.block, self.spread.image)
            {
                self.spread.note_extension(block, id);
            }
        }
        for root in self.tables.roots.iter().filter(|_| self.units.is_bytecode) {
            let RootKind::Global { module, .. } = root.kind else { continue };
            let module = self.tables.modules.get(module.index());
            let name = module.map_or("", |module| self.tables.names.get(module.name));
            if let (Some(&id), Some(block)) =
                (by_name.get(name), number(root.target.block, self.spread.image))
            {
                self.spread.note_extension(block, id);
            }
        }
    }

    /// The types of sampled blocks.
    pub(crate) fn samples(&mut self) {
        let image = self.spread.image;
        let mut sites = Sites::new(self.table, &self.units.is_used);
        let mut origins: Map<SnapshotLocation, Origin> = Map::default();
        for sample in &self.tables.samples {
            // C primitives allocate on behalf of their callers.
            let is_ours = |place: &SnapshotLocation| self.tables.names.get(place.file) != "<C>";
            let place = self.tables.innermost(sample.stack, is_ours);
            let (Some(place), Some(block)) = (place, number(sample.block, image)) else {
                continue;
            };
            let (form, words) = (image.forms[block as usize], image.words[block as usize]);
            let spread = &mut *self.spread;
            let found = sites.find(
                place,
                (&self.tables.names, form, words),
                (&mut spread.terms, &mut spread.shapes),
            );
            let term = match found {
                Found::Scheme(of) => spread.terms.instantiate(of, &mut Scope::fresh()),
                Found::Term(term) => term,
                Found::Ambiguous => {
                    self.samples.ambiguous += 1;
                    continue;
                }
                Found::Nothing => {
                    self.samples.nothing += 1;
                    continue;
                }
            };
            self.samples.found += 1;
            // Strings are created as bytes.
            let is_bytes = self.spread.terms.builtin(term) == Some(Builtin::Bytes);
            let term = if is_bytes { Term::TEXT } else { term };
            let origin = match origins.get(&place) {
                Some(&origin) => origin,
                None => {
                    let text = self.sampled_at(&place);
                    let origin = self.origins.add(self.spread, text, Category::Sample);
                    origins.insert(place, origin);
                    origin
                }
            };
            self.spread.give(block, term, origin);
            self.spread.run();
        }
    }

    fn sampled_at(&self, location: &SnapshotLocation) -> String {
        format!("sampled at {}:{}", self.tables.names.get(location.file), location.line)
    }

    /// The types of the arguments of finalisers' functions.
    pub(crate) fn finalisers(&mut self) {
        let image = self.spread.image;
        let mut origin = None;
        for finaliser in &self.tables.finalisers {
            let (Some(value), Some(function)) = (finaliser.value, finaliser.function) else {
                continue;
            };
            // Finalisers of `Gc.finalise_last` are called with unit.
            if finaliser.kind == bactrian_snapshot::FinaliserKind::Last || function.infix != 0 {
                continue;
            }
            let place = number(value.block, image).zip(number(function.block, image));
            let Some((value, function)) = place.filter(|_| value.infix == 0) else { continue };
            let Some(term) = self.spread.typed(function) else { continue };
            if !matches!(self.spread.terms.head(term), Head::Arrow(_))
                || self.spread.typed(value).is_some()
            {
                continue;
            }
            let argument = self.spread.terms.arguments(term).first().copied();
            let origin = *origin.get_or_insert_with(|| {
                let text = "its finaliser".to_owned();
                self.origins.add(self.spread, text, Category::Inference)
            });
            self.spread.give(value, argument.unwrap_or(Term::ANY), origin);
            self.spread.run();
        }
    }

    /// Learns what variables stand for from the blocks of that type.
    pub(crate) fn inference(&mut self) {
        let text = "others in the same place".to_owned();
        let origin = self.origins.add(self.spread, text, Category::Inference);
        self.spread.pull(origin);
        if self.units.is_closed() {
            let text = "nothing else has such fields".to_owned();
            let elimination = self.origins.add(self.spread, text, Category::Inference);
            Elimination::new(self.spread).run(self.spread, elimination);
            self.spread.pull(origin);
        }
    }
}

/// The hashes of all cases of polymorphic variants, ascending.
pub(crate) fn case_hashes(table: &Table) -> Vec<i32> {
    let cases = table.declarations.iter().filter_map(|declaration| match &declaration.kind {
        DeclarationKind::Cases { cases, .. } => Some(cases),
        _ => None,
    });
    let mut hashes: Vec<i32> = cases.flatten().map(|case| case.hash).collect();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

/// Reads a heap in the form that inference needs.
pub(crate) fn read(table: &Table, snapshot: &Snapshot, progress: &mut dyn FnMut(f64)) -> HeapImage {
    HeapImage::read(snapshot, &case_hashes(table), progress)
}
