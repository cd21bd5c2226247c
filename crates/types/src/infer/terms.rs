//! Types as inference handles them: hash-consed, without abbreviations, and with variables for what is still
//! unknown.
//!
//! A type of the table is a scheme; [`Terms::instantiate`] makes a term of it. Abbreviations are expanded on
//! the way, so that two terms without variables are the same type if and only if they are the same number.
//! Everything is bounded: a term that would be too deep becomes [`Term::ANY`], about which nothing is known.

use crate::{
    Builtin, Declaration, DeclarationId, DeclarationKind, LayoutId, Table, Text, Type, TypeId,
};

use super::hash::Map;

/// The maximum depth of terms and of expanded abbreviations.
pub(crate) const DEEPEST: u8 = 80;
/// The maximum number of types of the table that one instantiation visits.
const FUEL: u32 = 20_000;
/// The maximum number of variables; beyond that, variables are not tracked.
const MOST_VARIABLES: usize = 1 << 23;

/// A type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Term(u32);

impl Term {
    /// No type at all.
    pub(crate) const NONE: Term = Term(0);
    /// Some type about which nothing is or will be known.
    pub(crate) const ANY: Term = Term(1);
    /// `string` or `bytes`, whose blocks look the same.
    pub(crate) const TEXT: Term = Term(2);

    fn index(self) -> usize {
        self.0 as usize
    }

    /// A number that is unique for each type.
    pub(crate) fn number(self) -> u32 {
        self.0
    }
}

/// The top of a term, without its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Head {
    None,
    Any,
    Text,
    Variable(u32),
    Declared(DeclarationId),
    Tuple,
    /// A function, with the number of its label.
    Arrow(u32),
    /// A first-class module: the number of its name, and its layout.
    Package(u32, LayoutId),
    /// The block of a module.
    Module(LayoutId),
    /// An object, by the number of its text.
    Object(u32),
    /// A type that is not analysed, by the number of its text.
    Opaque(u32),
}

#[derive(Clone, Copy)]
struct Node {
    head: Head,
    first: u32,
    count: u32,
    depth: u8,
    is_ground: bool,
}

/// What the variables of a scheme stand for.
pub(crate) struct Scope<'p> {
    parameters: &'p [Term],
    locals: Vec<(u32, Term)>,
    /// Whether other variables become fresh ones; otherwise nothing is known of them.
    is_fresh: bool,
    fuel: u32,
}

impl<'p> Scope<'p> {
    /// Variables that are not parameters stand for types of which nothing will be known.
    pub(crate) fn closed(parameters: &'p [Term]) -> Scope<'p> {
        Scope { parameters, locals: Vec::new(), is_fresh: false, fuel: FUEL }
    }

    /// Variables that are not parameters stand for types to be inferred.
    pub(crate) fn fresh() -> Scope<'p> {
        Scope { parameters: &[], locals: Vec::new(), is_fresh: true, fuel: FUEL }
    }

    /// The fresh variables.
    pub(crate) fn locals(&self) -> impl Iterator<Item = Term> + '_ {
        self.locals.iter().map(|&(_, term)| term)
    }
}

/// All types so far.
pub(crate) struct Terms<'t> {
    pub(crate) table: &'t Table,
    nodes: Vec<Node>,
    arguments: Vec<Term>,
    known: Map<(Head, Box<[Term]>), Term>,
    texts: Vec<Text>,
    text_numbers: Map<Text, u32>,
    /// The terms to which variables are bound, or [`Term::NONE`].
    pub(super) bindings: Vec<Term>,
    /// Variables that were bound and not yet taken.
    pub(super) bound: Vec<u32>,
    /// The terms of the table's types that contain no variables.
    closed: Vec<Term>,
    is_closed: Vec<bool>,
    /// Pairs without variables that were compared before.
    pub(super) compared: Map<(Term, Term), Option<Term>>,
    pub(super) fuel: u32,
}

