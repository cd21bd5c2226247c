//! The programs that are observed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::command::{output, root, succeed};
use crate::compilers;

/// A program to observe.
pub struct Subject {
    /// The first cells of its row.
    pub title: String,
    /// The program and the arguments with which it terminates.
    pub once: Vec<String>,
    /// The program and the arguments with which it keeps running; empty if it cannot.
    pub on: Vec<String>,
    /// The working directory for both.
    pub folder: PathBuf,
    /// Whether it prints on standard output when it has started its work.
    pub says_ready: bool,
    /// A type declared in it, of which it has blocks; known only for our own program.
    pub own_type: Option<&'static str>,
    /// The folder of the compiler that compiled it, if that is not in PATH: its helper reads the types.
    pub compiler: Option<PathBuf>,
}

/// Our program, [`programs/reach.ml`](../../../programs/reach.ml), and the type of its blocks.
const OURS: &str = "reach";
const OWN_TYPE: &str = "Reach.node";

const BY_OCAMLRUN: &str = "by ocamlrun";

/// How it is compiled: code, linking, compiler, options, and whether it is stripped.
const MADE: [(&str, &str, &str, &str, bool); 6] = [
    ("native", "dynamic", "ocamlopt", "", false),
    ("native", "dynamic, stripped", "ocamlopt", "", true),
    ("native", "static", "ocamlopt", "-ccopt -static", false),
    ("native", "static, stripped", "ocamlopt", "-ccopt -static", true),
    ("bytecode", BY_OCAMLRUN, "ocamlc", "", false),
    ("bytecode", "-custom", "ocamlc", "-custom", false),
];

/// Our program, built by every available compiler.
pub fn compiled(folder: &Path) -> Result<Vec<Subject>, String> {
    let mut subjects = Vec::new();
    let mut tools = vec![(version("ocamlopt")?, None)];
    for compiler in compilers::ALL {
        tools.push((compiler.version.to_owned(), Some(compiler)));
    }
    tools.sort_by_key(|(version, _)| numbers(version));
    for (version, compiler) in tools {
        for (code, linked, tool, options, is_stripped) in MADE {
            // The runtime of a compiler that is not installed is not where its programs look for it.
            if linked == BY_OCAMLRUN && compiler.is_some() {
                continue;
            }
            let place = folder.join(format!("{version}-{code}-{linked}").replace([' ', ','], "-"));
            fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
            let source = root().join("programs").join(format!("{OURS}.ml"));
            fs::copy(&source, place.join(format!("{OURS}.ml")))
                .map_err(|error| format!("{}: {error}", source.display()))?;
            let tool = match compiler {
                Some(compiler) => compiler.program(tool)?,
                None => tool.into(),
            };
            let of_compiler = compiler.and_then(|_| tool.parent()).map(Path::to_path_buf);
            let mut command = Command::new(&tool);
            command.args(["-g", "-bin-annot"]).args(options.split_whitespace());
            command.arg(format!("{OURS}.ml")).args(["-o", OURS]).current_dir(&place);
            output(&mut command)?;
            let program = place.join(OURS).display().to_string();
            if is_stripped {
                succeed(Command::new("strip").arg(&program))?;
            }
            subjects.push(Subject {
                title: format!("{version} | {code} | {linked}"),
                once: vec![program.clone()],
                on: vec![program, "on".to_owned()],
                folder: place,
                says_ready: true,
                own_type: Some(OWN_TYPE),
                compiler: of_compiler,
            });
        }
    }
    Ok(subjects)
}

/// Major and minor version of a compiler.
fn version(tool: &str) -> Result<String, String> {
    let said = output(Command::new(tool).arg("-version"))?;
    let mut numbers = said.trim().split('.');
    Ok([numbers.next(), numbers.next()].map(Option::unwrap_or_default).join("."))
}

fn numbers(version: &str) -> Vec<u32> {
    version.split('.').filter_map(|number| number.parse().ok()).collect()
}

/// Programs of others, used if they are installed: name, a command that terminates, and one that keeps running.
/// They refer to files of [`INPUTS`]. Programs in `.cache` are those of `cargo xtask programs`.
const OTHERS: &[(&str, &str, &str)] = &[
    ("coqtop", "coqc -q one.v", "coqtop -q"),
    ("frama-c", "frama-c -eva one.c", "frama-c -eva -eva-slevel 10000000 long.c"),
    ("liquidsoap", "liquidsoap --check one.liq", "liquidsoap one.liq"),
    ("ocsigenserver", "ocsigenserver --version", "ocsigenserver -c server.conf"),
    ("opam", "opam lint one.opam", "opam lint -"),
    ("dune", "dune build --root project", ""),
    ("utop", "utop one.ml", "utop"),
    ("why3", "why3 prove one.mlw", "why3 prove -F whyml -"),
    ("unison", "unison -batch -root left right", "unison -socket 50707"),
    ("haxe", "haxe -main One --interp", "haxe --wait 50708"),
    ("ocamlopt.opt", "ocamlopt.opt -c one.ml", ""),
    ("flow 0.200", ".cache/flow-0.200.0/flow ast one.js", ".cache/flow-0.200.0/flow ast"),
    ("flow 0.250", ".cache/flow-0.250.0/flow ast one.js", ".cache/flow-0.250.0/flow ast"),
    (
        "pyre",
        ".cache/pyre.bin-0.10.0/pyre.bin newcheck one.json",
        ".cache/pyre.bin-0.10.0/pyre.bin newserver one.json",
    ),
    ("esy", ".cache/esy-0.9.2/esy --version", "sh stay.sh .cache/esy-0.9.2/esy"),
];

