//! How types reach blocks.
//!
//! **The problem.** A few blocks have known types (those that globals hold, those that were sampled); most have
//! not. A block's type determines the types of its fields, and thereby of the blocks they point to.
//!
//! **The data.** A term for each block (none yet, a variable, or a type that the block's header does not
//! contradict), a queue of blocks whose fields have not been processed yet, and for each variable the blocks of
//! that type.
//!
//! **The rules.**
//! - Hard facts come first: a type that contradicts a block's header is not assigned but reported as a
//!   conflict.
//! - The first type stays, and evidence comes in order: globals, then samples, then inference. A later type
//!   that agrees may refine it ([`Terms::unify`]); one that disagrees is reported as a conflict and spreads no
//!   further.
//! - The compiler shares constants in static data between all expressions that look alike, whatever their
//!   types. So there a second type is no conflict, and nothing is learnt from it except that the block has what
//!   both types have in common. The same holds for the empty array and for functions, which may be polymorphic.
//! - A block that is reached as a variable waits until the variable is bound. Bindings are learnt from two
//!   types of the same block, and after everything else from the blocks that wait for the variable, if all of
//!   them agree ([`Spread::pull`]): known elements determine the type of a list.
//!
//! Time is constant for each pointer and for each refinement of a block's type; refinements are rare and
//! bounded.

use std::rc::Rc;

use bactrian_snapshot::tag;

use crate::{
    Builtin, Case, DeclarationKind, ExtensionId, LayoutId, ModuleItem, Representation, Table, Type,
    TypeId,
};

use super::hash::Map;
use super::image::{FAR, HeapImage, UNREAD};
use super::shape::{Custom, Fields, Shape, Shapes, made_by, module_fields};
use super::terms::{Head, Scope, Term, Terms};
use super::typing::Category;

/// The maximum number of steps from a type to the representation of its values.
const STEPS: usize = 32;
/// The maximum number of conflicts that are kept.
pub(crate) const MOST_CONFLICTS: usize = 10_000;

/// Where a type comes from, as an index.
pub(crate) type Origin = u32;

/// No origin.
pub(crate) const NOWHERE: Origin = u32::MAX;

/// Two types for one block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clashing {
    pub block: u32,
    /// [`Term::NONE`] stands for the header.
    pub kept: (Term, Origin),
    pub other: (Term, Origin),
}

/// Types of blocks so far.
pub(crate) struct Spread<'t> {
    pub image: &'t HeapImage,
    pub terms: Terms<'t>,
    pub shapes: Shapes,
    pub of: Vec<Term>,
    pub origin: Vec<Origin>,
    queue: Vec<u32>,
    /// Blocks that no longer wait, and the types to assign to them.
    later: Vec<(u32, Term, Origin)>,
    pub(super) waiting: Map<u32, Vec<u32>>,
    pub extensions: Map<u32, ExtensionId>,
    pub conflicts: Vec<Clashing>,
    /// Blocks with conflicts.
    pub conflicted: Map<u32, ()>,
    /// Types whose values may appear as values of another type.
    pub(super) hidden: Map<Head, ()>,
    /// How many more refinements are allowed.
    upgrades: usize,
    modules: Map<(LayoutId, u32), Rc<[Term]>>,
    /// The types of blocks that are certain from their tags.
    float: Term,
    boxed: [(Builtin, Term); 3],
    /// The rank of each origin, and blocks with conflicts between equal ranks.
    pub(super) ranks: Vec<Category>,
    pub distrusted: Map<u32, ()>,
    /// Shared constants whose types have nothing in common.
    pub many: Map<u32, ()>,
    /// Whether the integers that select cases of polymorphic variants are recorded.
    pub has_immediates: bool,
}

