//! Files that are cut or changed give an error with its offset, or another program, and never a panic.

use std::fs;

use bactrian_fixtures::{BOTH, Compiler, whole_table};
use bactrian_ocaml::OcamlError;
use bactrian_ocaml::bytecode::{Program, Sections};

use crate::compile;

/// A small program: no standard library, but everything that a section can contain.
fn small(compiler: Compiler) -> Vec<u8> {
    let text = "type t = A | B of int | C of t * t\n\
        let rec depth = function A -> 0 | B n -> n | C (left, right) -> more (depth left) (depth right)\n\
        and more a b = match a with 0 -> b | 1 -> b | _ -> a\n\
        let constants = (\"text\", 1.5, [| 1.; 2. |], 3l, 4L, 5n)\n";
    let made = compile(compiler, "small", text.as_bytes(), "-g -nopervasives -w -a");
    fs::read(made).expect("compiled")
}

/// Calls everything that a program offers.
fn use_all(program: &Program<'_>) -> usize {
    let mut length = 0;
    for instruction in program.instructions() {
        length += program.show(&instruction).len();
        length += program.place(&instruction).map_or(0, |place| place.location.file.len());
    }
    let functions = program.functions.iter().map(|function| function.start);
    let calls = program.instructions().map(|instruction| instruction.end());
    length += program.variables(functions, calls).map_or(0, |found| found.environments.len());
    length + program.functions.iter().map(|function| function.name.len()).sum::<usize>()
}

#[test]
fn truncated_bytecode_is_an_error() {
    for compiler in BOTH {
        let bytes = small(compiler);
        let whole = Program::read(&bytes).expect("sound");
        assert!(use_all(&whole) > 100);
        assert!(whole.functions.iter().any(|function| function.name == "Small.depth"));
        for end in 0..bytes.len() {
            assert!(Program::read(&bytes[..end]).is_err(), "{compiler:?} cut at {end}");
        }
        let first = Sections::read(&bytes).expect("sound").expect("bytecode").all[0].offset;
        for start in 1..bytes.len() - 16 {
            // The line that names the runtime may be missing.
            let told = Program::read(&bytes[start..]);
            assert_eq!(told.is_ok(), start <= first, "{compiler:?} from {start}");
        }
    }
}

#[test]
fn truncated_section_is_an_error_with_its_offset() {
    for compiler in BOTH {
        let bytes = small(compiler);
        let sections = Sections::read(&bytes).expect("sound").expect("bytecode").all;
        for cut in &sections {
            for length in 0..cut.bytes.len() {
                let mut file = Vec::new();
                let mut table = Vec::new();
                for section in &sections {
                    let bytes = if section == cut { &cut.bytes[..length] } else { section.bytes };
                    file.extend(bytes);
                    table.extend(section.name);
                    table.extend((bytes.len() as u32).to_be_bytes());
                }
                file.extend(table);
                file.extend((sections.len() as u32).to_be_bytes());
                file.extend(&bytes[bytes.len() - 12..]);
                let told = Program::read(&file).map(|program| use_all(&program));
                match &cut.name {
                    b"SYMB" | b"DATA" | b"DBUG" => {
                        let place = match told {
                            Err(
                                OcamlError::Marshalled { offset, .. }
                                | OcamlError::Damaged { offset, .. },
                            ) => offset,
                            other => panic!("{compiler:?} {} {length}: {other:?}", cut.title()),
                        };
                        let start = sections.iter().take_while(|section| *section != cut);
                        let start: usize = start.map(|section| section.bytes.len()).sum();
                        let within = start as u64..=(start + length) as u64;
                        assert!(within.contains(&place), "{} {length}: {place}", cut.title());
                    }
                    // Code may end after any instruction, and there may be fewer names.
                    _ => drop(told),
                }
            }
        }
    }
}

#[test]
fn bytecode_with_any_wrong_byte_is_survived() {
    for compiler in BOTH {
        let bytes = small(compiler);
        for at in 0..bytes.len() {
            // The quick test run makes one of the three changes to each byte.
            for (number, change) in [0x01, 0x80, 0xff].into_iter().enumerate() {
                if !whole_table() && number != at % 3 {
                    continue;
                }
                let mut damaged = bytes.clone();
                damaged[at] ^= change;
                if let Ok(program) = Program::read(&damaged) {
                    use_all(&program);
                }
            }
        }
    }
}
