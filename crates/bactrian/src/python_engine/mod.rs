//! The questions about a fleet, answered by the user's own engine: DuckDB, Spark or ClickHouse. A Python program of ours drives it
//! and is given one task after another.

use std::collections::VecDeque;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};

use bactrian_tables::schema::ColumnKind;
use serde_json::{Map, Value, json};

use crate::engine::{FleetEngine, Row, TableFolders};
use crate::failure::Failure;

/// The last lines of an engine's log that are shown if it fails.
const LINES: usize = 15;

/// The user's own engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherEngine {
    /// Spark with this master: `spark://HOST:7077`, `local[4]`, `yarn`.
    Spark(String),
    /// DuckDB, as a package of this Python.
    DuckDb(String),
    /// ClickHouse, a server at this address: `clickhouse://HOST:8123`.
    ClickHouse(String),
    /// ClickHouse without a server, as a package of this Python.
    ChDb(String),
}

impl OtherEngine {
    /// Parses an option's value.
    ///
    /// # Errors
    /// If there is no such engine.
    pub fn parse(text: &str) -> Result<OtherEngine, String> {
        match text.split_once(':') {
            Some(("spark", rest)) if rest.starts_with("//") => {
                Ok(OtherEngine::Spark(text.to_owned()))
            }
            Some(("spark", master)) if !master.is_empty() => {
                Ok(OtherEngine::Spark(master.to_owned()))
            }
            None if text == "duckdb" => Ok(OtherEngine::DuckDb("python3".to_owned())),
            Some(("duckdb", python)) if !python.is_empty() => {
                Ok(OtherEngine::DuckDb(python.to_owned()))
            }
            Some(("clickhouse", rest)) if rest.strip_prefix("//").is_some_and(has_host) => {
                Ok(OtherEngine::ClickHouse(text.to_owned()))
            }
            None if text == "chdb" => Ok(OtherEngine::ChDb("python3".to_owned())),
            Some(("chdb", python)) if !python.is_empty() => {
                Ok(OtherEngine::ChDb(python.to_owned()))
            }
            _ => Err(
                "an engine is duckdb, chdb, spark://HOST:7077, spark:MASTER, or clickhouse://HOST:8123"
                    .to_owned(),
            ),
        }
    }

    fn name(&self) -> &'static str {
        match self {
            OtherEngine::Spark(_) => "Spark",
            OtherEngine::DuckDb(_) => "DuckDB",
            OtherEngine::ClickHouse(_) => "ClickHouse",
            OtherEngine::ChDb(_) => "chDB",
        }
    }

    /// The command of the driver.
    fn driver(&self) -> Command {
        let driver = |python: &OsStr, engine: &str| {
            let mut command = Command::new(python);
            command.arg("-c").arg([include_str!("tasks.py"), engine].join("\n"));
            command
        };
        match self {
            OtherEngine::Spark(master) => {
                let python = env::var_os("PYSPARK_PYTHON").unwrap_or_else(|| "python3".into());
                let mut command = driver(&python, include_str!("spark.py"));
                if let Some(path) = spark_path() {
                    command.env("PYTHONPATH", path);
                }
                command.arg(master);
                command
            }
            OtherEngine::DuckDb(python) => driver(python.as_ref(), include_str!("duckdb.py")),
            OtherEngine::ClickHouse(address) => {
                // Its interface for HTTP takes no package.
                let mut command = driver("python3".as_ref(), include_str!("clickhouse.py"));
                command.arg(address);
                command
            }
            OtherEngine::ChDb(python) => driver(python.as_ref(), include_str!("clickhouse.py")),
        }
    }

    /// The Python package that the driver needs, and how to provide it.
    fn package(&self) -> Option<(&'static str, &'static str)> {
        match self {
            OtherEngine::Spark(_) => Some((
                "pyspark",
                "set PYSPARK_PYTHON to one that has it, or SPARK_HOME to an installation of Spark",
            )),
            OtherEngine::DuckDb(_) => Some((
                "duckdb",
                "`pip install duckdb` installs it; or name another Python: --engine duckdb:PYTHON",
            )),
            OtherEngine::ChDb(_) => Some((
                "chdb",
                "`pip install chdb` installs it; or name another Python: --engine chdb:PYTHON",
            )),
            OtherEngine::ClickHouse(_) => None,
        }
    }
}

