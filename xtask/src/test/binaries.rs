//! Runs cargo's test programs in parallel, along with other checks.
//!
//! `cargo test` runs them one after the other, and most tests of observed programs wait for something: four at
//! a time keep two processors busy. The output of a test program is shown if it fails, otherwise one line.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::command::{cargo, output, root};

/// The slowest test programs, in this order: they start first, so that none is left over at the end.
const LONGEST: &[&str] =
    &["bactrian snapshot", "bactrian record", "capture live", "capture attach", "bactrian types"];

/// Test threads per program. Several programs run at a time, which keeps the processors busy; more threads only make
/// tests wait for each other until their time limits fail.
const THREADS: usize = 2;

/// A timeout that no test program reaches, even on a busy machine.
const TOO_LONG: Duration = Duration::from_secs(40 * 60);

/// Every look at a running test program takes processor time from it.
const BETWEEN_LOOKS: Duration = Duration::from_millis(100);

/// The variable that tells a task that it runs in parallel with others.
pub const ONE_OF_MANY: &str = "BACTRIAN_ONE_OF_MANY";

/// How to start test programs.
#[derive(Clone, Debug, Default)]
pub struct Start<'a> {
    /// Shown after their names.
    pub title: String,
    /// Only these programs; all if empty.
    pub only: &'a [&'a str],
    /// Arguments for each of them.
    pub arguments: &'a [&'a str],
    /// A command that starts them, such as `nohup`.
    pub before: Vec<&'a str>,
    /// Environment variables to set and to unset.
    pub set: &'a [(&'a str, &'a str)],
    pub unset: &'a [&'a str],
}

/// A test program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestBinary {
    /// The folder of its crate, which is its working directory.
    folder: PathBuf,
    executable: PathBuf,
    /// Crate and target, such as `bactrian record`.
    name: String,
}

/// `cargo test` of the whole workspace, with lints. Clippy on its own would check all dependencies again, which
/// takes longer than the lints.
pub fn cargo_test(options: &str) -> Command {
    with_lints(cargo(&format!("test --workspace {options}")))
}

/// Uses the compiler driver that also lints.
pub fn with_lints(mut command: Command) -> Command {
    // With its full path, however this was started: cargo recompiles everything if the name changes.
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]).current_dir(root()));
    let driver = sysroot.map(|path| Path::new(path.trim()).join("bin/clippy-driver"));
    let driver = driver.ok().filter(|driver| driver.exists());
    command.env("RUSTC_WORKSPACE_WRAPPER", driver.unwrap_or_else(|| "clippy-driver".into()));
    command.env("CLIPPY_ARGS", "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");
    command
}

/// Builds all tests, examples and the program itself, with lints, and returns the tests.
pub fn build() -> Result<Vec<TestBinary>, String> {
    let said = output(
        cargo_test("--no-run --message-format json-render-diagnostics").stderr(Stdio::inherit()),
    )?;
    let mut found: Vec<_> = said.lines().filter_map(parse).collect();
    let rank = |binary: &TestBinary| {
        LONGEST.iter().position(|name| *name == binary.name).unwrap_or(LONGEST.len())
    };
    found.sort_by_key(|binary| (rank(binary), binary.name.clone()));
    Ok(found)
}

/// The folder with the program and the examples that tests need.
pub fn debug_folder() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root().join("target"), PathBuf::from);
    target.join("debug")
}

/// Parses a line of cargo's output if it is about a test program.
fn parse(line: &str) -> Option<TestBinary> {
    // The values that we need contain no escapes on our build machines.
    let text = |key: &str| {
        let (_, rest) = line.split_once(&format!("\"{key}\":\""))?;
        Some(rest.split_once('"')?.0)
    };
    if !line.contains("\"reason\":\"compiler-artifact\"") || !line.contains("\"test\":true}") {
        return None;
    }
    let executable = PathBuf::from(text("executable")?);
    let folder = Path::new(text("manifest_path")?).parent()?.to_path_buf();
    // Cargo appends a dash and 16 digits.
    let target = executable.file_name()?.to_str()?.rsplit_once('-')?.0.to_owned();
    let of = folder.file_name()?.to_str()?;
    Some(TestBinary { name: format!("{of} {target}"), folder, executable })
}

