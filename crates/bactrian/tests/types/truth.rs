//! `programs/types_truth.ml` writes down the type of each block that it makes; what is inferred must agree, block by block.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bactrian_snapshot::Snapshot;
use bactrian_types::{Category, Table, Typing};

use crate::compilers::{BOTH, Compiler, repository};

pub fn run(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

pub fn bactrian() -> Command {
    Command::new(env!("CARGO_BIN_EXE_bactrian"))
}

/// A folder with the program, its `.cmt` file and its table.
fn built(compiler: Compiler) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("types-{compiler:?}"));
    fs::create_dir_all(&folder).expect("a folder");
    let source = repository().join("programs/types_truth.ml");
    fs::copy(source, folder.join("types_truth.ml")).expect("room");
    let compile = ["-g", "-bin-annot", "types_truth.ml", "-o", "types_truth"];
    run(Command::new(compiler.ocamlopt()).args(compile).current_dir(&folder));
    let build = ["types", "build", ".", "-o", "truth.types", "--compiler"];
    run(bactrian().args(build).arg(compiler.ocamlopt()).current_dir(&folder));
    folder
}

/// Runs it, with samples at a rate or none; what it said of its blocks, and what was found.
fn observed(folder: &Path, rate: Option<&str>) -> (Vec<(u64, String)>, Snapshot) {
    let name = rate.unwrap_or("none");
    let (told, output) = (format!("{name}.truth"), format!("{name}.ctf"));
    let snapshot = folder.join(format!("{name}.1.heap"));
    for left in [&folder.join(&output), &snapshot] {
        drop(fs::remove_file(left));
    }
    let mut record = bactrian();
    record.args(["record", "--snapshots", "exit", "-o", &output]);
    match rate {
        Some(rate) => record.args(["--rate", rate]),
        None => record.arg("--no-trace"),
    };
    run(record.args(["--", "./types_truth", &told]).current_dir(folder));
    let text = fs::read_to_string(folder.join(told)).expect("it told");
    let truth = text.lines().map(|line| {
        let (address, name) = line.split_once('\t').expect("two columns");
        (u64::from_str_radix(address, 16).expect("an address"), name.to_owned())
    });
    (truth.collect(), Snapshot::open(&snapshot).expect("a snapshot"))
}

#[test]
fn no_type_is_wrong_and_nearly_all_are_known() {
    for compiler in BOTH {
        let folder = built(compiler);
        let table = fs::read(folder.join("truth.types")).expect("a table");
        let table = Table::read(&table).expect("it can be read");
        for rate in [None, Some("1e-2")] {
            let what = format!("{compiler:?}, {rate:?}");
            let (truth, snapshot) = observed(&folder, rate);
            assert!(truth.len() > 10_000, "{what}: {}", truth.len());
            check(&what, &truth, &snapshot, &Typing::infer(&table, &snapshot, &mut |_| {}));
        }
    }
}

fn check(what: &str, truth: &[(u64, String)], snapshot: &Snapshot, typing: &Typing) {
    let mut blocks = HashMap::new();
    for index in 0..snapshot.groups().len() {
        let group = snapshot.group(index).expect("it is sound");
        blocks.extend(group.blocks().iter().map(|block| (block.address, block.id)));
    }
    let (mut wrong, mut missing) = (Vec::new(), HashMap::<&str, usize>::new());
    for (address, name) in truth {
        let &block = blocks.get(address).expect("it is alive");
        let class = typing.class(typing.class_of(block)).expect("it has a class");
        // What headers do not tell apart, and nobody says.
        let is_right = name.split('\t').any(|name| class.name == name)
            || class.name == "string or bytes" && name == "string";
        if class.is_type && !is_right {
            wrong.push(format!("{name} is taken for {}: {:?}", class.name, typing.origin(block)));
        } else if !class.is_type || typing.category(block) > Category::Inference {
            *missing.entry(name).or_default() += 1;
        }
    }
    wrong.sort();
    wrong.dedup();
    assert!(wrong.is_empty(), "{what}: {wrong:#?}");
    let unknown: usize = missing.values().sum();
    assert!(unknown * 20 <= truth.len(), "{what}: {unknown} of {}: {missing:?}", truth.len());
    let coverage = typing.coverage();
    let share = coverage.typed_words() as f64 / coverage.words() as f64;
    assert!(share >= 0.95, "{what}: {share:.4} {:#?}", coverage.reasons);
    assert_eq!(coverage.conflicts, 0, "{what}: {:#?}", typing.conflicts());
}
