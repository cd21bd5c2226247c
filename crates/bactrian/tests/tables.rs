//! Tables as Parquet files, read by DuckDB: their numbers are those of the other commands, and every query of the cookbook has an answer.

#[allow(dead_code, reason = "shared with the tests of snapshots, which use more of it")]
#[path = "../../snapshot/tests/snapshot/heaps.rs"]
mod heaps;
#[allow(dead_code, reason = "shared with the tests of the live view, which use more of it")]
#[path = "live_view/recorded.rs"]
mod recorded;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bactrian_live::recording::Recorder;
use bactrian_snapshot::Columns;
use serde_json::Value;

fn bactrian(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(arguments).output().expect("bactrian runs")
}

fn json(arguments: &[&str]) -> Value {
    let output = bactrian(arguments);
    let envelope: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    envelope["result"].clone()
}

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures").join(name)
}

/// A made-up heap, a trace and a recording, and the folder of their tables.
struct Exported {
    heap: String,
    trace: String,
    recording: String,
    folder: String,
}

fn exported(name: &str) -> Exported {
    let folder = bactrian_fixtures::own_folder(name);
    let heap = folder.join("made.heap");
    let made = heaps::random(&mut heaps::Dice(3), 3_000, Columns::default());
    std::fs::write(&heap, heaps::write(&made, 150).expect("it can be written")).expect("room");
    let recording = folder.join("run.live");
    let mut recorder = Recorder::create(&recording).expect("a file");
    recorded::events().iter().for_each(|event| recorder.add(event).expect("room"));
    recorder.flush().expect("room");
    let tables = folder.join("tables");
    let text = |path: &Path| path.to_str().expect("a text").to_owned();
    let exported = Exported {
        heap: text(&heap),
        trace: text(&fixture("leaky_cache_v2.ctf")),
        recording: text(&recording),
        folder: text(&tables),
    };
    for file in [&exported.heap, &exported.trace, &exported.recording] {
        let output = bactrian(&["export", file, "--to", "parquet", "-o", &exported.folder]);
        assert!(output.status.success(), "{output:?}");
    }
    exported
}

#[test]
fn each_table_is_a_file() {
    let Exported { heap, folder, .. } = exported("tables_files");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|file| file.expect("a file").file_name().into_string().expect("a name"))
        .collect();
    names.sort();
    let expected =
        ["blocks", "classes", "edges", "frames", "objects", "roots", "stacks", "strings", "values"];
    assert_eq!(names, expected.map(|name| format!("{name}.parquet")));
    // Where they go must be said, and a file cannot be a folder.
    for output in [&["-o", "-"][..], &[], &["-o", &heap]] {
        let refused = bactrian(&[&["heap", "export", &heap, "--to", "parquet"], output].concat());
        assert!(!refused.status.success(), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("folder"), "{said}");
    }
}

mod consumers {
    use std::io::Write;
    use std::process::Stdio;

    use super::*;

    /// What DuckDB says to queries.
    fn answers(folder: &str, queries: &[String]) -> Vec<Value> {
        let tools = std::env::var_os("BACTRIAN_CONSUMERS").expect("cargo xtask consumers sets it");
        let script =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../../consumers/duckdb_answers.py");
        let mut command = Command::new(Path::new(&tools).join("duckdb/bin/python"));
        command.arg(script).arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
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

    #[test]
    #[ignore = "needs DuckDB: cargo xtask consumers"]
    fn every_query_of_the_cookbook_has_an_answer() {
        let exported = exported("tables_cookbook");
        let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables.md");
        let document = std::fs::read_to_string(document).expect("the document");
        let queries: Vec<String> = document
            .split("```sql\n")
            .skip(1)
            .map(|rest| rest.split("```").next().unwrap_or_default().trim().to_owned())
            .collect();
        assert!(queries.len() >= 25, "{}", queries.len());
        for (query, answer) in queries.iter().zip(answers(&exported.folder, &queries)) {
            assert!(answer["error"].is_null(), "{query}\n{answer}");
            // Made-up heaps are not sampled.
            let may_be_empty = query.contains("age is not null");
            assert!(
                may_be_empty || answer["rows"].as_array().is_some_and(|rows| !rows.is_empty()),
                "{query}\n{answer}"
            );
        }
    }

    #[test]
    #[ignore = "needs DuckDB: cargo xtask consumers"]
    fn numbers_are_those_of_the_commands() {
        let Exported { heap, trace, recording, folder } = exported("tables_numbers");
        let queries = [
            "select count(*), sum(words) * 8, count(*) filter (where not reachable) from blocks",
            "select count(*) from edges",
            "select class, blocks, bytes, retained from classes order by class",
            "select class, count(*), sum(words) * 8 from blocks group by class order by class",
            "select count(*), sum(samples) / any_value(rate) * 8 from objects",
            "select sum(samples) / any_value(rate) * 8 from objects where collected is null",
            "select leaf, sum(samples) / any_value(rate) * 8 as bytes from objects join stacks using (stack) group by leaf order by bytes desc limit 1",
            "select max(depth) from stacks",
            "select count(*) from objects o left join stacks s on s.stack = o.stack where s.stack is null",
            "select count(*) from edges e left join blocks b on b.id = e.\"to\" where b.id is null",
            "select count(distinct observer) from \"values\"",
        ];
        let answers = answers(&folder, &queries.map(str::to_owned));
        let rows = |at: usize| answers[at]["rows"].as_array().expect("rows").clone();
        let number = |value: &Value| value.as_f64().expect("a number");
        let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        let summary = json(&["heap", "summary", &heap, "--json"]);
        let blocks = &rows(0)[0];
        assert_eq!(number(&blocks[0]), number(&summary["blocks"]));
        assert_eq!(number(&blocks[1]), number(&summary["bytes"]));
        // Those that are counted are of fields; the table has what ephemerons and continuations hold, too.
        assert!(number(&rows(1)[0][0]) >= number(&summary["pointers"]));
        // Classes are what blocks come to.
        let of_classes: Vec<Value> = rows(2).iter().map(|row| row[0].clone()).collect();
        let of_blocks: Vec<Value> = rows(3).iter().map(|row| row[0].clone()).collect();
        assert_eq!(of_classes, of_blocks);
        for (class, blocks) in rows(2).iter().zip(rows(3)) {
            assert_eq!((&class[1], &class[2]), (&blocks[1], &blocks[2]), "{class}");
        }
        let info = json(&["info", &trace, "--full", "--json"]);
        assert_eq!(number(&rows(4)[0][0]), number(&info["sampled_allocations"]));
        assert!(is_near(number(&rows(4)[0][1]), number(&info["contents"]["allocated"]["value"])));
        assert!(is_near(number(&rows(5)[0][0]), number(&info["contents"]["live_at_end"]["value"])));
        assert!(number(&rows(6)[0][1]) > 0.0);
        assert_eq!(number(&rows(7)[0][0]), number(&info["contents"]["deepest_stack"]));
        // Everything that is pointed to is there.
        assert_eq!((number(&rows(8)[0][0]), number(&rows(9)[0][0])), (0.0, 0.0));
        let live = json(&["live", &recording, "--json"]);
        let observers = live["observers"].as_array().expect("observers");
        assert!(number(&rows(10)[0][0]) as usize <= observers.len());
        assert!(number(&rows(10)[0][0]) > 10.0);
    }
}
