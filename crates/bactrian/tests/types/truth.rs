//! `programs/types_truth.ml` writes down the type of each block that it creates; inferred types must agree,
//! block by block.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bactrian_fixtures::{BOTH, Compiler, Recipe};
use bactrian_snapshot::Snapshot;
use bactrian_types::{Category, Table, Typing};

pub fn run(command: &mut Command) -> String {
    let output = command.output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {said}");
    said
}

pub fn bactrian() -> Command {
    Command::new(env!("CARGO_BIN_EXE_bactrian"))
}

/// A directory with a program of `programs/` and its `.cmt` file.
pub fn annotated(name: &str, compiler: Compiler) -> PathBuf {
    let recipe = Recipe::new(format!("{name}-{compiler:?}-annotated"));
    let arguments = format!("-g -bin-annot {name}.ml -o {name}");
    recipe.source(&format!("{name}.ml")).step(compiler.ocamlopt(), &arguments).build()
}

/// Likewise, as bytecode.
fn annotated_bytecode(name: &str, compiler: Compiler) -> PathBuf {
    let recipe = Recipe::new(format!("{name}-{compiler:?}-annotated-bytecode"));
    let arguments = format!("-g -bin-annot -custom {name}.ml -o {name}");
    recipe.source(&format!("{name}.ml")).step(compiler.ocamlc(), &arguments).build()
}

/// Runs the program in a directory, with samples at a rate or without. Returns what it wrote about its
/// blocks, and the snapshot.
fn observed(folder: &Path, program: &Path, rate: Option<&str>) -> (Vec<(u64, String)>, Snapshot) {
    let name = rate.unwrap_or("none");
    let (told, output) = (format!("{name}.truth"), format!("{name}.ctf"));
    let snapshot = folder.join(format!("{name}.1.heap"));
    let mut record = bactrian();
    record.args(["record", "--snapshots", "exit", "-o", &output]);
    match rate {
        Some(rate) => record.args(["--rate", rate]),
        None => record.arg("--no-trace"),
    };
    run(record.arg("--").arg(program).arg(&told).current_dir(folder));
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
        let rates = [None, Some("1e-2")];
        compare(&format!("{compiler:?}"), compiler, &annotated("types_truth", compiler), &rates);
        let bytecode = annotated_bytecode("types_truth", compiler);
        compare(&format!("bytecode of {compiler:?}"), compiler, &bytecode, &[None]);
    }
}

fn compare(what: &str, compiler: Compiler, built: &Path, rates: &[Option<&str>]) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut build = bactrian();
    build.args(["types", "build"]).arg(built).args(["-o", "truth.types", "--compiler"]);
    run(build.arg(compiler.ocamlopt()).current_dir(folder.path()));
    let table = fs::read(folder.path().join("truth.types")).expect("a table");
    let table = Table::read(&table).expect("it can be read");
    for &rate in rates {
        let what = format!("{what}, {rate:?}");
        let (truth, snapshot) = observed(folder.path(), &built.join("types_truth"), rate);
        assert!(truth.len() > 10_000, "{what}: {}", truth.len());
        check(&what, &truth, &snapshot, &Typing::infer(&table, &snapshot, &mut |_| {}));
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
        let (name, is_unsure) = match name.strip_prefix('?') {
            Some(name) => (name, true),
            None => (&**name, false),
        };
        let &block = blocks.get(address).expect("it is alive");
        let class = typing.class(typing.class_of(block)).expect("it has a class");
        // Headers do not distinguish these, and nothing else does.
        let is_right = name.split('\t').any(|name| class.name == name)
            || class.name == "string or bytes" && name == "string";
        if class.is_type && !is_right {
            wrong.push(format!("{name} is taken for {}: {:?}", class.name, typing.origin(block)));
        } else if !is_unsure && (!class.is_type || typing.category(block) > Category::Inference) {
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
