//! What a type says about a block with a certain header: whether the block can be of the type, and the types of
//! its fields.
//!
//! Answers are remembered by type, tag and size, so that a heap of a few thousand types costs one lookup per
//! block.

use std::rc::Rc;

use bactrian_snapshot::tag;

use crate::{
    Builtin, Constructor, Declaration, DeclarationId, DeclarationKind, Field, Layout, LayoutId,
    ModuleItem, Representation, Text, TypeId,
};

use super::hash::Map;
use super::image::Form;
use super::terms::{Head, Scope, Term, Terms};

/// The tag of lazy values that are being forced, on OCaml 5.
const FORCING: u8 = 244;

/// Types whose declarations are wrong: the standard library casts to and from them. Taken at their word, these
/// variants and records would cause conflicts.
const LIES: &[&str] = &["CamlinternalOO.item", "CamlinternalOO.t", "CamlinternalOO.obj"];

/// What a type says about a block.
#[derive(Clone, Debug)]
pub(crate) enum Shape {
    /// The block can be of the type.
    Fits(Rc<Fit>),
    /// It can, but then it is a value of this other type: for unboxed types, and for lazy values that the
    /// collector replaced by their results.
    Becomes(Term),
    /// It cannot.
    Clashes,
    /// The type is an unbound variable, or nothing.
    Waits,
}

/// A block that matches its type.
#[derive(Debug)]
pub(crate) struct Fit {
    pub fields: Fields,
    pub named: Named,
    /// Why fields have no types, if they have none.
    pub why: Why,
}

/// Types of fields.
#[derive(Clone, Debug)]
pub(crate) enum Fields {
    /// There are no fields, or no known ones.
    None,
    /// All have the same type.
    Same(Term),
    /// One type each; [`Term::NONE`] where it is unknown.
    Each(Rc<[Term]>),
    /// Determined by the extension to which the first field points.
    Open,
    /// Determined by the integer in the first field.
    Cases,
    /// Those of a module, of which there are this many.
    Module(LayoutId, u32),
}

/// Where the names of fields are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    Nothing,
    Record(DeclarationId),
    /// A constructor, by its index in its declaration.
    Constructor(DeclarationId, u32),
}

/// Why fields have no types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Why {
    Environment,
    Thunk,
    Abstract(DeclarationId),
    Object,
    Module,
    Extension,
    Case,
    Opaque,
    /// A variable: existential, or from a functor's parameter, or undetermined.
    Variable,
}

/// Shapes computed so far.
pub(crate) struct Shapes {
    known: Map<(Term, Form, u32), Shape>,
    /// Shapes that fit but have separate variables for each block: one example each.
    passing: Map<(Term, Form, u32), Rc<Fit>>,
    /// For each identifier of custom blocks, the built-in type that it stands for.
    customs: Vec<Custom>,
    /// Whether the tag of lazy values that are being forced has that meaning.
    has_forcing: bool,
}

/// What an identifier of custom blocks stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Custom {
    Builtin(Builtin),
    Other,
}

impl Custom {
    fn of(identifier: &str) -> Custom {
        match identifier {
            "_i" => Custom::Builtin(Builtin::Int32),
            "_j" => Custom::Builtin(Builtin::Int64),
            "_n" => Custom::Builtin(Builtin::Nativeint),
            _ => Custom::Other,
        }
    }
}

