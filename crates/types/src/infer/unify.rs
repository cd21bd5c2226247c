//! Unification: whether two types for one block agree, and the type that combines both.
//!
//! Bindings made during a comparison stay only if the types agree. Where the table knows less than the compiler
//! did, types do not count as disagreeing: an abstract type may be any type, and functions (a polymorphic one
//! has many types), objects and modules are not analysed.

use crate::{Case, Declaration, DeclarationId, DeclarationKind};

use super::terms::{DEEPEST, Head, Scope, Term, Terms};

/// No value can have both types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Clash;

/// The number of parts compared before two types count as agreeing.
const FUEL: u32 = 5_000;

impl Terms<'_> {
    /// The combination of two types. [`Terms::take_bound`] returns the variables that were bound for it; if the
    /// types clash, everything is as before.
    pub(crate) fn unify(&mut self, a: Term, b: Term) -> Result<Term, Clash> {
        let before = self.bound.len();
        self.fuel = FUEL;
        let merged = self.merge(a, b, 0);
        if merged.is_err() {
            self.undo(before);
        }
        merged
    }

    /// Unifies each pair of types.
    pub(crate) fn unify_all(&mut self, pairs: &[(Term, Term)]) -> Result<(), Clash> {
        let before = self.bound.len();
        for &(a, b) in pairs {
            if self.unify(a, b).is_err() {
                self.undo(before);
                return Err(Clash);
            }
        }
        Ok(())
    }

    /// Variables that were bound since the last call.
    pub(crate) fn take_bound(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.bound)
    }

    /// A mark for [`Terms::undo`].
    pub(crate) fn mark(&self) -> usize {
        self.bound.len()
    }

    /// Undoes bindings since a mark that were not taken.
    pub(crate) fn undo(&mut self, mark: usize) {
        while self.bound.len() > mark {
            if let Some(number) = self.bound.pop() {
                self.bindings[number as usize] = Term::NONE;
            }
        }
    }

    fn merge(&mut self, a: Term, b: Term, depth: u8) -> Result<Term, Clash> {
        let (a, b) = (self.shallow(a), self.shallow(b));
        if a == b || b == Term::ANY {
            return Ok(a);
        }
        if a == Term::ANY {
            return Ok(b);
        }
        if depth > DEEPEST || self.fuel == 0 {
            return Ok(a);
        }
        self.fuel -= 1;
        match (self.head(a), self.head(b)) {
            (Head::Variable(one), Head::Variable(other)) => {
                let (older, newer) = if one < other { (a, other) } else { (b, one) };
                self.bind(newer, older);
                return Ok(older);
            }
            (Head::Variable(number), _) => return self.bind_checked(number, b),
            (_, Head::Variable(number)) => return self.bind_checked(number, a),
            _ => {}
        }
        if !self.is_ground(a) || !self.is_ground(b) {
            return self.structure(a, b, depth);
        }
        if let Some(&known) = self.compared.get(&(a, b)) {
            return known.ok_or(Clash);
        }
        // Recursive types are equal if nothing contradicts it.
        self.compared.insert((a, b), Some(a));
        let merged = self.structure(a, b, depth);
        if self.fuel > 0 {
            self.compared.insert((a, b), merged.ok());
        }
        merged
    }

    fn structure(&mut self, a: Term, b: Term, depth: u8) -> Result<Term, Clash> {
        match (self.head(a), self.head(b)) {
            (Head::Opaque(_), _) => Ok(b),
            (_, Head::Opaque(_)) => Ok(a),
            (Head::Declared(one), Head::Declared(other)) => {
                self.declarations(a, b, (one, other), depth)
            }
            (Head::Declared(id), _) if self.is_abstract(id) => Ok(b),
            (_, Head::Declared(id)) if self.is_abstract(id) => Ok(a),
            (Head::Text, _) if self.is_text(b) => Ok(b),
            (_, Head::Text) if self.is_text(a) => Ok(a),
            (Head::Tuple, Head::Tuple) => self.parts(a, b, Head::Tuple, depth),
            (Head::Arrow(_), Head::Arrow(_))
            | (Head::Object(_), Head::Object(_))
            | (Head::Package(..), Head::Package(..) | Head::Module(_))
            | (Head::Module(_), Head::Package(..) | Head::Module(_)) => Ok(a),
            _ => Err(Clash),
        }
    }

    fn declarations(
        &mut self,
        a: Term,
        b: Term,
        (one, other): (DeclarationId, DeclarationId),
        depth: u8,
    ) -> Result<Term, Clash> {
        if one == other {
            return self.parts(a, b, Head::Declared(one), depth);
        }
        let table = self.table;
        let (Some(first), Some(second)) =
            (table.declarations.get(one.index()), table.declarations.get(other.index()))
        else {
            return Err(Clash);
        };
        if first.generic == Some(other) {
            return self.parts(a, b, Head::Declared(one), depth);
        }
        if second.generic == Some(one) {
            return self.parts(a, b, Head::Declared(other), depth);
        }
        match (&first.kind, &second.kind) {
            (
                DeclarationKind::Cases { cases, .. },
                DeclarationKind::Cases { cases: others, .. },
            ) => self.cases((a, cases), (b, others), depth).map(|()| a),
            (_, DeclarationKind::Abstract(_)) => Ok(a),
            (DeclarationKind::Abstract(_), _) => Ok(b),
            _ if are_alike(first, second) => self.parts(a, b, Head::Declared(one), depth),
            _ => Err(Clash),
        }
    }

    /// Polymorphic variants agree unless the argument of a common case clashes.
    fn cases(
        &mut self,
        (a, cases): (Term, &[Case]),
        (b, others): (Term, &[Case]),
        depth: u8,
    ) -> Result<(), Clash> {
        let (parameters, other_parameters) =
            (self.arguments(a).to_vec(), self.arguments(b).to_vec());
        for case in cases {
            let Some(same) = others.iter().find(|other| other.hash == case.hash) else { continue };
            match (case.of, same.of) {
                (Some(of), Some(other)) => {
                    let of = self.instantiate(of, &mut Scope::closed(&parameters));
                    let other = self.instantiate(other, &mut Scope::closed(&other_parameters));
                    self.merge(of, other, depth + 1)?;
                }
                (None, None) => {}
                _ => return Err(Clash),
            }
        }
        Ok(())
    }

    fn parts(&mut self, a: Term, b: Term, head: Head, depth: u8) -> Result<Term, Clash> {
        let (left, right) = (self.arguments(a).to_vec(), self.arguments(b).to_vec());
        if left.len() != right.len() {
            return Err(Clash);
        }
        let mut merged = Vec::with_capacity(left.len());
        for (&one, &other) in left.iter().zip(&right) {
            merged.push(self.merge(one, other, depth + 1)?);
        }
        Ok(if merged == left && self.head(a) == head { a } else { self.make(head, &merged) })
    }

    /// What two types have in common; where they differ, nothing is known.
    pub(crate) fn in_common(&mut self, a: Term, b: Term) -> Term {
        self.fuel = FUEL;
        self.common(a, b, 0)
    }

    fn common(&mut self, a: Term, b: Term, depth: u8) -> Term {
        let (a, b) = (self.shallow(a), self.shallow(b));
        if a == b {
            return a;
        }
        if depth > DEEPEST || self.fuel == 0 {
            return Term::ANY;
        }
        self.fuel -= 1;
        let head = match (self.head(a), self.head(b)) {
            (Head::Tuple, Head::Tuple) => Head::Tuple,
            (Head::Arrow(label), Head::Arrow(_)) => Head::Arrow(label),
            (Head::Declared(one), Head::Declared(other)) => {
                let root = |id: DeclarationId| {
                    let known = self.table.declarations.get(id.index());
                    known.and_then(|known| known.generic).unwrap_or(id)
                };
                match (one == other, root(one) == root(other)) {
                    (true, _) => Head::Declared(one),
                    (_, true) => Head::Declared(root(one)),
                    _ => return Term::ANY,
                }
            }
            _ => return Term::ANY,
        };
        let (left, right) = (self.arguments(a).to_vec(), self.arguments(b).to_vec());
        if left.len() != right.len() {
            return Term::ANY;
        }
        let pairs = left.iter().zip(&right);
        let parts: Vec<_> = pairs.map(|(&a, &b)| self.common(a, b, depth + 1)).collect();
        self.make(head, &parts)
    }

    fn bind(&mut self, number: u32, to: Term) {
        self.bindings[number as usize] = to;
        self.bound.push(number);
    }

    fn bind_checked(&mut self, number: u32, to: Term) -> Result<Term, Clash> {
        let mut fuel = FUEL;
        if self.occurs(number, to, 0, &mut fuel) {
            return Err(Clash);
        }
        self.bind(number, to);
        Ok(to)
    }

    /// Whether a term contains a variable, or may contain it.
    fn occurs(&self, number: u32, term: Term, depth: u8, fuel: &mut u32) -> bool {
        let term = self.shallow(term);
        if self.is_ground(term) {
            return false;
        }
        if depth > DEEPEST || *fuel == 0 {
            return true;
        }
        *fuel -= 1;
        self.head(term) == Head::Variable(number)
            || self.arguments(term).iter().any(|&part| self.occurs(number, part, depth + 1, fuel))
    }

    fn is_abstract(&self, id: DeclarationId) -> bool {
        let declaration = self.table.declarations.get(id.index());
        declaration
            .is_none_or(|declaration| matches!(declaration.kind, DeclarationKind::Abstract(_)))
    }

    fn is_text(&self, term: Term) -> bool {
        use crate::Builtin::{Bytes, String};
        term == Term::TEXT || matches!(self.builtin(term), Some(String | Bytes))
    }
}

/// Whether two declarations are the same one, read twice.
fn are_alike(one: &Declaration, other: &Declaration) -> bool {
    if one.name != other.name || one.arity != other.arity {
        return false;
    }
    match (&one.kind, &other.kind) {
        (DeclarationKind::Record(_, fields), DeclarationKind::Record(_, others)) => {
            fields.iter().map(|field| &field.name).eq(others.iter().map(|field| &field.name))
        }
        (DeclarationKind::Variant(_, of), DeclarationKind::Variant(_, others)) => {
            let same = |(one, other): (&crate::Constructor, &crate::Constructor)| {
                one.name == other.name && one.arguments.len() == other.arguments.len()
            };
            of.len() == others.len() && of.iter().zip(others).all(same)
        }
        (DeclarationKind::Open, DeclarationKind::Open) => true,
        (DeclarationKind::Builtin(one), DeclarationKind::Builtin(other)) => one == other,
        _ => false,
    }
}
