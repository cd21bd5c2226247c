//! Rows as Arrow arrays.

use std::collections::HashMap;
use std::sync::Arc;

use bactrian_tables::schema::{ColumnKind, Table};
use bactrian_tables::{Texts, Values};
use datafusion::arrow::array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, StringViewArray, UInt32Array,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;

/// The engine's type for a kind of column.
pub fn data_type(kind: ColumnKind) -> DataType {
    match kind {
        ColumnKind::Whole => DataType::Int64,
        ColumnKind::Real => DataType::Float64,
        ColumnKind::Truth => DataType::Boolean,
        ColumnKind::Text => DataType::Utf8View,
    }
}

/// The schema of a table, with more columns after its own.
pub fn schema(table: &Table, besides: impl IntoIterator<Item = Field>) -> SchemaRef {
    let columns = table.columns.iter();
    let fields = columns.map(|it| Field::new(it.name, data_type(it.kind), it.is_nullable));
    Arc::new(Schema::new(fields.chain(besides).collect::<Vec<_>>()))
}

/// Makes arrays of values. Texts that many batches share are converted once.
#[derive(Default)]
pub struct Arrays {
    /// Arrays by the address of their texts.
    known: HashMap<*const Arc<str>, LaidOut>,
}

/// Texts, kept alive so that no others get their address, and their array.
type LaidOut = (Arc<[Arc<str>]>, ArrayRef);

/// The maximum number of known lists of texts: more than all batches of any table share.
const MOST_KNOWN: usize = 64;

impl Arrays {
    pub fn of(&mut self, values: &Values) -> Result<ArrayRef, ArrowError> {
        Ok(match values {
            Values::Whole(values) => Arc::new(Int64Array::from(values.clone())),
            Values::Real(values) => Arc::new(Float64Array::from(values.clone())),
            Values::Truth(values) => Arc::new(BooleanArray::from(values.clone())),
            Values::Text(texts) => self.texts(texts)?,
        })
    }

    fn texts(&mut self, texts: &Texts) -> Result<ArrayRef, ArrowError> {
        if self.known.len() > MOST_KNOWN {
            self.known.clear();
        }
        let (_, names) = self.known.entry(texts.names.as_ptr()).or_insert_with(|| {
            let array = StringViewArray::from_iter_values(texts.names.iter());
            (Arc::clone(&texts.names), Arc::new(array))
        });
        let is_there = |place: &u32| *place != Texts::NONE;
        let nulls = (!texts.places.iter().all(is_there))
            .then(|| NullBuffer::from_iter(texts.places.iter().map(is_there)));
        let places = UInt32Array::new(texts.places.clone().into(), nulls);
        take(names, &places, None)
    }
}
