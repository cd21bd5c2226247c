//! Questions about a fleet generated from the stacks of a real program, with a leak, a regression and an
//! outlying machine planted: every engine finds them, and all give the same answers.

mod garage;
mod receiver;
mod sql_engines;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::SystemTime;

use bactrian_fleet::questions::{OF_HOST, QUESTIONS, Question, STEPS, Window};
use bactrian_fleet::{Folder, Origin, PushServer, Pusher, Shipper};
use bactrian_tables::schema::{OF_FLEETS, Table};
use receiver::{PlainClient, Posted, Receiver, read_otlp, read_pprof};
use serde_json::{Value, json};
use sql_engines::{answers_of_duckdb, answers_of_spark};

fn bactrian(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(arguments).output().expect("bactrian runs")
}

fn said(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout.clone()).expect("text")
}

/// A store, and the functions that are at fault.
struct Made {
    store: String,
    leak: String,
    regression: String,
    cache: String,
}

/// Forty machines for sixteen minutes.
const HOSTS: &str = "40";
const MINUTES: u64 = 16;
/// The start of the data.
const BEGIN: u64 = 1_795_010_400;

fn made(name: &str) -> Made {
    let folder = bactrian_fixtures::own_folder(name);
    let text = |name: &str| folder.join(name).to_str().expect("a text").to_owned();
    let (trace, store) = (text("compiler.ctf"), text("store"));
    std::fs::copy(
        bactrian_fixtures::repository().join("programs/leaky_cache.ml"),
        folder.join("leaky_cache.ml"),
    )
    .expect("room");
    let compile = ["ocamlopt.opt", "-c", &text("leaky_cache.ml")];
    said(&bactrian(
        &[&["record", "--quiet", "--rate", "1e-3", "-o", &trace, "--"], &compile[..]].concat(),
    ));
    filled(&trace, store)
}

/// Fills a store from the stacks of a trace.
fn filled(trace: &str, store: String) -> Made {
    let maker = Path::new(env!("CARGO_BIN_EXE_bactrian")).with_file_name("examples/make_fleet");
    let output = Command::new(maker).args([trace, &store, HOSTS, &MINUTES.to_string()]).output();
    let told = said(&output.expect("cargo test builds examples"));
    let planted = |what: &str| {
        let line = told.lines().find_map(|line| line.strip_prefix(what)?.strip_prefix(": "));
        line.expect("it says so").to_owned()
    };
    Made {
        store,
        leak: planted("leak"),
        regression: planted("regression"),
        cache: planted("cache"),
    }
}

impl Made {
    /// An engine's answers to all questions, in order.
    fn asked(&self, engine: fn(&str, &[String]) -> Vec<Value>) -> Vec<Vec<Vec<Value>>> {
        asked(&self.store, None, &QUESTIONS, engine)
    }
}

/// The SQL that makes a table of a store; one that has no files has no rows.
fn table(store: &str, Table { name, columns, .. }: &Table) -> String {
    if Path::new(store).join(name).is_dir() {
        return format!(
            "create view {name} as select * from read_parquet('{store}/{name}/**/*.parquet', hive_partitioning = false)"
        );
    }
    let columns = columns.iter().map(|column| {
        let kind = if column.kind.sql() == "VARCHAR" { "STRING" } else { column.kind.sql() };
        format!("cast(null as {kind}) as {}", column.name)
    });
    let columns: Vec<String> = columns.collect();
    format!("create table {name} as select {} where 1 = 0", columns.join(", "))
}

/// What an engine says to some questions about a store, in their order.
fn asked(
    store: &str,
    host: Option<&str>,
    questions: &[Question],
    engine: fn(&str, &[String]) -> Vec<Value>,
) -> Vec<Vec<Vec<Value>>> {
    let host = host.map(str::to_owned);
    let window = Window { begin: BEGIN, end: BEGIN + MINUTES * 60, step: 60, service: None, host };
    let mut queries: Vec<String> = OF_FLEETS.iter().map(|it| table(store, it)).collect();
    queries
        .extend(STEPS.map(|step| format!("create table {} as {}", step.name, window.of(step.sql))));
    let first = queries.len();
    queries.extend(questions.iter().map(|question| window.of(question.sql)));
    let answers = engine(store, &queries);
    let rows = |(query, answer): (&String, &Value)| {
        assert!(answer["error"].is_null(), "{query}\n{answer}");
        serde_json::from_value(answer["rows"].clone()).expect("rows")
    };
    queries.iter().zip(&answers).skip(first).map(rows).collect()
}

