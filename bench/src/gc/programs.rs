//! Real programs with work that can be repeated. Each is used if it is installed (`apt install why3 unison-2.52+4.13.1`); any other
//! is measured by `--name NAME -- COMMAND ARGS..`.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use bactrian_advice::runner::Subject;
use xtask::command::root;

/// A program with its work.
pub struct Program {
    pub name: String,
    pub subject: Subject,
}

/// What makes the input of a program in a folder, and gives its command.
type Make = fn(&Path) -> Result<Vec<String>, String>;

const PROGRAMS: [(&str, Make); 4] =
    [("ocamlopt", ocamlopt), ("why3", why3), ("unison", unison), ("domains", domains)];

pub fn names() -> Vec<&'static str> {
    PROGRAMS.iter().map(|(name, _)| *name).collect()
}

/// Those that are installed.
pub fn all(folder: &Path) -> Result<Vec<Program>, String> {
    let mut programs = Vec::new();
    for (name, make) in PROGRAMS {
        let folder = folder.join(name);
        fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        match make(&folder).and_then(|command| Program::given(name, &command)) {
            Ok(program) => programs.push(program),
            Err(why) => eprintln!("{name} is left out: {why}"),
        }
    }
    Ok(programs)
}

impl Program {
    pub fn given(name: &str, command: &[String]) -> Result<Program, String> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if name.is_empty() || !name.chars().all(is_plain) {
            return Err(format!("{name:?} is no name for a table"));
        }
        let (program, arguments) = command.split_first().ok_or("no command")?;
        let found = bactrian_capture::find_program(program.as_ref());
        let subject = Subject {
            program: found.map_err(|error| error.to_string())?,
            name: program.into(),
            arguments: arguments.iter().map(Into::into).collect(),
            input: None,
        };
        Ok(Program { name: name.to_owned(), subject })
    }
}

fn write(file: &Path, text: &str) -> Result<String, String> {
    fs::write(file, text).map_err(|error| format!("{}: {error}", file.display()))?;
    Ok(file.display().to_string())
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Compiles a large module.
fn ocamlopt(folder: &Path) -> Result<Vec<String>, String> {
    let mut text = String::new();
    for number in 0..6_000 {
        let _ = writeln!(
            text,
            "let rec f{number} x y = match x with [] -> y | a :: b when a > {number} -> \
             f{number} b (a + y) | a :: (c :: _ as b) -> if c = a then f{number} b y else \
             List.fold_left (fun s n -> s + n * {number}) y (List.map (fun z -> z + a) b) \
             | [ a ] -> a + y"
        );
    }
    let file = write(&folder.join("large.ml"), &text)?;
    Ok(words(&["ocamlopt.opt", "-c", &file]))
}

/// Types a large theory.
fn why3(folder: &Path) -> Result<Vec<String>, String> {
    let mut text = String::from("theory Large\n  use int.Int\n");
    for number in 0..6_000 {
        let _ = writeln!(
            text,
            "  function f{number} (x y: int) : int = if x > {number} then x * y + {number} else y - x * (x + {number})\n  \
             goal g{number}: forall x y z: int. x > y -> y > z -> f{number} x (y + z) > f{number} y z -> f{number} z x + {number} > y"
        );
    }
    text.push_str("end\n");
    let file = write(&folder.join("large.why"), &text)?;
    Ok(words(&["why3", "prove", "--type-only", &file]))
}

/// Finds that two large folders are the same.
fn unison(folder: &Path) -> Result<Vec<String>, String> {
    let sides = ["here", "there"].map(|side| folder.join(side));
    for side in &sides {
        for number in 0..20_000 {
            let inside = side.join(format!("{}", number / 100));
            if number % 100 == 0 {
                fs::create_dir_all(&inside)
                    .map_err(|error| format!("{}: {error}", inside.display()))?;
            }
            write(&inside.join(format!("{number}.txt")), &format!("file {number}\n"))?;
        }
    }
    let [here, there] = sides.map(|side| side.display().to_string());
    // Without the archives of the run before, it compares everything again.
    Ok(words(&["unison", &here, &there, "-batch", "-ignorearchives", "-silent", "-ui", "text"]))
}

/// Domains of OCaml 5 that allocate at once.
fn domains(folder: &Path) -> Result<Vec<String>, String> {
    let compiler = root().join(".cache/ocaml-5.3/bin/ocamlopt");
    if !compiler.exists() {
        return Err("cargo xtask ocaml gets OCaml 5.3".to_owned());
    }
    let source = root().join("programs/gc_domains.ml");
    let program = folder.join("gc_domains");
    let copy = folder.join("gc_domains.ml");
    fs::copy(&source, &copy).map_err(|error| format!("{}: {error}", source.display()))?;
    let mut command = std::process::Command::new(compiler);
    xtask::command::succeed(command.arg(&copy).arg("-o").arg(&program))?;
    let program = program.display().to_string();
    Ok(words(&[&program, "400"]))
}
