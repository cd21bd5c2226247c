//! The ways to observe a program, each as a user would type it.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::subjects::Subject;
use crate::command::root;

/// The result of an observation.
pub enum Answer {
    Works,
    /// It was refused, with this text.
    Refused(String),
    /// Not applicable: the program does not run long enough, or there is no snapshot to look at.
    NotAsked,
    /// It failed.
    Fault(String),
}

/// A way to observe a program.
pub struct Observation {
    pub name: &'static str,
    observe: fn(&Attempt<'_>) -> Result<Answer, String>,
}

pub const OBSERVATIONS: [Observation; 7] = [
    Observation { name: "record", observe: |attempt| attempt.record() },
    Observation { name: "record PID", observe: |attempt| attempt.record_running() },
    Observation { name: "snapshots", observe: |attempt| attempt.snapshots() },
    Observation { name: "snapshot PID", observe: |attempt| attempt.attach() },
    Observation { name: "core", observe: |attempt| attempt.core() },
    Observation { name: "types", observe: |attempt| attempt.types() },
    Observation { name: "live", observe: |attempt| attempt.live() },
];

/// The exit status of a refusal.
const REFUSED: i32 = 4;
/// A program is considered at work if it sleeps this many times in a row, or if it still runs after this time.
const ASLEEP: u32 = 10;
const AT_WORK: Duration = Duration::from_secs(3);

/// Observes a program in every way.
pub fn observe(subject: &Subject, folder: &Path) -> [(&'static str, Answer); OBSERVATIONS.len()] {
    let attempt = Attempt { subject, place: folder.join("observed") };
    // Left by another subject; absent at first.
    fs::remove_dir_all(&attempt.place).ok();
    let made = fs::create_dir_all(&attempt.place).map_err(|error| error.to_string());
    OBSERVATIONS.map(|observation| {
        let answer = made.clone().and_then(|()| (observation.observe)(&attempt));
        (observation.name, answer.unwrap_or_else(Answer::Fault))
    })
}

struct Attempt<'a> {
    subject: &'a Subject,
    /// Where files go.
    place: PathBuf,
}

/// A process that is killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        self.0.kill().and_then(|()| self.0.wait()).ok();
    }
}

