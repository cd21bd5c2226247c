//! Other engines, as installed by `cargo xtask consumers`.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// DuckDB's answers to queries. Tables are the Parquet files of a folder.
pub fn answers_of_duckdb(folder: &str, queries: &[String]) -> Vec<Value> {
    answers("duckdb", folder, queries)
}

/// Spark's answers to queries about a store, with two workers.
#[allow(dead_code, reason = "those of tables ask one engine only")]
pub fn answers_of_spark(store: &str, queries: &[String]) -> Vec<Value> {
    answers("spark", store, queries)
}

fn answers(engine: &str, folder: &str, queries: &[String]) -> Vec<Value> {
    let tools = std::env::var_os("BACTRIAN_CONSUMERS").expect("cargo xtask consumers sets it");
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../consumers");
    let python = Path::new(&tools).join(format!("{engine}/bin/python"));
    let mut command = Command::new(&python);
    // Spark's workers are started with it, too.
    command.env("PYSPARK_PYTHON", &python);
    command.arg(scripts.join(format!("{engine}_answers.py"))).arg(folder);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("cargo xtask consumers gets it");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all((queries.join("\n;\n") + "\n;\n").as_bytes()).expect("it reads");
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let text = String::from_utf8(output.stdout).expect("text");
    let answers: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(answers.len(), queries.len(), "{text}");
    answers
}
