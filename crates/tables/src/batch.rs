//! Batches of rows, stored column by column.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Scan;
use crate::schema::Table;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// 64-bit integers.
    Whole(Vec<Option<i64>>),
    /// Floating-point numbers.
    Real(Vec<Option<f64>>),
    /// Booleans.
    Truth(Vec<Option<bool>>),
    /// Texts.
    Text(Texts),
}

/// Dictionary-encoded texts: the name of a class with a million blocks is stored once, and rows refer to it by
/// index.
#[derive(Clone, Debug, PartialEq)]
pub struct Texts {
    /// The distinct texts.
    pub names: Arc<[Arc<str>]>,
    /// For each row the index of its text, or [`Texts::NONE`].
    pub places: Vec<u32>,
}

impl Texts {
    /// The index of a null.
    pub const NONE: u32 = u32::MAX;

    /// The text of each row; None for a null.
    pub fn iter(&self) -> impl Iterator<Item = Option<&Arc<str>>> {
        self.places.iter().map(|&place| self.names.get(place as usize))
    }
}

impl Values {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Values::Whole(values) => values.len(),
            Values::Real(values) => values.len(),
            Values::Truth(values) => values.len(),
            Values::Text(texts) => texts.places.len(),
        }
    }

    /// Whether there are no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Integers. Values too large for the column become the greatest one.
    pub fn whole(values: impl Iterator<Item = Option<u64>>) -> Values {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Values::Whole(values.map(|number| number.map(signed)).collect())
    }

    /// Texts that rows share. Pointer equality decides which are the same.
    pub fn text(values: impl Iterator<Item = Option<Arc<str>>>) -> Values {
        let (mut names, mut known) = (Vec::new(), HashMap::new());
        let places = values.map(|text| match text {
            Some(text) => *known.entry(text.as_ptr()).or_insert_with(|| {
                names.push(text);
                names.len() as u32 - 1
            }),
            None => Texts::NONE,
        });
        let places = places.collect();
        Values::Text(Texts { names: names.into(), places })
    }

    /// Texts from a given dictionary, by index.
    pub fn named(names: &Arc<[Arc<str>]>, places: impl Iterator<Item = Option<u32>>) -> Values {
        let places = places.map(|place| place.unwrap_or(Texts::NONE)).collect();
        Values::Text(Texts { names: Arc::clone(names), places })
    }
}

/// Some rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// The number of rows.
    pub rows: usize,
    /// The columns, by index; None for each one that was not requested.
    pub columns: Vec<Option<Values>>,
}

/// Builds a batch; a column is computed only if it is wanted.
pub struct Columns<'a> {
    table: &'a Table,
    is_wanted: &'a dyn Fn(usize) -> bool,
    columns: Vec<Option<Values>>,
}

impl<'a> Columns<'a> {
    /// Passes rows to the sink, unless the predicate rejects them: then only the columns that it needs are
    /// computed.
    ///
    /// # Errors
    /// Those of the sink or the predicate.
    pub fn offer(
        scan: &Scan<'a>,
        sink: &mut crate::Sink<'_>,
        rows: usize,
        columns: impl Fn(Columns<'_>) -> Columns<'_>,
    ) -> std::io::Result<()> {
        let make = |is_wanted: &dyn Fn(usize) -> bool| {
            columns(Columns { table: scan.table, is_wanted, columns: Vec::new() }).batch(rows)
        };
        let Some(predicate) = &scan.predicate else { return sink(make(scan.is_wanted)) };
        let first = make(&|place| (predicate.needs)(place));
        if !(predicate.accepts)(&first)? {
            return Ok(());
        }
        let rest = make(&|place| (scan.is_wanted)(place) && !(predicate.needs)(place));
        let both = first.columns.into_iter().zip(rest.columns).enumerate();
        let columns =
            both.map(|(place, (first, rest))| first.filter(|_| (scan.is_wanted)(place)).or(rest));
        sink(Batch { rows, columns: columns.collect() })
    }

    /// Adds the next column. The name is only for readers of the code.
    ///
    /// # Panics
    /// If it is not the next column of the schema.
    #[must_use]
    pub fn next(mut self, name: &str, make: impl FnOnce() -> Values) -> Columns<'a> {
        let place = self.columns.len();
        assert_eq!(self.table.columns[place].name, name, "columns are in the order of the schema");
        self.columns.push((self.is_wanted)(place).then(make));
        self
    }

    fn batch(self, rows: usize) -> Batch {
        assert_eq!(self.columns.len(), self.table.columns.len(), "every column is told");
        let lengths = self.columns.iter().flatten().map(Values::len);
        assert!(lengths.into_iter().all(|length| length == rows), "columns are equally long");
        Batch { rows, columns: self.columns }
    }
}
