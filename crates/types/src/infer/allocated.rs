//! Types of what traces tell: blocks of which only the place and the size are known.

use crate::{Builtin, Table};

use super::hash::Map;
use super::print::print;
use super::sites::{Sites, is_certain};
use super::terms::{Scope, Term, Terms};

/// Something that was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allocation<'a> {
    /// The function, as debug information calls it.
    pub function: &'a str,
    /// The source file.
    pub file: &'a str,
    /// The line.
    pub line: u32,
    /// Characters from the start of the line to the beginning and to the end of the expression.
    pub characters: (u32, u32),
    /// The size of the block without its header.
    pub words: u32,
}

/// What is known of its type.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Allocated {
    /// It is this, as a person writes it.
    Type(String),
    /// It is one of several.
    OneOfSeveral,
    /// The table knows of no such allocation.
    Unknown,
}

/// Types by what was allocated where.
pub struct Allocations<'t> {
    sites: Sites<'t>,
    terms: Terms<'t>,
}

impl<'t> Allocations<'t> {
    /// Those of a table. `is_used` says for each of its units whether it is part of the program.
    pub fn new(table: &'t Table, is_used: &'t [bool]) -> Allocations<'t> {
        Allocations { sites: Sites::new(table, is_used), terms: Terms::new(table) }
    }

    /// The type of something that was allocated.
    pub fn find(&mut self, allocation: &Allocation<'_>) -> Allocated {
        let Allocation { function, file, line, characters, words } = *allocation;
        let mut names: Map<String, ()> = Map::default();
        for site in self.sites.sites_at((file, line, characters), function, words) {
            let term = self.terms.instantiate(site.of, &mut Scope::fresh());
            let is_there = term != Term::ANY && self.is_of_size(term, words);
            if is_there && is_certain(&self.terms, site.kind, &site.name, term) {
                names.insert(print(&self.terms, term), ());
            }
        }
        let mut names = names.into_keys();
        match (names.next(), names.next()) {
            (Some(name), None) => Allocated::Type(name),
            (Some(_), Some(_)) => Allocated::OneOfSeveral,
            (None, _) => Allocated::Unknown,
        }
    }

    /// Whether blocks of a type that has one size have this one.
    fn is_of_size(&self, term: Term, words: u32) -> bool {
        match self.terms.builtin(term) {
            Some(Builtin::Float) => words == 1,
            // Their operations, and the number; older runtimes keep room to align it.
            Some(Builtin::Int32 | Builtin::Int64 | Builtin::Nativeint) => (2..=3).contains(&words),
            _ => true,
        }
    }
}