impl<'t> Spread<'t> {
    pub(crate) fn new(table: &'t Table, image: &'t HeapImage, shapes: Shapes) -> Spread<'t> {
        let mut terms = Terms::new(table);
        let builtin = |terms: &mut Terms<'t>, wanted: Builtin| {
            let is_it = |known: &crate::Declaration| known.kind == DeclarationKind::Builtin(wanted);
            let at = table.declarations.iter().position(is_it);
            at.map_or(Term::NONE, |at| terms.declared(crate::DeclarationId(at as u32), &[]))
        };
        let float = builtin(&mut terms, Builtin::Float);
        let boxed = [Builtin::Int32, Builtin::Int64, Builtin::Nativeint]
            .map(|wanted| (wanted, builtin(&mut terms, wanted)));
        let hidden = hidden_types(&mut terms);
        Spread {
            image,
            terms,
            shapes,
            of: vec![Term::NONE; image.len()],
            origin: vec![NOWHERE; image.len()],
            queue: Vec::new(),
            later: Vec::new(),
            waiting: Map::default(),
            extensions: Map::default(),
            conflicts: Vec::new(),
            conflicted: Map::default(),
            hidden,
            upgrades: image.len().saturating_mul(4).saturating_add(1 << 20),
            modules: Map::default(),
            float,
            boxed,
            ranks: Vec::new(),
            distrusted: Map::default(),
            many: Map::default(),
            has_immediates: false,
        }
    }

    /// Gives a block a type.
    pub(crate) fn give(&mut self, block: u32, term: Term, origin: Origin) {
        let at = block as usize;
        let mut term = self.terms.shallow(term);
        let old = self.of[at];
        if old == term || self.image.forms[at] == UNREAD {
            return;
        }
        for _ in 0..STEPS {
            match self.terms.head(term) {
                Head::None | Head::Any => return,
                Head::Variable(number) => return self.wait(block, number, term, origin),
                _ => {}
            }
            let (form, words) = (self.image.forms[at], self.image.words[at]);
            let shape = self.shapes.of(&mut self.terms, term, form, words);
            self.wake();
            match shape {
                Shape::Fits(_) => return self.settle(block, term, origin),
                Shape::Becomes(inner) => term = self.terms.shallow(inner),
                // All empty arrays are the same block.
                Shape::Clashes if words == 0 => return,
                Shape::Clashes => return self.clash(block, (Term::NONE, NOWHERE), (term, origin)),
                Shape::Waits => return,
            }
        }
    }

    /// Gives a block a type that matches its header.
    fn settle(&mut self, block: u32, term: Term, origin: Origin) {
        let at = block as usize;
        let old = self.of[at];
        match self.terms.head(old) {
            Head::Any if self.many.contains_key(&block) => return,
            Head::None | Head::Any | Head::Variable(_) => {
                self.of[at] = term;
                self.origin[at] = origin;
                return self.queue.push(block);
            }
            _ => {}
        }
        if old == term {
            return;
        }
        let is_function = matches!(self.terms.head(term), Head::Arrow(_));
        if self.is_shared(block) || is_function {
            return self.share(block, old, term);
        }
        match self.terms.unify(old, term) {
            Ok(merged) => {
                if merged != old && self.upgrades > 0 && self.does_fit(block, merged) {
                    self.upgrades -= 1;
                    self.of[at] = merged;
                    self.queue.push(block);
                }
                self.wake();
            }
            // A block may be bytes while it is filled and a string from then on.
            Err(_) if self.image.forms[at].tag() == tag::STRING => {}
            Err(_) => self.clash(block, (old, self.origin[at]), (term, origin)),
        }
    }

    fn does_fit(&mut self, block: u32, term: Term) -> bool {
        let (form, words) = (self.image.forms[block as usize], self.image.words[block as usize]);
        matches!(self.shapes.of(&mut self.terms, term, form, words), Shape::Fits(_))
    }

    /// Gives a second type to a block that may have many: it keeps what both have in common.
    fn share(&mut self, block: u32, old: Term, term: Term) {
        if !self.is_shared(block) {
            return;
        }
        let mark = self.terms.mark();
        let is_function = matches!(self.terms.head(old), Head::Arrow(_));
        let does_agree = !is_function && self.terms.unify(old, term).is_ok();
        self.terms.undo(mark);
        if !does_agree {
            let common = self.terms.in_common(old, term);
            self.of[block as usize] = common;
            if common == Term::ANY {
                self.many.insert(block, ());
            }
        }
    }

    fn wait(&mut self, block: u32, number: u32, term: Term, origin: Origin) {
        self.waiting.entry(number).or_default().push(block);
        let at = block as usize;
        if self.of[at] == Term::NONE {
            self.of[at] = term;
            self.origin[at] = origin;
        }
    }

    fn clash(&mut self, block: u32, kept: (Term, Origin), other: (Term, Origin)) {
        let rank = |origin: Origin| self.ranks.get(origin as usize);
        if kept.0 != Term::NONE && rank(kept.1) >= rank(other.1) {
            self.distrusted.insert(block, ());
        }
        if self.conflicted.insert(block, ()).is_none() && self.conflicts.len() < MOST_CONFLICTS {
            self.conflicts.push(Clashing { block, kept, other });
        }
    }

    /// Whether a block may have several types at once.
    pub(super) fn is_shared(&self, block: u32) -> bool {
        self.image.words[block as usize] == 0 || self.image.is_static(block)
    }

    /// Schedules the blocks that waited for variables that are bound now.
    pub(super) fn wake(&mut self) {
        if self.terms.mark() == 0 {
            return;
        }
        for number in self.terms.take_bound() {
            let Some(blocks) = self.waiting.remove(&number) else { continue };
            let variable = self.terms.make(Head::Variable(number), &[]);
            let term = self.terms.shallow(variable);
            if let Head::Variable(other) = self.terms.head(term) {
                self.waiting.entry(other).or_default().extend(blocks);
                continue;
            }
            let origin = &self.origin;
            self.later
                .extend(blocks.into_iter().map(|block| (block, term, origin[block as usize])));
        }
    }

    /// Binds a variable, and sets the origin of the blocks that wait for it.
    pub(super) fn bind(&mut self, number: u32, term: Term, origin: Origin) {
        let variable = self.terms.make(Head::Variable(number), &[]);
        if self.terms.unify(variable, term).is_ok() {
            let blocks = self.waiting.remove(&number).unwrap_or_default();
            self.wake();
            self.later.extend(blocks.into_iter().map(|block| (block, term, origin)));
        }
    }

    /// Processes the fields of all blocks with types, until nothing changes.
    pub(crate) fn run(&mut self) {
        loop {
            if let Some((block, term, origin)) = self.later.pop() {
                // It waits no longer, and the type may turn out not to match it.
                let of = &mut self.of[block as usize];
                if matches!(self.terms.head(*of), Head::Variable(_)) {
                    *of = Term::NONE;
                }
                self.give(block, term, origin);
            } else if let Some(block) = self.queue.pop() {
                self.step(block);
            } else {
                return;
            }
        }
    }

    /// Gives types to the targets of a block's pointers.
    fn step(&mut self, block: u32) {
        let at = block as usize;
        let (form, words, origin) = (self.image.forms[at], self.image.words[at], self.origin[at]);
        let term = self.terms.shallow(self.of[at]);
        let Shape::Fits(fit) = self.shapes.of(&mut self.terms, term, form, words) else { return };
        self.wake();
        let image = self.image;
        match &fit.fields {
            Fields::None => {}
            Fields::Same(element) => {
                for (_, target) in image.pointers(block) {
                    self.give(target, *element, origin);
                }
            }
            Fields::Each(fields) => self.give_each(block, fields, 0, origin),
            Fields::Open => {
                if let Some((_, fields)) = self.extension(block, term) {
                    self.give_each(block, &fields, 1, origin);
                }
            }
            Fields::Cases => {
                let of = self.case(block, term).and_then(|case| case.of);
                if let (Some(of), Some(target)) = (of, image.target(block, 1)) {
                    let parameters = self.terms.arguments(term).to_vec();
                    let term = self.terms.instantiate(of, &mut Scope::closed(&parameters));
                    self.give(target, term, origin);
                }
            }
            Fields::Module(layout, count) => {
                let fields = self.module(*layout, *count);
                self.note_extensions(block, *layout, *count);
                self.give_each(block, &fields, 0, origin);
            }
        }
    }

    fn give_each(&mut self, block: u32, fields: &[Term], first: u8, origin: Origin) {
        let image = self.image;
        for (position, target) in image.pointers(block) {
            if position < FAR
                && let Some(at) = position.checked_sub(first)
                && let Some(&field) = fields.get(usize::from(at))
            {
                self.give(target, field, origin);
            }
        }
    }

    /// The types of a module's fields.
    pub(super) fn module(&mut self, id: LayoutId, count: u32) -> Rc<[Term]> {
        if let Some(fields) = self.modules.get(&(id, count)) {
            return fields.clone();
        }
        let layout = self.terms.table.layouts.get(id.index());
        let fields =
            layout.map_or([].into(), |layout| module_fields(&mut self.terms, layout, count));
        self.modules.insert((id, count), fields.clone());
        fields
    }

    /// Notes which blocks are constructors of extensible types, in a module and its submodules, so that they
    /// are known before their values are reached.
    pub(crate) fn note_modules(&mut self, block: u32, layout: LayoutId) {
        let mut modules = vec![(block, layout)];
        let mut seen: Map<(u32, LayoutId), ()> = Map::default();
        let table = self.terms.table;
        while let Some((block, id)) = modules.pop() {
            let (at, known) = (block as usize, table.layouts.get(id.index()));
            let Some(layout) = known else { continue };
            let words = self.image.words[at];
            let is_it = words as usize == layout.fields.len() || words == layout.public;
            if !is_it || self.image.forms[at].tag() != 0 || seen.insert((block, id), ()).is_some() {
                continue;
            }
            self.note_extensions(block, id, words);
            for (position, target) in self.image.pointers(block) {
                let field = layout.fields.get(usize::from(position)).filter(|_| position < FAR);
                if let Some(ModuleItem::Module(inner)) = field.map(|field| &field.item) {
                    modules.push((target, *inner));
                }
            }
        }
    }

    fn note_extensions(&mut self, block: u32, layout: LayoutId, count: u32) {
        let Some(layout) = self.terms.table.layouts.get(layout.index()) else { return };
        for (position, target) in self.image.pointers(block) {
            let is_there = position < FAR && u32::from(position) < count;
            let field = layout.fields.get(usize::from(position)).filter(|_| is_there);
            if let Some(ModuleItem::Extension(id)) = field.map(|field| &field.item) {
                self.note_extension(target, *id);
            }
        }
    }

    /// Notes that a block is a constructor of an extensible type.
    pub(crate) fn note_extension(&mut self, block: u32, id: ExtensionId) {
        if self.image.forms[block as usize].tag() == tag::OBJECT {
            self.extensions.entry(block).or_insert(id);
        }
    }

    /// The extension constructor with which a block was made, and the types of its arguments.
    pub(crate) fn extension(
        &mut self,
        block: u32,
        term: Term,
    ) -> Option<(ExtensionId, Rc<[Term]>)> {
        let id = *self.extensions.get(&self.image.target(block, 0)?)?;
        let extension = self.terms.table.extensions.get(id.index())?;
        let arguments: Vec<TypeId> = extension.arguments.iter().map(|field| field.of).collect();
        let is_it = self.terms.head(term) == Head::Declared(extension.extends)
            && self.image.words[block as usize] as usize == 1 + arguments.len();
        let (fields, _) = is_it
            .then(|| made_by(&mut self.terms, &extension.result, &arguments, term))
            .flatten()?;
        self.wake();
        Some((id, fields))
    }

    /// The case of a polymorphic variant.
    pub(crate) fn case(&self, block: u32, term: Term) -> Option<&'t Case> {
        let DeclarationKind::Cases { cases, is_closed } = &self.terms.declaration(term)?.kind
        else {
            return None;
        };
        if let Some(hash) = self.image.case(block) {
            return cases.iter().find(|case| case.hash == hash);
        }
        // Without the integer, there must be only one possible case.
        let mut with_argument = cases.iter().filter(|case| case.of.is_some());
        let only = with_argument.next().filter(|_| *is_closed)?;
        with_argument.next().is_none().then_some(only)
    }

    /// The type that is certain from a block's header alone.
    pub(crate) fn by_header(&self, block: u32) -> Option<Term> {
        let form = self.image.forms[block as usize];
        let term = match form.tag() {
            tag::STRING => Term::TEXT,
            tag::DOUBLE => self.float,
            tag::CUSTOM => match self.shapes.custom(form)? {
                Custom::Builtin(builtin) => self.boxed.iter().find(|(of, _)| *of == builtin)?.1,
                Custom::Other => return None,
            },
            _ => return None,
        };
        (term != Term::NONE && form != UNREAD).then_some(term)
    }

    /// The type of a block, if it is more than a variable.
    pub(crate) fn typed(&self, block: u32) -> Option<Term> {
        let term = self.terms.shallow(self.of[block as usize]);
        let is_type = !matches!(self.terms.head(term), Head::None | Head::Any | Head::Variable(_));
        is_type.then_some(term)
    }
}

