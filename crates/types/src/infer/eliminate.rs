//! Elimination: the type of a block that can be nothing else.
//!
//! Most of what a stack holds is below some sampled block, except for a few blocks at the top. But such a block
//! points to blocks of known types. If every module of the program is in the table, and only one declaration
//! there of this tag and size can have such fields, the block is of that type. This is true except for C code
//! and casts, and is reported as inference.
//!
//! It is never a guess: arrays, tuples, modules, polymorphic variants and exceptions compete with records and
//! constructors, and at least one field must have a type that is declared by name and that the block really has
//! there.

use std::rc::Rc;

use bactrian_snapshot::tag;

use crate::{Builtin, DeclarationId, DeclarationKind, LayoutId, Representation, Type, TypeId};

use super::hash::Map;
use super::image::{FAR, Form, UNREAD};
use super::shape::{Fields, Shape, module_fields};
use super::spread::{Origin, Spread};
use super::terms::{Head, Scope, Term};

/// Blocks with more words or pointers are skipped.
const MOST_FIELDS: u32 = 40;
/// The maximum number of rounds: each result may decide the types of blocks above it.
const ROUNDS: usize = 12;
/// The maximum number of steps from a type to the representation of its values.
const STEPS: usize = 8;
/// The maximum number of trials in all, and of remembered decisions. Blocks beyond that remain unknown.
const MOST_TRIALS: u64 = 20_000_000;
const MOST_DECISIONS: usize = 1 << 20;

/// A type that a block may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Candidate {
    Declared(DeclarationId),
    Tuple(TypeId),
    Module(LayoutId),
}

/// All candidates by tag and size.
pub(crate) struct Elimination {
    candidates: Map<(u8, u32), Vec<(Candidate, Term)>>,
    array: Option<(Candidate, Term)>,
    trials: u64,
    /// Decisions for blocks that look alike and point to the same kinds of targets.
    decided: Map<Box<[u64]>, Option<Candidate>>,
}

/// The result of a trial.
enum Verdict {
    /// The block cannot be of this type.
    Out,
    /// It can; the flag says whether a field confirms it by name.
    Possible(bool),
}

impl Elimination {
    /// Each candidate has an instance for trials on blocks; the bindings of a trial are undone.
    pub(crate) fn new(spread: &mut Spread<'_>) -> Elimination {
        let table = spread.terms.table;
        let mut candidates: Map<(u8, u32), Vec<(Candidate, Term)>> = Map::default();
        let mut known: Map<(u8, u32, Term), ()> = Map::default();
        let mut add = |tag: u8, words: usize, candidate: Candidate| {
            let term = term(spread, candidate);
            if words <= MOST_FIELDS as usize
                && known.insert((tag, words as u32, term), ()).is_none()
            {
                candidates.entry((tag, words as u32)).or_default().push((candidate, term));
            }
        };
        let mut array = None;
        for (at, declaration) in table.declarations.iter().enumerate() {
            let id = DeclarationId(at as u32);
            match &declaration.kind {
                DeclarationKind::Record(Representation::Boxed, fields) => {
                    add(0, fields.len(), Candidate::Declared(id));
                }
                DeclarationKind::Variant(Representation::Boxed, constructors) => {
                    let with_arguments =
                        constructors.iter().filter(|made| !made.arguments.is_empty());
                    for made in with_arguments {
                        if let Ok(tag) = u8::try_from(made.tag) {
                            add(tag, made.arguments.len(), Candidate::Declared(id));
                        }
                    }
                }
                DeclarationKind::Builtin(Builtin::Array) => array = Some(id),
                _ => {}
            }
        }
        for (at, of) in table.types.iter().enumerate() {
            if let Type::Tuple(parts) = of {
                add(0, parts.len(), Candidate::Tuple(TypeId(at as u32)));
            }
        }
        for (at, layout) in table.layouts.iter().enumerate() {
            let candidate = Candidate::Module(LayoutId(at as u32));
            add(0, layout.fields.len(), candidate);
            add(0, layout.public as usize, candidate);
        }
        let array = array.map(|id| {
            let candidate = Candidate::Declared(id);
            (candidate, term(spread, candidate))
        });
        Elimination { candidates, array, trials: 0, decided: Map::default() }
    }

