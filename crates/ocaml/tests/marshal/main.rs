//! Marshalled data written by OCaml 4.13 and 5.3: the reader sees the values that the program wrote.

use std::collections::HashSet;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use bactrian_fixtures::{BOTH, Compiler, Recipe, run};
use bactrian_ocaml::OcamlError;
use bactrian_ocaml::marshal::{Block, Data, Value};

/// A value as text, in the format of `values.ml`.
fn show(data: &Data<'_>) -> String {
    let mut shown = String::new();
    let mut seen = HashSet::new();
    // A stack of what is still to be printed; the next one is last.
    let mut waiting = vec![Err(""), Ok(data.root())];
    while let Some(next) = waiting.pop() {
        let value = match next {
            Ok(value) => value,
            Err(text) => {
                shown.push_str(text);
                continue;
            }
        };
        let id = match value {
            Value::Int(n) => write!(shown, "{n}").map(|()| None),
            Value::Atom(tag) => write!(shown, "atom{tag}").map(|()| None),
            Value::Block(id) => write!(shown, "#{}", id.index()).map(|()| Some(id)),
            other => panic!("{other:?}"),
        };
        let Some(id) = id.expect("strings take all") else { continue };
        if !seen.insert(id) {
            continue;
        }
        let bits = |f: f64| format!("{:x}", f.to_bits());
        shown.push('=');
        let text = match data.block(value).expect("a block") {
            Block::String(bytes) => {
                "s".to_owned() + &bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()
            }
            Block::Double(f) => format!("d{}", bits(*f)),
            Block::Doubles(all) => {
                format!("D{}", all.iter().map(bits).collect::<Vec<_>>().join(","))
            }
            Block::Int32(n) => format!("l{n}"),
            Block::Int64(n) => format!("L{n}"),
            Block::NativeInt(n) => format!("n{n}"),
            Block::Fields { tag } => {
                waiting.push(Err(">"));
                for field in data.fields(value).iter().rev() {
                    waiting.extend([Ok(*field), Err(" ")]);
                }
                format!("<{tag}")
            }
        };
        shown.push_str(&text);
    }
    shown
}

/// Compiles a program and runs it in `folder`, where it writes files; returns its output.
fn run_in(folder: &Path, compiler: Compiler, name: &str, source: &[u8]) -> String {
    let recipe = Recipe::new(format!("marshal-{name}-{compiler:?}"));
    let recipe = recipe.file(&format!("{name}.ml"), source);
    let built = recipe.step(compiler.ocamlc(), &format!("{name}.ml -o {name}.byte")).build();
    let mut command = Command::new(compiler.tool("ocamlrun"));
    run(command.arg(built.join(format!("{name}.byte"))).current_dir(folder))
}

#[test]
fn values_are_read_as_ocaml_wrote_them() {
    for compiler in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let said = run_in(folder.path(), compiler, "values", include_bytes!("values.ml"));
        assert!(said.lines().count() > 40);
        for (number, line) in said.lines().enumerate() {
            let bytes =
                fs::read(folder.path().join(format!("{number}.value"))).expect("it was written");
            let (data, end) = Data::read(&bytes, 0)
                .unwrap_or_else(|error| panic!("{compiler:?} {number}: {error}"));
            assert_eq!(end, bytes.len());
            assert_eq!(show(&data), line, "{compiler:?} {number}");
            for end in (0..bytes.len()).take(300).chain([bytes.len() - 1]) {
                assert!(
                    Data::read(&bytes[..end], 0).is_err(),
                    "{compiler:?} {number} cut at {end}"
                );
            }
        }
    }
}

#[test]
fn functions_are_opaque_and_blocks_of_libraries_refused() {
    for compiler in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        run_in(folder.path(), compiler, "closures", include_bytes!("closures.ml"));
        let bytes = fs::read(folder.path().join("functions.value")).expect("it was written");
        let (data, _) = Data::read(&bytes, 0).expect("closures are kept");
        let [even, odd, last] = *data.fields(data.root()) else { panic!("{data:?}") };
        assert!(matches!(data.field(even, 0), Some(Value::Code(_))), "{data:?}");
        assert!(
            matches!(odd, Value::Infix { block, .. } if Value::Block(block) == even),
            "{data:?}"
        );
        assert!(matches!(data.field(last, 0), Some(Value::Code(_))), "{data:?}");
        let bytes = fs::read(folder.path().join("array.value")).expect("it was written");
        let Err(OcamlError::Marshalled { offset, reason }) = Data::read(&bytes, 0) else {
            panic!("a library's own block was read")
        };
        assert!(reason.contains("_bigarr02"), "{reason}");
        assert_eq!(offset, 22, "after the header, the pair and the number");
    }
}