/// Types whose values may appear as something else: unboxed values are represented by their contents, and a
/// lazy value may be replaced by its result. If such a value is reached as a variable, the block's type does
/// not determine the variable.
fn hidden_types(terms: &mut Terms<'_>) -> Map<Head, ()> {
    let table = terms.table;
    let is_lazy = |of: &Type| match of {
        Type::Constructed { declaration, .. } => {
            let kind = table.declarations.get(declaration.index()).map(|known| &known.kind);
            matches!(kind, Some(DeclarationKind::Builtin(Builtin::Lazy)))
        }
        _ => false,
    };
    let may_be_lazy = |of: &Type| match of {
        Type::Constructed { declaration, .. } => {
            match table.declarations.get(declaration.index()).map(|known| &known.kind) {
                Some(DeclarationKind::Alias(to)) => {
                    table.types.get(to.index()).is_some_and(is_lazy)
                }
                _ => is_lazy(of),
            }
        }
        _ => false,
    };
    let mut inner: Vec<Term> = Vec::new();
    for (at, of) in table.types.iter().enumerate() {
        if may_be_lazy(of) {
            let term = terms.instantiate(TypeId(at as u32), &mut Scope::closed(&[]));
            inner.extend(terms.arguments(term).first());
        }
    }
    for declaration in &table.declarations {
        let of = match &declaration.kind {
            DeclarationKind::Record(Representation::Unboxed, fields) => fields.first(),
            DeclarationKind::Variant(Representation::Unboxed, of) => {
                of.first().and_then(|made_with| made_with.arguments.first())
            }
            _ => None,
        };
        inner.extend(of.map(|field| terms.instantiate(field.of, &mut Scope::closed(&[]))));
    }
    inner.into_iter().map(|term| (terms.head(term), ())).collect()
}