/// As in the option.
impl fmt::Display for OtherEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OtherEngine::Spark(master) if master.starts_with("spark://") => f.write_str(master),
            OtherEngine::Spark(master) => write!(f, "spark:{master}"),
            OtherEngine::DuckDb(python) => write!(f, "duckdb:{python}"),
            OtherEngine::ClickHouse(address) => f.write_str(address),
            OtherEngine::ChDb(python) => write!(f, "chdb:{python}"),
        }
    }
}

/// A session of an engine.
pub struct PythonEngine {
    engine: OtherEngine,
    driver: Child,
    tasks: Option<ChildStdin>,
    outcomes: BufReader<ChildStdout>,
    complaints: Option<JoinHandle<Vec<String>>>,
}

impl PythonEngine {
    /// Starts a session with the tables of a store.
    ///
    /// # Errors
    /// If the engine cannot be started, or cannot read the store.
    pub fn open(
        engine: &OtherEngine,
        store: &str,
        tables: &[TableFolders],
    ) -> Result<PythonEngine, Failure> {
        let mut command = engine.driver();
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let python = command.get_program().to_string_lossy().into_owned();
        let mut driver = command.spawn().map_err(|error| {
            let name = engine.name();
            Failure::NotSupported(format!(
                "{python}: {error}: the driver of {name} is written in Python"
            ))
        })?;
        let (tasks, outcomes, errors) =
            (driver.stdin.take(), driver.stdout.take(), driver.stderr.take());
        let Some(outcomes) = outcomes.map(BufReader::new) else {
            return Err(Failure::Input(anyhow::anyhow!("no pipe to {python}")));
        };
        let complaints = thread::spawn(move || {
            let mut last = VecDeque::new();
            for line in errors.into_iter().flat_map(|errors| BufReader::new(errors).lines()) {
                let Ok(line) = line else { break };
                if last.len() == LINES {
                    last.pop_front();
                }
                last.push_back(line);
            }
            last.into()
        });
        let (engine, complaints) = (engine.clone(), Some(complaints));
        let mut session = PythonEngine { engine, driver, tasks, outcomes, complaints };
        for TableFolders { table, folders } in tables {
            let paths = folders.iter().map(|folder| path(store, folder));
            let paths = paths.collect::<Result<Vec<_>, Failure>>()?;
            // All columns may be null, because files of earlier versions do not have all of them.
            let columns = table.columns.iter().map(|column| match column.kind {
                ColumnKind::Text => [column.name, "STRING"],
                kind => [column.name, kind.sql()],
            });
            let columns: Vec<_> = columns.collect();
            session.task(&json!({ "table": table.name, "columns": columns, "paths": paths }))?;
        }
        Ok(session)
    }

    fn task(&mut self, task: &Value) -> Result<Map<String, Value>, Failure> {
        let mut line = String::new();
        let written = self.tasks.as_mut().map(|tasks| writeln!(tasks, "{task}"));
        let is_written = matches!(written, Some(Ok(())));
        let is_answered =
            is_written && self.outcomes.read_line(&mut line).is_ok_and(|read| read > 0);
        if !is_answered {
            return Err(self.ended());
        }
        match serde_json::from_str(&line) {
            Ok(Value::Object(outcome)) => match outcome.get("error").and_then(Value::as_str) {
                Some(error) => {
                    Err(Failure::Input(anyhow::anyhow!("{}: {error}", self.engine.name())))
                }
                None => Ok(outcome),
            },
            _ => {
                let name = self.engine.name();
                Err(Failure::Input(anyhow::anyhow!("unexpected answer of {name}: {line}")))
            }
        }
    }