/// A test program, or another check, that runs in parallel with others.
struct Job {
    name: String,
    command: Command,
    /// Whether it is a test program, which reports how many tests it ran.
    counts: bool,
}

impl Job {
    fn test(binary: &TestBinary, how: &Start<'_>) -> Result<Job, String> {
        let executable = binary.executable.to_str().ok_or("its path is no text")?;
        let words = how.before.iter().copied().chain([executable]).collect::<Vec<_>>();
        let mut command = Command::new(words[0]);
        // On a terminal the line with the counts would be coloured.
        command.args(&words[1..]).arg("--color=never").arg(format!("--test-threads={THREADS}"));
        command.args(how.arguments).envs(how.set.iter().copied()).current_dir(&binary.folder);
        for name in how.unset {
            command.env_remove(name);
        }
        Ok(Job { name: format!("{}{}", binary.name, how.title), command, counts: true })
    }

    fn tests(binaries: &[TestBinary], how: &Start<'_>) -> Result<Vec<Job>, String> {
        let is = |name: &str| binaries.iter().any(|binary| binary.name == name);
        if let Some(name) = how.only.iter().find(|name| !is(name)) {
            return Err(format!("there is no test program {name:?}"));
        }
        let chosen =
            |binary: &&TestBinary| how.only.is_empty() || how.only.contains(&&*binary.name);
        binaries.iter().filter(chosen).map(|binary| Job::test(binary, how)).collect()
    }

    /// Another task of this program.
    fn task(name: &str) -> Result<Job, String> {
        let this = std::env::current_exe().map_err(|error| format!("this program: {error}"))?;
        let mut command = Command::new(this);
        command.arg(name).env(ONE_OF_MANY, "1");
        Ok(Job { name: format!("xtask {name}"), command, counts: false })
    }
}

/// Runs tests in this way and reports all failures.
pub fn run(start: &Start<'_>) -> Outcome {
    run_jobs(Job::tests(&build()?, start)?.into())
}

/// Runs all tests, some of them again in other ways, and these tasks in parallel. Tasks start early, because
/// they take long.
pub fn run_with(again: &[Start<'_>], tasks: &[&str]) -> Outcome {
    let binaries = build()?;
    let mut jobs = VecDeque::from(Job::tests(&binaries, &Start::default())?);
    for start in again {
        jobs.extend(Job::tests(&binaries, start)?);
    }
    // Slow ones begin early, so that short ones remain to fill the end.
    for (at, task) in tasks.iter().enumerate() {
        jobs.insert(at.min(jobs.len()), Job::task(task)?);
    }
    run_jobs(jobs)
}

fn run_jobs(jobs: VecDeque<Job>) -> Outcome {
    // Two more than there are processors, for the same reason as above.
    let workers = thread::available_parallelism().map_or(2, usize::from) + 2;
    let waiting = Mutex::new(jobs);
    let total = Mutex::new((0, 0, Vec::new()));
    let logs = debug_folder().join("test-output");
    std::fs::create_dir_all(&logs).map_err(|error| format!("{}: {error}", logs.display()))?;
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let next = waiting.lock().ok().and_then(|mut waiting| waiting.pop_front());
                    let Some(mut job) = next else { return };
                    let begin = Instant::now();
                    let mut used = 0.0;
                    let result = run_one(&mut job, &logs, &mut used);
                    let seconds = begin.elapsed().as_secs_f64();
                    let Ok(mut total) = total.lock() else { return };
                    match result {
                        Ok(Some(Counts { passed, ignored })) => {
                            total.0 += passed;
                            total.1 += ignored;
                            println!(
                                "{seconds:7.1} s {used:7.1} s  {passed:4} passed  {}",
                                job.name
                            );
                        }
                        Ok(None) => {
                            println!("{seconds:7.1} s {used:7.1} s  all passed  {}", job.name)
                        }
                        Err(reason) => {
                            println!(
                                "{seconds:7.1} s {used:7.1} s  FAILED  {}\n{reason}",
                                job.name
                            );
                            total.2.push(job.name);
                        }
                    }
                }
            });
        }
    });
    let (passed, ignored, failed) = total.into_inner().map_err(|_| "a test runner panicked")?;
    println!("(seconds by the clock, and of processors)");
    println!("{passed} passed, {} failed, {ignored} skipped", failed.len());
    match failed.is_empty() {
        true => Ok(()),
        false => Err(format!("these failed: {}", failed.join(", "))),
    }
}

