//! The tables of a fleet: Parquet files of a store. Columns that a file does not have are null, so that files of every version
//! can be read.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;

use bactrian::Failure;
use bactrian::engine::{FleetEngine, Row, TableFolders};
use bactrian_fleet::roll_up::Packer;
use bactrian_tables::schema::{FLEET_STACKS, RUNTIME, SAMPLES, Table};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use datafusion::arrow::json::WriterBuilder;
use datafusion::arrow::json::writer::JsonArray;
use datafusion::common::{DataFusionError, Result};
use datafusion::datasource::MemTable;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::parquet::arrow::ArrowWriter;
use datafusion::parquet::basic::{Compression, ZstdLevel};
use datafusion::parquet::file::metadata::KeyValue;
use datafusion::parquet::file::properties::WriterProperties;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures::TryStreamExt;
use tokio::runtime::Runtime;
use url::Url;

use crate::columns::schema;
use crate::store;

/// The maximum number of files that are open at once.
const MOST_OPEN: usize = 500;
/// The memory limit of answers, in bytes.
const MOST_MEMORY: usize = 2 << 30;

/// A session in which a store can be read.
struct Session {
    context: SessionContext,
    runtime: Arc<Runtime>,
    /// The address of its files.
    store: Url,
}

fn broken(error: DataFusionError) -> Failure {
    Failure::Input(anyhow::anyhow!(error.strip_backtrace()))
}

impl Session {
    fn open(store: &str, runtime: Arc<Runtime>) -> Result<Session, Failure> {
        // What does not fit is spilled to disk. Each operator has its share: one that sorts would otherwise leave nothing to
        // those that feed it.
        let pool = Arc::new(FairSpillPool::new(MOST_MEMORY));
        let limits = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc();
        let context =
            SessionContext::new_with_config_rt(SessionConfig::new(), limits.map_err(broken)?);
        let mut address = address(store)?;
        if address.scheme() != "file" {
            let (objects, _) = store::at(&address)?;
            context.register_object_store(&address, objects);
        }
        if !address.path().ends_with('/') {
            address.set_path(&format!("{}/", address.path()));
        }
        Ok(Session { context, runtime, store: address })
    }

    /// Registers files or folders of the store as a table.
    fn register(&self, name: &str, table: &Table, places: &[String]) -> Result<(), Failure> {
        if places.is_empty() {
            let none = MemTable::try_new(nullable(&schema(table, None)), vec![Vec::new()]);
            let registered = self.context.register_table(name, Arc::new(none.map_err(broken)?));
            return registered.map(drop).map_err(broken);
        }
        let url = |place: &String| ListingTableUrl::parse(format!("{}{place}", self.store));
        let urls = places.iter().map(url).collect::<Result<Vec<_>>>().map_err(broken)?;
        let options =
            ListingOptions::new(Arc::new(ParquetFormat::default())).with_file_extension(".parquet");
        let config = ListingTableConfig::new_with_multi_paths(urls)
            .with_listing_options(options)
            .with_schema(nullable(&schema(table, None)));
        let table = ListingTable::try_new(config).map_err(broken)?;
        self.context.register_table(name, Arc::new(table)).map(drop).map_err(broken)
    }

    /// Writes an answer as a Parquet file while it arrives.
    fn write(&self, sql: &str, out: impl Write + Send) -> Result<(), Failure> {
        let version = bactrian_tables::schema::VERSION.to_string();
        let version = KeyValue::new("bactrian.schema_version".to_owned(), version);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_key_value_metadata(Some(vec![version]))
            .build();
        let written = self.runtime.block_on(async {
            let mut rows = self.context.sql(sql).await?.execute_stream().await?;
            let mut writer = ArrowWriter::try_new(out, rows.schema(), Some(properties))?;
            while let Some(batch) = rows.try_next().await? {
                writer.write(&batch)?;
            }
            writer.close()?;
            Ok(())
        });
        written.map_err(broken)
    }