impl<'t> Terms<'t> {
    pub(crate) fn new(table: &'t Table) -> Terms<'t> {
        let mut terms = Terms {
            table,
            nodes: Vec::new(),
            arguments: Vec::new(),
            known: Map::default(),
            texts: Vec::new(),
            text_numbers: Map::default(),
            bindings: Vec::new(),
            bound: Vec::new(),
            closed: vec![Term::NONE; table.types.len()],
            is_closed: closed_types(table),
            compared: Map::default(),
            fuel: 0,
        };
        for head in [Head::None, Head::Any, Head::Text] {
            terms.make(head, &[]);
        }
        terms
    }

    /// The term with this head and these parts.
    pub(crate) fn make(&mut self, head: Head, arguments: &[Term]) -> Term {
        let key: (Head, Box<[Term]>) = (head, arguments.into());
        if let Some(&term) = self.known.get(&key) {
            return term;
        }
        let depth = arguments.iter().map(|term| self.node(*term).depth).max().map_or(0, |d| d + 1);
        if depth > DEEPEST {
            return Term::ANY;
        }
        let is_ground = !matches!(head, Head::Variable(_))
            && arguments.iter().all(|term| self.node(*term).is_ground);
        let (first, count) = (self.arguments.len() as u32, arguments.len() as u32);
        self.arguments.extend_from_slice(arguments);
        let term = Term(self.nodes.len() as u32);
        self.nodes.push(Node { head, first, count, depth, is_ground });
        self.known.insert(key, term);
        term
    }

    fn node(&self, term: Term) -> &Node {
        &self.nodes[term.index()]
    }

    /// The head of a term. Bound variables must be replaced by [`Terms::shallow`] first.
    pub(crate) fn head(&self, term: Term) -> Head {
        self.node(term).head
    }

    /// The parts of a term.
    pub(crate) fn arguments(&self, term: Term) -> &[Term] {
        let node = self.node(term);
        &self.arguments[node.first as usize..][..node.count as usize]
    }

    /// Whether it contains no variables, bound or not.
    pub(crate) fn is_ground(&self, term: Term) -> bool {
        self.node(term).is_ground
    }

    /// The term itself, or the term to which it is bound if it is a variable.
    #[inline]
    pub(crate) fn shallow(&self, mut term: Term) -> Term {
        while let Head::Variable(number) = self.nodes[term.index()].head {
            match self.bindings[number as usize] {
                Term::NONE => break,
                bound => term = bound,
            }
        }
        term
    }

    /// The declaration of a declared type.
    pub(crate) fn declaration(&self, term: Term) -> Option<&'t Declaration> {
        match self.head(term) {
            Head::Declared(id) => self.table.declarations.get(id.index()),
            _ => None,
        }
    }

    /// The built-in type that it is, if it is one.
    pub(crate) fn builtin(&self, term: Term) -> Option<Builtin> {
        match self.declaration(term)?.kind {
            DeclarationKind::Builtin(builtin) => Some(builtin),
            _ => None,
        }
    }

    /// A text by its number.
    pub(crate) fn text(&self, number: u32) -> &Text {
        &self.texts[number as usize]
    }

    fn text_number(&mut self, text: &Text) -> u32 {
        if let Some(&number) = self.text_numbers.get(text) {
            return number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.clone());
        self.text_numbers.insert(text.clone(), number);
        number
    }

    /// A fresh variable, or [`Term::ANY`] if there are too many.
    pub(crate) fn fresh(&mut self) -> Term {
        if self.bindings.len() >= MOST_VARIABLES {
            return Term::ANY;
        }
        self.bindings.push(Term::NONE);
        self.make(Head::Variable(self.bindings.len() as u32 - 1), &[])
    }

    /// The term of a type of the table.
    pub(crate) fn instantiate(&mut self, of: TypeId, scope: &mut Scope<'_>) -> Term {
        self.instance(of, scope, 0)
    }

