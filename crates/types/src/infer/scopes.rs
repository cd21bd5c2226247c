//! The contents of closure environments and stacks in native code, by the variables in scope.
//!
//! The problem: native code does not say which variable is in which place.
//!
//! The idea: there are few possibilities. An environment holds variables in whose scope the function is. A
//! frame holds variables in whose scope the call is, or the result of an expression of its function. If the
//! block in the place, and everything that it points to, can be of the type of only one of them, it has that
//! type. This is reported as inference.
//!
//! Types that fit anything, such as `'a` and abstract types, are never concluded in this way, but they rule out
//! all other conclusions: the block may be of such a type.

use std::rc::Rc;

use bactrian_snapshot::{FrameId, Pointer, RootKind, SnapshotLocation, tag};

use crate::{Builtin, DeclarationKind, Lines, ModuleItem, Site, Table, TypeId, UnitId, Variable};

use super::evidence::Evidence;
use super::hash::Map;
use super::image::{FAR, UNREAD, number};
use super::shape::{Fields, Shape};
use super::spread::{Origin, Spread};
use super::terms::{Head, Scope, Term};
use super::typing::Category;
use super::units::plain;

/// The maximum number of blocks followed to see whether a block can be of a type.
const FAR_ENOUGH: usize = 300;
/// The maximum number of blocks followed for one field of a function's environments.
const MOST_HELD: usize = 50;
/// With more candidate types than this, there is no conclusion.
const MOST_TYPES: usize = 400;
/// The maximum number of blocks examined in all; what is left after that remains unknown.
const MOST_STEPS: usize = 100_000_000;
/// The maximum number of steps from a type to the representation of its values.
const STEPS: usize = 8;

/// The candidate types of a place.
type Types = Rc<[TypeId]>;

/// What is in scope where.
struct Scopes<'t> {
    variables: Map<UnitId, Vec<(&'t Variable, &'t Lines)>>,
    sites: Map<UnitId, Vec<&'t Site>>,
    /// Answers so far.
    known: Map<(SnapshotLocation, bool), Types>,
    steps: usize,
}

impl<'t> Scopes<'t> {
    fn new(table: &'t Table, is_used: &[bool]) -> Scopes<'t> {
        let is_used = |unit: UnitId| is_used.get(unit.index()) == Some(&true);
        let mut variables: Map<UnitId, Vec<_>> = Map::default();
        for variable in table.variables.iter().filter(|variable| is_used(variable.unit)) {
            if let Some(lines) = &variable.scope {
                variables.entry(variable.unit).or_default().push((variable, lines));
            }
        }
        let mut sites: Map<UnitId, Vec<_>> = Map::default();
        for site in table.sites.iter().filter(|site| variables.contains_key(&site.unit)) {
            sites.entry(site.unit).or_default().push(site);
        }
        Scopes { variables, sites, known: Map::default(), steps: 0 }
    }

    /// The types of the variables in scope at a line and, if requested, of the expressions computed in the
    /// function around it. If the line is unknown (0), all variables of the unit count.
    fn at(&self, unit: UnitId, file: &str, line: u32, with_results: bool) -> Vec<TypeId> {
        let variables = self.variables.get(&unit).map_or(&[][..], |all| all);
        let is_there = |lines: &Lines| {
            line == 0 || *lines.file == *file && (lines.first..=lines.last).contains(&line)
        };
        let there: Vec<_> = variables.iter().filter(|(_, lines)| is_there(lines)).collect();
        let mut types: Vec<TypeId> = Vec::new();
        for (variable, _) in &there {
            if let ModuleItem::Value(of) = variable.item {
                types.push(of);
            }
        }
        if with_results {
            // Without a line, the function is unknown.
            if line == 0 {
                return Vec::new();
            }
            // The innermost function there.
            let functions = there.iter().map(|(_, lines)| lines).filter(|lines| lines.of_parameter);
            let function = functions.min_by_key(|lines| lines.last.saturating_sub(lines.first));
            let (first, last) = function.map_or((line, line), |lines| (lines.first, lines.last));
            let sites = self.sites.get(&unit).map_or(&[][..], |all| all);
            let is_in = |site: &&&Site| *site.file == *file && (first..=last).contains(&site.line);
            types.extend(sites.iter().filter(is_in).map(|site| site.of));
        }
        types.sort_unstable();
        types.dedup();
        types
    }
}

impl<'t> Evidence<'_, 't> {
    /// Finds the types of blocks in environments and on stacks of native code, where only one is possible.
    pub(crate) fn scopes(&mut self) {
        if self.units.is_bytecode {
            return;
        }
        let mut scopes = Scopes::new(self.table, &self.units.is_used);
        let text = "the only variable in its scope that it can be".to_owned();
        let origin = self.origins.add(self.spread, text, Category::Inference);
        self.captures(&mut scopes.steps);
        self.environments(&mut scopes, origin);
        self.stacks(&mut scopes, origin);
    }