struct Counts {
    passed: usize,
    ignored: usize,
}

fn run_one(job: &mut Job, logs: &Path, used: &mut f64) -> Result<Option<Counts>, String> {
    // Parallel tasks run tests themselves, and two programs of one crate may have the same name.
    static LOGS: AtomicUsize = AtomicUsize::new(0);
    let (this, number) = (std::process::id(), LOGS.fetch_add(1, Ordering::Relaxed));
    let log = logs.join(format!("{}-{this}-{number}.txt", job.name.replace(' ', "-")));
    // To a file, because a process that a test leaves behind may keep a pipe open forever.
    let file = File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let same = file.try_clone().map_err(|error| error.to_string())?;
    let command = job.command.stdin(Stdio::null()).stdout(file).stderr(same);
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", job.name))?;
    let start = Instant::now();
    let status = loop {
        // Its processor time can be read until it has been reaped.
        *used = processor_seconds(child.id()).unwrap_or(*used);
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break Some(status),
            None if start.elapsed() > TOO_LONG => {
                // It may have ended at this moment.
                child.kill().and_then(|()| child.wait()).ok();
                break None;
            }
            None => thread::sleep(BETWEEN_LOOKS),
        }
    };
    let mut said = Vec::new();
    let read = File::open(&log).and_then(|mut file| file.read_to_end(&mut said));
    read.map_err(|error| format!("{}: {error}", log.display()))?;
    std::fs::remove_file(&log).map_err(|error| format!("{}: {error}", log.display()))?;
    let said = String::from_utf8_lossy(&said);
    match status {
        Some(status) if status.success() && !job.counts => Ok(None),
        Some(status) if status.success() => count(&said).map(Some).ok_or_else(|| said.into_owned()),
        Some(status) => Err(format!("{said}\n{status}")),
        None => Err(format!("{said}\ndoes not end: killed after {TOO_LONG:?}")),
    }
}

/// The processor time of a process and of its children that have ended, in seconds.
fn processor_seconds(pid: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may contain anything. After it comes field 3, the state; utime, stime, cutime and cstime are 14 to 17.
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(4);
    Some(ticks.filter_map(|number| number.parse::<f64>().ok()).sum::<f64>() / 100.0)
}

/// The counts in the last line of a test program.
fn count(said: &str) -> Option<Counts> {
    let line = said.lines().rev().find(|line| line.starts_with("test result: ok."))?;
    let number = |word: &str| {
        let (before, _) = line.split_once(word)?;
        before.trim_end().rsplit(' ').next()?.parse().ok()
    };
    Some(Counts { passed: number("passed")?, ignored: number("ignored")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = r#"{"reason":"compiler-artifact","package_id":"x","manifest_path":"/r/crates/bactrian/Cargo.toml","target":{"kind":["test"],"name":"record"},"profile":{"opt_level":"0","test":true},"features":[],"executable":"/t/debug/deps/record-0123456789abcdef","fresh":false}"#;

    #[test]
    fn test_programs_are_found_in_what_cargo_says() {
        let found = parse(LINE).expect("a test program");
        assert_eq!(found.name, "bactrian record");
        assert_eq!(found.folder, Path::new("/r/crates/bactrian"));
        assert_eq!(parse(&LINE.replace("\"test\":true", "\"test\":false")), None);
        assert_eq!(parse(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn test_counts_are_in_the_last_line() {
        let said = "test a ... ok\n\ntest result: ok. 12 passed; 0 failed; 3 ignored; 0 measured; 0 filtered out; finished in 0.1s\n";
        let Counts { passed, ignored } = count(said).expect("counts");
        assert_eq!((passed, ignored), (12, 3));
        assert!(count("Segmentation fault").is_none());
    }
}
