//! `bactrian heap` with types, on `programs/heap_values.ml`.

use bactrian_fixtures::{BOTH, Compiler};
use serde_json::Value;
use tempfile::TempDir;

use crate::truth::{annotated, bactrian, run};

/// A directory with a snapshot at the program's exit, `run.1.heap`, and its type table, `values.types`.
fn folder(compiler: Compiler) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let built = annotated("heap_values", compiler);
    let mut build = bactrian();
    build.args(["types", "build"]).arg(&built).args(["-o", "values.types", "--compiler"]);
    run(build.arg(compiler.ocamlopt()).current_dir(folder.path()));
    let record = ["record", "--snapshots", "exit", "--strings", "20", "--no-trace", "-o", "run"];
    let program = built.join("heap_values");
    run(bactrian().args(record).arg("--").arg(program).current_dir(folder.path()));
    folder
}

/// The answer of a verb, as JSON.
fn ask(folder: &TempDir, verb: &str, arguments: &[&str]) -> Value {
    let mut command = bactrian();
    command.args(["heap", verb, "run.1.heap"]).args(arguments);
    command.args(["--types", "values.types", "--json"]).current_dir(folder.path());
    command.env("XDG_CACHE_HOME", folder.path().join("cache"));
    let output = command.output().expect("it starts");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{command:?}");
    let mut whole: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    whole["result"].take()
}

/// The row of a table with this name.
fn row<'a>(answer: &'a Value, name: &str) -> &'a Value {
    let rows = answer["rows"].as_array().expect("rows");
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {rows:#?}"))
}

#[test]
fn types_and_their_coverage() {
    for compiler in BOTH {
        let folder = folder(compiler);
        let types = ask(&folder, "types", &["-n", "0"]);
        assert_eq!(row(&types, "Heap_values.person")["blocks"]["value"], 1001.0, "{compiler:?}");
        let map = "Heap_values.person option Map.Make(String).t";
        assert_eq!(row(&types, map)["blocks"]["value"], 1000.0, "{compiler:?}");
        let typed = types["coverage"]["typed"].as_f64().expect("a share");
        assert!(typed > 0.95, "{compiler:?}: {}", types["coverage"]);
        assert_eq!(types["coverage"]["conflicts"], 0, "{compiler:?}");
        // With the index, and without it.
        assert_eq!(ask(&folder, "types", &["-n", "0"]), types, "{compiler:?}");
        assert_eq!(ask(&folder, "types", &["-n", "0", "--no-index"]), types, "{compiler:?}");
        let left = ask(&folder, "types", &["--conflicts"]);
        assert_eq!(left["blocks"], 0, "{compiler:?}: {left}");
    }
}

#[test]
fn collections_are_counted() {
    for compiler in BOTH {
        let folder = folder(compiler);
        let found = ask(&folder, "collections", &["-n", "0"]);
        let check = |name: &str, count: u64, elements: u64, largest: u64| {
            let row = row(&found, name);
            let numbers = ["count", "elements", "largest"].map(|what| row[what].as_u64());
            assert_eq!(numbers, [count, elements, largest].map(Some), "{compiler:?}: {row}");
        };
        check("(string, Heap_values.person) Hashtbl.t", 1, 1000, 1000);
        check("Heap_values.person option Map.Make(String).t", 1, 1000, 1000);
        check("Set.Make(Int).t", 1, 1000, 1000);
        check("int list Queue.t", 1, 1000, 1000);
        check("string Stack.t", 1, 1000, 1000);
        check("int list", 750, 1500, 3);
        check("(int * string) list", 49, 1225, 49);
        check("(int * string) list list", 1, 50, 50);
        check("Heap_values.shape array", 1, 99, 99);
        let unused = row(&found, "(int, int) Hashtbl.t");
        assert_eq!((&unused["empty"], &unused["fill"]), (&1.into(), &0.0.into()), "{compiler:?}");
        let overhead = row(&found, "int list")["overhead"].as_f64();
        assert_eq!(overhead, Some(2.0), "{compiler:?}");
        assert_eq!(ask(&folder, "collections", &["-n", "0"]), found, "{compiler:?}");
    }
}

