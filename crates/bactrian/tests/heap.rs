//! `bactrian info`, `bactrian check` and `bactrian heap` on intact and damaged heap snapshots.
//!
//! Golden files contain their output and exit status; `UPDATE_GOLDEN=1 cargo test` rewrites them.

#[path = "../../snapshot/tests/snapshot/heaps.rs"]
mod heaps;

#[allow(dead_code, reason = "shared with the tests of inference, which use more of it")]
#[path = "../../types/tests/infer/world.rs"]
mod world;

mod golden;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use bactrian_snapshot::{Columns, Info, Memory, Reason, Skipped, SnapshotMethod};
use bactrian_types::{DeclarationKind, Representation};
use serde_json::Value;
use world::{Int, To, World, constructor, named_fields};

fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures")
}

/// Snapshots of random heaps, made once for all tests.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = bactrian_fixtures::own_folder("heap");
        let put = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).expect("room");
        let small = snapshot(400);
        put("small.heap", &small);
        put("grown.heap", &snapshot(500));
        put("empty.heap", &snapshot(0));
        put("cut.heap", &small[..small.len() * 2 / 3]);
        let mut damaged = small.clone();
        damaged[1000] ^= 1;
        put("damaged.heap", &damaged);
        let mut later = small;
        later[8] = 9;
        put("later.heap", &later);
        let mut people = people();
        put("people.heap", &people.bytes(0));
        put("people.types", &people.table.to_bytes());
        put("trace.ctf", &fs::read(fixtures().join("leaky_cache_v2.ctf")).expect("a fixture"));
        folder
    })
}

fn snapshot(blocks: u32) -> Vec<u8> {
    let mut heap = heaps::random(&mut heaps::Dice(1), blocks, Columns::default());
    // As in files that were written before this table existed.
    heap.tables.fibers = None;
    heap.info = Info {
        writer: "bactrian 0.1.0".to_owned(),
        program: "./server".to_owned(),
        arguments: vec!["--port".to_owned(), "80".to_owned()],
        pid: 6423,
        host: "vm".to_owned(),
        ocaml: "4.13.1".to_owned(),
        taken: 1_794_700_800_000_000,
        since_start: Some(2_500_000),
        reason: Reason::Major,
        name: Some("after loading".to_owned()),
        sequence: 3,
        way: SnapshotMethod::Agent,
        pause: Some(12_340_000),
        skipped: Skipped { copies: 2, memory: 0, disk: 1 },
        ..Info::default()
    };
    heap.tables.memory = Memory {
        resident_bytes: Some(300_000),
        mapped_heap_words: Some(30_000),
        free_words: Some(7_000),
        ..Memory::default()
    };
    heaps::write(&heap, 150).expect("it can be written")
}

/// A program with people, and its types from the compiler.
fn people() -> World {
    let mut world = World::new();
    let colors = ["Red", "Green"].iter().zip(0..).map(|(name, tag)| constructor(name, tag, &[]));
    let colors = DeclarationKind::Variant(Representation::Boxed, colors.collect());
    let color = world.declare("Main.color", 0, colors);
    let color = world.named(color, &[]);
    let names = world.list(world.string);
    let fields = [("name", world.string), ("age", world.int), ("color", color), ("friends", names)];
    let mut fields = named_fields(&fields);
    fields[1].is_mutable = true;
    let person =
        world.declare("Main.person", 0, DeclarationKind::Record(Representation::Boxed, fields));
    let person = world.named(person, &[]);
    let shape = vec![
        constructor("Nothing", 0, &[]),
        constructor("Circle", 0, &[("radius", world.float), ("of", person)]),
        constructor("Pair", 1, &[("", world.int), ("", person)]),
    ];
    let shape =
        world.declare("Main.shape", 0, DeclarationKind::Variant(Representation::Boxed, shape));
    let shape = world.named(shape, &[]);
    let text = world.text();
    let own = world.text();
    let friends = world.cells(&[text, own]);
    let ada = world.block(0, &[To(text), Int(36), Int(1), To(friends)]);
    let bob = world.block(0, &[To(text), Int(40), Int(0), Int(0)]);
    let float = world.block(bactrian_snapshot::tag::DOUBLE, &[Int(0)]);
    let circle = world.block(0, &[To(float), To(ada)]);
    let pair = world.block(1, &[Int(7), To(bob)]);
    let shapes = world.block(0, &[To(circle), To(pair), Int(0)]);
    let loose = world.block(3, &[Int(1), To(bob)]);
    let (all, people) = (world.array(shape), world.list(person));
    world.value("shapes", all, shapes);
    let cells = world.cells(&[ada, bob]);
    world.value("people", people, cells);
    let wrong = world.array(world.float);
    world.value("wrong", wrong, cells);
    world.stack(loose);
    world
}