impl Shapes {
    pub(crate) fn new<'a>(identifiers: impl Iterator<Item = &'a str>, has_forcing: bool) -> Shapes {
        Shapes {
            known: Map::default(),
            passing: Map::default(),
            customs: identifiers.map(Custom::of).collect(),
            has_forcing,
        }
    }

    /// What a custom block's identifier stands for, if that is known.
    pub(crate) fn custom(&self, form: Form) -> Option<Custom> {
        self.customs.get(form.custom()?).copied()
    }

    /// What a type says about a block. A constructor may determine variables of the type: then they are bound.
    #[inline]
    pub(crate) fn of(
        &mut self,
        terms: &mut Terms<'_>,
        term: Term,
        form: Form,
        words: u32,
    ) -> Shape {
        if let Some(shape) = self.known.get(&(term, form, words)) {
            return shape.clone();
        }
        let (shape, is_lasting) = self.find(terms, term, form, words);
        if is_lasting {
            self.known.insert((term, form, words), shape.clone());
        } else if let Shape::Fits(fit) = &shape
            && terms.is_ground(term)
        {
            self.passing.entry((term, form, words)).or_insert_with(|| fit.clone());
        }
        shape
    }

    /// All shapes that fit so far, in order.
    pub(crate) fn fitting(&self) -> Vec<((Term, Form, u32), Rc<Fit>)> {
        let lasting = self.known.iter().filter_map(|(key, shape)| match shape {
            Shape::Fits(fit) => Some((*key, fit.clone())),
            _ => None,
        });
        let passing = self.passing.iter().map(|(key, fit)| (*key, fit.clone()));
        let mut all: Vec<_> = lasting.chain(passing).collect();
        all.sort_unstable_by_key(|(key, _)| *key);
        all
    }

    /// The flag says whether all blocks of this form and size have the same answer.
    fn find(&self, terms: &mut Terms<'_>, term: Term, form: Form, words: u32) -> (Shape, bool) {
        let tag = form.tag();
        let shape = match terms.head(term) {
            Head::None | Head::Any => Shape::Waits,
            Head::Variable(_) => return (Shape::Waits, false),
            Head::Text => fits_if(tag == tag::STRING),
            Head::Tuple => {
                let parts = terms.arguments(term);
                match tag == 0 && words as usize == parts.len() {
                    true => fits(Fields::Each(parts.into()), Named::Nothing, Why::Variable),
                    false => Shape::Clashes,
                }
            }
            Head::Arrow(_) if tag == tag::CLOSURE => {
                fits(Fields::None, Named::Nothing, Why::Environment)
            }
            Head::Arrow(_) => Shape::Clashes,
            Head::Object(_) if tag == tag::OBJECT => {
                fits(Fields::None, Named::Nothing, Why::Object)
            }
            Head::Object(_) => Shape::Clashes,
            Head::Opaque(_) => fits(Fields::None, Named::Nothing, Why::Opaque),
            Head::Package(_, layout) | Head::Module(layout) => {
                let known = terms.table.layouts.get(layout.index());
                module(known, layout, tag, words)
            }
            Head::Declared(id) => match terms.table.declarations.get(id.index()) {
                Some(declaration) => {
                    return self.declared(terms, term, (id, declaration), form, words);
                }
                None => Shape::Clashes,
            },
        };
        (shape, true)
    }

    fn declared(
        &self,
        terms: &mut Terms<'_>,
        term: Term,
        (id, declaration): (DeclarationId, &Declaration),
        form: Form,
        words: u32,
    ) -> (Shape, bool) {
        let tag = form.tag();
        let shape = match &declaration.kind {
            _ if LIES.contains(&&*declaration.name) => {
                fits(Fields::None, Named::Nothing, Why::Abstract(id))
            }
            DeclarationKind::Abstract(_) | DeclarationKind::Alias(_) => {
                fits(Fields::None, Named::Nothing, Why::Abstract(id))
            }
            DeclarationKind::Builtin(builtin) => self.builtin(terms, term, *builtin, form),
            DeclarationKind::Open if tag == 0 && words > 0 => {
                fits(Fields::Open, Named::Nothing, Why::Extension)
            }
            // A constructor without arguments.
            DeclarationKind::Open if tag == tag::OBJECT => {
                fits(Fields::None, Named::Nothing, Why::Extension)
            }
            DeclarationKind::Cases { .. } if tag == 0 && words == 2 => {
                fits(Fields::Cases, Named::Nothing, Why::Case)
            }
            DeclarationKind::Open | DeclarationKind::Cases { .. } => Shape::Clashes,
            DeclarationKind::Record(Representation::Boxed, fields) => {
                match tag == 0 && words as usize == fields.len() {
                    true => {
                        let fields = instances(terms, fields, term);
                        fits(Fields::Each(fields), Named::Record(id), Why::Variable)
                    }
                    false => Shape::Clashes,
                }
            }
            DeclarationKind::Record(Representation::Floats, fields) => {
                match tag == tag::DOUBLE_ARRAY && words as usize == fields.len() {
                    true => fits(Fields::None, Named::Record(id), Why::Variable),
                    false => Shape::Clashes,
                }
            }
            DeclarationKind::Record(Representation::Unboxed, fields) => match &fields[..] {
                [field] => Shape::Becomes(instances(terms, std::slice::from_ref(field), term)[0]),
                _ => Shape::Clashes,
            },
            DeclarationKind::Variant(representation, constructors) => {
                let is_unboxed = *representation == Representation::Unboxed;
                let made_with = constructors.iter().position(|constructor| {
                    let is_block = !constructor.arguments.is_empty();
                    is_block && (is_unboxed || constructor.tag == u32::from(tag))
                });
                let Some(at) = made_with else { return (Shape::Clashes, true) };
                let made_with = &constructors[at];
                if !is_unboxed && made_with.arguments.len() != words as usize {
                    return (Shape::Clashes, true);
                }
                let Some((fields, is_lasting)) = arguments(terms, made_with, term) else {
                    return (Shape::Clashes, terms.is_ground(term));
                };
                if is_unboxed {
                    return (Shape::Becomes(fields[0]), is_lasting);
                }
                let named = Named::Constructor(id, at as u32);
                return (fits(Fields::Each(fields), named, Why::Variable), is_lasting);
            }
        };
        (shape, true)
    }

    fn builtin(&self, terms: &Terms<'_>, term: Term, builtin: Builtin, form: Form) -> Shape {
        let tag = form.tag();
        let argument = terms.arguments(term).first().copied().unwrap_or(Term::ANY);
        match builtin {
            Builtin::Immediate => Shape::Clashes,
            Builtin::String | Builtin::Bytes => fits_if(tag == tag::STRING),
            Builtin::Float => fits_if(tag == tag::DOUBLE),
            Builtin::Floatarray => fits_if(tag == tag::DOUBLE_ARRAY || tag == 0),
            Builtin::Int32 | Builtin::Int64 | Builtin::Nativeint => {
                let is_other =
                    self.custom(form).is_some_and(|custom| custom != Custom::Builtin(builtin));
                fits_if(tag == tag::CUSTOM && !is_other)
            }
            Builtin::Array if tag == tag::DOUBLE_ARRAY => fits_if(may_be_float(terms, argument)),
            Builtin::Array if tag == 0 => {
                fits(Fields::Same(argument), Named::Nothing, Why::Variable)
            }
            Builtin::Array => Shape::Clashes,
            Builtin::Lazy if tag == tag::LAZY || tag == FORCING && self.has_forcing => {
                fits(Fields::None, Named::Nothing, Why::Thunk)
            }
            Builtin::Lazy if tag == tag::FORWARD => {
                fits(Fields::Each([argument].into()), Named::Nothing, Why::Variable)
            }
            Builtin::Lazy => Shape::Becomes(argument),
        }
    }
}