impl Attempt<'_> {
    fn record(&self) -> Result<Answer, String> {
        let trace = self.file("run.ctf");
        self.has_samples(self.started(&["record", "--rate", "1e-3", "-o", &trace])?, &trace)
    }

    fn record_running(&self) -> Result<Answer, String> {
        let trace = self.file("running.ctf");
        let options = ["record", "--rate", "1e-3", "--for", "0.5", "-o", &trace];
        match self.with_process(|pid| self.bactrian(&options, &[pid]))? {
            Some(said) => self.has_samples(said, &trace),
            None => Ok(Answer::NotAsked),
        }
    }

    fn snapshots(&self) -> Result<Answer, String> {
        let name = self.file("exit");
        let said = self.started(&["record", "--snapshots", "exit", "--no-trace", "-o", &name])?;
        self.is_sound(said, &self.file("exit.1.heap"))
    }

    fn attach(&self) -> Result<Answer, String> {
        let heap = self.file("attached.heap");
        match self.with_process(|pid| self.bactrian(&["snapshot", "-o", &heap], &[pid]))? {
            Some(said) => self.is_sound(said, &heap),
            None => Ok(Answer::NotAsked),
        }
    }

    fn core(&self) -> Result<Answer, String> {
        let (prefix, heap) = (self.file("core"), self.file("core.heap"));
        let gcore = |pid: &str| {
            let made =
                Command::new("gcore").args(["-o", &prefix, pid]).stdin(Stdio::null()).output();
            made.map_err(|error| format!("gcore: {error}"))?;
            let program = fs::read_link(format!("/proc/{pid}/exe"));
            let program = program.map_err(|error| format!("process {pid}: {error}"))?;
            Ok((format!("{prefix}.{pid}"), program.display().to_string()))
        };
        let Some((core, program)) = self.with_process(gcore)? else { return Ok(Answer::NotAsked) };
        let said =
            self.bactrian(&["snapshot", "-o", &heap, "--core", &core, "--exe", &program], &[]);
        // Core files are large.
        fs::remove_file(&core).ok();
        self.is_sound(said?, &heap)
    }

    fn types(&self) -> Result<Answer, String> {
        let heaps = ["attached.heap", "exit.1.heap"].map(|name| self.file(name));
        let Some(heap) = heaps.iter().find(|heap| Path::new(heap).is_file()) else {
            return Ok(Answer::NotAsked);
        };
        let Some(own_type) = self.subject.own_type else { return self.doctor("types") };
        let said = self.bactrian(&["heap", "types", heap], &[])?;
        let text = String::from_utf8_lossy(&said.stdout);
        let is_named = text.lines().any(|line| line.split_whitespace().last() == Some(own_type));
        match self.doctor("types")? {
            _ if is_named => Ok(Answer::Works),
            Answer::Works => Err(format!("no block is called {own_type}: {text:.600}")),
            answer => Ok(answer),
        }
    }

    fn live(&self) -> Result<Answer, String> {
        let watch = |pid: &str| self.bactrian(&["live", "--json", "--for", "1s"], &[pid]);
        let Some(said) = self.with_process(watch)? else { return Ok(Answer::NotAsked) };
        if let Some(answer) = self.refusal(&said) {
            return Ok(answer);
        }
        let text = String::from_utf8_lossy(&said.stdout);
        let rest = text.split_once("runtime.minor_collections").map(|(_, rest)| rest);
        let observer = rest.and_then(|rest| rest.split("\"name\"").next()).unwrap_or_default();
        let value = observer.split_once("\"value\": ").map(|(_, value)| value.trim());
        match value {
            Some(value) if observer.contains("\"failed\"") => {
                let words = value.split('"').nth(1).unwrap_or_default();
                Ok(Answer::Refused(self.without_places(words)))
            }
            Some(_) => Ok(Answer::Works),
            None => Err(format!("it has no numbers of the collector: {}", words(&said))),
        }
    }

    /// What doctor says about one subject.
    fn doctor(&self, what: &str) -> Result<Answer, String> {
        let said = self.bactrian(&["doctor"], &[&self.subject.once[0]])?;
        let text = String::from_utf8_lossy(&said.stdout);
        let line = text.lines().find_map(|line| line.strip_prefix(what)).unwrap_or_default();
        match line.trim().split_once(": ") {
            Some(("no", why)) => Ok(Answer::Refused(self.without_places(why))),
            Some(("yes", _)) => Ok(Answer::Works),
            _ => Err(format!("doctor says nothing of {what}")),
        }
    }

    fn bactrian(&self, options: &[&str], rest: &[&str]) -> Result<Output, String> {
        self.command(options, rest).output().map_err(|error| format!("bactrian: {error}"))
    }

    fn command(&self, options: &[&str], rest: &[&str]) -> Command {
        let mut command = Command::new(root().join("target/quick/bactrian"));
        command.args(options).args(rest).stdin(Stdio::null());
        if let Some(compiler) = &self.subject.compiler {
            let path = std::env::var_os("PATH").unwrap_or_default();
            let folders = std::iter::once(compiler.clone()).chain(std::env::split_paths(&path));
            command.env("PATH", std::env::join_paths(folders).unwrap_or(path));
        }
        command
    }

    fn file(&self, name: &str) -> String {
        self.place.join(name).display().to_string()
    }

    /// Runs the program to its end under bactrian.
    fn started(&self, options: &[&str]) -> Result<Output, String> {
        let words: Vec<&str> = self.subject.once.iter().map(String::as_str).collect();
        let mut command = self.command(&[options, &["--"]].concat(), &words);
        command
            .current_dir(&self.subject.folder)
            .env("PWD", &self.subject.folder)
            .output()
            .map_err(|error| format!("bactrian: {error}"))
    }

    /// Does something to a process that has started its work; None if it does not run long enough.
    fn with_process<T>(
        &self,
        act: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        let Some((program, arguments)) = self.subject.on.split_first() else { return Ok(None) };
        let mut command = Command::new(program);
        command.args(arguments).current_dir(&self.subject.folder);
        // Some programs need it.
        command.env("PWD", &self.subject.folder);
        // Most of them wait for their input, which never ends.
        let stdout = if self.subject.says_ready { Stdio::piped() } else { Stdio::null() };
        command.stdin(Stdio::piped()).stdout(stdout).stderr(Stdio::null());
        let child = command.spawn().map_err(|error| format!("{program}: {error}"))?;
        let mut running = Running(child);
        let pid = running.0.id().to_string();
        match running.0.stdout.as_mut() {
            Some(stdout) => {
                let said = BufReader::new(stdout).read_line(&mut String::new());
                said.map_err(|error| format!("{program}: {error}"))?;
            }
            None => until_at_work(&pid),
        }
        let done = act(&pid)?;
        match running.0.try_wait() {
            Ok(None) => Ok(Some(done)),
            Ok(Some(status)) => Err(format!("the program has ended: {status}")),
            Err(error) => Err(format!("{program}: {error}")),
        }
    }

    /// Whether a trace has samples.
    fn has_samples(&self, said: Output, trace: &str) -> Result<Answer, String> {
        if let Some(answer) = self.refusal(&said) {
            return Ok(answer);
        }
        let info = self.bactrian(&["info", "--json", trace], &[])?;
        let info = String::from_utf8_lossy(&info.stdout);
        let count = info.split_once("\"sampled_allocations\": ").and_then(|(_, rest)| {
            rest.split(|c: char| !c.is_ascii_digit()).next()?.parse::<u64>().ok()
        });
        match count {
            Some(1..) => Ok(Answer::Works),
            // Most programs of others wait for their input. Their recording was started and ended as for any other.
            None if words(&said).contains("was idle all the time") => Ok(Answer::Works),
            _ => Err(format!("no samples: {}", words(&said))),
        }
    }

    /// Whether a snapshot is sound.
    fn is_sound(&self, said: Output, heap: &str) -> Result<Answer, String> {
        if let Some(answer) = self.refusal(&said) {
            return Ok(answer);
        }
        let check = self.bactrian(&["check", heap], &[])?;
        match check.status.success() {
            true => Ok(Answer::Works),
            false => Err(format!("{} {}", words(&said), words(&check))),
        }
    }

    fn refusal(&self, said: &Output) -> Option<Answer> {
        let is_refused = said.status.code() == Some(REFUSED);
        is_refused.then(|| Answer::Refused(self.without_places(&words(said))))
    }

    /// Removes paths and process ids, so that the text is the same in every run.
    fn without_places(&self, words: &str) -> String {
        let program = &self.subject.once[0];
        let words = words.replace("bactrian: ", "").replace(&format!("{program}: "), "");
        let words = words.replace(program.as_str(), "PROGRAM");
        let words = words.replace(&format!("{}/", self.place.display()), "");
        let numbered = words.split(' ').map(|word| {
            let bare = word.trim_start_matches("core.").trim_end_matches([':', ',', '.', ';']);
            let is_number = bare.len() > 2 && bare.bytes().all(|byte| byte.is_ascii_digit());
            if is_number { word.replace(bare, "PID") } else { word.to_owned() }
        });
        numbered.collect::<Vec<_>>().join(" ")
    }
}

fn until_at_work(pid: &str) {
    let start = Instant::now();
    let mut asleep = 0;
    while asleep < ASLEEP && start.elapsed() < AT_WORK {
        thread::sleep(Duration::from_millis(50));
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let sleeps = stat.rsplit_once(") ").is_some_and(|(_, state)| state.starts_with('S'));
        asleep = if sleeps { asleep + 1 } else { 0 };
    }
}

/// Standard error as a single line.
fn words(said: &Output) -> String {
    String::from_utf8_lossy(&said.stderr).split_whitespace().collect::<Vec<_>>().join(" ")
}