fn run(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(line.split(' ')).current_dir(folder()).env_remove("NO_COLOR");
    command.env("XDG_CACHE_HOME", folder().join("cache"));
    command.stdin(Stdio::null()).output().expect("bactrian starts")
}

fn text(bytes: &[u8]) -> &str {
    str::from_utf8(bytes).expect("UTF-8")
}

#[test]
fn commands_print_what_the_golden_files_hold() {
    let table: &[(&str, &str)] = &[
        ("info", "info small.heap"),
        ("info_full", "info --full small.heap"),
        ("info_cut", "info cut.heap"),
        ("info_filtered", "info small.heap --in Main"),
        ("info_later", "info later.heap"),
        ("check", "check small.heap"),
        ("check_limit", "check small.heap --max-live 1kB"),
        ("check_cut", "check cut.heap --max-live 1MB"),
        ("check_damaged", "check damaged.heap"),
        ("check_strict", "check damaged.heap --strict"),
        ("check_baseline", "check grown.heap --baseline small.heap"),
        ("check_allocated", "check small.heap --max-allocated 1MB"),
        ("top", "top small.heap"),
        ("dominators", "heap dominators small.heap --no-index -n 3 --depth 4"),
        ("dominators_of", "heap dominators small.heap --no-index --of string --blocks -n 2"),
        ("dominators_of_nothing", "heap dominators small.heap --no-index --of nothing"),
        ("duplicates", "heap duplicates small.heap --no-index -n 3"),
        ("graph", "heap graph small.heap --no-index --nodes 8"),
        ("graph_of_too_many", "heap graph small.heap --nodes 100000"),
        ("graph_around", "heap graph small.heap --no-index --around #1 --nodes 6"),
        ("graph_around_all", "heap graph small.heap --no-index --around #1 --steps 1"),
        ("graph_around_nothing", "heap graph small.heap --no-index --around #9999"),
        ("graph_steps_alone", "heap graph small.heap --steps 1"),
        ("show", "heap show small.heap #1 --no-index -n 4"),
        ("paths", "heap paths small.heap #1 --no-index -n 2"),
        ("paths_of_class", "heap paths small.heap string --no-index -n 3"),
        ("finalisers", "heap finalisers small.heap --no-index -n 2"),
        ("suspects", "heap suspects small.heap --no-index"),
        ("diff", "heap diff small.heap grown.heap --no-index -n 6 --max 1MB"),
        ("diff_of_one", "heap diff small.heap --no-index"),
        ("evolution", "heap evolution small.heap grown.heap --no-index -n 4 --sort growth"),
        ("evolution_of_none", "heap evolution small.heap --no-index --sort 2"),
        ("diff_plain", "diff small.heap damaged.heap -n 3"),
        ("show_class", "heap show small.heap string --no-index"),
        ("show_cut", "heap show cut.heap #1 --no-index -n 4"),
        ("summary", "heap summary small.heap"),
        ("roots", "heap roots small.heap"),
        ("roots_deep", "heap roots small.heap --depth 3 --limit 2"),
        ("roots_cut", "heap roots cut.heap --depth 1"),
        ("roots_strict", "heap roots damaged.heap --strict --depth 1"),
        ("roots_later", "heap roots later.heap"),
        ("types", "heap types small.heap"),
        ("types_retained", "heap types small.heap --sort retained -n 5"),
        ("tags", "heap tags small.heap"),
        ("sites", "heap sites small.heap"),
        ("functions", "heap functions small.heap"),
        ("modules", "heap modules small.heap"),
        ("export", "heap export small.heap --to hprof -o small.hprof"),
        ("export_dot", "heap export small.heap --to dot --min-share 10 --depth 5"),
        ("export_by_export", "export small.heap --to heapsnapshot -o small.heapsnapshot"),
        ("export_for_traces", "export small.heap --to folded"),
        ("export_filtered", "export small.heap --to csv --in Main"),
        ("export_cut", "heap export cut.heap --to pprof -o cut.pb.gz"),
        ("empty_export", "heap export empty.heap --to csv"),
        ("empty_roots", "heap roots empty.heap"),
        ("empty_summary", "heap summary empty.heap"),
        ("empty_types", "heap types empty.heap"),
        ("empty_sites", "heap sites empty.heap"),
        ("typed_types", "heap types people.heap --types people.types"),
        ("typed_again", "heap types people.heap --types people.types"),
        ("typed_tags", "heap tags people.heap --types people.types"),
        ("typed_one", "heap types people.heap --types people.types --type person"),
        ("typed_from", "heap types people.heap --types people.types --module Main"),
        ("typed_conflicts", "heap types people.heap --types people.types --conflicts"),
        ("typed_no_conflicts", "heap types people.heap --no-types --conflicts"),
        ("typed_collections", "heap collections people.heap --types people.types"),
        ("typed_no_collections", "heap collections people.heap --no-types"),
        ("typed_fields", "heap fields people.heap Main.person --types people.types"),
        ("typed_fields_of_variant", "heap fields people.heap Main.shape --types people.types"),
        ("typed_fields_of_root", "heap fields people.heap Main.shapes --types people.types"),
        (
            "typed_what_if",
            "heap what-if people.heap --types people.types --cut Main.person.friends --cut Main.shapes",
        ),
        (
            "typed_what_if_not",
            "heap what-if people.heap --types people.types --cut Main.person.age",
        ),
        ("typed_blocks", "heap blocks people.heap Main.person --types people.types"),
        (
            "typed_blocks_by",
            "heap blocks people.heap Main.person --types people.types --group-by color",
        ),
        (
            "typed_blocks_where",
            "heap blocks people.heap Main.person --types people.types --where name~a --where age=1",
        ),
        ("typed_blocks_not", "heap blocks people.heap Main.person --types people.types --where x"),
        ("typed_show", "heap show people.heap Main.shapes --types people.types"),
        ("typed_show_block", "heap show people.heap @4 --types people.types --items 1"),
        ("typed_show_shallow", "heap show people.heap Main.people --types people.types --depth 1"),
        ("typed_paths", "heap paths people.heap @1 --types people.types"),
        ("typed_paths_of_class", "heap paths people.heap string --types people.types"),
        ("typed_dominators", "heap dominators people.heap --types people.types"),
        ("typed_duplicates", "heap duplicates people.heap --types people.types"),
        ("typed_diff", "heap diff people.heap people.heap --types people.types"),
        ("typed_wrong_table", "heap types people.heap --types people.heap"),
    ];
    golden::check("heap_", table, run);
}

