//! Some rows, column by column.

use std::sync::Arc;

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
    Text(Vec<Option<Arc<str>>>),
}

impl Values {
    /// How many there are.
    pub fn len(&self) -> usize {
        match self {
            Values::Whole(values) => values.len(),
            Values::Real(values) => values.len(),
            Values::Truth(values) => values.len(),
            Values::Text(values) => values.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Of whole numbers; those that are too large for the column are as large as can be.
    pub(crate) fn whole(values: impl Iterator<Item = Option<u64>>) -> Values {
        let signed = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        Values::Whole(values.map(|number| number.map(signed)).collect())
    }

    pub(crate) fn text(values: impl Iterator<Item = Option<Arc<str>>>) -> Values {
        Values::Text(values.collect())
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
pub(crate) struct Columns<'a> {
    table: &'a Table,
    is_wanted: &'a dyn Fn(usize) -> bool,
    columns: Vec<Option<Values>>,
}

impl<'a> Columns<'a> {
    pub fn of(table: &'a Table, is_wanted: &'a dyn Fn(usize) -> bool) -> Columns<'a> {
        Columns { table, is_wanted, columns: Vec::new() }
    }

    /// The next column; its name says to the reader which it is.
    pub fn next(mut self, name: &str, make: impl FnOnce() -> Values) -> Columns<'a> {
        let place = self.columns.len();
        assert_eq!(self.table.columns[place].name, name, "columns are in the order of the schema");
        self.columns.push((self.is_wanted)(place).then(make));
        self
    }

    pub fn batch(self, rows: usize) -> Batch {
        assert_eq!(self.columns.len(), self.table.columns.len(), "every column is told");
        let lengths = self.columns.iter().flatten().map(Values::len);
        assert!(lengths.into_iter().all(|length| length == rows), "columns are equally long");
        Batch { rows, columns: self.columns }
    }
}
