//! From the location where a block was allocated to its type.
//!
//! A sample's innermost frame has a file, a line and columns; the table lists what is allocated there. There
//! may be several allocations: those that do not match the block are excluded, and if more than one type
//! remains, none is chosen.

use bactrian_snapshot::{Names, SnapshotLocation};

use crate::{Builtin, Site, SiteKind, Table, TypeId, UnitId};

use super::hash::Map;
use super::image::Form;
use super::shape::{Shape, Shapes};
use super::terms::{Head, Scope, Term, Terms};
use super::units::plain;

/// Debug information and traces cap the numbers of a location at these limits.
const MOST_START: u32 = (1 << 8) - 1;
const MOST_END: u32 = (1 << 10) - 1;
const LINES: u32 = 1 << 20;
/// With more allocations at one location, nobody can tell which one it is.
const MOST_AT_A_PLACE: usize = 4096;

/// Primitives that allocate one block and return it, so that the block has the type of their result. Others may
/// allocate more: `caml_sys_argv` returns an array, but its strings are allocated there, too.
const RETURN_THEIR_BLOCK: &[&str] = &[
    // `ref`
    "%makemutable",
    // `Array.make` and `Array.create_float`, by all names they had
    "caml_make_vect",
    "caml_array_make",
    "caml_make_float_vect",
    "caml_array_create_float",
    "caml_floatarray_create",
    "caml_floatarray_make",
    // `Array.sub`, `append`, `concat`: the elements exist already
    "caml_array_sub",
    "caml_array_append",
    "caml_array_concat",
    "caml_floatarray_sub",
    "caml_floatarray_append",
    "caml_floatarray_concat",
    // copies: same type as the original
    "caml_obj_dup",
    "%obj_dup",
    "caml_obj_with_tag",
    // without fields
    "caml_create_bytes",
    "caml_create_string",
    "caml_weak_create",
    "caml_ephe_create",
];

/// A source location.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    file: u32,
    line: u32,
    start: u32,
    end: u32,
}

/// What is known of a sampled block's type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// It is an instance of this scheme.
    Scheme(TypeId),
    /// It is of this type.
    Term(Term),
    /// Several types are possible.
    Ambiguous,
    /// The table has nothing matching at this location.
    Nothing,
}

/// All allocation sites, by location.
pub(crate) struct Sites<'t> {
    table: &'t Table,
    files: Map<&'t str, u32>,
    places: Map<Place, Vec<u32>>,
    is_used: &'t [bool],
    found: Map<(SnapshotLocation, Form, u32), Found>,
}

