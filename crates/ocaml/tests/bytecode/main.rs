//! Bytecode of OCaml 4.13 and 5.3, compared with the output of OCaml's own tools for the same files:
//! `ocamldumpobj` for every instruction and debug event, `ocamlobjinfo` for primitives and globals.

mod damage;
mod dump;
mod samples;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use bactrian_fixtures::{
    BOTH, Compiler, Recipe, Variant, program_recipe, repository, run, stripped, whole_table,
};
use bactrian_ocaml::bytecode::{Allocates, FunctionKind, Opcode, Operands, Pc, Program, Sections};
use bactrian_ocaml::{OcamlError, Version};

/// How many programs a compiler may reject: those for only one of the two compilers (domains, effects, the
/// sampler's old interface), and those with a library of their own. OCaml 4.11 also lacks `Unix._exit`.
fn most_refused(compiler: Compiler) -> usize {
    if compiler.version() < (4, 12) { 15 } else { 10 }
}
const OPTIONS: &str = "-g -w -a -I +unix -I +threads";

/// Names of the programs in `programs/`, except those that are linked with our library.
fn names() -> Vec<String> {
    let files = fs::read_dir(repository().join("programs")).expect("the programs");
    let files = files.map(|entry| entry.expect("one").file_name());
    let files = files.filter_map(|file| file.into_string().ok());
    let names = files.filter_map(|file| file.strip_suffix(".ml").map(str::to_owned));
    let mut names: Vec<_> = names.filter(|name| !name.starts_with("observe_")).collect();
    names.sort();
    names
}

/// Whether a program has C code: then it cannot be linked with others.
fn has_c(name: &str) -> bool {
    let stubs = format!("{}_stubs.c", name.trim_end_matches("_5"));
    repository().join("programs").join(stubs).exists()
}

/// Every program of `programs/` as bytecode.
///
/// Most of a program is the standard library, the same in all. So all modules are linked into one file, which
/// is never run, and every instruction of every program is still checked. The whole table also has each program
/// by itself: that takes ten times as long, and only the offsets differ.
fn programs(compiler: Compiler) -> Vec<PathBuf> {
    let ocamlc = compiler.ocamlc();
    let fixture = Recipe::new(format!("units-{compiler:?}-fixture")).source("heap_fixture.ml");
    let fixture = fixture.step(&ocamlc, &format!("{OPTIONS} -c heap_fixture.ml")).build();
    let names = names();
    let mut units = Vec::new();
    let mut refused = 0;
    for name in names.iter().filter(|name| !has_c(name)) {
        let recipe = Recipe::new(format!("{name}-{compiler:?}-unit")).source(&format!("{name}.ml"));
        let arguments = format!("{OPTIONS} -I {} -c {name}.ml", fixture.display());
        match recipe.step(&ocamlc, &arguments).try_build() {
            Ok(folder) => units.push(folder.join(format!("{name}.cmo")).display().to_string()),
            Err(_) => refused += 1,
        }
    }
    assert!(refused <= most_refused(compiler), "{compiler:?} made only {units:?}");
    // It must precede the units that use it.
    units.sort_by_key(|unit| !unit.ends_with("heap_fixture.cmo"));
    let recipe = Recipe::new(format!("units-{compiler:?}-all"));
    let arguments = format!("{OPTIONS} unix.cma threads.cma {} -o all.byte", units.join(" "));
    let mut made = vec![recipe.step(&ocamlc, &arguments).build().join("all.byte")];
    if whole_table() {
        // One is a C program, in which bytecode is data.
        made.extend(names.iter().filter(|name| *name != "embedded").filter_map(|name| {
            let built = program_recipe(name, compiler, Variant::Custom).try_build();
            built.ok().map(|folder| folder.join(name))
        }));
    }
    made
}

/// Compiles a program in a folder and returns the path of the result.
fn compile(compiler: Compiler, name: &str, source: &[u8], options: &str) -> PathBuf {
    let recipe =
        Recipe::new(format!("{name}-{compiler:?}-byte")).file(&format!("{name}.ml"), source);
    let arguments = format!("{options} {name}.ml -o {name}.byte");
    recipe.step(compiler.ocamlc(), &arguments).build().join(format!("{name}.byte"))
}

/// The same for one of `programs/`.
fn compile_program(compiler: Compiler, name: &str, options: &str) -> PathBuf {
    let path = repository().join("programs").join(format!("{name}.ml"));
    compile(compiler, name, &fs::read(path).expect("a program"), options)
}

fn version(compiler: Compiler) -> Version {
    let (major, minor) = compiler.version();
    Version::new(major, minor)
}

fn read(bytes: &[u8]) -> Program<'_> {
    Program::read(bytes).unwrap_or_else(|error| panic!("{error}"))
}

