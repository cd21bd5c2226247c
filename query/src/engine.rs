//! The engine with the tables of some files.

use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;

use bactrian::query::{Format, OpenedFile, Request};
use bactrian::{Console, Failure, write_file};
use bactrian_tables::schema::Table;
use datafusion::common::Result;
use datafusion::dataframe::DataFrame;
use datafusion::prelude::{SessionConfig, SessionContext};
use tokio::runtime::Runtime;

use crate::answers::{self, Untold};
use crate::functions;
use crate::mistakes::mistake;
use crate::provider::{EvidenceTable, Source};

/// The engine.
pub struct Engine {
    context: SessionContext,
    runtime: Runtime,
    /// All tables, for the completion of names.
    pub tables: Vec<&'static Table>,
    /// Names of types, for the same.
    pub types: Vec<String>,
}

impl Engine {
    pub fn new(files: &[OpenedFile]) -> Result<Engine, Failure> {
        let runtime = Runtime::new()?;
        let mut config = SessionConfig::new().with_information_schema(true);
        // For messages that point into the query.
        config.options_mut().sql_parser.collect_spans = true;
        let context = SessionContext::new_with_config(config);
        let mut tables: BTreeMap<&str, (&'static Table, Vec<Source>)> = BTreeMap::new();
        for OpenedFile { name, tables: of, .. } in files {
            let source = Source { name: name.as_str().into(), tables: Arc::clone(of) };
            for table in of.tables() {
                let known = tables.entry(table.name).or_insert_with(|| (table, Vec::new()));
                known.1.push(source.clone());
            }
        }
        let known = tables.values().map(|(table, _)| *table).collect();
        for (name, (table, sources)) in tables {
            let provider = EvidenceTable::new(table, sources);
            context.register_table(name, Arc::new(provider)).map_err(broken)?;
        }
        functions::register(&context, files);
        let heaps = files.iter().filter_map(|file| file.heap.as_ref());
        let mut types: Vec<String> =
            heaps.flat_map(|heap| heap.classes().iter().map(|class| class.title())).collect();
        types.sort_unstable();
        types.dedup();
        Ok(Engine { context, runtime, tables: known, types })
    }

    /// Answers a query and prints the answer in the requested format.
    pub fn tell(&self, sql: &str, request: &Request, console: &mut Console) -> Result<(), Failure> {
        let wrong = |error| mistake(sql, &error);
        let frame = self.runtime.block_on(self.plan(sql, request.explain)).map_err(wrong)?;
        let schema = Arc::new(frame.schema().as_arrow().clone());
        let stream = self.runtime.block_on(frame.execute_stream()).map_err(wrong)?;
        let batches = answers::Batches::new(&self.runtime, stream);
        let told = |untold| match untold {
            Untold::Query(error) => wrong(error),
            Untold::Output(error) => Failure::from(error),
        };
        let output = request.output.as_deref().unwrap_or(Path::new("-"));
        if output == Path::new("-") && request.to == Format::Table {
            return answers::table(&schema, batches, console).map_err(told);
        }
        if output == Path::new("-") && request.to == Format::Parquet && io::stdout().is_terminal() {
            let what =
                "a Parquet file is not for the terminal: give -o FILE or redirect the output";
            return Err(Failure::Usage(what.to_owned()));
        }
        write_file(output, console, |out, _| {
            let written = match request.to {
                Format::Parquet => answers::parquet(&schema, batches, out),
                Format::Json => answers::json(batches, out),
                Format::Csv => answers::csv(batches, out),
                Format::Table => answers::plain_table(&schema, batches, out),
            };
            written.map_err(told)
        })
    }

    async fn plan(&self, sql: &str, explain: bool) -> Result<DataFrame> {
        let options = datafusion::execution::context::SQLOptions::new()
            // Files are evidence: queries cannot write.
            .with_allow_ddl(false)
            .with_allow_dml(false);
        let frame = self.context.sql_with_options(sql, options).await?;
        if explain { frame.explain(false, false) } else { Ok(frame) }
    }
}

fn broken(error: datafusion::common::DataFusionError) -> Failure {
    Failure::Usage(error.strip_backtrace())
}
