//! Tables as Parquet files, read by DuckDB: their numbers equal those of other commands, and every query in
//! the cookbook has an answer.

#[allow(dead_code, reason = "shared with the tests of snapshots, which use more of it")]
#[path = "../../snapshot/tests/snapshot/heaps.rs"]
mod heaps;
#[allow(dead_code, reason = "shared with the tests of the live view, which use more of it")]
#[path = "live_view/recorded.rs"]
mod recorded;
mod sql_engines;

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

/// A random heap, a trace and a recording, and the directory of their tables.
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
    // An output is required, and it cannot be an existing file.
    for output in [&["-o", "-"][..], &[], &["-o", &heap]] {
        let refused = bactrian(&[&["heap", "export", &heap, "--to", "parquet"], output].concat());
        assert!(!refused.status.success(), "{refused:?}");
        let said = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(said.contains("folder"), "{said}");
    }
}

/// The queries in the cookbook.
fn cookbook() -> Vec<String> {
    let document = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/tables.md");
    let document = std::fs::read_to_string(document).expect("the document");
    let query = |rest: &str| rest.split("```").next().unwrap_or_default().trim().to_owned();
    let queries: Vec<String> = document.split("```sql\n").skip(1).map(query).collect();
    assert!(queries.len() >= 25, "{}", queries.len());
    queries
}

/// A store with the profiles of a trace.
fn shipped(name: &str) -> String {
    let store = bactrian_fixtures::own_folder(name).join("store");
    let store = store.to_str().expect("a text").to_owned();
    let trace = fixture("leaky_cache_v2.ctf");
    let trace = trace.to_str().expect("a text");
    let options = ["--service", "shop", "--label", "zone=a", "--once"];
    let output = bactrian(&[&["ship", trace, "--to", &store][..], &options].concat());
    assert!(output.status.success(), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stdout).contains("1 profile in "), "{output:?}");
    store
}

#[test]
fn profiles_are_shipped_once_and_failures_reported() {
    let store = shipped("tables_ship");
    let trace = fixture("leaky_cache_v2.ctf");
    let trace = trace.to_str().expect("a text");
    let again = bactrian(&["ship", trace, "--to", &store]);
    assert!(String::from_utf8_lossy(&again.stdout).contains("0 profiles in "), "{again:?}");
    let said = |output: &Output| String::from_utf8_lossy(&output.stderr).into_owned();
    let missing = bactrian(&["ship", "missing.ctf", "--to", &store]);
    assert_eq!(missing.status.code(), Some(3), "{missing:?}");
    assert!(said(&missing).contains("missing.ctf"), "{missing:?}");
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    let wrong = bactrian(&["ship", manifest, "--to", &store, "--once"]);
    assert_eq!(wrong.status.code(), Some(3), "{wrong:?}");
    assert!(said(&wrong).contains("Cargo.toml"), "{wrong:?}");
    // The store is a file.
    let nowhere = bactrian(&["ship", trace, "--to", manifest, "--once"]);
    assert_eq!(nowhere.status.code(), Some(3), "{nowhere:?}");
    let label = bactrian(&["ship", trace, "--to", &store, "--label", "zone"]);
    assert_eq!(label.status.code(), Some(2), "{label:?}");
    let unit = bactrian(&["ship", "--systemd", "/var/lib/traces", "--to", "/mnt/a b"]);
    let unit = String::from_utf8_lossy(&unit.stdout).into_owned();
    assert!(unit.contains("ship /var/lib/traces --to \"/mnt/a b\"\n"), "{unit}");
}

mod consumers {
    use super::sql_engines::answers_of_duckdb as answers;
    use super::*;

    #[test]
    #[ignore = "needs DuckDB: cargo xtask consumers"]
    fn every_query_of_the_cookbook_has_an_answer() {
        let exported = exported("tables_cookbook");
        let queries = cookbook();
        for (query, answer) in queries.iter().zip(answers(&exported.folder, &queries)) {
            assert!(answer["error"].is_null(), "{query}\n{answer}");
            // Random heaps have no samples.
            let may_be_empty = query.contains("age is not null");
            assert!(
                may_be_empty || answer["rows"].as_array().is_some_and(|rows| !rows.is_empty()),
                "{query}\n{answer}"
            );
        }
    }

