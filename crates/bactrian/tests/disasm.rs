//! `bactrian disasm` on real bytecode, and on a trace that says which instructions allocated.
//!
//! Golden files contain its output and exit status; `UPDATE_GOLDEN=1 cargo test` rewrites them. They are for
//! Debian 12, whose OCaml is 4.13.1.

mod golden;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use bactrian_fixtures::{Compiler, Recipe, own_folder, run};
use bactrian_ocaml::bytecode::{Instruction, Opcode, Pc, Program, Sections};
use bactrian_trace::{
    DomainId, Locate, Micros, NewAlloc, Source, SourceLocation, TraceInfo, Words, Writer,
    bytecode_code,
};
use serde_json::Value;

/// Bytecode of the eight queens with and without debug information, and traces of it, made once for all
/// tests.
fn folder() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let ocamlc = Compiler::OCaml4.ocamlc();
        let built = Recipe::new("disasm")
            .source("queens_lists.ml")
            .step(&ocamlc, "-g queens_lists.ml -o queens.byte")
            .step(&ocamlc, "queens_lists.ml -o without_g.byte")
            .step(&ocamlc, "-g -output-complete-exe queens_lists.ml -o complete.exe")
            .build();
        let folder = own_folder("disasm");
        for file in ["queens_lists.ml", "queens.byte", "without_g.byte", "complete.exe"] {
            fs::copy(built.join(file), folder.join(file)).expect("room");
        }
        let program = fs::read(folder.join("queens.byte")).expect("compiled");
        fs::write(folder.join("cut.byte"), &program[..10_000]).expect("room");
        let sections = Sections::read(&program).expect("sound").expect("bytecode");
        let code = sections.find(b"CODE").expect("code").offset;
        let mut damaged = program.clone();
        damaged[code + 8..code + 12].copy_from_slice(&999_u32.to_le_bytes());
        fs::write(folder.join("damaged.byte"), damaged).expect("room");
        let program = Program::read(&program).expect("bytecode");
        fs::write(folder.join("queens.ctf"), trace(&program, 0)).expect("room");
        fs::write(folder.join("other_build.ctf"), trace(&program, 5000)).expect("room");
        folder
    })
}

fn first(program: &Program<'_>, function: &str, opcode: Opcode) -> Pc {
    let is_it = |one: &Instruction<'_>| {
        let name = program.function_at(one.at).map(|found| &*found.name);
        one.opcode == opcode && name == Some(function)
    };
    program.instructions().find(is_it).unwrap_or_else(|| panic!("{opcode:?} in {function}")).end()
}

/// Names of instructions, as the recorder finds them.
struct Names<'p>(&'p Program<'p>);

impl Locate for Names<'_> {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        let place = Pc(bactrian_trace::instruction(code).expect("bytecode") as u32);
        let Some(instruction) = self.0.before(place) else { return found(&[]) };
        let function = self.0.function_at(instruction.at).expect("a function");
        let function = function.name.as_bytes();
        let location = SourceLocation {
            file: b"queens_lists.ml",
            function,
            line: 1,
            start_char: 0,
            end_char: 0,
        };
        let primitive = self.0.primitive_of(&instruction).unwrap_or_default().as_bytes();
        let c = SourceLocation { file: b"<C>", function: primitive, line: 0, ..location };
        let all = [location, c];
        found(if primitive.is_empty() { &all[..1] } else { &all });
    }
}

/// A trace of every word: two conses, a closure, and what a primitive allocates. `shift` gives instructions
/// other numbers, as in another build.
fn trace(program: &Program<'_>, shift: u64) -> Vec<u8> {
    let info = TraceInfo {
        version: 2,
        sample_rate: 1.0,
        word_bits: 64,
        executable: b"queens.byte".to_vec(),
        host: b"here".to_vec(),
        runtime_params: Vec::new(),
        pid: 7,
        context: Vec::new(),
        start: 1_700_000_000_000_000,
    };
    let mut writer = Writer::new(Vec::new(), info).expect("room");
    let printing = first(program, "Stdlib.output_string", Opcode::C_CALL4);
    for (place, words, times) in [
        (first(program, "Queens_lists.solutions.(fun)", Opcode::MAKEBLOCK2), 2, 500),
        (first(program, "Stdlib__List.map", Opcode::MAKEBLOCK2), 2, 500),
        // The interpreter is in the middle of the instruction at that point.
        (Pc(first(program, "Queens_lists.solutions", Opcode::CLOSURE).0 - 1), 3, 60),
        (printing, 100, 1),
    ] {
        for _ in 0..times {
            let code = bytecode_code(u64::from(place.0) + shift);
            let alloc = NewAlloc {
                time: Micros(1),
                domain: DomainId(0),
                length: Words(words),
                samples: words + 1,
                source: Source::Minor,
                stack: &[code],
            };
            let names = Shifted(Names(program), shift);
            writer.alloc(&alloc, &names).expect("room");
        }
    }
    writer.finish().expect("room")
}

/// Names of what is this many words earlier.
struct Shifted<'p>(Names<'p>, u64);

impl Locate for Shifted<'_> {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        self.0.locate(code - self.1, found);
    }
}

