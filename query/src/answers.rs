//! Output of answers: a table for people, JSON, CSV, Parquet.

use std::io::{self, IsTerminal, Write};

use bactrian::Console;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::csv::WriterBuilder;
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::json::WriterBuilder as JsonBuilder;
use datafusion::arrow::json::writer::JsonArray;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::properties::WriterProperties;
use futures::StreamExt;
use tokio::runtime::Runtime;

/// The maximum number of rows of a table on a terminal.
const MOST_ROWS: usize = 1_000;
/// The minimum width of a narrowed column.
const NARROW: usize = 12;

/// Why an answer was not printed.
pub enum Untold {
    /// It could not be computed.
    Query(DataFusionError),
    /// It could not be written.
    Output(io::Error),
}

impl From<io::Error> for Untold {
    fn from(error: io::Error) -> Untold {
        Untold::Output(error)
    }
}

impl From<ArrowError> for Untold {
    fn from(error: ArrowError) -> Untold {
        match error {
            ArrowError::IoError(_, error) => Untold::Output(error),
            error => Untold::Query(error.into()),
        }
    }
}

impl From<datafusion::parquet::errors::ParquetError> for Untold {
    fn from(error: datafusion::parquet::errors::ParquetError) -> Untold {
        Untold::Output(io::Error::other(error))
    }
}

/// The batches of an answer as they arrive.
pub struct Batches<'r> {
    runtime: &'r Runtime,
    stream: SendableRecordBatchStream,
}

impl<'r> Batches<'r> {
    pub fn new(runtime: &'r Runtime, stream: SendableRecordBatchStream) -> Batches<'r> {
        Batches { runtime, stream }
    }
}

impl Iterator for Batches<'_> {
    type Item = Result<RecordBatch, Untold>;

    fn next(&mut self) -> Option<Result<RecordBatch, Untold>> {
        Some(self.runtime.block_on(self.stream.next())?.map_err(Untold::Query))
    }
}

/// Keeps the I/O error of an output, because the writers of formats keep only its text.
struct Output<'w> {
    out: &'w mut dyn Write,
    error: Option<io::Error>,
}

impl Output<'_> {
    fn keep(&mut self, error: io::Error) -> io::Error {
        let same = error.kind().into();
        self.error = Some(error);
        same
    }
}

impl Write for Output<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|error| self.keep(error))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|error| self.keep(error))
    }
}

/// Runs `write`, and reports an error of its output as such: the reader may have seen enough.
fn written_to(
    out: &mut dyn Write,
    write: impl FnOnce(&mut Output<'_>) -> Result<(), Untold>,
) -> Result<(), Untold> {
    let mut output = Output { out, error: None };
    let written = write(&mut output);
    match output.error {
        Some(error) if written.is_err() => Err(Untold::Output(error)),
        _ => written,
    }
}

pub fn json(batches: Batches<'_>, out: &mut dyn Write) -> Result<(), Untold> {
    written_to(out, |out| {
        // Every row has every column, so that the first row names them all.
        let builder = JsonBuilder::new().with_explicit_nulls(true);
        let mut writer = builder.build::<_, JsonArray>(&mut *out);
        for batch in batches {
            writer.write(&batch?)?;
        }
        writer.finish()?;
        drop(writer);
        Ok(writeln!(out)?)
    })
}

pub fn csv(batches: Batches<'_>, out: &mut dyn Write) -> Result<(), Untold> {
    written_to(out, |out| {
        let mut writer = WriterBuilder::new().with_header(true).build(out);
        for batch in batches {
            writer.write(&batch?)?;
        }
        Ok(())
    })
}

/// The file is made in memory: the Parquet writer needs an output that may move between threads, which ours may not.
pub fn parquet(
    schema: &SchemaRef,
    batches: Batches<'_>,
    out: &mut dyn Write,
) -> Result<(), Untold> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .build();
    let mut file = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut file, schema.clone(), Some(properties))?;
    for batch in batches {
        writer.write(&batch?)?;
    }
    writer.close()?;
    Ok(out.write_all(&file)?)
}

/// A table that fits the terminal.
pub fn table(
    schema: &SchemaRef,
    batches: Batches<'_>,
    console: &mut Console,
) -> Result<(), Untold> {
    let room = console.width();
    let most = if io::stdout().is_terminal() { MOST_ROWS } else { usize::MAX };
    write_table(schema, batches, room, most, console.out())
}