    fn instance(&mut self, of: TypeId, scope: &mut Scope<'_>, depth: u8) -> Term {
        let Some(kind) = self.table.types.get(of.index()) else { return Term::ANY };
        let is_closed = self.is_closed[of.index()];
        if is_closed && self.closed[of.index()] != Term::NONE {
            return self.closed[of.index()];
        }
        if depth >= DEEPEST || scope.fuel == 0 {
            scope.fuel = 0;
            return Term::ANY;
        }
        scope.fuel -= 1;
        let term = match kind {
            Type::Variable(number) => self.variable(*number, scope),
            Type::Constructed { declaration, arguments } => {
                let arguments = self.instances(arguments, scope, depth);
                self.apply(*declaration, &arguments, scope, depth)
            }
            Type::Tuple(parts) => {
                let parts = self.instances(parts, scope, depth);
                self.make(Head::Tuple, &parts)
            }
            Type::Arrow { label, argument, result } => {
                let label = self.text_number(label);
                let parts = self.instances(&[*argument, *result], scope, depth);
                self.make(Head::Arrow(label), &parts)
            }
            Type::Package { name, layout } => {
                let name = self.text_number(name);
                self.make(Head::Package(name, *layout), &[])
            }
            Type::Object(text) => {
                let text = self.text_number(text);
                self.make(Head::Object(text), &[])
            }
            Type::Opaque(text) => {
                let text = self.text_number(text);
                self.make(Head::Opaque(text), &[])
            }
        };
        if is_closed && scope.fuel > 0 {
            self.closed[of.index()] = term;
        }
        term
    }

    fn instances(&mut self, of: &[TypeId], scope: &mut Scope<'_>, depth: u8) -> Vec<Term> {
        of.iter().map(|&of| self.instance(of, scope, depth + 1)).collect()
    }

    fn variable(&mut self, number: u32, scope: &mut Scope<'_>) -> Term {
        if let Some(&term) = scope.parameters.get(number as usize) {
            return term;
        }
        if let Some(&(_, term)) = scope.locals.iter().find(|(local, _)| *local == number) {
            return term;
        }
        if !scope.is_fresh {
            return Term::ANY;
        }
        let term = self.fresh();
        scope.locals.push((number, term));
        term
    }

    /// A declared type, or its expansion if it is an abbreviation.
    fn apply(
        &mut self,
        id: DeclarationId,
        arguments: &[Term],
        scope: &mut Scope<'_>,
        depth: u8,
    ) -> Term {
        let declaration = self.table.declarations.get(id.index());
        // It is used for casts, so it carries no information.
        if declaration.is_some_and(|known| &*known.name == "Obj.t") {
            return Term::ANY;
        }
        let Some(Declaration { kind: DeclarationKind::Alias(of), .. }) = declaration else {
            return self.make(Head::Declared(id), arguments);
        };
        let mut inner = Scope { fuel: scope.fuel, ..Scope::closed(arguments) };
        let term = self.instance(*of, &mut inner, depth + 1);
        scope.fuel = inner.fuel;
        term
    }

    /// The declared type with these arguments.
    pub(crate) fn declared(&mut self, id: DeclarationId, arguments: &[Term]) -> Term {
        self.apply(id, arguments, &mut Scope::closed(&[]), 0)
    }

    /// The term with all bound variables replaced. `known` is a cache that is valid until another variable is
    /// bound.
    pub(crate) fn resolve(&mut self, term: Term, known: &mut Map<Term, Term>) -> Term {
        self.resolved(term, known, 0)
    }

    fn resolved(&mut self, term: Term, known: &mut Map<Term, Term>, depth: u8) -> Term {
        let term = self.shallow(term);
        if self.is_ground(term) || matches!(self.head(term), Head::Variable(_)) {
            return term;
        }
        if let Some(&resolved) = known.get(&term) {
            return resolved;
        }
        if depth > DEEPEST {
            return Term::ANY;
        }
        let parts = self.arguments(term).to_vec();
        let parts: Vec<_> =
            parts.into_iter().map(|part| self.resolved(part, known, depth + 1)).collect();
        let resolved = self.make(self.head(term), &parts);
        known.insert(term, resolved);
        resolved
    }
}

/// For each type of a table, whether it contains no variables.
fn closed_types(table: &Table) -> Vec<bool> {
    let mut closed: Vec<bool> = Vec::with_capacity(table.types.len());
    for of in &table.types {
        let is_closed = |id: &TypeId| closed.get(id.index()).copied().unwrap_or(false);
        closed.push(match of {
            Type::Variable(_) => false,
            Type::Constructed { arguments, .. } => arguments.iter().all(is_closed),
            Type::Tuple(parts) => parts.iter().all(is_closed),
            Type::Arrow { argument, result, .. } => is_closed(argument) && is_closed(result),
            Type::Package { .. } | Type::Object(_) | Type::Opaque(_) => true,
        });
    }
    closed
}