impl<'t> Sites<'t> {
    /// The sites of the units that are used.
    pub(crate) fn new(table: &'t Table, is_used: &'t [bool]) -> Sites<'t> {
        let mut files: Map<&str, u32> = Map::default();
        let mut places: Map<Place, Vec<u32>> = Map::default();
        for (at, site) in table.sites.iter().enumerate() {
            let next = files.len() as u32;
            let file = *files.entry(&site.file).or_insert(next);
            let place = place(file, site.line, site.start, site.end);
            places.entry(place).or_default().push(at as u32);
        }
        Sites { table, files, places, is_used, found: Map::default() }
    }

    /// The type of a block that was allocated at a location.
    pub(crate) fn find(
        &mut self,
        location: SnapshotLocation,
        (names, form, words): (&Names, Form, u32),
        (terms, shapes): (&mut Terms<'t>, &mut Shapes),
    ) -> Found {
        let key = (location, form, words);
        if let Some(&found) = self.found.get(&key) {
            return found;
        }
        let found = self.search(location, (names, form, words), (terms, shapes));
        self.found.insert(key, found);
        found
    }

    fn search(
        &self,
        location: SnapshotLocation,
        (names, form, words): (&Names, Form, u32),
        (terms, shapes): (&mut Terms<'t>, &mut Shapes),
    ) -> Found {
        let characters = (location.start_char, location.end_char);
        let there = self.sites_at(
            (names.get(location.file), location.line, characters),
            names.get(location.function),
            words,
        );
        let mut schemes: Vec<(TypeId, Term)> = Vec::new();
        for site in there {
            if site.tag.is_some_and(|tag| tag != form.tag()) {
                continue;
            }
            let term = terms.instantiate(site.of, &mut Scope::closed(&[]));
            if !is_certain(terms, site.kind, &site.name, term) || term == Term::ANY {
                continue;
            }
            let mark = terms.mark();
            let shape = shapes.of(terms, term, form, words);
            terms.undo(mark);
            if matches!(shape, Shape::Fits(_)) && !schemes.contains(&(site.of, term)) {
                schemes.push((site.of, term));
            }
        }
        match &schemes[..] {
            [] => Found::Nothing,
            [(scheme, _)] => Found::Scheme(*scheme),
            [(_, term), rest @ ..] if rest.iter().all(|(_, other)| other == term) => {
                Found::Term(*term)
            }
            _ => Found::Ambiguous,
        }
    }

    /// The sites at a location in a function that allocate blocks of this size.
    pub(crate) fn sites_at(
        &self,
        (file, line, (start, end)): (&str, u32, (u32, u32)),
        function: &str,
        words: u32,
    ) -> Vec<&'t Site> {
        let Some(&file) = self.files.get(file) else { return Vec::new() };
        let there = self.places.get(&place(file, line, start, end));
        let there = there.filter(|there| there.len() <= MOST_AT_A_PLACE);
        let there = there.map_or_else(Vec::new, |there| self.of_one_unit(there, function));
        let sites = there.into_iter().map(|at| &self.table.sites[at as usize]);
        sites.filter(|site| site.words.is_none_or(|size| size == words)).collect()
    }

    /// If several units have such a file, only the sites of the unit that contains the function.
    fn of_one_unit(&self, sites: &[u32], function: &str) -> Vec<u32> {
        let unit = |at: &u32| self.table.sites[*at as usize].unit;
        let is_used = |unit: UnitId| self.is_used.get(unit.index()) == Some(&true);
        let sites: Vec<u32> = sites.iter().copied().filter(|at| is_used(unit(at))).collect();
        let first = sites.first().map(unit);
        if sites.iter().all(|at| Some(unit(at)) == first) {
            return sites;
        }
        let function = plain(function);
        let has_function = |at: &u32| {
            let name = plain(&self.table.units[unit(at).index()].name);
            function.strip_prefix(&name).is_some_and(|rest| rest.starts_with('.'))
        };
        sites.into_iter().filter(has_function).collect()
    }
}

/// Whether a block allocated at such a site is certainly the site's value.
pub(crate) fn is_certain(terms: &Terms<'_>, kind: SiteKind, name: &str, term: Term) -> bool {
    match kind {
        SiteKind::Constructor
        | SiteKind::Record
        | SiteKind::Tuple
        | SiteKind::Array
        | SiteKind::Case
        | SiteKind::Extension
        | SiteKind::Closure
        | SiteKind::Lazy
        | SiteKind::Object
        | SiteKind::Module => true,
        SiteKind::Partial => matches!(terms.head(term), Head::Arrow(_)),
        SiteKind::Primitive => RETURN_THEIR_BLOCK.contains(&name) || is_by_tag(terms, term),
        SiteKind::Other => is_by_tag(terms, term),
    }
}

/// Whether the tag identifies blocks of a type.
fn is_by_tag(terms: &Terms<'_>, term: Term) -> bool {
    let builtin = terms.builtin(term);
    matches!(builtin, Some(Builtin::String | Builtin::Bytes | Builtin::Float))
        || matches!(builtin, Some(Builtin::Int32 | Builtin::Int64 | Builtin::Nativeint))
}

fn place(file: u32, line: u32, start: u32, end: u32) -> Place {
    Place { file, line: line % LINES, start: start.min(MOST_START), end: end.min(MOST_END) }
}
