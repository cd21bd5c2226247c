//! Questions about a fleet generated from the stacks of a real program, with a leak, a regression and an
//! outlying machine planted: every engine finds them, and all give the same answers.

mod garage;
mod sql_engines;

use std::path::Path;
use std::process::{Command, Output};

use bactrian_fleet::questions::{QUESTIONS, STEPS, Window};
use serde_json::Value;
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
    let maker = Path::new(env!("CARGO_BIN_EXE_bactrian")).with_file_name("examples/make_fleet");
    let output = Command::new(maker).args([&trace, &store, HOSTS, &MINUTES.to_string()]).output();
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
        let window = Window { begin: BEGIN, end: BEGIN + MINUTES * 60, service: None };
        let files = |table: &str| {
            let store = &self.store;
            format!(
                "create view {table} as select * from read_parquet('{store}/{table}/**/*.parquet', hive_partitioning = false)"
            )
        };
        let mut queries = vec![files("samples"), files("stacks")];
        queries.extend(
            STEPS.map(|step| format!("create table {} as {}", step.name, window.of(step.sql))),
        );
        let first = queries.len();
        queries.extend(QUESTIONS.map(|question| window.of(question.sql)));
        let answers = engine(&self.store, &queries);
        let rows = |(query, answer): (&String, &Value)| {
            assert!(answer["error"].is_null(), "{query}\n{answer}");
            serde_json::from_value(answer["rows"].clone()).expect("rows")
        };
        queries.iter().zip(&answers).skip(first).map(rows).collect()
    }
}

/// Whether values are equal: engines sum in different orders.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-9 * a.abs().max(b.abs()).max(1.0),
        _ => a == b,
    }
}

mod consumers {
    use super::*;

    #[test]
    #[ignore = "needs DuckDB: cargo xtask consumers"]
    fn planted_faults_are_found_and_nothing_else() {
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
        // A cache that is full retains memory, but does not grow.
        assert!(leaves("live_sites", 1).contains(&made.cache.as_str()));
        assert_eq!(rows("over_time").len(), 4 * MINUTES as usize);
    }
}

/// A distributed engine: two workers, each in its own process.
mod spark {
    use super::*;

    #[test]
    #[ignore = "needs Spark: cargo xtask query"]
    fn spark_agrees_with_duckdb() {
        let made = made("fleet_spark");
        let answers = made.asked(answers_of_spark).into_iter().zip(made.asked(answers_of_duckdb));
        for (question, (told, expected)) in QUESTIONS.iter().zip(answers) {
            assert_eq!(told.len(), expected.len(), "{}", question.name);
            for (row, expected) in told.iter().zip(&expected) {
                let is_same = row.iter().zip(expected).all(|(a, b)| is_same(a, b));
                assert!(is_same, "{}: {row:?} {expected:?}", question.name);
            }
        }
    }
}

mod queries {
    use super::*;

    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn engine_agrees_with_duckdb() {
        let made = made("fleet_engine");
        let check = |store: &str| {
            let told = said(&bactrian(&["fleet", store, "--json"]));
            let told: Value = serde_json::from_str(&told).expect("JSON");
            for (question, expected) in QUESTIONS.iter().zip(made.asked(answers_of_duckdb)) {
                let rows = told["result"]["answers"][question.name].as_array().expect("rows");
                assert_eq!(rows.len(), expected.len(), "{}", question.name);
                for (row, expected) in rows.iter().zip(&expected) {
                    let values = row.as_object().expect("columns").values();
                    let is_same = values.zip(expected).all(|(a, b)| is_same(a, b));
                    assert!(is_same, "{}: {row} {expected:?}", question.name);
                }
            }
        };
        check(&made.store);
        // And after a roll-up, for which this fleet is old enough.
        let packed =
            said(&bactrian(&["fleet", "roll-up", &made.store, "--keep-minutes", "100000"]));
        assert!(packed.starts_with("60"), "{packed}");
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
        let [leak, regression, host] = findings[..] else { panic!("{screen}") };
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
        for (arguments, expected) in [
            (vec!["fleet", "missing"], "there are no profiles"),
            (vec!["fleet", &made.store, "--since", "2 weeks"], "90m, 2h, 7d"),
            (vec!["fleet", "nowhere://bucket"], "nowhere"),
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
    #[ignore = "needs Garage: cargo xtask query"]
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
