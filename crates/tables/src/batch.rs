//! Some rows, column by column.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Scan;
use crate::schema::Table;

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers.
    Real(Vec<Option<f64>>),
    /// Truth values.
    Truth(Vec<Option<bool>>),
    /// Texts.
    Text(Texts),
}

/// Texts of rows. They are few, and rows name them by their places: a class of a million blocks is written down once.
#[derive(Clone, Debug, PartialEq)]
pub struct Texts {
    /// The texts.
    pub names: Arc<[Arc<str>]>,
    /// For each row the place of its text, or [`Texts::NONE`].
    pub places: Vec<u32>,
}

impl Texts {
    /// The place of a text that is not there.
    pub const NONE: u32 = u32::MAX;

    /// The text of each row.
    pub fn iter(&self) -> impl Iterator<Item = Option<&Arc<str>>> {
        self.places.iter().map(|&place| self.names.get(place as usize))
    }
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Whole(values) => values.len(),
            Values::Real(values) => values.len(),
            Values::Truth(values) => values.len(),
            Values::Text(texts) => texts.places.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Of whole numbers; those that are too large for the column are as large as can be.
    pub fn whole(values: impl Iterator<Item = Option<u64>>) -> Values {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Values::Whole(values.map(|number| number.map(signed)).collect())
    }

    /// Of texts that rows share.
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

    /// Of texts that are known before, by their places.
    pub fn named(names: &Arc<[Arc<str>]>, places: impl Iterator<Item = Option<u32>>) -> Values {
        let places = places.map(|place| place.unwrap_or(Texts::NONE)).collect();
        Values::Text(Texts { names: Arc::clone(names), places })
    }
}

/// Some rows of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// How many.
    pub rows: usize,
    /// Its columns by their places; none where one is not wanted.
    pub columns: Vec<Option<Values>>,
}

/// Makes a batch from columns that are made only if they are wanted.
pub struct Columns<'a> {
    table: &'a Table,
    is_wanted: &'a dyn Fn(usize) -> bool,
    columns: Vec<Option<Values>>,
}

impl<'a> Columns<'a> {
    /// Hands rows to whoever scans, unless their predicate has already refused them: then no other column is made.
    ///
    /// # Errors
    /// What the sink or the predicate says.
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

    /// The next column; its name says to the reader which it is.
    ///
    /// # Panics
    /// If it is not the next one of the schema.
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
