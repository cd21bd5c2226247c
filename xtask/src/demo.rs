//! Shows Bactrian's main job: a small OCaml program that leaks is compiled, recorded as it is, and looked at.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::command::succeed;
use crate::{Outcome, progress};

const PROGRAM: &str = "leaky_cache";
const FOLDER: &str = "target/demo";

pub fn run(arguments: &[String]) -> Outcome {
    crate::no_arguments(arguments)?;
    println!("Building bactrian, which takes a minute or two the first time:");
    progress::build("--profile quick")?;
    compile()?;
    let (executable, trace) = (format!("{FOLDER}/{PROGRAM}"), format!("{FOLDER}/{PROGRAM}.ctf"));
    let flame = format!("{FOLDER}/held.svg");
    let report = format!("{FOLDER}/report.html");
    let heap = format!("{FOLDER}/{PROGRAM}.1.heap");
    let steps: &[(&str, String)] = &[
        (
            "A small server that leaks, compiled as ever, recorded as it is:",
            format!("record --rate 1e-3 --snapshots exit -o {trace} -- {executable} 20000"),
        ),
        ("What is in the trace?", format!("info --full {trace}")),
        (
            "Does its memory grow? In front: what lives longer than 50 ms.",
            format!("timeline {trace} --points 60 --lifetime 50ms.."),
        ),
        (
            "Where was allocated what is still there in the end?",
            format!("top {trace} --metric live --by site -n 6"),
        ),
        (
            "And who asked for it? The standard library counts to its callers:",
            format!("top {trace} --metric live --hide /^(Stdlib|Caml)|^caml_/ -n 4"),
        ),
        (
            "Who holds it? The snapshot that was taken at the end says:",
            format!("heap roots {heap} -n 4"),
        ),
        ("What grows, as a picture:", format!("flame {trace} --metric live -o {flame}")),
        ("All of it as one page, to be sent around:", format!("report {trace} {heap} -o {report}")),
    ];
    for (question, line) in steps {
        println!("\n## {question}\n$ bactrian {line}");
        let binary = Path::new("target/quick/bactrian");
        succeed(Command::new(binary).args(line.split_whitespace()))?;
    }
    println!(
        "\n## What was found
What lives long only grows, although every request is answered and done. It is the words that `serve`
reads and the answers that it makes of them: `serve` puts both into a cache whose key no later request
can match. See programs/{PROGRAM}.ml.

## What to try next
  open {report} in a browser, or have all of it answered as you click:
  target/quick/bactrian view {trace} {heap}
  target/quick/bactrian live -- {executable} 1000000
  target/quick/bactrian record -- YOUR-PROGRAM
  target/quick/bactrian doctor YOUR-PROGRAM
  target/quick/bactrian tree {trace} --callers --metric live
  target/quick/bactrian export {trace} --to pprof -o heap.pb.gz
  target/quick/bactrian --help"
    );
    Ok(())
}

/// Compiles the program in a folder of its own, where the compiler may leave what it leaves.
fn compile() -> Outcome {
    fs::create_dir_all(FOLDER).map_err(|error| format!("cannot make {FOLDER}: {error}"))?;
    let source = format!("{PROGRAM}.ml");
    fs::copy(Path::new("programs").join(&source), Path::new(FOLDER).join(&source))
        .map_err(|error| format!("cannot copy {source}: {error}"))?;
    let mut compiler = Command::new("ocamlopt.opt");
    succeed(compiler.args(["-g", "-bin-annot", &source, "-o", PROGRAM]).current_dir(FOLDER))
}