/// Whether values are the same: engines add in another order.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0),
        _ => a == b,
    }
}

/// A trace of a run that has ended.
fn small_trace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures/leaky_cache_v2.ctf")
}

/// Checks that what a server got of [`small_trace`] is what the store has, as independent readers of both formats see it.
fn check_pushed(posted: &[Posted], store: &str, folder: &Path) {
    let tables: Vec<String> = OF_FLEETS.iter().map(|it| table(store, it)).collect();
    let of_leaves = |samples: &str| {
        let query = format!(
            "select leaf, cast(sum(round({samples} / rate * 8)) as bigint) as bytes from samples join stacks using (stack_id)
             group by leaf having sum({samples}) > 0"
        );
        let answers = answers_of_duckdb(store, &[tables.clone(), vec![query]].concat());
        let rows: Vec<(String, u64)> =
            serde_json::from_value(answers[tables.len()]["rows"].clone()).expect("rows");
        rows.into_iter().collect::<BTreeMap<String, u64>>()
    };
    let (allocated, live) = (of_leaves("samples"), of_leaves("live"));
    assert!(allocated.len() > 3 && !live.is_empty(), "{allocated:?} {live:?}");
    let [first, second, otlp] = posted else { panic!("{}", posted.len()) };
    for (posted, kind, leaves) in
        [(first, "alloc_space", &allocated), (second, "inuse_space", &live)]
    {
        let Posted { target, body, .. } = posted;
        assert!(target.starts_with("/ingest?name=shop%7Bhost%3Dweb-1%2Cpid%3D6423%2C"), "{target}");
        let end = "zone%3Da%20b%7D&from=1794709320&until=1794709380&format=pprof";
        assert!(target.ends_with(end), "{target}");
        let (kinds, period, sum) = read_pprof(body, folder);
        assert!(kinds.starts_with(&format!("{kind}/bytes")), "{kinds}");
        assert_eq!((period, sum), (16_000, leaves.values().sum()), "{kind}");
    }
    assert_eq!(otlp.target, "/v1development/profiles");
    assert!(otlp.headers.contains("content-type: application/x-protobuf"), "{}", otlp.headers);
    let read = read_otlp(&otlp.body, folder);
    assert_eq!(read["attributes"]["service.name"], "shop");
    assert_eq!(read["attributes"]["host.name"], "web-1");
    assert_eq!(read["attributes"]["zone"], "a b");
    assert_eq!(read["profiles"].as_array().map(Vec::len), Some(2));
    for (at, kind, expected) in [(0, "alloc_space", &allocated), (1, "inuse_space", &live)] {
        let profile = &read["profiles"][at];
        assert_eq!((&profile["kind"][0], &profile["kind"][1]), (&kind.into(), &"bytes".into()));
        assert_eq!(profile["period"], 16_000);
        assert_eq!(profile["start"], 1_794_709_320_000_000_000_u64);
        let leaves: BTreeMap<String, u64> =
            serde_json::from_value(profile["leaves"].clone()).expect("bytes");
        assert_eq!(&leaves, expected, "{kind}");
    }
}

mod consumers {
    use super::*;

    /// With the minimal client above.
    #[test]
    #[ignore = "needs DuckDB, pprof and opentelemetry-proto: cargo xtask consumers"]
    fn pushed_profiles_equal_those_in_the_store() {
        let folder = bactrian_fixtures::own_folder("fleet_push");
        let server = Receiver::answering("200 OK");
        let servers = vec![
            PushServer::Pyroscope(server.address().to_owned()),
            PushServer::Otlp(format!("{}/", server.address())),
        ];
        let mut pusher = Arc::new(Pusher::new(servers, Box::new(PlainClient)));
        let origin = Origin {
            service: "shop".to_owned(),
            host: "web-1".to_owned(),
            labels: vec![("zone".to_owned(), "a b".to_owned())],
            ..Origin::default()
        };
        let store = folder.join("store");
        let shipper = Shipper::open(&small_trace(), Arc::new(Folder::new(&store)), origin);
        let mut shipper = shipper.expect("a trace").pushing(Arc::clone(&pusher));
        assert!(shipper.poll(SystemTime::now()).expect("room").is_all);
        drop(shipper);
        let pusher = Arc::get_mut(&mut pusher).expect("nobody else has it");
        pusher.finish();
        assert_eq!((pusher.counts(), pusher.trouble()), ((3, 0), None));
        check_pushed(&server.posted(), store.to_str().expect("a text"), &folder);
    }

