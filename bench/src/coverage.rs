//! Whether 95 % confidence intervals contain the true value, on real programs: `cargo xtask bench coverage`.
//!
//! Each program is recorded once with every allocation. An example of crates/analysis then draws samples from
//! these traces.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{build_folder, folder};
use xtask::Outcome;
use xtask::command::{cargo, output, root, succeed};

/// Real programs at work, none for longer than a second.
const PROGRAMS: &[(&str, &str)] = &[
    ("ocamlopt", "ocamlopt.opt -g -c Main.ml"),
    ("ocamlc", "ocamlc.opt -g -c Main.ml"),
    ("ocamldep", "ocamldep.opt -modules Main.ml Main.ml Main.ml Main.ml"),
    ("ocamldoc", "ocamldoc.opt -html Main.ml"),
    ("ocamlprof", "ocamlprof.opt -instrument Main.ml"),
    ("ocamllex", "ocamllex.opt words.mll"),
    ("ocamlobjinfo", "ocamlobjinfo.opt LIBRARY/stdlib.cmxa"),
    ("unison", "unison one two -batch -silent -ui text -logfile /dev/null"),
    ("why3", "why3 execute sum.mlw --use Sum triangle(1000)"),
    ("haxe", "haxe --main Main --interp"),
];

/// Stands for the folder of the standard library.
const LIBRARY: &str = "LIBRARY";

const LEXER: &str = "{ exception Bad }
rule token = parse
  | [' ' '\\t' '\\n']+ { token lexbuf }
  | \"let\" | \"in\" | \"match\" | \"with\" | \"function\" | \"begin\" | \"end\" { `Word }
  | ['a'-'z' 'A'-'Z' '_'] ['a'-'z' 'A'-'Z' '0'-'9' '_' '\\'']* { `Name }
  | ['0'-'9']+ ('.' ['0'-'9']*)? (['e' 'E'] ['+' '-']? ['0'-'9']+)? { `Number }
  | '\"' [^ '\"']* '\"' { `Text }
  | eof { `End }
  | _ { raise Bad }
";
const THEORY: &str = "module Sum
  use int.Int
  use ref.Ref
  let triangle (n: int) : int
    requires { n >= 0 } ensures { result * 2 = n * (n + 1) }
  = let s = ref 0 in
    for i = 0 to n do invariant { !s * 2 = i * (i - 1) } s := !s + i done;
    !s
end
";
const SCRIPT: &str = "class Main {
  static function main() {
    var names = [for (i in 0...2000) i => 'name ' + i];
    var sum = 0;
    for (number => name in names) sum += number + name.length;
    trace(sum);
  }
}
";

/// Measures on these exact traces, or on those of real programs.
pub fn run(traces: &[String]) -> Outcome {
    eprintln!("building");
    let build = "build --quiet --profile dist --package bactrian --package bactrian-analysis";
    succeed(&mut cargo(&format!("{build} --example coverage --bin bactrian")))?;
    let built = build_folder()?;
    let mut traces: Vec<PathBuf> = traces.iter().map(PathBuf::from).collect();
    if traces.is_empty() {
        let folder = folder()?.join("coverage");
        prepare(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        for (name, command) in PROGRAMS {
            traces.push(record(&built.join("bactrian"), name, command, &folder)?);
        }
    }
    succeed(Command::new(built.join("examples/coverage")).args(traces))
}

/// Creates the input files of the programs.
fn prepare(folder: &Path) -> std::io::Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    for (side, n) in ["one", "two"].iter().flat_map(|side| (0..100).map(move |n| (side, n))) {
        let common = folder.join(side).join("common");
        fs::create_dir_all(&common)?;
        fs::write(common.join(format!("{side}{n}.txt")), format!("file {n}\n").repeat(n))?;
    }
    fs::copy(root().join("bench/src/record/compiled.ml"), folder.join("Main.ml"))?;
    fs::write(folder.join("words.mll"), LEXER)?;
    fs::write(folder.join("sum.mlw"), THEORY)?;
    fs::write(folder.join("Main.hx"), SCRIPT)
}

/// Records every allocation of a program.
fn record(bactrian: &Path, name: &str, command: &str, folder: &Path) -> Result<PathBuf, String> {
    let trace = folder.join(format!("{name}.ctf"));
    let mut recorded = Command::new(bactrian);
    recorded.args(["record", "--quiet", "--exact", "-o"]).arg(&trace).arg("--");
    let library = output(Command::new("ocamlopt.opt").arg("-where"))?;
    recorded
        .args(command.replace(LIBRARY, library.trim()).split(' '))
        .current_dir(folder)
        .env("UNISON", folder.join("memory"));
    recorded.stdout(std::process::Stdio::null());
    succeed(&mut recorded)?;
    Ok(trace)
}