/// Every verb takes its argument for a snapshot, and gives the same error if it is not one.
#[test]
fn all_verbs_refuse_other_files_with_the_same_error() {
    let verbs = [
        ("blocks", " string"),
        ("collections", ""),
        ("diff", " small.heap"),
        ("dominators", ""),
        ("duplicates", ""),
        ("evolution", " small.heap"),
        ("export", " --to csv"),
        ("fields", " string"),
        ("finalisers", ""),
        ("functions", ""),
        ("graph", ""),
        ("leaks", " small.heap grown.heap"),
        ("modules", ""),
        ("paths", " string"),
        ("roots", ""),
        ("show", " @1"),
        ("sites", ""),
        ("summary", ""),
        ("suspects", ""),
        ("tags", ""),
        ("types", ""),
        ("what-if", " --cut finalisers"),
    ];
    let help = run("heap --help");
    let all =
        text(&help.stdout).split("Commands:").nth(1).and_then(|rest| rest.split("\n\n").next());
    // Continuation lines are indented further.
    let is_first = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let lines = all.expect("a list of verbs").lines().filter(is_first);
    let listed = lines.filter_map(|line| line.split_whitespace().next());
    for verb in listed.filter(|verb| *verb != "help") {
        let known = verbs.iter().find(|(known, _)| *known == verb);
        let (_, arguments) = known.unwrap_or_else(|| panic!("`heap {verb}` is not tried here"));
        for file in ["people.types", "trace.ctf"] {
            let output = run(&format!("heap {verb} {file}{arguments}"));
            let error = text(&output.stderr);
            assert_eq!(output.status.code(), Some(3), "heap {verb} {file}: {error}");
            let told = format!("{file}: not a readable heap snapshot");
            assert!(error.contains(&told), "heap {verb} {file}: {error}");
        }
    }
}

