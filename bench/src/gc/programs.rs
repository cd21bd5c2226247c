//! Real programs with work that can be repeated. Each is used if it is installed (`apt install coq why3 unison frama-c-base menhir
//! js-of-ocaml haxe`); any other is measured by `--name NAME -- COMMAND ARGS..`.

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

const PROGRAMS: [(&str, Make); 10] = [
    ("ocamlopt", ocamlopt),
    ("coqc", coqc),
    ("why3", why3),
    ("unison", unison),
    ("frama-c", frama_c),
    ("menhir", menhir),
    ("js_of_ocaml", js_of_ocaml),
    ("haxe", haxe),
    ("server", server),
    ("domains", domains),
];

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
    for number in 0..600 {
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

/// Proves lemmas of arithmetic.
fn coqc(folder: &Path) -> Result<Vec<String>, String> {
    let mut text = String::from("Require Import Arith Lia List.\n");
    for number in 0..120 {
        let _ = writeln!(
            text,
            "Lemma l{number}: forall a b c d: nat, a < b + {number} -> c < d -> a + c < b + d + {number}.\n\
             Proof. intros. lia. Qed."
        );
    }
    let file = write(&folder.join("large.v"), &text)?;
    Ok(words(&["coqc", "-q", &file]))
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

/// Computes which values the variables of a C program may have.
fn frama_c(folder: &Path) -> Result<Vec<String>, String> {
    let mut text = String::from("extern int unknown(void);\nint t[64];\n");
    for number in 0..100 {
        let _ = writeln!(
            text,
            "int f{number}(int x, int *p) {{ int s = 0; for (int i = 0; i < 10; i++) {{ if (x > i + {number}) s += p[i]; \
             else s -= t[(x + i) & 63]; }} return s & 1023; }}"
        );
    }
    text.push_str("int main(void) { int a[16]; int r = 0; for (int i = 0; i < 16; i++) a[i] = unknown() & 255;\n");
    for number in 0..100 {
        let _ = writeln!(text, "r += f{number}(unknown() & 255, a); r &= 4095;");
    }
    text.push_str("return r; }\n");
    let file = write(&folder.join("large.c"), &text)?;
    Ok(words(&["frama-c", "-eva", &file]))
}

/// Makes a parser of a grammar with 120 levels of precedence.
fn menhir(folder: &Path) -> Result<Vec<String>, String> {
    const LEVELS: usize = 120;
    let mut text = String::from("%token <int> INT\n%token LEFT RIGHT END\n");
    for level in 0..LEVELS {
        let _ = writeln!(text, "%token INFIX{level} PREFIX{level}");
    }
    text.push_str("%start <int> main\n%%\nmain: e = e0 END { e }\n");
    for level in 0..LEVELS {
        let next = level + 1;
        let _ = writeln!(
            text,
            "e{level}: a = e{level} INFIX{level} b = e{next} {{ a + b }} | PREFIX{level} a = e{level} {{ a }} \
             | a = e{next} {{ a }}"
        );
    }
    let _ = writeln!(text, "e{LEVELS}: i = INT {{ i }} | LEFT e = e0 RIGHT {{ e }}");
    let file = write(&folder.join("large.mly"), &text)?;
    Ok(words(&["menhir", "--table", &file]))
}

/// Translates a program of the OCaml distribution.
fn js_of_ocaml(folder: &Path) -> Result<Vec<String>, String> {
    let program = bactrian_capture::find_program("ocamllex.byte".as_ref());
    let program = program.map_err(|error| error.to_string())?.display().to_string();
    let output = folder.join("ocamllex.js").display().to_string();
    Ok(words(&["js_of_ocaml", &program, "-o", &output]))
}

/// Compiles a large class.
fn haxe(folder: &Path) -> Result<Vec<String>, String> {
    let mut text = String::from("class Large {\n");
    for number in 0..1_500 {
        let _ = writeln!(
            text,
            "static function f{number}(x:Int, y:Array<Int>):Int {{ var s = x; for (v in y) {{ if (v > {number}) s += v * x; \
             else s -= [for (w in y) w + v].length; }} return s; }}"
        );
    }
    text.push_str("static function main() { trace(f0(1, [1, 2, 3])); }\n}\n");
    write(&folder.join("Large.hx"), &text)?;
    let (folder, output) = (folder.display().to_string(), folder.join("large.js"));
    Ok(words(&["haxe", "-cp", &folder, "-main", "Large", "-js", &output.display().to_string()]))
}

/// Answers requests of clients that ask as fast as it answers.
fn server(folder: &Path) -> Result<Vec<String>, String> {
    let ocamlfind = ["ocamlfind", "ocamlopt", "-package", "unix", "-linkpkg"];
    compiled(folder, "gc_server", &ocamlfind, "100")
}

/// Domains of OCaml 5 that allocate at once.
fn domains(folder: &Path) -> Result<Vec<String>, String> {
    let compiler = root().join(".cache/ocaml-5.3/bin/ocamlopt");
    if !compiler.exists() {
        return Err("cargo xtask ocaml gets OCaml 5.3".to_owned());
    }
    compiled(folder, "gc_domains", &[&compiler.display().to_string()], "400")
}

/// A program of ours, compiled in a folder, and its command.
fn compiled(
    folder: &Path,
    name: &str,
    compiler: &[&str],
    argument: &str,
) -> Result<Vec<String>, String> {
    let source = root().join(format!("programs/{name}.ml"));
    let (program, copy) = (folder.join(name), folder.join(format!("{name}.ml")));
    fs::copy(&source, &copy).map_err(|error| format!("{}: {error}", source.display()))?;
    let mut command = std::process::Command::new(compiler[0]);
    command.args(&compiler[1..]).arg(&copy).arg("-o").arg(&program);
    xtask::command::succeed(&mut command)?;
    Ok(words(&[&program.display().to_string(), argument]))
}