    fn environments(&mut self, scopes: &mut Scopes<'t>, origin: Origin) {
        let image = self.spread.image;
        let mut places: Map<(u32, u8), Vec<u32>> = Map::default();
        for closure in &image.closures {
            for (position, target) in image.pointers(closure.block).filter(|(at, _)| *at < FAR) {
                places.entry((closure.code, position)).or_default().push(target);
            }
        }
        let mut places: Vec<_> = places.into_iter().collect();
        places.sort_unstable_by_key(|(place, _)| *place);
        for ((code, _), held) in places {
            if !held.iter().any(|&block| self.is_open(block)) {
                continue;
            }
            let Some(code) = self.tables.codes.get(code as usize) else { continue };
            let types = self.types_at(scopes, &[code.location], false);
            let some: Vec<u32> = held.iter().copied().take(MOST_HELD).collect();
            let Some(of) = self.only(scopes, &types, &some) else { continue };
            for &block in &held {
                self.give_if_open(scopes, block, of, origin);
            }
        }
    }

    fn stacks(&mut self, scopes: &mut Scopes<'t>, origin: Origin) {
        let roots = self.tables.roots.iter().filter_map(|root| match root.kind {
            RootKind::Stack { frame, .. } => Some((frame?, root.target)),
            _ => None,
        });
        let suspended = self.tables.continuations.iter().flat_map(|of| &of.held);
        let suspended = suspended.filter_map(|held| Some((held.frame?, held.target)));
        let all: Vec<(FrameId, Pointer)> = roots.chain(suspended).collect();
        for (frame, target) in all {
            let block = number(target.block, self.spread.image).filter(|_| target.infix == 0);
            // A function has its own environment there, which is not a variable.
            let is_function =
                |block: &u32| self.spread.image.forms[*block as usize].tag() == tag::CLOSURE;
            let block = block.filter(|block| self.is_open(*block) && !is_function(block));
            let Some(block) = block else { continue };
            let places = self.inlined_at(frame);
            let types = self.types_at(scopes, &places, true);
            if let Some(of) = self.only(scopes, &types, &[block]) {
                self.give_if_open(scopes, block, of, origin);
            }
        }
    }

    /// Whether a block's type is still unknown.
    pub(super) fn is_open(&self, block: u32) -> bool {
        let spread = &*self.spread;
        spread.typed(block).is_none()
            && spread.by_header(block).is_none()
            && !spread.is_shared(block)
            && spread.image.forms[block as usize] != UNREAD
    }

    /// The call sites of a frame: its own and those of the functions that are inlined there.
    fn inlined_at(&self, frame: FrameId) -> Vec<SnapshotLocation> {
        let frames = &self.tables.frames;
        let address = |at: usize| frames.get(at).map(|frame| frame.return_address);
        let Some(here) = address(frame.index()) else { return Vec::new() };
        let is_same = |at: &usize| address(*at) == Some(here);
        let inlined = (0..frame.index()).rev().take_while(is_same);
        let inlined = inlined.take_while(|at| frames[*at].is_inlined);
        let around = (frame.index()..frames.len()).take_while(is_same);
        // The frame itself is the first one that is not inlined.
        let mut is_over = false;
        let around = around.take_while(|at| {
            let goes_on = !is_over;
            is_over |= !frames[*at].is_inlined;
            goes_on
        });
        inlined.chain(around).map(|at| frames[at].location).collect()
    }

    /// The candidate types of a place.
    fn types_at(
        &self,
        scopes: &mut Scopes<'t>,
        places: &[SnapshotLocation],
        with_results: bool,
    ) -> Types {
        let mut all: Vec<TypeId> = Vec::new();
        for &place in places {
            let known = scopes.known.get(&(place, with_results)).cloned();
            let types = known.unwrap_or_else(|| {
                let names = &self.tables.names;
                let unit = self.unit_of(names.get(place.function));
                let file = names.get(place.file);
                let types: Types = match unit {
                    Some(unit) => scopes.at(unit, file, place.line, with_results).into(),
                    None => [].into(),
                };
                scopes.known.insert((place, with_results), types.clone());
                types
            });
            if places.len() == 1 {
                return types;
            }
            // Where nothing is known, anything may be.
            if types.is_empty() {
                return [].into();
            }
            all.extend_from_slice(&types);
        }
        all.sort_unstable();
        all.dedup();
        all.into()
    }

    /// The unit that contains a function.
    pub(super) fn unit_of(&self, function: &str) -> Option<UnitId> {
        let function = plain(function);
        let ends = function.match_indices('.').map(|(at, _)| at);
        ends.filter_map(|end| self.units.used.get(&function[..end])).next_back().copied()
    }

    /// The only one of these types that all these blocks can be of.
    fn only(
        &mut self,
        scopes: &mut Scopes<'t>,
        types: &[TypeId],
        blocks: &[u32],
    ) -> Option<TypeId> {
        if types.len() > MOST_TYPES {
            return None;
        }
        let mut only: Option<(TypeId, Term)> = None;
        for &of in types {
            let closed = self.spread.terms.instantiate(of, &mut Scope::closed(&[]));
            if only.is_some_and(|(_, known)| known == closed) {
                continue;
            }
            if blocks.iter().all(|&block| can_be(self.spread, block, of, &mut scopes.steps)) {
                if only.is_some() {
                    return None;
                }
                only = Some((of, closed));
            }
        }
        // If the search was cut short, other types may fit, too.
        let (of, closed) = only.filter(|_| !is_over(scopes.steps))?;
        is_telling(self.spread, closed).then_some(of)
    }