#[test]
fn json_contains_the_same_facts() {
    let json = |line: &str| -> Value { serde_json::from_slice(&run(line).stdout).expect("JSON") };
    let info = json("info --full --json small.heap");
    assert_eq!(info["command"], "info");
    assert_eq!(info["files"][0]["losses"]["clean"], true);
    let result = &info["result"];
    assert_eq!(result["blocks"], 400);
    assert_eq!(result["reason"], "major");
    assert_eq!(result["since_start"], 2.5);
    assert_eq!(result["memory"]["free"], 56_000);
    assert_eq!(result["memory"]["external"], Value::Null);
    let sum = |rows: &Value, what: &str| -> u64 {
        rows.as_array().expect("rows").iter().filter_map(|row| row[what].as_u64()).sum()
    };
    for rows in [&result["contents"]["spaces"], &result["contents"]["kinds"]] {
        assert_eq!(sum(rows, "blocks"), 400);
        assert_eq!(sum(rows, "bytes"), result["bytes"].as_u64().expect("a number"));
    }
    let check = json("check --json damaged.heap");
    assert_eq!(check["result"]["passed"], false);
    assert_eq!(check["files"][0]["losses"]["groups"], 1);
    assert_eq!(check["result"]["checks"][0]["subject"], "file");
}

#[test]
fn members_of_a_row_are_listed_or_refused_with_a_reason() {
    let output = run("heap paths --no-index small.heap string --members @130 -n 2");
    let told = text(&output.stdout);
    assert!(output.status.success() && told.contains("One row stands for 4 blocks"), "{output:?}");
    assert!(told.contains("@130 ") && told.contains("2 more; -n 0 shows all"), "{told}");
    let output = run("heap paths --no-index small.heap string --members @0");
    assert!(!text(&output.stdout).contains("One row"), "{output:?}");
    assert!(text(&output.stderr).contains("no row contains @0"), "{output:?}");
    let output = run("heap paths --no-index small.heap @130 --members @130");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("@130 is one block"), "{output:?}");
}

#[test]
fn snapshot_can_be_read_from_a_pipe() {
    let file = fs::File::open(folder().join("small.heap")).expect("it is there");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    let output = command.args(["check", "-"]).stdin(file).output().expect("bactrian starts");
    assert!(output.status.success());
    assert!(text(&output.stdout).contains("passed    the file is complete"));
}

/// Runs `heap roots` in its own directory with one snapshot, `small.heap`, and these variables. Returns its
/// output, and the files that exist afterwards.
fn roots_with(variables: &[(&str, &str)], options: &[&str]) -> (Output, Vec<String>) {
    let place = tempfile::tempdir().expect("room");
    fs::copy(folder().join("small.heap"), place.path().join("small.heap")).expect("room");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(["heap", "roots", "small.heap"]).args(options).current_dir(place.path());
    for name in ["XDG_CACHE_HOME", "HOME", "BACTRIAN_INDEX_LIMIT"] {
        command.env_remove(name);
    }
    for (name, value) in variables {
        command.env(name, value.replace("HERE", place.path().to_str().expect("UTF-8")));
    }
    let output = command.stdin(Stdio::null()).output().expect("bactrian starts");
    let mut left = Vec::new();
    let mut folders = vec![place.path().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let inner = path.strip_prefix(place.path()).expect("it is below");
                left.push(inner.to_str().expect("UTF-8").to_owned());
            }
        }
    }
    left.sort();
    (output, left)
}

