//! Demonstrates Bactrian's main purpose: compiles a small leaking OCaml program, records it unchanged, and
//! analyses the result.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};

use crate::command::succeed;
use crate::{Outcome, demo_files, progress};

pub const PROGRAM: &str = "leaky_cache";
const FOLDER: &str = "target/demo";

pub fn run(arguments: &[String]) -> Outcome {
    let is_shown = match arguments {
        [] => true,
        [word] if word == "--write" => false,
        _ => return Err("takes --write, or nothing".to_owned()),
    };
    println!("Building bactrian, which takes a minute or two the first time:");
    let setup = Setup::start()?;
    progress::build("--profile quick")?;
    setup.end()?;
    let binary = Path::new("target/quick/bactrian");
    if !is_shown {
        return demo_files::write(binary);
    }
    compile(Path::new(FOLDER))?;
    let (executable, trace) = (format!("{FOLDER}/{PROGRAM}"), format!("{FOLDER}/{PROGRAM}.ctf"));
    let flame = format!("{FOLDER}/held.svg");
    let report = format!("{FOLDER}/report.html");
    let heap = format!("{FOLDER}/{PROGRAM}.1.heap");
    let steps: &[(&str, String)] = &[
        (
            "A small server that leaks, compiled as usual and recorded unchanged:",
            format!("record --rate 1e-3 --snapshots exit -o {trace} -- {executable} 20000"),
        ),
        ("What is in the trace?", format!("info --full {trace}")),
        (
            "Does its memory grow? In front: what lives longer than 50 ms.",
            format!("timeline {trace} --points 60 --lifetime 50ms.."),
        ),
        (
            "What allocated the memory that is still there at the end? The standard library is \
             charged to its callers:",
            format!("top {trace} --by site -n 6"),
        ),
        ("What holds it? The snapshot at exit says:", format!("heap suspects {heap}")),
        ("What grows, as a picture:", format!("flame {trace} -o {flame}")),
        ("All of it as one page to share:", format!("report {trace} {heap} -o {report}")),
    ];
    for (question, line) in steps {
        println!("\n## {question}\n$ bactrian {line}");
        succeed(Command::new(binary).args(line.split_whitespace()))?;
    }
    println!(
        "\n## What was found
Long-lived memory only grows, although every request has been answered. It consists of the words that
`serve` reads and the answers that it builds from them: `serve` puts both into a cache with a key that no
later request can match. See programs/{PROGRAM}.ml.

## What to try next
  open {report} in a browser, or have all of it answered as you click:
  target/quick/bactrian view {trace} {heap}
  target/quick/bactrian live -- {executable} 1000000
  target/quick/bactrian record -- YOUR-PROGRAM
  target/quick/bactrian doctor YOUR-PROGRAM
  target/quick/bactrian tree {trace} --callers
  target/quick/bactrian export {trace} --to pprof -o heap.pb.gz
  target/quick/bactrian --help"
    );
    Ok(())
}

/// Installs missing packages in parallel with the build; that takes half a minute on a bare machine.
struct Setup {
    child: Child,
    /// The output of the package manager, shown only if it fails.
    said: JoinHandle<String>,
}

impl Setup {
    fn start() -> Result<Setup, String> {
        let mut setup = Command::new("scripts/setup");
        setup.arg("demo");
        if !needs_no_password() {
            // The password prompt would appear between lines of progress.
            succeed(&mut setup)?;
        }
        let child =
            setup.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn();
        let mut child = child.map_err(|error| format!("scripts/setup: {error}"))?;
        let lines = child.stdout.take().ok_or("scripts/setup has no output")?;
        let said = thread::spawn(move || {
            let mut said = String::new();
            for line in BufReader::new(lines).lines().map_while(Result::ok) {
                if line.starts_with("setup:") || line.starts_with("  ") {
                    println!("{line}");
                }
                said += &format!("{line}\n");
            }
            said
        });
        Ok(Setup { child, said })
    }

    fn end(mut self) -> Outcome {
        let status = self.child.wait().map_err(|error| format!("scripts/setup: {error}"))?;
        let said = self.said.join().unwrap_or_default();
        match status.success() {
            true => Ok(()),
            false => Err(format!("scripts/setup demo: {status}\n{said}")),
        }
    }
}

/// Whether packages can be installed without a prompt: as root, or because sudo allows it now.
fn needs_no_password() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0);
    let mut sudo = Command::new("sudo");
    let sudo = sudo.args(["-n", "true"]).stdout(Stdio::null()).stderr(Stdio::null());
    is_root || sudo.status().is_ok_and(|status| status.success())
}

/// Compiles the program in a folder of its own, where the compiler may leave files.
pub fn compile(folder: &Path) -> Outcome {
    fs::create_dir_all(folder)
        .map_err(|error| format!("cannot make {}: {error}", folder.display()))?;
    let source = format!("{PROGRAM}.ml");
    fs::copy(Path::new("programs").join(&source), folder.join(&source))
        .map_err(|error| format!("cannot copy {source}: {error}"))?;
    let mut compiler = Command::new("ocamlopt.opt");
    succeed(compiler.args(["-g", "-bin-annot", &source, "-o", PROGRAM]).current_dir(folder))
}