/// What holds for every program, whichever compiler made it.
fn check_whole(program: &Program<'_>) {
    let mut next = Pc(0);
    for instruction in program.instructions() {
        assert_eq!(instruction.at, next, "nothing stands between instructions");
        next = instruction.end();
        for target in instruction.targets() {
            assert!(program.instruction(target).is_some(), "{}", program.show(&instruction));
        }
        for word in instruction.at.0..next.0 {
            assert_eq!(program.containing(Pc(word)), Some(instruction));
            assert_eq!(program.before(Pc(word + 1)), Some(instruction));
        }
        if instruction.opcode.allocates() == Allocates::Primitive {
            assert!(program.primitive_of(&instruction).is_some_and(|name| !name.is_empty()));
        }
    }
    assert_eq!(next, program.code.end());
    let last = program.instructions().last().expect("code");
    assert_eq!(last.opcode, Opcode::STOP);

    let mut next = Pc(0);
    for function in &program.functions {
        assert_eq!(function.start, next, "nothing stands between functions");
        next = function.end;
        assert!(program.instruction(function.start).is_some());
        assert_eq!(program.function_at(function.start), Some(function));
    }
    assert_eq!(next, program.code.end());

    let debug = program.debug.as_ref().expect("it was compiled with -g");
    for event in debug.events() {
        assert!(program.instruction(event.at).is_some(), "{event:?}");
    }
}

#[test]
fn every_instruction_is_what_dumpobj_says() {
    for compiler in BOTH {
        for path in programs(compiler) {
            let bytes = fs::read(&path).expect("compiled");
            let program = read(&bytes);
            assert_eq!(program.version, version(compiler));
            check_whole(&program);
            dump::compare(compiler, &path, &program);
            compare_with_objinfo(compiler, &path, &program);
        }
    }
}

fn compare_with_objinfo(compiler: Compiler, path: &Path, program: &Program<'_>) {
    let said = run(Command::new(compiler.tool("ocamlobjinfo")).arg(path));
    let listed = |title: &str| -> BTreeSet<String> {
        let lines = said.lines().skip_while(|line| *line != title).skip(1);
        let lines = lines.take_while(|line| line.starts_with('\t'));
        lines.map(|line| dump::without_kind(line.trim())).collect()
    };
    let primitives: BTreeSet<_> = program.primitives.iter().map(|name| name.to_string()).collect();
    assert_eq!(primitives, listed("Primitives used:"), "{}", path.display());
    let modules = program.functions.iter().filter(|f| f.kind == FunctionKind::Initialisation);
    let modules: BTreeSet<_> = modules.filter_map(|f| f.module.as_deref()).collect();
    let globals = listed("Globals defined:");
    let missing: Vec<_> = modules.iter().filter(|name| !globals.contains(**name)).collect();
    assert!(missing.is_empty() || globals.is_empty(), "{}: {missing:?}", path.display());
}

#[test]
fn functions_and_places_are_those_of_the_source() {
    for compiler in BOTH {
        let path = compile_program(compiler, "queens_lists", "-g");
        let bytes = fs::read(&path).expect("compiled");
        let program = read(&bytes);
        let places = |function: &str, opcode: Opcode| -> Vec<_> {
            let mut found = Vec::new();
            for function in program.functions.iter().filter(|other| other.name == function) {
                for instruction in program.within(function.start, function.end) {
                    if instruction.opcode == opcode {
                        let place = program.place(&instruction).expect("a place");
                        assert!(place.is_own);
                        let location = place.location;
                        found.push((location.file.to_string(), location.line));
                    }
                }
            }
            found
        };
        let source = fs::read_to_string(path.with_extension("ml")).expect("the source");
        let line = source.lines().position(|line| line.contains("queen :: board")).expect("it");
        let line = line as u32 + 1;
        let queens = ("queens_lists.ml".to_owned(), line);
        let queens = [queens];
        assert_eq!(places("Queens_lists.solutions.(fun)", Opcode::MAKEBLOCK2), queens);
        assert_eq!(places("Queens_lists.solutions", Opcode::CLOSURE), queens);
        // 4.13 allocates one cons. 5.3 takes two elements at a time and has a second function that fills a
        // hole, so it allocates more, but all are attributed to List.map.
        let is_old = compiler.version() < (4, 13);
        let map = if is_old { "Stdlib__list.map" } else { "Stdlib__List.map" };
        let mapped = places(map, Opcode::MAKEBLOCK2);
        assert_eq!(mapped.len(), if compiler == Compiler::OCaml4 { 1 } else { 6 });
        assert!(mapped.iter().all(|(file, _)| file == "list.ml"), "{mapped:?}");
    }
}

#[test]
fn without_debug_information_functions_have_numbers() {
    for compiler in BOTH {
        let path = compile_program(compiler, "queens_lists", "");
        let bytes = fs::read(&path).expect("compiled");
        let program = read(&bytes);
        assert!(program.debug.is_none());
        let own = program.functions.iter().filter(|f| f.module.as_deref() == Some("Queens_lists"));
        let own: Vec<_> = own.collect();
        let starts = own.iter().filter(|function| function.kind == FunctionKind::Function);
        for function in starts.clone() {
            assert_eq!(function.name, format!("Queens_lists.fun_{}", function.start));
        }
        // Two within others, three of their own.
        assert_eq!(starts.count(), 5);
        assert_eq!(own.last().map(|function| &*function.name), Some("Queens_lists"));
    }
}