    /// Why the driver has ended.
    fn ended(&mut self) -> Failure {
        self.tasks = None;
        let said = self.complaints.take().and_then(|said| said.join().ok()).unwrap_or_default();
        let said = said.join("\n");
        if let Some((package, remedy)) = self.engine.package()
            && said.contains(&format!("No module named '{package}'"))
        {
            return Failure::NotSupported(format!("this Python has no {package}: {remedy}"));
        }
        Failure::Input(anyhow::anyhow!("{} has ended:\n{said}", self.engine.name()))
    }
}

impl Drop for PythonEngine {
    fn drop(&mut self) {
        // The driver ends when there are no more tasks.
        self.tasks = None;
        // If this fails, nothing is left to do.
        let _ = self.driver.wait();
    }
}

impl FleetEngine for PythonEngine {
    fn keep(&mut self, name: &str, sql: &str) -> Result<(), Failure> {
        self.task(&json!({ "keep": name, "sql": sql })).map(drop)
    }

    fn rows(&mut self, sql: &str) -> Result<Vec<Row>, Failure> {
        let mut outcome = self.task(&json!({ "sql": sql }))?;
        let list = |value: Option<Value>| match value {
            Some(Value::Array(list)) => list,
            _ => Vec::new(),
        };
        let columns = list(outcome.remove("columns"));
        let columns: Vec<&str> = columns.iter().filter_map(Value::as_str).collect();
        let row = |values: Value| {
            let pairs = columns.iter().zip(list(Some(values)));
            pairs.map(|(column, value)| ((*column).to_owned(), value)).collect()
        };
        Ok(list(outcome.remove("rows")).into_iter().map(row).collect())
    }
}

/// Whether there is a host in `USER:PASSWORD@HOST:PORT/DATABASE`, and a port if there is a colon.
fn has_host(address: &str) -> bool {
    let authority = address.split('/').next().unwrap_or_default();
    let place = authority.rsplit('@').next().unwrap_or_default();
    // The colons of `[::1]` are no port's.
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (place, None),
    };
    !host.is_empty() && port.is_none_or(|port| port.parse::<u16>().is_ok())
}

/// The path of a folder of a store.
fn path(store: &str, folder: &str) -> Result<String, Failure> {
    if store.contains("://") {
        return Ok(format!("{}/{folder}", store.trim_end_matches('/')));
    }
    let path = std::path::absolute(Path::new(store)).map_err(anyhow::Error::from)?.join(folder);
    match path.to_str() {
        Some(path) => Ok(path.to_owned()),
        None => Err(Failure::Usage(format!("{store}: the path has to be UTF-8"))),
    }
}

/// The path on which Python finds the Spark that is installed in SPARK_HOME.
fn spark_path() -> Option<OsString> {
    let python = PathBuf::from(env::var_os("SPARK_HOME")?).join("python");
    let libraries = python.join("lib").read_dir().into_iter().flatten().flatten();
    let archives = libraries.map(|file| file.path());
    let archives = archives.filter(|path| path.extension().is_some_and(|end| end == "zip"));
    let known = env::var_os("PYTHONPATH").unwrap_or_default();
    let known: Vec<PathBuf> = env::split_paths(&known).collect();
    env::join_paths(std::iter::once(python.clone()).chain(archives).chain(known)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_clickhouse_have_a_host() {
        for good in ["h", "h:8123", "user:pass@h:8443/db", "[::1]", "[::1]:8123/db", "u@h/db"] {
            let address = format!("clickhouse://{good}");
            assert_eq!(OtherEngine::parse(&address), Ok(OtherEngine::ClickHouse(address)));
        }
        for wrong in ["", "/db", ":8123", "user@", "h:port", "h:", "h:70000"] {
            let refused = OtherEngine::parse(&format!("clickhouse://{wrong}"));
            assert!(refused.is_err_and(|why| why.contains("HOST:8123")), "{wrong}");
        }
    }
}