    #[test]
    #[ignore = "needs DuckDB: cargo xtask consumers"]
    fn only_planted_faults_are_found() {
        let made = made("fleet_duckdb");
        let answers = made.asked(answers_of_duckdb);
        let rows = |name: &str| {
            let at = QUESTIONS.iter().position(|question| question.name == name);
            &answers[at.expect("a question")]
        };
        let leaves = |name: &str, column: usize| -> Vec<&str> {
            rows(name).iter().map(|row| row[column].as_str().expect("a text")).collect()
        };
        assert_eq!(leaves("services", 0).len(), 4);
        assert_eq!(leaves("growing_sites", 1), [&made.leak]);
        assert_eq!(leaves("builds_allocate", 3), [&made.regression]);
        assert_eq!(leaves("builds_hold", 3), [""; 0]);
        assert_eq!(leaves("odd_hosts", 1), ["mail-0031"]);
        // Where the heap grows, growing memory is expected: only the other host is reported.
        assert_eq!(leaves("growing_memory", 1), ["shop-0010"]);
        assert_eq!((rows("collectors").len(), rows("hosts").len()), (4, 40));
        // A cache that has filled up is held, but grows no more.
        assert!(leaves("live_sites", 1).contains(&made.cache.as_str()));
        assert_eq!(rows("over_time").len(), 4 * MINUTES as usize);
    }
}

/// Has an engine answer from a store of the last schema version, which it returns. Its files have fewer columns.
fn check_last_version(engine: &str) -> String {
    let old = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fleet/tests/fixtures/version_1");
    let old = old.to_str().expect("a text").to_owned();
    let told = said(&bactrian(&["fleet", &old, "--engine", engine]));
    assert!(told.starts_with("1 service, 1 host, 1 build; "), "{told}");
    old
}

/// DuckDB in place of our engine.
mod duckdb {
    use super::*;

    fn python() -> PathBuf {
        let tools = std::env::var_os("BACTRIAN_CONSUMERS").expect("cargo xtask consumers sets it");
        Path::new(&tools).join("duckdb/bin/python")
    }

    /// Checks that both are the same JSON, but for the last digits of numbers.
    fn check_same(told: &Value, expected: &Value, place: &str) {
        match (told, expected) {
            (Value::Object(told), Value::Object(expected)) => {
                assert!(told.keys().eq(expected.keys()), "{place}: {told:?}");
                told.iter().for_each(|(name, value)| {
                    check_same(value, &expected[name], &format!("{place}/{name}"));
                });
            }
            (Value::Array(told), Value::Array(expected)) => {
                assert_eq!(told.len(), expected.len(), "{place}");
                for (at, (told, expected)) in told.iter().zip(expected).enumerate() {
                    check_same(told, expected, &format!("{place}/{at}"));
                }
            }
            _ => assert!(is_same(told, expected), "{place}: {told}, not {expected}"),
        }
    }

    /// The browser tests of the page's Fleet view replay these answers where there is no engine; where there is, they compare
    /// them with its answers.
    #[test]
    #[ignore = "needs DuckDB: cargo xtask consumers"]
    fn answers_by_duckdb_are_those_that_the_page_is_tested_with() {
        let store = bactrian_fixtures::own_folder("fleet_page").join("store");
        let made = filled(small_trace().to_str().expect("a text"), store.display().to_string());
        let engine = format!("duckdb:{}", python().display());
        let asked = |options: &[&str]| -> Value {
            let all = [&["fleet", &made.store, "--json", "--engine", &engine], options].concat();
            let told: Value = serde_json::from_str(&said(&bactrian(&all))).expect("JSON");
            told["result"].clone()
        };
        let told = json!({ "": asked(&[]), "--host=mail-0031": asked(&["--host", "mail-0031"]) });
        let path = bactrian_fixtures::repository().join("ui/tests/fleet-answers.json");
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            let text = serde_json::to_string_pretty(&told).expect("JSON");
            std::fs::write(&path, text + "\n").expect("room");
        }
        let golden = std::fs::read_to_string(&path).expect("it is there");
        check_same(&told, &serde_json::from_str(&golden).expect("JSON"), "");
        let sentence = told[""]["findings"][0]["sentence"].as_str().expect("a finding");
        assert!(sentence.starts_with(&format!("search: {}", made.leak)), "{sentence}");
    }

    #[test]
    #[ignore = "needs DuckDB: cargo xtask consumers"]
    fn stores_of_the_last_version_are_read_and_wrong_ones_refused() {
        let old = check_last_version(&format!("duckdb:{}", python().display()));
        for (engine, expected) in [
            ("duckdb:/nowhere/python3", "the driver of DuckDB is written in Python"),
            ("duckdb:/usr/bin/python3", "pip install duckdb"),
            ("chdb:/usr/bin/python3", "pip install chdb"),
        ] {
            let refused = bactrian(&["fleet", &old, "--engine", engine]);
            assert_eq!(refused.status.code(), Some(4), "{refused:?}");
            assert!(String::from_utf8_lossy(&refused.stderr).contains(expected), "{refused:?}");
        }
        assert_eq!(bactrian(&["fleet", &old, "--engine", "oracle"]).status.code(), Some(2));
    }
}