#[test]
fn indexes_are_kept_in_the_cache_directory() {
    let small = "small.heap".to_owned();
    let expected = roots_with(&[], &["--no-index"]).0;
    for (variables, place) in [
        (&[("XDG_CACHE_HOME", "HERE/xdg"), ("HOME", "HERE")][..], "xdg/bactrian/indexes/"),
        (&[("HOME", "HERE")], ".cache/bactrian/indexes/"),
        (&[("XDG_CACHE_HOME", "here"), ("HOME", "HERE")], ".cache/bactrian/indexes/"),
        (&[("HOME", "HERE"), ("BACTRIAN_INDEX_LIMIT", "1MB")], ".cache/bactrian/indexes/"),
    ] {
        let (output, left) = roots_with(variables, &[]);
        assert_eq!(output, expected, "{variables:?}");
        let [index, rest] = &left[..] else { panic!("{variables:?}: {left:?}") };
        let (index, rest) = if *index == small { (rest, index) } else { (index, rest) };
        assert!(index.starts_with(place) && index.ends_with(".index"), "{left:?}");
        assert_eq!(*rest, small);
    }
}

#[test]
fn no_index_is_kept_where_none_is_wanted_or_possible() {
    let expected = roots_with(&[], &["--no-index"]).0;
    assert!(expected.status.success());
    for (variables, options) in [
        (&[][..], &[][..]),
        (&[("HOME", "")], &[]),
        (&[("HOME", "HERE")], &["--no-index"]),
        (&[("HOME", "HERE"), ("BACTRIAN_INDEX_LIMIT", "0")], &[]),
        (&[("HOME", "HERE"), ("BACTRIAN_INDEX_LIMIT", "1kB")], &[]),
        (&[("HOME", "HERE/small.heap")], &[]),
    ] {
        let (output, left) = roots_with(variables, options);
        assert_eq!(output, expected, "{variables:?}");
        assert_eq!(left, ["small.heap"], "{variables:?}");
    }
    let (output, _) = roots_with(&[("HOME", "HERE"), ("BACTRIAN_INDEX_LIMIT", "much")], &[]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("BACTRIAN_INDEX_LIMIT: `much` is not a size"));
}

#[test]
fn processes_share_the_index_directory_within_its_limit() {
    let cache = tempfile::tempdir().expect("room");
    let files = ["small.heap", "grown.heap", "people.heap", "empty.heap"];
    let ask = |file: &str, limit: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(["heap", "types", file]).current_dir(folder()).stdin(Stdio::null());
        command.env("XDG_CACHE_HOME", cache.path()).env("BACTRIAN_INDEX_LIMIT", limit);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("bactrian starts")
    };
    let expected = files.map(|file| ask(file, "0").wait_with_output().expect("it ends"));
    let indexes = cache.path().join("bactrian/indexes");
    assert!(!indexes.exists());
    // Space for some of them.
    const LIMIT: u64 = 60_000;
    for _ in 0..5 {
        let running: Vec<_> =
            files.iter().chain(&files).map(|file| ask(file, &LIMIT.to_string())).collect();
        for (at, child) in running.into_iter().enumerate() {
            let output = child.wait_with_output().expect("it ends");
            let expected = &expected[at % files.len()];
            assert_eq!((output.status, output.stdout), (expected.status, expected.stdout.clone()));
        }
    }
    ask("small.heap", &LIMIT.to_string()).wait().expect("it ends");
    let left = fs::read_dir(&indexes).expect("a directory").map(|entry| entry.expect("an entry"));
    let left: Vec<_> =
        left.map(|entry| (entry.file_name(), entry.metadata().expect("it").len())).collect();
    assert!(!left.is_empty() && left.iter().map(|(_, bytes)| bytes).sum::<u64>() <= LIMIT);
    assert!(left.iter().all(|(name, _)| name.to_string_lossy().ends_with(".index")), "{left:?}");
}

#[test]
fn help_mentions_indexes() {
    for line in ["heap roots --help", "heap evolution --help", "view --help", "report --help"] {
        let output = run(line);
        let said = text(&output.stdout);
        assert!(said.contains("--no-index") && said.contains("BACTRIAN_INDEX_LIMIT"), "{said}");
    }
}