#[test]
fn bytecode_within_a_runtime_is_the_same() {
    for compiler in BOTH {
        let shown = |program: &Program<'_>| -> Vec<String> {
            program.instructions().map(|instruction| program.show(&instruction)).collect()
        };
        let name = "queens_lists";
        let path = compile_program(compiler, name, "-g");
        let said = run(Command::new(compiler.tool("ocamlrun")).arg(&path));
        assert_eq!(said, "8 queens: 92 solutions\n");
        let plain = fs::read(&path).expect("compiled");
        let plain = read(&plain);
        let custom = compile_program(compiler, name, "-g -custom");
        let bytes = fs::read(custom).expect("compiled");
        assert!(bytes.starts_with(b"\x7fELF"));
        let custom = read(&bytes);
        check_whole(&custom);
        assert_eq!(shown(&custom), shown(&plain));
        let path = compile_program(compiler, name, "-g -output-complete-exe");
        let bytes = fs::read(&path).expect("compiled");
        assert_eq!(Sections::read(&bytes), Ok(None));
        let complete = read(&bytes);
        assert!(complete.debug.is_none());
        assert_eq!(complete.version, version(compiler));
        assert_eq!(shown(&complete), shown(&plain));

        let stripped = fs::read(stripped(&path)).expect("stripped");
        let Err(OcamlError::NoBytecode(reason)) = Program::read(&stripped) else {
            panic!("found something in a stripped file")
        };
        assert!(reason.contains("stripped"), "{reason}");
    }
}

#[test]
fn hand_made_bytecode_is_read() {
    for magic in ["Caml1999X028", "Caml1999X030", "Caml1999X035"] {
        let bytes = samples::executable(magic);
        let program = read(&bytes);
        check_whole(&program);
        let shown: Vec<_> = program.instructions().map(|one| program.show(&one)).collect();
        assert_eq!(shown[4], "SWITCH int 0 -> 12, tag 0 -> 10");
        assert_eq!(shown[8], "CLOSUREREC 0, 3");
        assert_eq!(shown[9], "CLOSURE 0, 3");
        assert!(shown[10].starts_with("GETGLOBAL <0>(<0>(-5, \"text\"), "), "{}", shown[10]);
        assert_eq!(shown[11], "GETGLOBALFIELD Not_found, 3");
        assert_eq!(shown[13..16], ["C_CALL1 caml_a", "C_CALLN 6, caml_b", "GETPUBMET 77"]);
        let names: Vec<_> = program.functions.iter().map(|function| &*function.name).collect();
        assert_eq!(names, ["Main", "Main.pair", "Main", "end of the program"]);
        let data = samples::values().whole();
        bactrian_ocaml::marshal::Data::read(&data, 0).expect("sound");
    }
}

#[test]
fn files_without_bytecode_are_rejected_with_a_reason() {
    let check = |path: &Path, expected: &str| {
        let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let told = Program::read(&bytes).map(drop);
        let Err(OcamlError::NoBytecode(reason)) = &told else {
            panic!("{}: {told:?}", path.display())
        };
        assert!(reason.contains(expected), "{}: {reason}", path.display());
    };
    check(Path::new("/bin/true"), "no OCaml program");
    check(Path::new("/usr/bin/ocamlrun"), "has none of its own");
    check(Path::new("/usr/bin/ocamlopt.opt"), "native code");
    for (magic, expected) in [("Caml1999X025", "OCaml 4.08"), ("Caml1999X099", "no known OCaml")] {
        let bytes = [b"\0\0\0\0", magic.as_bytes()].concat();
        let told = Program::read(&bytes).map(drop);
        assert!(
            matches!(&told, Err(OcamlError::NoBytecode(why)) if why.contains(expected)),
            "{told:?}"
        );
    }
    assert_eq!(Program::read(b"let x = 1").map(drop), Err(OcamlError::NotExecutable));
}

#[test]
fn operands_match_the_opcode_table() {
    let path = compile_program(Compiler::OCaml4, "leaky_cache", "-g");
    let bytes = fs::read(&path).expect("compiled");
    let program = read(&bytes);
    let mut seen = BTreeSet::new();
    for instruction in program.instructions() {
        let operands = instruction.opcode.operands();
        seen.insert(format!("{operands:?}"));
        let count = instruction.operands().count();
        let targets = instruction.targets().count();
        assert!(targets <= count);
        assert_eq!(operands == Operands::None, count == 0);
        assert_eq!(instruction.end().0 as usize, instruction.at.0 as usize + 1 + count);
    }
    // Method calls and primitives of many arguments are rare.
    assert!(seen.len() >= 12, "{seen:?}");
}