/// A distributed engine: two workers, each in its own process.
mod spark {
    use super::*;

    #[test]
    #[ignore = "needs Spark: cargo xtask test --all"]
    fn spark_agrees_with_duckdb() {
        let made = made("fleet_spark");
        let by_duckdb = made.asked(answers_of_duckdb);
        let answers = made.asked(answers_of_spark).into_iter().zip(by_duckdb.clone());
        for (question, (told, expected)) in QUESTIONS.iter().zip(answers) {
            assert_eq!(told.len(), expected.len(), "{}", question.name);
            for (row, expected) in told.iter().zip(&expected) {
                let is_same = row.iter().zip(expected).all(|(a, b)| is_same(a, b));
                assert!(is_same, "{}: {row:?} {expected:?}", question.name);
            }
        }
        // And driven by `bactrian fleet`.
        let tools = std::env::var_os("BACTRIAN_CONSUMERS").expect("cargo xtask consumers sets it");
        let python = Path::new(&tools).join("spark/bin/python");
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(["fleet", &made.store, "--json", "--engine", "spark:local-cluster[2,1,1024]"]);
        let output = command.env("PYSPARK_PYTHON", &python).output().expect("bactrian runs");
        let told: Value = serde_json::from_str(&said(&output)).expect("JSON");
        check_answers(&told, &QUESTIONS, by_duckdb);
        // Without pyspark it says what is missing.
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(["fleet", &made.store, "--engine", "spark:local[1]"]);
        let refused =
            command.env("PYSPARK_PYTHON", "/usr/bin/python3").env_remove("SPARK_HOME").output();
        let refused = refused.expect("bactrian runs");
        assert_eq!(refused.status.code(), Some(4), "{refused:?}");
        assert!(String::from_utf8_lossy(&refused.stderr).contains("PYSPARK_PYTHON"), "{refused:?}");
    }
}

/// ClickHouse, as chDB and by its interface for HTTP.
mod clickhouse {
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Stdio};

    use super::*;

    fn python() -> PathBuf {
        let tools = std::env::var_os("BACTRIAN_CONSUMERS").expect("cargo xtask consumers sets it");
        Path::new(&tools).join("chdb/bin/python")
    }

    /// chDB behind an interface like that of a server.
    fn server() -> (Child, String) {
        let script = bactrian_fixtures::repository().join("consumers/clickhouse_server.py");
        let mut command = Command::new(python());
        command.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut server = command.spawn().expect("cargo xtask consumers gets it");
        let mut port = String::new();
        let stdout = server.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut port).expect("it says its port");
        (server, port.trim().to_owned())
    }

    #[test]
    #[ignore = "needs chDB: cargo xtask test --all"]
    fn clickhouse_agrees_with_duckdb() {
        let made = made("fleet_clickhouse");
        let expected = made.asked(answers_of_duckdb);
        let fleet = |engine: &str| bactrian(&["fleet", &made.store, "--json", "--engine", engine]);
        let told = said(&fleet(&format!("chdb:{}", python().display())));
        let told = serde_json::from_str(&told).expect("JSON");
        check_answers(&told, &QUESTIONS, expected.clone());
        let (server, port) = server();
        let told = said(&fleet(&format!("clickhouse://reader:secret@127.0.0.1:{port}/profiles")));
        let told = serde_json::from_str(&told).expect("JSON");
        check_answers(&told, &QUESTIONS, expected);
        // What a server says is passed on.
        let refused = fleet(&format!("clickhouse://nobody@127.0.0.1:{port}/profiles"));
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        let why = String::from_utf8_lossy(&refused.stderr);
        assert!(why.contains("ClickHouse: Code: 516"), "{why}");
        assert!(server.wait_with_output().expect("it ends").status.success());
        let refused = fleet(&format!("clickhouse://127.0.0.1:{port}"));
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        let why = String::from_utf8_lossy(&refused.stderr);
        assert!(why.contains("no connection"), "{why}");
    }

    #[test]
    #[ignore = "needs chDB: cargo xtask test --all"]
    fn stores_of_the_last_version_are_read() {
        check_last_version(&format!("chdb:{}", python().display()));
    }
}

