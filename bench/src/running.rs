//! How soon the recording of a running process begins, and how long the process is paused for it: `cargo xtask
//! bench running`.
//!
//! The programs are busy, have threads, have domains, or are linked statically. Each is started anew and
//! recorded once. The start time is from starting `bactrian record PID` to the first line of the trace; pauses
//! are those that `record` reports.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use bactrian_trace::Index;

use super::rounds;
use xtask::Outcome;
use xtask::command::{output, root};

const DEFAULT_ROUNDS: usize = 30;

/// Title, source, the compiler's folder in `.cache` (empty for that in PATH), options, and argument.
const PROGRAMS: &[(&str, &str, &str, &str, &str)] = &[
    ("4.13, working", "running", "", "", "busy"),
    ("4.13, four threads", "running", "", "", "threads"),
    ("4.13, static", "running", "", "-ccopt -static", "busy"),
    ("5.3, four domains", "running_domains", "ocaml-5.3", "", ""),
];

/// Times in milliseconds.
#[derive(Default)]
struct Times {
    starts: Vec<f64>,
    first_pauses: Vec<f64>,
    last_pauses: Vec<f64>,
}

pub fn run(arguments: &[String]) -> Outcome {
    let rounds = match arguments {
        [] => DEFAULT_ROUNDS,
        [option, value] if option == "--rounds" => rounds::number(value, 1)?,
        _ => return Err("running takes --rounds N".to_owned()),
    };
    let folder = super::folder()?.join("running");
    fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let bactrian = super::build()?.join("bactrian");
    println!("| ms | start, median | most | pause, median | most | at the end, most |");
    println!("|---|--:|--:|--:|--:|--:|");
    for (number, (title, source, compiler, options, argument)) in PROGRAMS.iter().enumerate() {
        let compiler = match *compiler {
            "" => PathBuf::from("ocamlopt.opt"),
            folder => root().join(".cache").join(folder).join("bin/ocamlopt"),
        };
        if compiler.is_absolute() && !compiler.exists() {
            println!("| {title} | not measured: `cargo xtask ocaml` gets its compiler | | | | |");
            continue;
        }
        let program = compile(&folder, number, source, &compiler, options)?;
        let mut times = Times::default();
        for _ in 0..rounds {
            times.measure(&bactrian, &program, argument, &folder.join("trace.ctf"))?;
        }
        let Times { starts, first_pauses, last_pauses } = times;
        let ([start, latest], [pause, longest]) = (spread(starts), spread(first_pauses));
        let [_, last] = spread(last_pauses);
        println!("| {title} | {start:.1} | {latest:.1} | {pause:.1} | {longest:.1} | {last:.1} |");
    }
    Ok(())
}

fn compile(
    folder: &Path,
    number: usize,
    source: &str,
    compiler: &Path,
    options: &str,
) -> Result<PathBuf, String> {
    let at = folder.join(number.to_string());
    let failed = |error: std::io::Error| format!("{}: {error}", at.display());
    fs::create_dir_all(&at).map_err(failed)?;
    let file = format!("{source}.ml");
    fs::copy(root().join("programs").join(&file), at.join(&file)).map_err(failed)?;
    let mut command = Command::new(compiler);
    command.args(["-g", "-I", "+unix", "-I", "+threads", "unix.cmxa", "threads.cmxa"]);
    command.args(options.split_whitespace()).args([&file, "-o", "program"]).current_dir(&at);
    output(&mut command)?;
    Ok(at.join("program"))
}

impl Times {
    fn measure(
        &mut self,
        bactrian: &Path,
        program: &Path,
        argument: &str,
        trace: &Path,
    ) -> Outcome {
        let mut command = Command::new(program);
        command.args((!argument.is_empty()).then_some(argument));
        let mut process = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", program.display()))?;
        let ready = process.stdout.take().map(|output| BufReader::new(output).lines().next());
        let begin = micros();
        let mut record = Command::new(bactrian);
        record.args(["record", "--rate", "1e-3", "--for", "0.05", "-o"]).arg(trace);
        let told = record.arg(OsString::from(process.id().to_string())).output();
        drop(process.stdin.take());
        // Its output goes nowhere.
        let ended = process.kill().and_then(|()| process.wait());
        let told = told.and_then(|told| ended.map(|_| told)).map_err(|error| error.to_string())?;
        let told = String::from_utf8_lossy(&told.stderr).into_owned();
        let pauses = pauses(&told).filter(|_| ready.is_some());
        let (first, last) = pauses.ok_or_else(|| format!("it was not recorded: {told}"))?;
        self.first_pauses.push(first);
        self.last_pauses.push(last);
        let bytes = fs::read(trace).map_err(|error| format!("{}: {error}", trace.display()))?;
        let index = Index::skim(&bytes).map_err(|error| error.to_string())?;
        self.starts.push(index.info().start.saturating_sub(begin) as f64 / 1e3);
        Ok(())
    }
}

fn micros() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_micros() as u64)
}

/// `the program was paused for 4.3 ms at the start, and for 280 µs at the end`, in milliseconds.
fn pauses(told: &str) -> Option<(f64, f64)> {
    let (_, rest) = told.split_once("was paused for ")?;
    let mut words = rest.split_whitespace();
    let mut time = || {
        let number: f64 = words.by_ref().find_map(|word| word.parse().ok())?;
        match words.next()? {
            "s" => Some(number * 1e3),
            "ms" => Some(number),
            "µs" => Some(number / 1e3),
            _ => None,
        }
    };
    Some((time()?, time()?))
}

/// The median and the maximum.
fn spread(mut all: Vec<f64>) -> [f64; 2] {
    all.sort_by(f64::total_cmp);
    [all.len() / 2, all.len().saturating_sub(1)].map(|at| all.get(at).copied().unwrap_or(0.0))
}