    /// The shipped profiles of a trace contain the trace's numbers.
    #[test]
    #[ignore = "needs DuckDB: cargo xtask consumers"]
    fn profiles_of_a_fleet_have_the_numbers_of_the_trace() {
        let (trace, store) = (fixture("leaky_cache_v2.ctf"), shipped("tables_fleet"));
        let trace = trace.to_str().expect("a text");
        let queries = [
            format!(
                "select sum(samples / rate) * 8, sum(live / rate) * 8 from '{store}/samples/**/*.parquet'"
            ),
            format!(
                "select count(*) from '{store}/samples/**/*.parquet' p left join '{store}/stacks/**/*.parquet' s using (stack_id, build_id) where s.frames is null"
            ),
            format!(
                "select distinct service, host, labels, date from '{store}/samples/**/*.parquet'"
            ),
            format!(
                "select s.leaf, sum(p.samples / p.rate) * 8 as bytes from '{store}/samples/**/*.parquet' p join '{store}/stacks/**/*.parquet' s using (stack_id, build_id) group by s.leaf order by bytes desc, s.leaf"
            ),
            "select leaf, sum(samples / rate) * 8 as bytes from objects join stacks using (stack) group by leaf order by bytes desc, leaf".to_owned(),
        ];
        let exported = bactrian(&["export", trace, "--to", "parquet", "-o", &store]);
        assert!(exported.status.success(), "{exported:?}");
        let told = answers(&store, &queries);
        let info = json(&["info", trace, "--full", "--json"]);
        let number = |value: &Value| value.as_f64().expect("a number");
        let sums = &told[0]["rows"][0];
        let is_near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * a.abs().max(b.abs());
        assert!(
            is_near(number(&sums[0]), number(&info["contents"]["allocated"]["value"])),
            "{sums}"
        );
        assert!(
            is_near(number(&sums[1]), number(&info["contents"]["live_at_end"]["value"])),
            "{sums}"
        );
        assert_eq!(told[1]["rows"][0][0], 0);
        let origins = told[2]["rows"].as_array().expect("rows");
        assert_eq!(origins.len(), 1, "{origins:?}");
        assert_eq!((&origins[0][0], &origins[0][2]), (&"shop".into(), &"zone=a".into()));
        // By function they equal the tables of the trace.
        assert_eq!(told[3]["rows"], told[4]["rows"]);
        // And on request, no names are shipped.
        let redacted = format!("{store}/redacted");
        let shipped = bactrian(&["ship", trace, "--to", &redacted, "--once", "--redact", "names"]);
        assert!(shipped.status.success(), "{shipped:?}");
        let names = |store: &str| {
            let query = format!(
                "select count(*) from '{store}/stacks/**/*.parquet' where frames like '%leaky%'"
            );
            answers(store, &[query])[0]["rows"][0][0].as_u64().expect("a number")
        };
        assert!(names(&store) > 0);
        assert_eq!(names(&redacted), 0);
    }

    /// Of a program with known types.
    #[test]
    #[ignore = "needs DuckDB: cargo xtask consumers"]
    fn tables_have_the_types_of_the_commands() {
        let folder = bactrian_fixtures::own_folder("tables_types");
        let text = |name: &str| folder.join(name).to_str().expect("a text").to_owned();
        let source = bactrian_fixtures::repository().join("programs/leaky_cache.ml");
        std::fs::copy(source, folder.join("leaky_cache.ml")).expect("room");
        let mut compile = Command::new("ocamlopt.opt");
        compile.args(["-g", "-bin-annot", "leaky_cache.ml", "-o", "leaky_cache"]);
        assert!(compile.current_dir(&folder).status().expect("OCaml").success());
        let program = text("leaky_cache");
        let options = ["--quiet", "--snapshots", "exit", "--no-trace", "-o", &text("run"), "--"];
        let recorded = bactrian(&[&["record"][..], &options, &[&program, "2000"]].concat());
        assert!(recorded.status.success(), "{recorded:?}");
        let (heap, tables) = (text("run.1.heap"), text("tables"));
        let written = bactrian(&["export", &heap, "--to", "parquet", "-o", &tables]);
        assert!(written.status.success(), "{written:?}");
        let queries = [
            "select type, count(*), sum(words) * 8 from blocks where type is not null group by type",
            "select count(*) from blocks where type is not null and type <> class",
            "select kind, tag from blocks group by all",
        ];
        let answers = answers(&tables, &queries.map(str::to_owned));
        let told = json(&["heap", "types", &heap, "--limit", "0", "--json"]);
        let told = told["rows"].as_array().expect("rows").clone();
        let rows = answers[0]["rows"].as_array().expect("rows");
        assert!(rows.iter().any(|row| row[0] == "Leaky_cache.Cache.entry"), "{rows:?}");
        for row in rows {
            let one = told.iter().find(|one| one["name"] == row[0]).expect("a type of the command");
            let sums = (one["blocks"]["value"].as_f64(), one["shallow"]["value"].as_f64());
            assert_eq!(sums, (row[1].as_f64(), row[2].as_f64()), "{one}");
        }
        assert_eq!(answers[1]["rows"][0][0], 0);
        // The kind of a block by its tag, whatever its type.
        for row in answers[2]["rows"].as_array().expect("rows") {
            assert!(row[0] != "type" && (row[1] != 252 || row[0] == "string"), "{row}");
        }
    }