#[test]
fn values_are_printed_as_ocaml_would() {
    for compiler in BOTH {
        let folder = folder(compiler);
        let check = |what: &str, arguments: &[&str], expected: &str| {
            let shown = ask(&folder, "show", &[&[what], arguments].concat());
            assert_eq!(shown["value"], expected, "{compiler:?}: {what}");
        };
        let ring = ask(&folder, "show", &["Heap_values.ring"]);
        let node = ring["fields"][0]["block"]["node"].as_u64().expect("a block");
        let expected = format!(
            "{{ name = \"ring\"; age = 1; friends = [<cycle @{node}>]; color = Blue; letter = 'r'; ok = true }}"
        );
        check("Heap_values.ring", &[], &expected);
        let expected = "[`Number 0; `Name \"1\"; `Number 2; `Name \"3\"; `Number 4; `Name \"5\"]";
        check("Heap_values.cases", &[], expected);
        let expected =
            "[|Point; Square (1, \"xxx\"); Circle { radius = <float>; name = \"c2\" }; ...|]";
        check("Heap_values.shapes", &["--items", "3"], expected);
        check(
            "Heap_values.pairs",
            &["--items", "3", "--depth", "2"],
            "[[]; [...]; [...; ...]; ...]",
        );
        check(
            "Heap_values.stack",
            &["--items", "2"],
            "{ c = [\"p1000\"; \"p999\"; ...]; len = 1000 }",
        );
        check("Heap_values.delayed", &["--items", "2"], "[lazy 1; <lazy>; ...]");
        check("Heap_values.unused", &["--items", "1"], "{ size = 0; ... }");
        let odd = "{ contents = [Heap_values.Odd (\"one\", 1); Not_found] }";
        check("Heap_values.odd", &[], odd);
    }
}

#[test]
fn fields_report_their_retained_size() {
    for compiler in BOTH {
        let folder = folder(compiler);
        let answer = ask(&folder, "fields", &["Heap_values.shape"]);
        let fields = &answer["fields"];
        assert_eq!(fields["blocks"], 66, "{compiler:?}");
        let rows = fields["rows"].as_array().expect("rows");
        let held: u64 = rows.iter().filter_map(|row| row["retained"].as_u64()).sum();
        let own = fields["shallow"].as_u64().expect("bytes");
        assert_eq!(Some(held + own), fields["retained"].as_u64(), "{compiler:?}: {answer}");
        let names: Vec<_> = rows.iter().filter_map(|row| row["field"].as_str()).collect();
        assert_eq!(names, ["radius", "name", "1", "0"], "{compiler:?}");
        // Names of people are also keys of the table and of the map.
        let answer = ask(&folder, "fields", &["Heap_values.person"]);
        let rows = answer["fields"]["rows"].as_array().expect("rows");
        let name = rows.iter().find(|row| row["field"] == "name").expect("it is there");
        assert_eq!((&name["pointers"], &name["shared"]), (&1001.into(), &1000.into()));
    }
}

#[test]
fn steps_have_names_and_mutable_blocks_are_no_duplicates() {
    for compiler in BOTH {
        let folder = folder(compiler);
        let paths = ask(&folder, "paths", &["Heap_values.person list"]);
        let text = paths.to_string();
        assert!(text.contains("field ring of Heap_values"), "{compiler:?}: {text}");
        assert!(text.contains("\".friends\""), "{compiler:?}: {text}");
        let duplicates = ask(&folder, "duplicates", &["-n", "0"]);
        assert!(duplicates["mutable"].as_u64() > Some(1000), "{compiler:?}: {duplicates}");
        let classes = duplicates["classes"].as_array().expect("classes");
        let is_mutable = |row: &&Value| row["name"] == "Heap_values.person";
        assert!(!classes.iter().any(|row| is_mutable(&row)), "{compiler:?}: {classes:?}");
    }
}