    /// Decides the types of blocks that have none.
    pub(crate) fn run(&mut self, spread: &mut Spread<'_>, origin: Origin) {
        let is_open = |spread: &Spread<'_>, block: u32| {
            let (form, words) =
                (spread.image.forms[block as usize], spread.image.words[block as usize]);
            spread.typed(block).is_none()
                && form != UNREAD
                && form.tag() < tag::LAZY
                && (1..=MOST_FIELDS).contains(&words)
                && !spread.is_shared(block)
        };
        let all = 0..spread.image.len() as u32;
        let mut open: Vec<u32> = all.filter(|&block| is_open(spread, block)).collect();
        for _ in 0..ROUNDS {
            let before = open.len();
            for &block in &open {
                if spread.typed(block).is_none()
                    && let Some(found) = self.decide(spread, block)
                {
                    let term = term(spread, found);
                    spread.give(block, term, origin);
                    spread.run();
                }
            }
            open.retain(|&block| spread.typed(block).is_none());
            if open.len() == before || open.is_empty() {
                break;
            }
        }
    }

    /// The only candidate that a block can be.
    fn decide(&mut self, spread: &mut Spread<'_>, block: u32) -> Option<Candidate> {
        let at = block as usize;
        let (form, words) = (spread.image.forms[at], spread.image.words[at]);
        let mut key = vec![u64::from(form.tag()) << 32 | u64::from(words)];
        let (mut is_telling, mut is_ground) = (false, true);
        for (position, target) in spread.image.pointers(block) {
            let known = if spread.is_shared(target) { None } else { spread.typed(target) };
            is_telling |= known.is_some();
            is_ground &= known.is_none_or(|term| spread.terms.is_ground(term));
            let place = u64::from(position) << 56;
            key.push(match known {
                Some(term) => place | 1 << 48 | u64::from(term.number()),
                None => {
                    let (form, words) =
                        (spread.image.forms[target as usize], spread.image.words[target as usize]);
                    place | u64::from(form.number()) << 32 | u64::from(words)
                }
            });
        }
        // A polymorphic variant, or a value of an extensible type.
        let first = spread.image.target(block, 0);
        let is_extension =
            first.is_some_and(|first| spread.image.forms[first as usize].tag() == tag::OBJECT);
        let is_case = form.tag() == 0
            && words == 2
            && (first.is_none() && (!spread.has_immediates || spread.image.case(block).is_some()));
        if !is_telling || is_extension || is_case || form.tag() == tag::CONTINUATION {
            return None;
        }
        if let Some(&decided) = self.decided.get(&key[..]) {
            return decided;
        }
        let decided = self.judge(spread, block, form, words);
        // Types with variables change when these are bound.
        if is_ground && self.decided.len() < MOST_DECISIONS {
            self.decided.insert(key.into(), decided);
        }
        decided
    }

    fn judge(
        &mut self,
        spread: &mut Spread<'_>,
        block: u32,
        form: Form,
        words: u32,
    ) -> Option<Candidate> {
        let none = Vec::new();
        let there = self.candidates.get(&(form.tag(), words)).unwrap_or(&none);
        let array = self.array.filter(|_| form.tag() == 0);
        let mut only = None;
        // The array first, because most blocks can be one.
        for (candidate, term) in array.into_iter().chain(there.iter().copied()) {
            self.trials += 1;
            if self.trials > MOST_TRIALS {
                return None;
            }
            let mark = spread.terms.mark();
            let verdict = tried(spread, block, term);
            spread.terms.undo(mark);
            match verdict {
                Verdict::Out => {}
                // A second possible candidate rules out a decision, confirmed or not.
                Verdict::Possible(_) if only.is_some() => return None,
                Verdict::Possible(is_named) => only = Some((candidate, is_named)),
            }
        }
        only.filter(|(_, is_named)| *is_named).map(|(candidate, _)| candidate)
    }
}