/// Checks that the JSON of `bactrian fleet` has these rows.
fn check_answers(told: &Value, questions: &[Question], expected: Vec<Vec<Vec<Value>>>) {
    for (question, expected) in questions.iter().zip(expected) {
        let rows = told["result"]["answers"][question.name].as_array().expect("rows");
        assert_eq!(rows.len(), expected.len(), "{}", question.name);
        for (row, expected) in rows.iter().zip(&expected) {
            let values = row.as_object().expect("columns").values();
            let is_same = values.zip(expected).all(|(a, b)| is_same(a, b));
            assert!(is_same, "{}: {row} {expected:?}", question.name);
        }
    }
}

mod queries {
    use super::*;

    /// A store of the last version of the schema, to which today's `ship` adds.
    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn a_store_of_the_last_version_is_read_and_rolled_up_with_new_files() {
        let folder = bactrian_fixtures::own_folder("fleet_last_version");
        let text = |path: &Path| path.to_str().expect("a text").to_owned();
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let (old, store) = (crates.join("fleet/tests/fixtures/version_1"), folder.join("store"));
        said(Command::new("cp").arg("-r").args([&old, &store]).output().as_ref().expect("room"));
        let store = text(&store);
        let (all, days) = (["--show", "services", "--json"], ["--since", "100000d"]);
        let services = |level: &[&str]| {
            let told = said(&bactrian(&[&["fleet", &store], &all[..], &days, level].concat()));
            let told: Value = serde_json::from_str(&told).expect("JSON");
            let rows = told["result"]["answers"]["services"].as_array().expect("rows").clone();
            let row = |row: &Value| {
                let number = |name: &str| row[name].as_f64().expect("a number");
                (
                    row["service"].as_str().expect("a name").to_owned(),
                    number("hosts"),
                    number("allocated_per_minute").round(),
                )
            };
            rows.iter().map(row).collect::<Vec<_>>()
        };
        let before = services(&[]);
        assert!(
            before.len() == 1 && before[0].0 == "shop" && before[0].2 > 100_000.0,
            "{before:?}"
        );
        // The same run on another machine allocates as much.
        let trace = text(&small_trace());
        said(&bactrian(&[
            "ship",
            &trace,
            "--to",
            &store,
            "--service",
            "shop",
            "--host",
            "web-2",
            "--once",
        ]));
        let both = services(&[]);
        assert!((both[0].2 / before[0].2 - 2.0).abs() < 1e-6 && both[0].1 == 2.0, "{both:?}");
        // Older profiles do not say where their trace is.
        let host =
            |name: &str| said(&bactrian(&[&["fleet", &store, "--host", name], &days[..]].concat()));
        let web_1 = host("web-1");
        assert!(web_1.contains("the path of its trace is not in the store"), "{web_1}");
        assert!(
            host("web-2").contains(&format!("on web-2: bactrian view {trace}")),
            "{}",
            host("web-2")
        );
        said(&bactrian(&[
            "fleet",
            "roll-up",
            &store,
            "--keep-minutes",
            "100000",
            "--keep-hours",
            "100000",
        ]));
        for level in ["minute", "hour", "day"] {
            assert_eq!(services(&["--by", level]), both, "{level}");
        }
    }

