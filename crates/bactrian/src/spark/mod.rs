//! The questions about a fleet, answered by the user's own Spark: a Python program of ours (`answers.py`) is its driver, and is given
//! one task after another.

use std::collections::VecDeque;
use std::env;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::{self, JoinHandle};

use bactrian_tables::schema::{ColumnKind, Table};
use serde_json::{Map, Value, json};

use crate::engine::{FleetEngine, Row, TableFolders};
use crate::failure::Failure;

/// The driver.
const DRIVER: &str = include_str!("answers.py");
/// How many of the last lines of Spark's log are shown if it fails.
const LINES: usize = 15;

/// A session of Spark.
pub struct Spark {
    driver: Child,
    tasks: Option<ChildStdin>,
    outcomes: BufReader<ChildStdout>,
    complaints: Option<JoinHandle<Vec<String>>>,
}

impl Spark {
    /// Starts one on a master (`spark://HOST:7077`, `local[4]`, `yarn`), with the tables of a store.
    pub fn open(master: &str, store: &str, tables: &[TableFolders]) -> Result<Spark, Failure> {
        let python = env::var_os("PYSPARK_PYTHON").unwrap_or_else(|| "python3".into());
        let mut command = Command::new(&python);
        if let Some(path) = python_path() {
            command.env("PYTHONPATH", path);
        }
        command.args(["-c", DRIVER, master]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let python = python.to_string_lossy();
        let mut driver = command.spawn().map_err(|error| {
            Failure::NotSupported(format!(
                "{python}: {error}: the driver of Spark is written in Python"
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
        let mut spark = Spark { driver, tasks, outcomes, complaints: Some(complaints) };
        for TableFolders { table, folders } in tables {
            let paths = folders.iter().map(|folder| path(store, folder));
            let paths = paths.collect::<Result<Vec<_>, Failure>>()?;
            spark.task(&json!({
                "table": table.name,
                "schema": schema(table),
                "paths": paths,
            }))?;
        }
        Ok(spark)
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
                Some(error) => Err(Failure::Input(anyhow::anyhow!("Spark: {error}"))),
                None => Ok(outcome),
            },
            _ => Err(Failure::Input(anyhow::anyhow!("Spark said what was not expected: {line}"))),
        }
    }

    /// Why the driver has ended.
    fn ended(&mut self) -> Failure {
        self.tasks = None;
        let said = self.complaints.take().and_then(|said| said.join().ok()).unwrap_or_default();
        let said = said.join("\n");
        if said.contains("No module named 'pyspark'") {
            let what = "this Python has no pyspark: PYSPARK_PYTHON names one that has, or SPARK_HOME an installation of Spark";
            return Failure::NotSupported(what.to_owned());
        }
        Failure::Input(anyhow::anyhow!("Spark has ended:\n{said}"))
    }
}

impl Drop for Spark {
    fn drop(&mut self) {
        // It ends when there are no more tasks.
        self.tasks = None;
        // It is a child of ours: nothing is left to do if it cannot be waited for.
        let _ = self.driver.wait();
    }
}

impl FleetEngine for Spark {
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

/// Columns as Spark wants them; all may be null, because files of earlier versions do not have all.
fn schema(table: &Table) -> String {
    let columns = table.columns.iter().map(|column| {
        let kind = match column.kind {
            ColumnKind::Text => "STRING",
            kind => kind.sql(),
        };
        format!("`{}` {kind}", column.name)
    });
    columns.collect::<Vec<_>>().join(", ")
}

/// The path of a folder of a store.
fn path(store: &str, folder: &str) -> Result<String, Failure> {
    if store.contains("://") {
        return Ok(format!("{}/{folder}", store.trim_end_matches('/')));
    }
    let path = std::path::absolute(Path::new(store)).map_err(anyhow::Error::from)?.join(folder);
    match path.to_str() {
        Some(path) => Ok(path.to_owned()),
        None => Err(Failure::Usage(format!("{store}: Spark needs a path in UTF-8"))),
    }
}

/// Where Python finds the Spark that is installed in SPARK_HOME.
fn python_path() -> Option<std::ffi::OsString> {
    let python = PathBuf::from(env::var_os("SPARK_HOME")?).join("python");
    let libraries = python.join("lib").read_dir().into_iter().flatten().flatten();
    let archives = libraries.map(|file| file.path());
    let archives = archives.filter(|path| path.extension().is_some_and(|end| end == "zip"));
    let known = env::var_os("PYTHONPATH").unwrap_or_default();
    let known: Vec<PathBuf> = env::split_paths(&known).collect();
    env::join_paths(std::iter::once(python.clone()).chain(archives).chain(known)).ok()
}