    fn batches(&self, sql: &str) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        self.runtime.block_on(async {
            let frame = self.context.sql(sql).await?;
            let schema = Arc::new(frame.schema().as_arrow().clone());
            Ok((schema, frame.collect().await?))
        })
    }
}

/// Columns that an earlier version did not have are null in its files.
fn nullable(schema: &SchemaRef) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| field.as_ref().clone().with_nullable(true));
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}

/// The address of a store. What has no `://` is a folder.
pub fn address(store: &str) -> Result<Url, Failure> {
    let wrong = |what: &dyn std::fmt::Display| Failure::Usage(format!("{store}: {what}"));
    if store.contains("://") {
        return Url::parse(store).map_err(|error| wrong(&error));
    }
    let folder = std::path::absolute(Path::new(store)).map_err(|error| wrong(&error))?;
    Url::from_directory_path(folder).map_err(|()| wrong(&"this is not the name of a folder"))
}

/// The tables of a fleet, and those derived from them.
pub struct Fleet(Session);

impl Fleet {
    pub fn open(
        store: &str,
        tables: &[TableFolders],
        runtime: Arc<Runtime>,
    ) -> Result<Fleet, Failure> {
        let session = Session::open(store, runtime)?;
        for TableFolders { table, folders } in tables {
            let folders: Vec<String> = folders.iter().map(|folder| format!("{folder}/")).collect();
            session.register(table.name, table, &folders)?;
        }
        Ok(Fleet(session))
    }
}

impl FleetEngine for Fleet {
    fn keep(&mut self, name: &str, sql: &str) -> Result<(), Failure> {
        let (schema, batches) = self.0.batches(sql).map_err(broken)?;
        let table = MemTable::try_new(schema, vec![batches]).map_err(broken)?;
        self.0.context.register_table(name, Arc::new(table)).map(drop).map_err(broken)
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Failure> {
        let (_, batches) = self.0.batches(sql).map_err(broken)?;
        let mut text = Vec::new();
        let mut writer =
            WriterBuilder::new().with_explicit_nulls(true).build::<_, JsonArray>(&mut text);
        let written = batches.iter().try_for_each(|batch| writer.write(batch));
        written.and_then(|()| writer.finish()).map_err(|error| broken(error.into()))?;
        if text.is_empty() {
            return Ok(Vec::new());
        }
        serde_json::from_slice(&text).map_err(|error| Failure::Input(error.into()))
    }
}

/// Packs files of a store.
pub struct FilePacker {
    store: String,
    runtime: Arc<Runtime>,
}

impl FilePacker {
    pub fn new(store: &str, runtime: Arc<Runtime>) -> FilePacker {
        FilePacker { store: store.to_owned(), runtime }
    }

    fn packed(&self, names: &[String], sql: &str) -> Result<Vec<u8>, Failure> {
        let folder = names.first().and_then(|name| name.split('/').next());
        let table = match folder {
            Some("stacks") => &FLEET_STACKS,
            Some("runtime" | "runtime_hours") => &RUNTIME,
            _ => &SAMPLES,
        };
        // A process may not open all files at once, so they are first combined into fewer.
        let few = tempfile::tempdir()?;
        for (at, names) in names.chunks(MOST_OPEN).enumerate() {
            let session = Session::open(&self.store, Arc::clone(&self.runtime))?;
            session.register("files", table, names)?;
            let file = File::create(few.path().join(format!("{at}.parquet")))?;
            session.write("select * from files", file)?;
        }
        let few = few.path().to_string_lossy();
        let session = Session::open(&few, Arc::clone(&self.runtime))?;
        session.register("files", table, &[String::new()])?;
        let mut file = Vec::new();
        session.write(sql, &mut file)?;
        Ok(file)
    }
}

impl Packer for FilePacker {
    fn pack(&mut self, names: &[String], sql: &str) -> io::Result<Vec<u8>> {
        self.packed(names, sql).map_err(|failure| io::Error::other(failure.to_string()))
    }
}