    /// By the client of bactrian-query.
    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn pushed_profiles_equal_those_in_the_store() {
        let folder = bactrian_fixtures::own_folder("fleet_push_engine");
        let store = folder.join("store").to_str().expect("a text").to_owned();
        let server = Receiver::answering("200 OK");
        let trace = small_trace();
        let ship = [
            &[
                "ship",
                trace.to_str().expect("a text"),
                "--to",
                &store,
                "--once",
                "--service",
                "shop",
            ][..],
            &["--host", "web-1", "--label", "zone=a b", "--push", server.address()],
            &["--push-otlp", &format!("{}/", server.address())],
        ];
        let output = bactrian(&ship.concat());
        assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
        check_pushed(&server.posted(), &store, &folder);
    }

    /// Servers that fail, or that are not there, do not hold up the store.
    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn a_push_that_fails_does_not_hold_up_the_store() {
        let folder = bactrian_fixtures::own_folder("fleet_push_fails");
        let store = folder.join("store").to_str().expect("a text").to_owned();
        let trace = small_trace();
        let server = Receiver::answering("503 Service Unavailable");
        let ship = ["ship", trace.to_str().expect("a text"), "--to", &store, "--once"];
        let output = bactrian(&[&ship[..], &["--push-otlp", server.address()]].concat());
        assert!(said(&output).starts_with("1 profile"), "{output:?}");
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(
            complaints.contains("503") && complaints.contains("1 request not pushed"),
            "{complaints}"
        );
        assert_eq!(server.posted().len(), 3);
        assert!(Path::new(&store).join("samples").is_dir());
        // Nobody listens there.
        let other = folder.join("other").to_str().expect("a text").to_owned();
        let ship = ["ship", trace.to_str().expect("a text"), "--to", &other, "--once"];
        let output = bactrian(&[&ship[..], &["--push", "http://127.0.0.1:9"]].concat());
        assert!(said(&output).starts_with("1 profile"), "{output:?}");
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(complaints.contains("2 requests not pushed"), "{complaints}");
        let refused = bactrian(&[&ship[..], &["--push", "pyroscope:4040"]].concat());
        assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    }

    /// What all servers hold, from summaries alone: the cookbook's query, and DuckDB's answer.
    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn query_for_what_all_servers_hold_agrees_with_fleet() {
        let folder = bactrian_fixtures::own_folder("fleet_heaps");
        let text = |name: &str| folder.join(name).to_str().expect("a text").to_owned();
        let (trace, store) = (text("run.ctf"), text("store"));
        let leaky = bactrian_fixtures::program(
            "leaky_cache",
            bactrian_fixtures::Compiler::OCaml4,
            bactrian_fixtures::Variant::Plain,
        );
        let leaky = leaky.to_str().expect("a text");
        said(&bactrian(&[
            "record",
            "--quiet",
            "--snapshots",
            "exit",
            "-o",
            &trace,
            "--",
            leaky,
            "20000",
        ]));
        for host in ["web-1", "web-2"] {
            let heap = text("run.1.heap");
            said(&bactrian(&[
                "ship",
                &heap,
                "--to",
                &store,
                "--host",
                host,
                "--service",
                "shop",
                "--once",
            ]));
        }
        let told = said(&bactrian(&["fleet", &store, "--show", "held-classes", "--json"]));
        let told: Value = serde_json::from_str(&told).expect("JSON");
        let rows = told["result"]["answers"]["held_classes"].as_array().expect("rows");
        assert!(rows.len() > 5 && rows.iter().all(|row| row["hosts"] == 2), "{rows:?}");
        let document =
            std::fs::read_to_string(bactrian_fixtures::repository().join("docs/fleet.md"));
        let document = document.expect("the document");
        let (_, query) = document.split_once("What do all our servers hold?").expect("it is there");
        let query = query.split("```").nth(1).expect("SQL").trim_start_matches("sql");
        let heaps = OF_FLEETS.iter().find(|it| it.name == "heaps").expect("a table");
        let answers = answers_of_duckdb(&store, &[table(&store, heaps), query.to_owned()]);
        let expected: Vec<Vec<Value>> =
            serde_json::from_value(answers[1]["rows"].clone()).expect("rows");
        assert_eq!(expected.len(), rows.len());
        for (row, expected) in rows.iter().zip(&expected) {
            assert!(
                row.as_object()
                    .expect("columns")
                    .values()
                    .zip(expected)
                    .all(|(a, b)| is_same(a, b)),
                "{row} {expected:?}"
            );
        }
    }

    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn engine_agrees_with_duckdb() {
        let made = made("fleet_engine");
        let check = |store: &str| {
            let told = said(&bactrian(&["fleet", store, "--json"]));
            let told: Value = serde_json::from_str(&told).expect("JSON");
            check_answers(&told, &QUESTIONS, made.asked(answers_of_duckdb));
        };
        check(&made.store);
        // And of one machine.
        let host = "mail-0031";
        let told = said(&bactrian(&["fleet", &made.store, "--host", host, "--json"]));
        let told: Value = serde_json::from_str(&told).expect("JSON");
        check_answers(&told, &OF_HOST, asked(&made.store, Some(host), &OF_HOST, answers_of_duckdb));
        // And after a roll-up, to which this fleet is old enough.
        let packed =
            said(&bactrian(&["fleet", "roll-up", &made.store, "--keep-minutes", "100000"]));
        // Of samples all but the last of each of 40 machines, and all 640 of what runtimes counted.
        assert!(packed.starts_with("1240 files packed"), "{packed}");
        check(&made.store);
    }