    fn give_if_open(&mut self, scopes: &mut Scopes<'t>, block: u32, of: TypeId, origin: Origin) {
        if self.is_open(block) && can_be(self.spread, block, of, &mut scopes.steps) {
            let term = self.spread.terms.instantiate(of, &mut Scope::fresh());
            self.spread.give(block, term, origin);
            self.spread.run();
        }
    }
}

/// Whether the budget of steps is used up.
pub(super) fn is_over(steps: usize) -> bool {
    steps > MOST_STEPS
}

/// Whether a block and everything that it points to can be of a type.
pub(super) fn can_be(spread: &mut Spread<'_>, block: u32, of: TypeId, steps: &mut usize) -> bool {
    let mark = spread.terms.mark();
    let term = spread.terms.instantiate(of, &mut Scope::fresh());
    let can_be = does_lead(spread, block, term, steps);
    spread.terms.undo(mark);
    can_be
}

/// Whether a type can identify blocks, because it does not fit everything.
fn is_telling(spread: &Spread<'_>, term: Term) -> bool {
    match spread.terms.head(term) {
        Head::Tuple | Head::Arrow(_) | Head::Package(..) | Head::Module(_) => true,
        Head::Declared(_) => match spread.terms.declaration(term).map(|of| &of.kind) {
            Some(
                DeclarationKind::Record(..)
                | DeclarationKind::Variant(..)
                | DeclarationKind::Cases { .. },
            ) => true,
            Some(DeclarationKind::Builtin(which)) => {
                matches!(which, Builtin::Array | Builtin::Floatarray | Builtin::Lazy)
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether a block and everything that it points to match a type.
fn does_lead(spread: &mut Spread<'_>, block: u32, term: Term, steps: &mut usize) -> bool {
    let mut seen: Map<u32, ()> = Map::default();
    let mut next = vec![(block, term)];
    let mut at = 0;
    while let Some(&(block, term)) = next.get(at) {
        at += 1;
        *steps += 1;
        if at > FAR_ENOUGH {
            return true;
        }
        // This is no answer: whoever excludes a type by it checks the budget. A type that is not given is safe.
        if is_over(*steps) {
            return false;
        }
        if seen.insert(block, ()).is_some() {
            continue;
        }
        match look(spread, block, term) {
            Look::Clashes => return false,
            Look::Ends => {}
            Look::Fields(fields) => {
                for (position, target) in spread.image.pointers(block) {
                    let field = match &fields {
                        Fields::Same(element) => Some(*element),
                        Fields::Each(fields) => fields.get(usize::from(position)).copied(),
                        _ => None,
                    };
                    next.extend(field.filter(|_| position < FAR).map(|field| (target, field)));
                }
            }
        }
    }
    true
}

/// What a type says about a block.
enum Look {
    /// The block cannot be of the type.
    Clashes,
    /// It can, and nothing more is known.
    Ends,
    /// It can, and these are the types of its fields.
    Fields(Fields),
}

fn look(spread: &mut Spread<'_>, block: u32, term: Term) -> Look {
    let at = block as usize;
    let (form, words) = (spread.image.forms[at], spread.image.words[at]);
    let known = if spread.is_shared(block) { None } else { spread.typed(block) };
    let mut term = spread.terms.shallow(term);
    for _ in 0..STEPS {
        if form == UNREAD || matches!(spread.terms.head(term), Head::None | Head::Any) {
            return Look::Ends;
        }
        if matches!(spread.terms.head(term), Head::Variable(_)) && known.is_none() {
            return Look::Ends;
        }
        match spread.shapes.of(&mut spread.terms, term, form, words) {
            Shape::Fits(_) | Shape::Waits if known.is_some() => {
                let (is_function, is_text) =
                    (matches!(spread.terms.head(term), Head::Arrow(_)), form.tag() == tag::STRING);
                let agrees = |known| spread.terms.unify(term, known).is_ok();
                // What it points to is known, too.
                return match is_function || is_text || known.is_none_or(agrees) {
                    true => Look::Ends,
                    false => Look::Clashes,
                };
            }
            Shape::Fits(fit) => {
                return match &fit.fields {
                    Fields::Module(layout, count) => {
                        Look::Fields(Fields::Each(spread.module(*layout, *count)))
                    }
                    Fields::Cases => match (spread.image.case(block), spread.case(block, term)) {
                        (Some(_), None) => Look::Clashes,
                        _ => Look::Ends,
                    },
                    Fields::Each(_) | Fields::Same(_) => Look::Fields(fit.fields.clone()),
                    Fields::None | Fields::Open => Look::Ends,
                };
            }
            Shape::Becomes(inner) => term = spread.terms.shallow(inner),
            Shape::Clashes if words == 0 => return Look::Ends,
            Shape::Clashes => return Look::Clashes,
            Shape::Waits => return Look::Ends,
        }
    }
    Look::Ends
}