    #[test]
    #[ignore = "needs DuckDB: cargo xtask consumers"]
    fn tables_have_the_numbers_of_the_commands() {
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
        // The command counts only fields; the table also has the edges of ephemerons and continuations.
        assert!(number(&rows(1)[0][0]) >= number(&summary["pointers"]));
        // The classes equal the sums over blocks.
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
        // All targets exist.
        assert_eq!((number(&rows(8)[0][0]), number(&rows(9)[0][0])), (0.0, 0.0));
        let live = json(&["live", &recording, "--json"]);
        let observers = live["observers"].as_array().expect("observers");
        assert!(number(&rows(10)[0][0]) as usize <= observers.len());
        assert!(number(&rows(10)[0][0]) > 10.0);
    }
}

/// `bactrian query`, whose engine `cargo xtask query` puts beside it.
mod queries {
    use super::*;

    fn ask(arguments: &[&str]) -> Output {
        bactrian(&[&["query"], arguments].concat())
    }

    /// The rows of an answer, in DuckDB's format.
    fn rows(arguments: &[&str]) -> Vec<Vec<Value>> {
        let output = ask(&[&["--to", "json"], arguments].concat());
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        let told: Vec<serde_json::Map<String, Value>> =
            serde_json::from_slice(&output.stdout).expect("JSON");
        told.into_iter().map(|row| row.into_iter().map(|(_, value)| value).collect()).collect()
    }

    /// A value as text: engines differ in number formats and in omitting nulls.
    fn show(value: &Value) -> String {
        match value.as_f64() {
            Some(number) => format!("{number:.6e}"),
            None => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
        }
    }