fn fits(fields: Fields, named: Named, why: Why) -> Shape {
    Shape::Fits(Rc::new(Fit { fields, named, why }))
}

/// Whether a block without known fields fits.
fn fits_if(does: bool) -> Shape {
    if does { fits(Fields::None, Named::Nothing, Why::Variable) } else { Shape::Clashes }
}

/// A module's block has all fields of the layout, or only the public ones.
fn module(layout: Option<&Layout>, id: LayoutId, tag: u8, words: u32) -> Shape {
    let Some(layout) = layout.filter(|_| tag == 0) else { return Shape::Clashes };
    let is_known = words as usize == layout.fields.len() || words == layout.public;
    let fields = if is_known { Fields::Module(id, words) } else { Fields::None };
    fits(fields, Named::Nothing, Why::Module)
}

/// Whether an array of this element type may be a float array.
fn may_be_float(terms: &Terms<'_>, element: Term) -> bool {
    let element = terms.shallow(element);
    match terms.head(element) {
        Head::Any | Head::Variable(_) | Head::Opaque(_) | Head::None => true,
        Head::Declared(_) => match terms.declaration(element).map(|known| &known.kind) {
            Some(DeclarationKind::Builtin(builtin)) => *builtin == Builtin::Float,
            Some(
                DeclarationKind::Abstract(_)
                | DeclarationKind::Alias(_)
                | DeclarationKind::Record(Representation::Unboxed, _)
                | DeclarationKind::Variant(Representation::Unboxed, _),
            ) => true,
            _ => false,
        },
        _ => false,
    }
}