/// The term of a candidate, with fresh variables.
fn term(spread: &mut Spread<'_>, candidate: Candidate) -> Term {
    match candidate {
        Candidate::Declared(id) => {
            let arity = spread.terms.table.declarations[id.index()].arity;
            let parameters: Vec<_> = (0..arity).map(|_| spread.terms.fresh()).collect();
            spread.terms.declared(id, &parameters)
        }
        Candidate::Tuple(of) => spread.terms.instantiate(of, &mut Scope::fresh()),
        Candidate::Module(layout) => spread.terms.make(Head::Module(layout), &[]),
    }
}

/// Whether a block can be of a type.
fn tried(spread: &mut Spread<'_>, block: u32, term: Term) -> Verdict {
    let at = block as usize;
    let (form, words) = (spread.image.forms[at], spread.image.words[at]);
    let shape = spread.shapes.of(&mut spread.terms, term, form, words);
    let Shape::Fits(fit) = shape else { return Verdict::Out };
    let fields: Rc<[Term]> = match &fit.fields {
        Fields::Each(fields) => fields.clone(),
        Fields::Same(element) => vec![*element; words as usize].into(),
        Fields::Module(layout, count) => match spread.terms.table.layouts.get(layout.index()) {
            Some(layout) => module_fields(&mut spread.terms, layout, *count),
            None => return Verdict::Out,
        },
        Fields::None | Fields::Open | Fields::Cases => return Verdict::Possible(false),
    };
    let image = spread.image;
    let mut is_named = false;
    for (position, target) in image.pointers(block) {
        let field = fields.get(usize::from(position)).copied().filter(|_| position < FAR);
        match field {
            Some(field) => match points(spread, field, target) {
                None => return Verdict::Out,
                Some(by_name) => is_named |= by_name,
            },
            None => return Verdict::Out,
        }
    }
    Verdict::Possible(is_named)
}

/// Whether a field of a type can point to a block, and if so, whether both have the same type by name.
fn points(spread: &mut Spread<'_>, field: Term, target: u32) -> Option<bool> {
    let at = target as usize;
    let (form, words) = (spread.image.forms[at], spread.image.words[at]);
    let mut field = spread.terms.shallow(field);
    for _ in 0..STEPS {
        match spread.terms.head(field) {
            Head::None | Head::Any => return Some(false),
            Head::Variable(_) => break,
            _ => {}
        }
        match spread.shapes.of(&mut spread.terms, field, form, words) {
            Shape::Fits(_) | Shape::Waits => break,
            Shape::Becomes(inner) => field = spread.terms.shallow(inner),
            Shape::Clashes if words == 0 => return Some(false),
            Shape::Clashes => return None,
        }
    }
    if spread.is_shared(target) {
        return Some(false);
    }
    let Some(known) = spread.typed(target) else { return Some(false) };
    let is_named =
        is_by_name(spread, field) && spread.terms.head(field) == spread.terms.head(known);
    let is_function = matches!(spread.terms.head(known), Head::Arrow(_));
    match spread.terms.unify(field, known) {
        Ok(_) => Some(is_named && !is_function),
        // A string may have been bytes before.
        Err(_) if form.tag() == tag::STRING => Some(false),
        Err(_) => None,
    }
}

/// Whether a type is declared by the program, and not, for example, a list of something.
fn is_by_name(spread: &Spread<'_>, term: Term) -> bool {
    match spread.terms.declaration(term) {
        Some(declaration) => {
            declaration.arity == 0
                && matches!(
                    declaration.kind,
                    DeclarationKind::Record(..) | DeclarationKind::Variant(..)
                )
        }
        None => false,
    }
}
