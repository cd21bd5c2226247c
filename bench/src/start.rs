//! The cost of starting to record a large executable: `cargo xtask bench start`.
//!
//! A program that does hardly anything, unchanged, with 150 MB of data, and with 600,000 symbols. The time that
//! `record` adds to it is the start-up cost.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::measure::{Run, measure};
use super::{DEFAULT_ROUNDS, rounds};
use xtask::Outcome;
use xtask::command::output;

const PROGRAM: &str = "let () = print_int (List.length (List.init 1000 string_of_int))\n";
const DATA: u64 = 150 << 20;
const SYMBOLS: usize = 600_000;
const MODULES: usize = 997;

pub fn run(arguments: &[String]) -> Outcome {
    let rounds = match arguments {
        [] => DEFAULT_ROUNDS,
        [option, value] if option == "--rounds" => rounds::number(value, 1)?,
        _ => return Err("start takes --rounds N".to_owned()),
    };
    let folder = super::folder()?.join("start");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let bactrian = super::build()?.join("bactrian");
    let trace = folder.join("trace.ctf");
    let programs = make(&folder)?;
    let mut runs = Vec::new();
    for (title, program) in &programs {
        runs.push((format!("{title}, plain"), Run::new(program.clone(), Vec::new())));
        let words = ["record", "--quiet", "--output"].map(OsString::from);
        let rest = [trace.clone().into(), "--".into(), program.clone().into()];
        let arguments = words.into_iter().chain(rest).collect();
        runs.push((format!("{title}, recorded"), Run::new(bactrian.clone(), arguments)));
    }
    let usages = rounds::measure_all(&runs, rounds, |_| false, |(_, run)| measure(run))?;
    println!("| | CPU, best | CPU, median | memory |\n|---|--:|--:|--:|");
    for ((title, _), usages) in runs.iter().zip(&usages) {
        let (best, median) = (usages.best(), usages.median());
        println!("| {title} | {best:.3} s | {median:.3} s | {} MB |", usages.memory() >> 20);
    }
    Ok(())
}

/// The programs, and their titles in the table.
fn make(folder: &Path) -> Result<Vec<(String, PathBuf)>, String> {
    let at = |name: &str| folder.join(name);
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    fs::write(at("start.ml"), PROGRAM).map_err(failed)?;
    File::create(at("data")).and_then(|file| file.set_len(DATA)).map_err(failed)?;
    let data = format!(".section .rodata\n.incbin \"{}\"\n", at("data").display());
    fs::write(at("data.s"), data + STACK).map_err(failed)?;
    let mut symbols = String::from(".text\n");
    for number in 0..SYMBOLS {
        let name =
            format!("camlA_module_with_a_name_{}__and_a_function_{number}", number % MODULES);
        // Writing to a string does not fail.
        let _ = write!(symbols, ".globl {name}\n.type {name}, @function\n{name}: ret\n");
    }
    fs::write(at("symbols.s"), symbols + STACK).map_err(failed)?;
    let mut programs = Vec::new();
    for (title, more) in
        [("small", None), ("150 MB of data", Some("data")), ("600,000 symbols", Some("symbols"))]
    {
        let program = at(more.unwrap_or("small"));
        let mut link = Command::new("ocamlfind");
        link.args(["ocamlopt", "-g"]).arg(at("start.ml")).current_dir(folder);
        if let Some(more) = more {
            let object = at(&format!("{more}.o"));
            output(Command::new("as").arg(at(&format!("{more}.s"))).arg("-o").arg(&object))?;
            link.arg(object);
        }
        let program = program.with_extension("exe");
        output(link.arg("-o").arg(&program))?;
        programs.push((title.to_owned(), program));
    }
    Ok(programs)
}

/// Declares that the code needs no executable stack.
const STACK: &str = ".section .note.GNU-stack,\"\",@progbits\n";
