//! Tables as Parquet files in a folder, one file each: for DuckDB, pandas, polars, Spark and others.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use bactrian_tables::schema::{Column, ColumnKind, Table, VERSION};
use bactrian_tables::{Batch, Scan, Tables, Values};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;

/// The number of rows per row group, which is what engines read, and what is held in memory, at once.
const ROW_GROUP: usize = 1 << 18;

/// A table that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenTable {
    /// Its name.
    pub name: &'static str,
    /// The number of its rows.
    pub rows: usize,
}

/// Writes all tables into an existing folder.
///
/// # Errors
/// If a file cannot be written.
pub fn write_parquet(tables: &dyn Tables, folder: &Path) -> io::Result<Vec<WrittenTable>> {
    let write = |table: &&'static Table| {
        let file = File::create(folder.join(format!("{}.parquet", table.name)))?;
        let rows = write_table(tables, table, file)?;
        Ok(WrittenTable { name: table.name, rows })
    };
    tables.tables().iter().map(write).collect()
}

/// Writes one table and returns the number of its rows.
///
/// # Errors
/// If the file cannot be written.
pub fn write_table(
    tables: &dyn Tables,
    table: &Table,
    out: impl Write + Send,
) -> io::Result<usize> {
    let version = KeyValue::new("bactrian.schema_version".to_owned(), VERSION.to_string());
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_key_value_metadata(Some(vec![version]))
        .build();
    let schema = Arc::new(schema_of(table).map_err(io::Error::other)?);
    let mut writer =
        SerializedFileWriter::new(out, schema, Arc::new(properties)).map_err(io::Error::other)?;
    let mut waiting: Vec<Batch> = Vec::new();
    let (mut rows, mut all) = (0, 0);
    tables.scan(&Scan::whole(table), &mut |batch| {
        rows += batch.rows;
        all += batch.rows;
        waiting.push(batch);
        if rows < ROW_GROUP {
            return Ok(());
        }
        rows = 0;
        write_group(&mut writer, table, &std::mem::take(&mut waiting)).map_err(io::Error::other)
    })?;
    if rows > 0 {
        write_group(&mut writer, table, &waiting).map_err(io::Error::other)?;
    }
    writer.close().map_err(io::Error::other)?;
    Ok(all)
}

fn schema_of(table: &Table) -> Result<Type, ParquetError> {
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            ColumnKind::Whole => (Physical::INT64, None),
            ColumnKind::Real => (Physical::DOUBLE, None),
            ColumnKind::Truth => (Physical::BOOLEAN, None),
            ColumnKind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
        };
        let repetition =
            if column.is_nullable { Repetition::OPTIONAL } else { Repetition::REQUIRED };
        let field = Type::primitive_type_builder(column.name, physical);
        field.with_repetition(repetition).with_logical_type(logical).build().map(Arc::new)
    };
    let fields = table.columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder(table.name).with_fields(fields).build()
}

/// Writes some values of a column.
fn put<D: DataType>(
    out: &mut SerializedColumnWriter<'_>,
    column: &Column,
    values: impl Iterator<Item = Option<D::T>>,
) -> Result<(), ParquetError> {
    let (mut there, mut levels) = (Vec::new(), Vec::new());
    for value in values {
        levels.push(i16::from(value.is_some()));
        there.extend(value);
    }
    // A column that is not nullable has no definition levels.
    let levels = column.is_nullable.then_some(levels.as_slice());
    out.typed::<D>().write_batch(&there, levels, None)?;
    Ok(())
}

fn write_group(
    writer: &mut SerializedFileWriter<impl Write + Send>,
    table: &Table,
    batches: &[Batch],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for (place, column) in table.columns.iter().enumerate() {
        let Some(mut out) = group.next_column()? else { break };
        for values in batches.iter().filter_map(|batch| batch.columns.get(place)?.as_ref()) {
            match values {
                Values::Whole(values) => {
                    put::<Int64Type>(&mut out, column, values.iter().copied())?;
                }
                Values::Real(values) => {
                    put::<DoubleType>(&mut out, column, values.iter().copied())?;
                }
                Values::Truth(values) => {
                    put::<BoolType>(&mut out, column, values.iter().copied())?;
                }
                Values::Text(texts) => {
                    let mut known: Vec<Option<ByteArray>> = vec![None; texts.names.len()];
                    let values: Vec<Option<ByteArray>> = texts
                        .places
                        .iter()
                        .map(|&place| {
                            let text = texts.names.get(place as usize)?;
                            let known = &mut known[place as usize];
                            let new = || text.as_bytes().to_vec().into();
                            Some(known.get_or_insert_with(new).clone())
                        })
                        .collect();
                    put::<ByteArrayType>(&mut out, column, values.into_iter())?;
                }
            }
        }
        out.close()?;
    }
    group.close()?;
    Ok(())
}