/// A table with columns as wide as their contents.
pub fn plain_table(
    schema: &SchemaRef,
    batches: Batches<'_>,
    out: &mut dyn Write,
) -> Result<(), Untold> {
    write_table(schema, batches, None, usize::MAX, out)
}

fn write_table(
    schema: &SchemaRef,
    batches: Batches<'_>,
    room: Option<usize>,
    most: usize,
    out: &mut dyn Write,
) -> Result<(), Untold> {
    let titles = schema.fields().iter().map(|field| field.name().clone());
    let mut rows: Vec<Vec<String>> = vec![titles.collect()];
    let mut left_out = 0;
    for batch in batches {
        let batch = batch?;
        let options = FormatOptions::new().with_null("");
        let columns = batch.columns().iter();
        let columns: Vec<ArrayFormatter<'_>> =
            columns.map(|it| ArrayFormatter::try_new(it, &options)).collect::<Result<_, _>>()?;
        let taken = batch.num_rows().min(most.saturating_add(1).saturating_sub(rows.len()));
        left_out += batch.num_rows() - taken;
        rows.extend(
            (0..taken)
                .map(|at| columns.iter().map(|it| visible(&it.value(at).to_string())).collect()),
        );
    }
    let is_number = |at: usize| {
        let kind = schema.field(at).data_type();
        kind.is_numeric() || matches!(kind, DataType::Boolean)
    };
    let widths = widths(&rows, room);
    for row in &rows {
        let mut line = String::new();
        for (at, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            let cell = shortened(cell, width);
            if at > 0 {
                line += "  ";
            }
            match is_number(at) {
                true => line += &format!("{cell:>width$}"),
                false => line += &format!("{cell:<width$}"),
            }
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    if left_out > 0 {
        writeln!(out, "and {left_out} more rows: add a limit, or write them with --to csv")?;
    }
    Ok(())
}

/// The widths of columns: those of their contents. If there is not enough room, the widest columns are narrowed.
fn widths(rows: &[Vec<String>], room: Option<usize>) -> Vec<usize> {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let mut widths: Vec<usize> = (0..columns).map(width).collect();
    let Some(room) = room else { return widths };
    loop {
        let total = widths.iter().sum::<usize>() + 2 * columns.saturating_sub(1);
        let Some(widest) = widths.iter_mut().max().filter(|it| **it > NARROW) else {
            return widths;
        };
        if total <= room {
            return widths;
        }
        *widest -= (total - room).min(*widest - NARROW).min((*widest / 8).max(1));
    }
}

fn shortened(text: &str, width: usize) -> String {
    match text.chars().count() > width {
        true => text.chars().take(width.saturating_sub(1)).chain(['…']).collect(),
        false => text.to_owned(),
    }
}

/// A text on one line, without anything that a terminal would interpret.
fn visible(text: &str) -> String {
    let show =
        |c: char| if c.is_control() { c.escape_default().to_string() } else { c.to_string() };
    match text.chars().any(char::is_control) {
        true => text.chars().map(show).collect(),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_columns_give_room_to_narrow_ones() {
        let row = |long: usize| vec!["x".repeat(long), "12345".to_owned(), "y".repeat(20)];
        assert_eq!(widths(&[row(30)], None), [30, 5, 20]);
        assert_eq!(widths(&[row(30)], Some(100)), [30, 5, 20]);
        let narrow = widths(&[row(200)], Some(80));
        assert!(narrow.iter().sum::<usize>() + 4 <= 80, "{narrow:?}");
        assert_eq!(&narrow[1..], [5, 20]);
        // Without any room, columns stay readable.
        assert_eq!(widths(&[row(200)], Some(10)), [NARROW, 5, NARROW]);
    }

    #[test]
    fn closed_output_is_reported_as_such() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let text_only = |out: &mut Output<'_>| {
            let written =
                out.write_all(b"x").map_err(|error| ArrowError::CsvError(error.to_string()));
            Ok(written?)
        };
        let told = written_to(&mut Closed, text_only);
        let is_told = |it: &Untold| matches!(it, Untold::Output(error) if error.kind() == io::ErrorKind::BrokenPipe);
        assert!(told.as_ref().is_err_and(is_told));
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(visible("a\n\u{1b}[2Jb"), "a\\n\\u{1b}[2Jb");
        assert_eq!(shortened("abcdef", 4), "abc…");
    }
}