fn disasm(line: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.arg("disasm").args(line.split(' ')).current_dir(folder()).env_remove("NO_COLOR");
    command.stdin(Stdio::null()).output().expect("bactrian starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("UTF-8")
}

fn json(line: &str) -> Value {
    let output = disasm(line);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let json: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(json["command"], "disasm");
    json["result"].clone()
}

#[test]
fn disasm_prints_what_the_golden_files_hold() {
    let table = [
        ("functions", "disasm ./queens.byte --function /^Queens_lists/"),
        ("stdlib", "disasm ./queens.byte --function List.map --function Stdlib.abs"),
        ("profile", "disasm ./queens.byte --function /solutions|List.map/ --profile queens.ctf"),
        (
            "with_header",
            "disasm ./queens.byte --function solutions.(fun) --profile queens.ctf --words with-header",
        ),
        ("source", "disasm ./queens.byte --function Queens_lists.is_safe --source"),
        (
            "source_profile",
            "disasm ./queens.byte --function /^Queens_lists/ --profile queens.ctf --source",
        ),
        ("without_g", "disasm ./without_g.byte --function /^Queens_lists/"),
        ("complete", "disasm ./complete.exe --function Queens_lists"),
        (
            "other_build",
            "disasm ./queens.byte --function solutions.(fun) --profile other_build.ctf",
        ),
        ("no_function", "disasm ./queens.byte --function Nobody.at_all"),
        ("no_number", "disasm ./without_g.byte --function Queens_lists.solutions"),
        ("not_bytecode", "disasm /bin/true"),
        ("cut", "disasm ./cut.byte"),
        ("damaged", "disasm ./damaged.byte"),
        ("missing", "disasm ./missing"),
    ];
    golden::check("disasm_", &table, |line| disasm(line.trim_start_matches("disasm ")));
}

#[test]
fn the_whole_listing_has_every_instruction_once() {
    let output = disasm("./queens.byte");
    assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output.stderr));
    let listing = text(&output.stdout);
    let listed = listing.lines().filter_map(|line| {
        let (number, text) = line.trim_start().split_once("  ")?;
        Some((number.parse::<u32>().ok()?, text.to_owned()))
    });
    let listed: Vec<_> = listed.collect();
    let bytes = fs::read(folder().join("queens.byte")).expect("compiled");
    let program = Program::read(&bytes).expect("bytecode");
    let all = program.instructions().map(|one| (one.at.0, program.show(&one)));
    assert_eq!(listed, all.collect::<Vec<_>>());
    // Sources of the standard library are where the compiler found them.
    assert!(listing.contains("\nlist.ml:92  | a::l -> let r = f a in r :: map f l\n"));

    let result = json("./queens.byte --json");
    let functions = result["functions"].as_array().expect("functions");
    let numbers = functions.iter().flat_map(|f| f["instructions"].as_array().expect("some"));
    let numbers: Vec<_> = numbers.map(|one| one["number"].as_u64().expect("a number")).collect();
    assert!(numbers.iter().copied().eq(listed.iter().map(|(number, _)| u64::from(*number))));
}

#[test]
fn words_match_the_trace_with_and_without_headers() {
    for (words, cons, all) in [("without-header", 1000.0, 2280.0), ("with-header", 1500.0, 3341.0)]
    {
        let line = format!("./queens.byte --profile queens.ctf --words {words} --json");
        let result = json(&line);
        assert_eq!(result["words"]["all"], all);
        assert_eq!(result["words"]["by_instructions"], all);
        let functions = result["functions"].as_array().expect("functions");
        let of = |name: &str| -> Vec<_> {
            let mut wanted = functions.iter().filter(|function| function["name"] == name);
            let found = wanted.next().expect("it")["instructions"].as_array().expect("some");
            let words = found.iter().filter(|one| !one["words"].is_null());
            words.map(|one| (one["text"].clone(), one["words"].as_f64().expect("words"))).collect()
        };
        let cons = [("MAKEBLOCK2 0".into(), cons)];
        assert_eq!(of("Queens_lists.solutions.(fun)"), cons);
        assert_eq!(of("Stdlib__List.map"), cons);
        assert_eq!(of("Stdlib.output_string")[0].0, "C_CALL4 caml_ml_output");
        assert_eq!(of("Queens_lists.solutions").len(), 1);
    }
}

#[test]
fn sources_are_found_in_the_given_directories() {
    let listing = |line: &str| text(&disasm(line).stdout);
    // Neither in the current directory, nor beside the program, nor where the compiler ran.
    let moved = folder().join("moved");
    fs::create_dir_all(&moved).expect("room");
    let source = moved.join("kept_here.ml");
    fs::write(&source, "let pair x = (x, x)\nlet () = ignore (pair 1)\n").expect("room");
    let mut command = Command::new(Compiler::OCaml4.ocamlc());
    run(command.args(["-g", "kept_here.ml", "-o", "../kept.byte"]).current_dir(&moved));
    let aside = folder().join("aside");
    fs::create_dir_all(&aside).expect("room");
    fs::rename(source, aside.join("kept_here.ml")).expect("room");
    let without = listing("./kept.byte --function Kept_here.pair");
    assert!(without.contains("\nkept_here.ml:1\n"), "{without}");
    let with = listing("./kept.byte --function Kept_here.pair --source-dir aside");
    assert!(with.contains("\nkept_here.ml:1  let pair x = (x, x)\n"), "{with}");
    let by_source = listing("./kept.byte --function Kept_here.pair --source");
    assert!(by_source.contains("kept_here.ml (not found; give its folder with --source-dir)"));
}
