//! Compares our reading of a file with the output of `ocamldumpobj`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use bactrian_fixtures::{Compiler, run};
use bactrian_ocaml::bytecode::{Operands, Pc, Program};

/// Events as text, by the instruction after them.
type Events = BTreeMap<Pc, Vec<String>>;

/// Compares every instruction and every debug event with the listing.
pub fn compare(compiler: Compiler, path: &Path, program: &Program<'_>) {
    let (instructions, events) = dumped(compiler, path);
    let place = path.display();
    assert_eq!(instructions.len(), program.instructions().count(), "{place}");
    for (instruction, (at, theirs)) in program.instructions().zip(&instructions) {
        assert_eq!(instruction.at, *at, "{place}");
        let ours = program.show(&instruction);
        let operands = instruction.opcode.operands();
        let has_name = instruction.unsigned(0).is_some_and(|n| program.globals.name(n).is_some());
        if matches!(operands, Operands::Global | Operands::GlobalField) && !has_name {
            // Constants are printed differently, and ours are cut.
            let name = |text: &str| text.split(' ').next().map(str::to_owned);
            assert_eq!(name(&ours), name(theirs), "{place}: {at}");
            compare_constant(&ours, theirs, &format!("{place}: {at}"));
        } else {
            assert_eq!(ours, *theirs, "{place}: {at}");
        }
    }
    let mut ours = Events::new();
    for event in program.debug.as_ref().expect("it was compiled with -g").events() {
        let text = match &event.location {
            Some(location) => format!(
                "File \"{}\", line {}, characters {}-{}:",
                location.file, location.line, location.start_char, location.end_char
            ),
            None => "File \"_none_\", line 0, characters -1--1:".to_owned(),
        };
        ours.entry(event.at).or_default().push(text);
    }
    ours.values_mut().for_each(|events| events.sort());
    assert_eq!(ours, events, "{place}");
}

/// Integers and strings are printed alike if they are plain and short.
fn compare_constant(ours: &str, theirs: &str, place: &str) {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || " \"_.-,:;()<>=!?".contains(c);
    let has_string = theirs.contains('"') && !theirs.contains("<0>") && !theirs.contains("[|");
    if has_string && theirs.chars().all(is_plain) && theirs.len() < 50 {
        assert_eq!(ours, theirs, "{place}");
    }
}

/// Instructions in order, and the events before each.
fn dumped(compiler: Compiler, path: &Path) -> (Vec<(Pc, String)>, Events) {
    let mut command = match compiler {
        Compiler::OCaml4 => Command::new("ocamldumpobj"),
        Compiler::OCaml5 => {
            // It is bytecode, and its first line names a runtime that is not installed.
            let mut command = Command::new(compiler.tool("ocamlrun"));
            command.arg(compiler.prefix().join("usr/bin/ocamldumpobj"));
            command
        }
    };
    let listing = run(command.arg(path));
    let mut instructions: Vec<(Pc, String)> = Vec::new();
    let mut events = Events::new();
    let mut before = Vec::new();
    for line in listing.lines() {
        let text = line.trim();
        if line.starts_with("File ") {
            before.push(line.to_owned());
        } else if text.starts_with("int ") || text.starts_with("tag ") {
            let (_, switch) = instructions.last_mut().expect("a switch before its cases");
            let comma = if switch == "SWITCH" { " " } else { ", " };
            *switch += &format!("{comma}{text}");
        } else if let Some((at, instruction)) = text.split_once("  ")
            && let Ok(at) = at.parse()
        {
            instructions.push((Pc(at), without_kind(instruction.trim())));
            if !before.is_empty() {
                before.sort();
                events.insert(Pc(at), std::mem::take(&mut before));
            }
        }
    }
    (instructions, events)
}

/// Since OCaml 5.2 the tools print the kind of a global: SETGLOBAL compilation unit `Stdlib'.
pub fn without_kind(instruction: &str) -> String {
    let mut plain = instruction.to_owned();
    for kind in ["compilation unit `", "predefined exception `"] {
        if let Some((before, after)) = plain.clone().split_once(kind) {
            plain = format!("{before}{}", after.replacen('\'', "", 1));
        }
    }
    plain
}
