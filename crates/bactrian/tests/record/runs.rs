//! Runs of a program, plain and observed, and what can be seen of them from outside.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::Read;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A directory for files that tests write.
fn cache() -> PathBuf {
    bactrian_fixtures::scratch("record")
}

/// Far longer than any program here takes.
pub const TOO_LONG: Duration = Duration::from_secs(120);

/// The visible results of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
    /// Exit status or signal.
    pub end: String,
    /// The files in its working directory, with contents.
    pub files: BTreeMap<PathBuf, Vec<u8>>,
}

/// A program with everything that it is started with.
#[derive(Clone, Debug)]
pub struct Run {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// What `sh` does before it executes the program, such as setting a limit.
    pub first: &'static str,
    pub variables: Vec<(&'static str, OsString)>,
    /// Prepares the working directory before the run.
    pub prepare: fn(&Path),
    /// Names in the working directory that are ignored.
    pub ignored: &'static [&'static str],
}

/// Where runs happen: all in one working directory, which is recreated for each, so that a program cannot
/// distinguish them by path. Traces are kept beside it.
pub struct Place {
    root: TempDir,
}

impl Run {
    pub fn new(program: impl Into<PathBuf>, arguments: &[&str]) -> Run {
        Run {
            program: program.into(),
            arguments: arguments.iter().map(OsString::from).collect(),
            first: "",
            variables: Vec::new(),
            prepare: |_| {},
            ignored: &[],
        }
    }

    /// Adds an environment variable.
    pub fn with(mut self, name: &'static str, value: impl Into<OsString>) -> Run {
        self.variables.push((name, value.into()));
        self
    }

    /// The same run, recorded to `trace`.
    pub fn observed(&self, options: &[&str], trace: &Path) -> Run {
        let mut arguments: Vec<OsString> = vec!["record".into(), "--quiet".into(), "-o".into()];
        arguments.push(trace.into());
        arguments.extend(options.iter().map(OsString::from));
        arguments.push("--".into());
        arguments.push(self.program.clone().into());
        arguments.extend(self.arguments.iter().cloned());
        Run { program: env!("CARGO_BIN_EXE_bactrian").into(), arguments, ..self.clone() }
    }

    fn command(&self, folder: &Path) -> Command {
        // Independent of the user's environment and of the signals that the test's parent ignores. Variables
        // are for the program, not for its starter.
        let mut command = Command::new("env");
        command.arg("--default-signal");
        for (name, value) in &self.variables {
            let mut variable = OsString::from(name);
            variable.push("=");
            variable.push(value);
            command.arg(variable);
        }
        if !self.first.is_empty() {
            command.args(["sh", "-c", &format!("{}\nexec \"$@\"", self.first), "sh"]);
        }
        command.arg(&self.program).args(&self.arguments);
        command.current_dir(folder).stdin(Stdio::null());
        // Its own process group, so that it can be killed with all its children.
        command.process_group(0);
        command.env_clear();
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", cache());
        command
    }
}

impl Place {
    pub fn new() -> Place {
        let root = tempfile::tempdir_in(cache()).expect("a folder for a test");
        fs::create_dir(root.path().join("traces")).expect("a folder in it");
        Place { root }
    }

    pub fn work(&self) -> PathBuf {
        self.root.path().join("work")
    }

    pub fn traces(&self) -> PathBuf {
        self.root.path().join("traces")
    }

    /// A path for a trace.
    pub fn trace(&self, name: &str) -> PathBuf {
        self.traces().join(name)
    }

    /// Starts a program in a fresh working directory.
    pub fn start(&self, run: &Run) -> Child {
        // It does not exist the first time.
        fs::remove_dir_all(self.work()).ok();
        fs::create_dir(self.work()).expect("a working folder");
        (run.prepare)(&self.work());
        let mut command = run.command(&self.work());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap_or_else(|error| panic!("{}: {error}", run.program.display()))
    }

    /// Runs a program to its end.
    pub fn run(&self, run: &Run) -> Seen {
        let mut seen = finish(self.start(run), &self.work());
        seen.files.retain(|path, _| !run.ignored.iter().any(|name| path.starts_with(name)));
        seen
    }
}

/// Waits for the end of a program that was started.
pub fn finish(mut child: Child, work: &Path) -> Seen {
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());
    let status = wait(&mut child);
    Seen {
        stdout: stdout.join().expect("a reader ends"),
        stderr: stderr.join().expect("a reader ends"),
        end: show(status),
        files: files(work),
    }
}

/// Reads a pipe to its end in the background.
fn collect<R: Read + Send + 'static>(pipe: Option<R>) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        pipe.map(|mut pipe| pipe.read_to_end(&mut bytes));
        bytes
    })
}

fn wait(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().expect("our child") {
            return status;
        }
        if start.elapsed() > TOO_LONG {
            signal("KILL", &format!("-{}", child.id()));
            panic!("does not end");
        }
        thread::sleep(Duration::from_millis(2));
    }
}

/// Sends a signal to a process, or to a group in `kill`'s notation.
pub fn signal(name: &str, target: &str) {
    // The shell's builtin: not every machine has a program for it. The target may just have exited.
    let mut shell = Command::new("sh");
    shell.args(["-c", "kill -s \"$0\" -- \"$1\"", name, target]).stderr(Stdio::null());
    shell.status().expect("a shell");
}

fn show(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => format!("{status}"),
    }
}

fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).expect("a folder of the run").flatten() {
            let path = entry.path();
            let name = path.strip_prefix(folder).expect("within it").to_owned();
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(path);
                found.insert(name, b"a folder".to_vec());
            } else {
                found.insert(name, fs::read(&path).unwrap_or_default());
            }
        }
    }
    found
}

/// The differences between two runs, in words.
pub fn difference(plain: &Seen, observed: &Seen) -> String {
    let mut what = String::new();
    let mut compare = |name: &str, plain: &[u8], observed: &[u8]| {
        if plain != observed {
            let [plain, observed] = [plain, observed].map(excerpt);
            // Writing to a string cannot fail.
            writeln!(what, "{name}\n  plain:    {plain}\n  observed: {observed}").ok();
        }
    };
    compare("the end", plain.end.as_bytes(), observed.end.as_bytes());
    compare("standard output", &plain.stdout, &observed.stdout);
    compare("standard error", &plain.stderr, &observed.stderr);
    let names = plain.files.keys().chain(observed.files.keys());
    for name in names.collect::<std::collections::BTreeSet<_>>() {
        let [before, after] = [plain, observed].map(|seen| seen.files.get(name));
        let none = b"not there".to_vec();
        let label = format!("file {}", name.display());
        compare(&label, before.unwrap_or(&none), after.unwrap_or(&none));
    }
    what
}

fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.char_indices().nth(1_500) {
        Some((at, _)) => format!("{:?} .. ({} bytes)", &text[..at], bytes.len()),
        None => format!("{text:?}"),
    }
}

/// A path as an argument.
pub fn text(path: &Path) -> &str {
    OsStr::to_str(path.as_os_str()).expect("paths of tests are UTF-8")
}