fn instances(terms: &mut Terms<'_>, fields: &[Field], term: Term) -> Rc<[Term]> {
    let parameters = terms.arguments(term).to_vec();
    let mut scope = Scope::closed(&parameters);
    fields.iter().map(|field| terms.instantiate(field.of, &mut scope)).collect()
}

/// The types of a constructor's arguments, and whether they are the same for all blocks of this type; `None` if
/// the constructor does not belong to this instance of the type.
fn arguments(
    terms: &mut Terms<'_>,
    constructor: &Constructor,
    term: Term,
) -> Option<(Rc<[Term]>, bool)> {
    let Some(result) = &constructor.result else {
        return Some((instances(terms, &constructor.arguments, term), true));
    };
    let fields: Vec<TypeId> = constructor.arguments.iter().map(|field| field.of).collect();
    made_by(terms, result, &fields, term)
}

/// The types of the arguments of a constructor with an explicit result type (GADT).
pub(crate) fn made_by(
    terms: &mut Terms<'_>,
    result: &[TypeId],
    fields: &[TypeId],
    term: Term,
) -> Option<(Rc<[Term]>, bool)> {
    let mut scope = Scope::fresh();
    let made: Vec<_> = result.iter().map(|&of| terms.instantiate(of, &mut scope)).collect();
    let pairs: Vec<_> = terms.arguments(term).iter().copied().zip(made).collect();
    let fields: Vec<_> = fields.iter().map(|&of| terms.instantiate(of, &mut scope)).collect();
    terms.unify_all(&pairs).ok()?;
    let is_open = |local: Term| matches!(terms.head(terms.shallow(local)), Head::Variable(_));
    // Variables of the type are older than those of the constructor, so they are not bound to these.
    let is_lasting = !scope.locals().any(|local| terms.shallow(local) == local && is_open(local));
    let mut known = Map::default();
    let fields = fields.into_iter().map(|field| terms.resolve(field, &mut known)).collect();
    Some((fields, is_lasting))
}

/// The types of a module's fields.
pub(crate) fn module_fields(terms: &mut Terms<'_>, layout: &Layout, count: u32) -> Rc<[Term]> {
    let fields = layout.fields.iter().take(count as usize);
    fields
        .map(|field| match &field.item {
            // Variables in the types of globals are those of polymorphic values.
            ModuleItem::Value(of) => terms.instantiate(*of, &mut Scope::closed(&[])),
            ModuleItem::Module(layout) => terms.make(Head::Module(*layout), &[]),
            ModuleItem::Extension(_) | ModuleItem::Other(_) => Term::NONE,
        })
        .collect()
}

/// The constructor and the field names of a block.
pub(crate) fn names(terms: &Terms<'_>, named: Named) -> (Option<Text>, Vec<Text>) {
    let of = |fields: &[Field]| fields.iter().map(|field| field.name.clone()).collect();
    let kind =
        |id: DeclarationId| terms.table.declarations.get(id.index()).map(|known| &known.kind);
    match named {
        Named::Nothing => (None, Vec::new()),
        Named::Record(id) => match kind(id) {
            Some(DeclarationKind::Record(_, fields)) => (None, of(fields)),
            _ => (None, Vec::new()),
        },
        Named::Constructor(id, at) => match kind(id) {
            Some(DeclarationKind::Variant(_, constructors)) => {
                match constructors.get(at as usize) {
                    Some(made_with) => (Some(made_with.name.clone()), of(&made_with.arguments)),
                    None => (None, Vec::new()),
                }
            }
            _ => (None, Vec::new()),
        },
    }
}
