//! `heap/..`: who holds what in a snapshot. Each question is that of a verb of `bactrian heap`, with the same options.

pub mod asking;
mod blocks;
mod classes;
mod holders;
mod reported;
mod structures;

use super::Function;
use bactrian_analysis::heap::ClassBy;

pub use reported::reported;

pub const QUESTIONS: &[(&str, Function)] = &[
    ("heap/roots", holders::roots),
    ("heap/first-roots", holders::first_roots),
    ("heap/dominators", holders::dominators),
    ("heap/paths", holders::paths),
    ("heap/finalisers", holders::finalisers),
    ("heap/types", |evidence, query| classes::classes(evidence, query, ClassBy::Type)),
    ("heap/tags", |evidence, query| classes::classes(evidence, query, ClassBy::Tag)),
    ("heap/sites", |evidence, query| classes::classes(evidence, query, ClassBy::Site)),
    ("heap/functions", |evidence, query| classes::classes(evidence, query, ClassBy::Function)),
    ("heap/modules", |evidence, query| classes::classes(evidence, query, ClassBy::Module)),
    ("heap/fields", classes::fields),
    ("heap/duplicates", structures::duplicates),
    ("heap/collections", structures::collections),
    ("heap/graph", structures::graph),
    ("heap/show", blocks::show),
    ("heap/find", blocks::find),
];