/// Their input files.
const INPUTS: &[(&str, &str)] = &[
    (
        "one.v",
        "Require Import Arith.\nGoal forall n, n + 0 = n.\nProof. induction n; simpl; auto. Qed.\n",
    ),
    ("one.c", "int main(void) { int i, s = 0; for (i = 0; i < 100; i++) s += i; return s; }\n"),
    (
        "long.c",
        "int main(void) { unsigned i, j, s = 0; for (i = 0; i < 100000; i++) for (j = 0; j < 1000; j++) s += i ^ j; return s; }\n",
    ),
    ("one.liq", "settings.init.allow_root.set(true)\noutput.dummy(noise())\n"),
    (
        "server.conf",
        "<ocsigen><server><port>50709</port><logdir>.</logdir><datadir>.</datadir><commandpipe>./pipe</commandpipe>\
         <user></user><group></group><host defaulthostname=\"localhost\"></host></server></ocsigen>\n",
    ),
    ("one.opam", "opam-version: \"2.0\"\nname: \"one\"\nversion: \"1\"\n"),
    ("project/dune-project", "(lang dune 3.0)\n"),
    ("project/dune", "(executable (name one))\n"),
    ("project/one.ml", "let () = print_endline \"one\"\n"),
    ("one.ml", "let list = List.init 1000 string_of_int\n"),
    ("one.js", "/* @flow */\nfunction f(x: number): number { return x + 1; }\n"),
    ("one.mlw", "theory T use int.Int goal g : forall x:int. x + 0 = x end\n"),
    ("left/file", "left\n"),
    ("right/other", "right\n"),
    ("esy/package.json", r#"{"name": "one", "version": "1.0.0", "esy": {}, "dependencies": {}}"#),
    ("stay.sh", "cd esy && $1 install >/dev/null 2>&1 && exec $1 sleep 1000\n"),
    ("python/one.py", "def f(x: int) -> str: return x\n"),
    (
        "one.json",
        r#"{"source_paths": {"kind": "simple", "paths": ["python"]}, "checked_directory_allowlist": ["python"], "global_root": ".",
            "log_path": "log", "socket_path": "socket", "strict": true, "parallel": false, "number_of_workers": 1,
            "python_version": {"major": 3, "minor": 11, "micro": 0}, "shared_memory": {}}"#,
    ),
    ("One.hx", "class One { static function main() { trace(\"one\"); } }\n"),
];

/// Programs of others that are installed on this machine.
pub fn of_others(folder: &Path) -> Result<Vec<Subject>, String> {
    let place = folder.join("inputs");
    for (name, text) in INPUTS {
        let path = place.join(name);
        let made = path.parent().map_or(Ok(()), fs::create_dir_all);
        made.and_then(|()| fs::write(&path, text))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    let mut subjects = Vec::new();
    for (name, once, on) in OTHERS {
        let word = |word: &str| match word.starts_with(".cache/") {
            true => root().join(word).display().to_string(),
            false => word.to_owned(),
        };
        let [once, on] =
            [once, on].map(|line| line.split_whitespace().map(word).collect::<Vec<_>>());
        let is_there = |words: &[String]| words.first().is_none_or(|word| found(word).is_some());
        if !is_there(&once) || !is_there(&on) {
            println!("-- {name} is not installed");
            continue;
        }
        subjects.push(Subject {
            title: format!("{name} | {}", described(&once[0])),
            once,
            on,
            folder: place.clone(),
            says_ready: false,
            own_type: None,
            compiler: None,
        });
    }
    Ok(subjects)
}

/// The path of a program in PATH.
fn found(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// Its OCaml version and kind of code, according to doctor.
fn described(program: &str) -> String {
    let said =
        Command::new(root().join("target/quick/bactrian")).args(["doctor", program]).output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).into_owned());
    let said = said.unwrap_or_default();
    let line = said.lines().find_map(|line| line.strip_prefix("OCaml ")).unwrap_or_default();
    let version = line.split_whitespace().next().unwrap_or("?").trim_end_matches(',');
    let code = if line.contains("bytecode") { "bytecode" } else { "native" };
    format!("{version} | {code}")
}