    fn sorted(rows: &[Vec<Value>]) -> Vec<Vec<String>> {
        let is_there = |value: &&Value| !value.is_null();
        let row = |row: &Vec<Value>| row.iter().filter(is_there).map(show).collect();
        let mut rows: Vec<Vec<String>> = rows.iter().map(row).collect();
        rows.sort();
        rows
    }

    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn engine_answers_equal_those_of_duckdb() {
        let Exported { heap, trace, recording, folder } = exported("queries_cookbook");
        // The order of ties is up to the engine: complete answers are compared.
        let whole = |query: &String| match query.rsplit_once(" limit ") {
            Some((before, number)) if number.parse::<u32>().is_ok() => before.to_owned(),
            _ => query.clone(),
        };
        let queries: Vec<String> = cookbook().iter().map(whole).collect();
        for (query, expected) in
            queries.iter().zip(sql_engines::answers_of_duckdb(&folder, &queries))
        {
            let expected: Vec<Vec<Value>> =
                serde_json::from_value(expected["rows"].clone()).expect("rows");
            let told = rows(&[&heap, &trace, &recording, query]);
            assert_eq!(sorted(&told), sorted(&expected), "{query}");
        }
    }

    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn graph_functions_agree_with_the_tables() {
        let Exported { heap, .. } = exported("queries_functions");
        let number = |query: &str| rows(&[&heap, query])[0][0].as_i64().expect("a number");
        let id =
            number("select id from blocks where idom is not null order by retained desc limit 1");
        let retained = number(&format!("select retained from blocks where id = {id}"));
        assert_eq!(number(&format!("select sum(words) * 8 from dominated_by({id})")), retained);
        assert!(number(&format!("select sum(words) * 8 from reachable({id})")) >= retained);
        // Reachability agrees with the edges.
        let edges = "select count(*) from edges e join reachable(0) r on r.id = e.\"from\" left join reachable(0) t on t.id = e.\"to\" where t.id is null";
        assert_eq!(number(edges), 0);
        // A path begins at a root and ends at the block; it equals the table's path.
        let path = rows(&[&heap, &format!("select path({id})")])[0][0].clone();
        let steps = rows(&[
            &heap,
            &format!("select what from paths_to_roots({id}) where path = 0 order by step"),
        ]);
        for step in steps {
            let what = step[0].as_str().expect("a text");
            assert!(path.as_str().expect("a text").contains(what), "{path}: {what}");
        }
        let last = format!("select count(*) from paths_to_roots({id}) where id = {id}");
        assert!(number(&last) >= 1);
    }

    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn several_files_are_distinguished() {
        let Exported { heap, folder, .. } = exported("queries_files");
        let other = Path::new(&folder).with_file_name("other.heap");
        std::fs::copy(&heap, &other).expect("room");
        let other = other.to_str().expect("a text");
        let both =
            rows(&[&heap, other, "select file, count(*) from blocks group by file order by file"]);
        assert_eq!(both.len(), 2);
        assert_eq!(both[0][1], both[1][1]);
        let alone =
            rows(&[&heap, other, &format!("select count(*) from blocks where file = '{heap}'")]);
        assert_eq!(alone[0][0], both[0][1]);
        let held =
            rows(&[&heap, other, &format!("select count(*) > 0 from dominated_by(0, '{other}')")]);
        assert_eq!(held[0][0], true);
        let refused = ask(&[&heap, other, "select * from dominated_by(0)"]);
        assert!(
            String::from_utf8_lossy(&refused.stderr).contains("several snapshots"),
            "{refused:?}"
        );
    }

    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn errors_point_into_the_query() {
        let Exported { heap, trace, folder, .. } = exported("queries_mistakes");
        for (query, expected) in [
            ("select tpe from blocks", "\n  select tpe from blocks\n         ^"),
            ("selec 1", "\n  selec 1\n  ^"),
            ("select\n  1 +", "\n"),
            ("select * from nothing", "nothing"),
            ("select * from dominated_by(99999999)", "there is no block 99999999"),
            ("select * from reachable('x')", "the number of a block"),
            ("drop table blocks", "DDL"),
            ("copy (select 1) to 'x.csv'", "DML"),
            ("", "query"),
        ] {
            let output = ask(&[&heap, query]);
            assert_eq!(output.status.code(), Some(2), "{query}: {output:?}");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.contains(expected), "{query}: {said}");
        }
        let output = ask(&[&trace, "select path(1)"]);
        assert!(String::from_utf8_lossy(&output.stderr).contains("there is none"), "{output:?}");
        // A Parquet file is not evidence, and a missing file is named.
        let output = ask(&[&format!("{folder}/blocks.parquet"), "select 1"]);
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let output = ask(&["missing.heap", "select 1"]);
        assert!(String::from_utf8_lossy(&output.stderr).contains("missing.heap"), "{output:?}");
    }

    #[test]
    #[ignore = "needs the engine: cargo xtask query"]
    fn answers_come_in_every_format() {
        let Exported { heap, folder, .. } = exported("queries_formats");
        let query = "select class, blocks from classes order by class limit 2";
        let text = |arguments: &[&str]| {
            let output = ask(arguments);
            assert!(output.status.success(), "{output:?}");
            String::from_utf8(output.stdout).expect("text")
        };
        assert_eq!(text(&[&heap, query]).lines().count(), 3);
        assert!(text(&[&heap, query, "--to", "csv"]).starts_with("class,blocks\n"));
        assert!(text(&[&heap, query, "--explain"]).contains("StreamingTableExec"));
        // Only the columns of the query are read, and its predicate is pushed down.
        let plan = text(&[&heap, "select class from blocks where words > 100", "--explain"]);
        assert!(plan.contains("projection=[class, words]"), "{plan}");
        let answer = Path::new(&folder).join("answer.parquet");
        let answer = answer.to_str().expect("a text");
        text(&[&heap, query, "--to", "parquet", "-o", answer]);
        let counted =
            sql_engines::answers_of_duckdb(&folder, &["select count(*) from answer".to_owned()]);
        assert_eq!(counted[0]["rows"][0][0], 2);
        // The reader may stop early.
        let mut shell = Command::new("sh");
        shell.args(["-c", "\"$0\" query \"$1\" 'select id from edges e join blocks b on e.\"to\" = b.id' --to csv | head -n 1"]);
        let cut = shell.args([env!("CARGO_BIN_EXE_bactrian"), &heap]).output().expect("it runs");
        assert_eq!((&*cut.stdout, &*cut.stderr), (&b"id\n"[..], &b""[..]), "{cut:?}");
        let piped = ask(&[&heap, query, "--to", "parquet"]);
        assert!(piped.stdout.starts_with(b"PAR1"), "{piped:?}");
        // After a failed query the existing file is still there.
        let failed = ask(&[&heap, "select path(id) from (select 99999999 as id)", "-o", answer]);
        assert_eq!(failed.status.code(), Some(2), "{failed:?}");
        assert!(std::fs::read(answer).expect("a file").starts_with(b"PAR1"));
    }

    #[test]
    fn missing_engine_error_says_how_to_get_it() {
        let folder = bactrian_fixtures::own_folder("queries_without");
        let alone = folder.join("bactrian");
        std::fs::copy(env!("CARGO_BIN_EXE_bactrian"), &alone).expect("room");
        let output = Command::new(&alone).args(["query", "x", "select 1"]).env("PATH", "").output();
        let output = output.expect("it runs");
        assert_eq!(output.status.code(), Some(4), "{output:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains("make query"), "{output:?}");
    }
}