    /// Columns are only ever added: files of an earlier version have fewer, those of a later version more.
    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn files_of_other_versions_are_read() {
        let made = made("fleet_versions");
        let services = || {
            let told = said(&bactrian(&["fleet", &made.store, "--show", "services", "--json"]));
            let told: Value = serde_json::from_str(&told).expect("JSON");
            told["result"]["answers"]["services"].clone()
        };
        let expected = services();
        let folder = Path::new(&made.store).join("samples/date=2026-11-18/hour=14");
        let files =
            std::fs::read_dir(&folder).expect("a folder").map(|file| file.expect("a file").path());
        let mut rewritten = Vec::new();
        for (file, columns) in files
            .zip(["* exclude (version, labels, promoted)", "*, 1 as colour"].iter().cycle())
            .take(40)
        {
            let file = file.to_str().expect("a text").to_owned();
            rewritten.push(format!(
                "copy (select {columns} from '{file}') to '{file}' (format parquet)"
            ));
        }
        for answer in answers_of_duckdb(&made.store, &rewritten) {
            assert!(answer["error"].is_null(), "{answer}");
        }
        let is_near = |(a, b): (&Value, &Value)| {
            let values =
                |row: &Value| row.as_object().expect("a row").values().cloned().collect::<Vec<_>>();
            values(a).iter().zip(&values(b)).all(|(a, b)| is_same(a, b))
        };
        let (told, expected) = (services(), expected.as_array().expect("rows").clone());
        let told = told.as_array().expect("rows");
        assert!(
            told.len() == expected.len() && told.iter().zip(&expected).all(is_near),
            "{told:?}"
        );
    }

    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn first_screen_shows_the_planted_faults() {
        let made = made("fleet_screen");
        let screen = said(&bactrian(&["fleet", &made.store]));
        let findings: Vec<&str> = screen.lines().filter(|line| line.starts_with("- ")).collect();
        let [leak, regression, host, memory] = findings[..] else { panic!("{screen}") };
        assert!(memory.starts_with("- shop: the memory of shop-0010 grows by "), "{memory}");
        assert!(leak.starts_with(&format!("- search: {}", made.leak)), "{leak}");
        assert!(
            regression.contains(&made.regression)
                && regression.contains(" times as much as shop-2.0"),
            "{regression}"
        );
        assert!(
            host.starts_with("- mail: mail-0031 holds ") && host.contains("3.0 times"),
            "{host}"
        );
        // One machine, with its trace.
        let one = said(&bactrian(&["fleet", &made.store, "--host", "mail-0031"]));
        assert!(one.contains("on mail-0031: bactrian view /var/lib/bactrian/mail.ctf"), "{one}");
        // One service, one question, by hour.
        let one = said(&bactrian(&["fleet", &made.store, "--service", "login"]));
        assert!(one.starts_with("1 service, 4 hosts, 1 build; 64 profiles"), "{one}");
        let builds = said(&bactrian(&["fleet", &made.store, "--show", "builds"]));
        assert_eq!(builds.lines().count(), 6, "{builds}");
        let refused = bactrian(&["fleet", &made.store, "--by", "hour"]);
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        said(&bactrian(&["fleet", "roll-up", &made.store, "--keep-minutes", "100000"]));
        let hours = said(&bactrian(&["fleet", &made.store, "--by", "hour"]));
        assert!(hours.starts_with("4 services, 40 hosts, 5 builds; 40 profiles"), "{hours}");
        // An hour holds what its last minute holds, even if there is no other hour.
        let held = |show: &str, by: &str, minute: u64| -> BTreeMap<String, u64> {
            let asked = ["fleet", &made.store, "--show", show, "--by", by, "--json"];
            let told: Value = serde_json::from_str(&said(&bactrian(&asked))).expect("JSON");
            let (_, answer) =
                told["result"]["answers"].as_object().expect("answers").iter().next().expect("one");
            let rows = answer.as_array().expect("rows").iter();
            let rows = rows.filter(|row| row["time"].is_null() || row["time"] == minute);
            let sum = |row: &Value| row["live"].as_f64().expect("bytes").round() as u64;
            rows.map(|row| (row["service"].to_string(), sum(row))).collect()
        };
        let last = held("over-time", "minute", BEGIN + (MINUTES - 1) * 60);
        assert!(last.len() == 4 && last.values().all(|bytes| *bytes > 0), "{last:?}");
        assert_eq!(held("services", "hour", 0), last);
        for (arguments, expected) in [
            (vec!["fleet", "missing"], "there are no profiles"),
            (vec!["fleet", &made.store, "--since", "2 weeks"], "90m, 2h, 7d"),
            (vec!["fleet", "nowhere://bucket"], "nowhere"),
            (vec!["fleet", &made.store, "--engine", "flink://host:1"], "an engine is duckdb"),
            (
                vec!["fleet", &made.store, "--engine", "clickhouse://host.invalid"],
                "ClickHouse: no connection",
            ),
        ] {
            let output = bactrian(&arguments);
            assert!(!output.status.success(), "{output:?}");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains(expected), "{said}");
        }
    }
}

/// Stores other than directories.
mod stores {
    use super::garage::Garage;
    use super::*;

    fn with(garage: &Garage, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(arguments).envs(garage.environment()).output().expect("bactrian runs")
    }

    /// Samples in a store, by service.
    fn services(output: &Output) -> Value {
        let told: Value = serde_json::from_str(&said(output)).expect("JSON");
        told["result"]["answers"]["services"].clone()
    }

    #[test]
    #[ignore = "needs Garage: cargo xtask test --all"]
    fn distributed_store_may_lose_nodes_without_loss_or_duplicates() {
        let folder = bactrian_fixtures::own_folder("fleet_garage");
        let mut garage = Garage::start(&folder.join("garage"));
        let traces = Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures");
        let text = |path: &Path| path.to_str().expect("a text").to_owned();
        let (one, other) =
            (text(&traces.join("leaky_cache_v2.ctf")), text(&traces.join("bytecode_v2.ctf")));
        let (there, here) = (garage.address("fleet"), text(&folder.join("store")));
        for trace in [&one, &other] {
            said(&bactrian(&["ship", trace, "--to", &here, "--once"]));
        }
        let ship =
            |garage: &Garage, trace: &str| with(garage, &["ship", trace, "--to", &there, "--once"]);
        said(&ship(&garage, &one));
        // With one node less it continues; with two less it fails with an error.
        garage.kill_node(2);
        said(&ship(&garage, &one));
        garage.kill_node(1);
        let refused = ship(&garage, &other);
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
        let said_so = String::from_utf8_lossy(&refused.stderr);
        assert!(said_so.contains(&there), "{said_so}");
        garage.start_node(1);
        garage.start_node(2);
        let begin = std::time::Instant::now();
        while !ship(&garage, &other).status.success() {
            assert!(begin.elapsed().as_secs() < 60, "{:?}", ship(&garage, &other));
        }
        let days = ["--since", "100000d", "--show", "services", "--json"];
        let expected = services(&bactrian(&[&["fleet", &here], &days[..]].concat()));
        assert_eq!(expected.as_array().map(Vec::len), Some(2), "{expected}");
        let asked = [&["fleet", &there], &days[..]].concat();
        assert_eq!(services(&with(&garage, &asked)), expected);
        let rolled_up = ["fleet", "roll-up", &there, "--keep-minutes", "100000"];
        said(&with(&garage, &rolled_up));
        assert_eq!(services(&with(&garage, &asked)), expected);
        // A client without access is told so.
        let mut stranger = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        stranger.args(&asked).envs(garage.environment()).env("AWS_SECRET_ACCESS_KEY", "wrong");
        let refused = stranger.output().expect("bactrian runs");
        assert_eq!(refused.status.code(), Some(3), "{refused:?}");
    }
}
