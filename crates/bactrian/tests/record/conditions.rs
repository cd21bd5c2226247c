//! One table: programs × ways to observe them × conditions under which they run. Output and exit status are
//! those of the plain program under the same condition, and whatever could not be recorded is reported.
//!
//! The quick set has every condition with both compilers. It omits combining each condition with each
//! program, and recording without snapshots.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_fixtures::{BOTH, Compiler, Recipe, Variant, is_root, program, whole_table};

use crate::runs::{Place, Run, Seen, difference, finish, signal, text};
use crate::traces::{info, is_clean, state};

/// Stands for the program that sets up conditions.
const START: &str = "{start}";
/// Stands for an empty directory.
const FOLDER: &str = "{folder}";
/// Stands for the directory of traces.
const TRACES: &str = "{traces}";
/// An unused user id.
const STRANGER: &str = "12345";

/// A condition under which programs run.
#[derive(Clone, Copy)]
struct Condition {
    name: &'static str,
    /// A command that starts another under this condition.
    starter: &'static [&'static str],
    /// Whether only the program is started under the condition, not `record`.
    is_inside: bool,
    /// What the program does to itself.
    itself: &'static str,
    /// The work of the programs that it applies to.
    works: &'static [&'static str],
    /// Who can test it.
    by: By,
    /// Standard output is closed.
    is_silent: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Anybody,
    Root,
    /// Not root, but root is needed to become this user.
    Stranger,
}

const NOTHING: Condition = Condition {
    name: "nothing",
    starter: &[],
    is_inside: false,
    itself: "nothing",
    works: &["allocates", "threads", "family"],
    by: By::Anybody,
    is_silent: false,
};

const fn around(name: &'static str, starter: &'static [&'static str]) -> Condition {
    Condition { name, starter, ..NOTHING }
}

/// Only the program is started under it; `record` follows the program as a child.
const fn within(name: &'static str, starter: &'static [&'static str]) -> Condition {
    Condition { name, starter, is_inside: true, ..NOTHING }
}

const fn itself(name: &'static str, itself: &'static str) -> Condition {
    Condition { name, itself, ..NOTHING }
}

/// A command that mounts something in a private namespace.
const fn mounts(name: &'static str, starter: &'static [&'static str]) -> Condition {
    Condition { by: By::Root, ..around(name, starter) }
}

const fn by_stranger(name: &'static str, starter: &'static [&'static str]) -> Condition {
    Condition { by: By::Stranger, works: &["allocates"], ..around(name, starter) }
}

/// Work that creates no processes.
const ALONE: &[&str] = &["allocates", "threads"];

const FILTERS: &[Condition] = &[
    NOTHING,
    Condition { works: ALONE, ..itself("confines itself by libc", "confines") },
    Condition { works: ALONE, ..itself("confines itself unheard", "confines-unheard") },
    Condition { works: ALONE, ..around("copies kill", &[START, "copies-kill"]) },
    Condition { works: ALONE, ..within("copies kill the program", &[START, "copies-kill"]) },
    around("copies fail", &[START, "copies-fail"]),
    within("copies of the program fail", &[START, "copies-fail"]),
    around("unusual calls fail", &[START, "unusual-fails"]),
    within("unusual calls of the program fail", &[START, "unusual-fails"]),
];

const SURROUNDINGS: &[Condition] = &[
    mounts(
        "no /proc",
        &["unshare", "--mount", "sh", "-c", "mount -t tmpfs none /proc && exec \"$@\"", "sh"],
    ),
    mounts(
        "another root",
        &[
            "unshare",
            "--mount",
            "sh",
            "-c",
            "mount --rbind / \"$0\" && exec chroot \"$0\" \"$@\"",
            FOLDER,
        ],
    ),
    Condition { by: By::Root, works: ALONE, ..itself("changes its root", FOLDER) },
    Condition { by: By::Root, ..itself("becomes another user", "drops") },
    mounts("PID namespace", &["unshare", "--pid", "--fork", "--kill-child"]),
    mounts(
        "PID namespace with its /proc",
        &["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"],
    ),
    Condition {
        by: By::Root,
        ..within("PID namespace of the program", &["unshare", "--pid", "--fork", "--kill-child"])
    },
    around("adopted", &[START, "adopted"]),
    itself("adopts", "adopts"),
    around("traced", &[START, "traced"]),
    within("program is traced", &[START, "traced"]),
    around("traced with its children", &["strace", "-f", "-qq", "-o", "/dev/null", "--"]),
];

const RESOURCES: &[Condition] = &[
    around("a thread before OCaml", &["env", "CONDITIONS_EARLY_THREAD=1"]),
    around("SIGCHLD is ignored", &["env", "--ignore-signal=CHLD"]),
    itself("ignores SIGCHLD", "ignores-children"),
    around("no standard input", &["sh", "-c", "exec <&-; exec \"$@\"", "sh"]),
    Condition {
        is_silent: true,
        ..around("no standard output", &["sh", "-c", "exec >&-; exec \"$@\"", "sh"])
    },
    around("no standard error", &["sh", "-c", "exec 2>&-; exec \"$@\"", "sh"]),
    Condition {
        is_silent: true,
        ..around("no standard streams", &["sh", "-c", "exec <&- >&- 2>&-; exec \"$@\"", "sh"])
    },
    around("small files", &["prlimit", "--fsize=4096", "--"]),
    by_stranger("1 process", &["prlimit", "--nproc=1", "--"]),
    by_stranger("2 processes", &["prlimit", "--nproc=2", "--"]),
    by_stranger("3 processes", &["prlimit", "--nproc=3", "--"]),
    by_stranger("4 processes", &["prlimit", "--nproc=4", "--"]),
    mounts(
        "full disk",
        &[
            "unshare",
            "--mount",
            "sh",
            "-c",
            "mount -t tmpfs -o size=8k none \"$0\" && exec \"$@\"",
            TRACES,
        ],
    ),
    mounts(
        "no shared memory",
        &[
            "unshare",
            "--mount",
            "sh",
            "-c",
            "mount -t tmpfs -o size=4k none /dev/shm && exec \"$@\"",
            "sh",
        ],
    ),
];

/// How a program is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Observation {
    Record,
    RecordWithSnapshots,
    OnlySnapshots,
    Watch,
    Attach,
}

impl Observation {
    const ALL: &[Observation] = &[
        Observation::Record,
        Observation::RecordWithSnapshots,
        Observation::OnlySnapshots,
        Observation::Watch,
        Observation::Attach,
    ];
    /// The ways that interfere most with a program.
    const QUICK: &[Observation] = &[Observation::RecordWithSnapshots, Observation::Attach];
    /// Observing with `live` makes the runtime write files, which filters may forbid.
    const QUICK_UNDER_FILTERS: &[Observation] =
        &[Observation::RecordWithSnapshots, Observation::Watch, Observation::Attach];

    fn options(self) -> &'static [&'static str] {
        match self {
            Observation::Record => &["--rate", "1e-2"],
            Observation::RecordWithSnapshots => &["--rate", "1e-2", "--snapshots", "major,exit"],
            Observation::OnlySnapshots => &["--no-trace", "--snapshots", "major,exit"],
            Observation::Watch | Observation::Attach => &[],
        }
    }
}

fn starter() -> PathBuf {
    let recipe = Recipe::new("conditions_start").source("conditions_start.c");
    recipe.step("cc", "-O1 conditions_start.c -o conditions_start").build().join("conditions_start")
}

impl Condition {
    /// Replaces a placeholder.
    fn word(&self, word: &str, place: &Place) -> String {
        match word {
            START => text(&starter()).to_owned(),
            FOLDER => text(&place.trace("folder")).to_owned(),
            TRACES => text(&place.trace("traces")).to_owned(),
            other => other.to_owned(),
        }
    }

    /// A run under this condition.
    fn wrap(&self, run: &Run, place: &Place) -> Run {
        let mut words: Vec<String> = Vec::new();
        if self.by == By::Stranger {
            let become_it = ["setpriv", "--reuid", STRANGER, "--regid", STRANGER, "--clear-groups"];
            words.extend(become_it.map(str::to_owned));
        }
        words.extend(self.starter.iter().map(|word| self.word(word, place)));
        let Some((first, rest)) = words.split_first() else { return run.clone() };
        let mut arguments: Vec<_> = rest.iter().map(Into::into).collect();
        arguments.push(run.program.clone().into());
        arguments.extend(run.arguments.iter().cloned());
        Run { program: first.into(), arguments, ..run.clone() }
    }

    /// The program, plain.
    fn plain(&self, executable: &Path, work: &str, waits: bool, place: &Place) -> Run {
        let itself = self.word(self.itself, place);
        let mut arguments = vec![work, &itself];
        arguments.extend(waits.then_some("wait"));
        // A directory in which a stranger may write, too.
        Run::new(executable, &arguments).with("XDG_CACHE_HOME", place.trace("cache"))
    }

    /// The program under `record`.
    fn recorded(&self, run: &Run, observation: Observation, place: &Place) -> Run {
        let trace = place.trace("traces/trace.ctf");
        let quiet = |mut run: Run| {
            // What is not recorded must be reported.
            run.arguments.retain(|word| word != "--quiet");
            run
        };
        match self.is_inside {
            true => {
                let options = [observation.options(), &["--children", "follow"]].concat();
                quiet(self.wrap(run, place).observed(&options, &trace))
            }
            false => self.wrap(&quiet(run.observed(observation.options(), &trace)), place),
        }
    }
}

/// Observes the program with `live` until it ends. `live` prints its data after the program's own output.
fn watch(condition: &Condition, run: &Run, plain: &Seen, place: &Place) -> Result<String, String> {
    let watched = |run: Run| {
        let words = ["live", "--json", "--rate", "1e-2", "--for", "60s", "--"];
        let mut arguments: Vec<_> = words.iter().map(Into::into).collect();
        arguments.push(run.program.clone().into());
        arguments.extend(run.arguments.iter().cloned());
        Run { program: env!("CARGO_BIN_EXE_bactrian").into(), arguments, ..run }
    };
    if condition.is_inside {
        return Ok("what is no OCaml program is not watched".to_owned());
    }
    let mut seen = place.run(&condition.wrap(&watched(run.clone()), place));
    let told = match seen.stdout.starts_with(&plain.stdout) {
        true => seen.stdout.split_off(plain.stdout.len()),
        false => Vec::new(),
    };
    let (said, others) = ours(&seen);
    seen.stderr = others;
    let is_refused = said.iter().any(|line| line.contains("cannot start"));
    if is_refused && seen.stdout.is_empty() && seen.stderr.is_empty() {
        return Ok(format!("refused: {}", said.concat()));
    }
    match difference(plain, &seen) {
        what if what.is_empty() => Ok(format!("{} bytes were told", told.len())),
        what => Err(format!("{what}said: {}", said.concat())),
    }
}

/// Splits standard error into our lines and the others.
fn ours(seen: &Seen) -> (Vec<String>, Vec<u8>) {
    let is_ours = |line: &&[u8]| line.starts_with(b"bactrian:") || line.starts_with(b"warning:");
    let lines = seen.stderr.split_inclusive(|&byte| byte == b'\n');
    let (ours, others): (Vec<_>, Vec<_>) = lines.partition(is_ours);
    (ours.iter().map(|line| String::from_utf8_lossy(line).into_owned()).collect(), others.concat())
}

/// The result of recording; an error if something is missing without a message.
fn evidence(observation: Observation, said: &[String], place: &Place) -> Result<String, String> {
    let folder = place.trace("traces");
    let info = info(&folder.join("trace.ctf"), &[]).ok();
    let trace = info.is_some();
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten();
    let is_snapshot =
        |entry: &fs::DirEntry| entry.path().extension().is_some_and(|it| it == "heap");
    let snapshots = entries.filter(is_snapshot).count();
    let is_told = |word: &str| said.iter().any(|line| line.contains(word));
    if observation != Observation::OnlySnapshots
        && !trace
        && !is_told("record")
        && !is_told("trace")
    {
        return Err("there is no trace, and nobody says why".to_owned());
    }
    if let Some(info) = &info
        && !is_told("lost")
    {
        is_clean(info)?;
        if state(info) != "ended" {
            return Err(format!("the recording is {}", state(info)));
        }
    }
    if observation != Observation::Record && snapshots == 0 && !is_told("snapshot") {
        return Err("there is no snapshot, and nobody says why".to_owned());
    }
    // Each of its processes could print the message on the program's standard error before it runs.
    let by_agents = said
        .iter()
        .filter(|line| line.contains("not recording:") || line.contains("no snapshots:"));
    match by_agents.count() {
        0 | 1 => Ok(format!("trace: {trace}, snapshots: {snapshots}")),
        _ => Err("the program's children speak on standard error".to_owned()),
    }
}

/// A cell of the table, other than attaching: the result, or what is wrong.
fn record(
    condition: &Condition,
    observation: Observation,
    run: &Run,
    plain: &Seen,
    place: &Place,
) -> Result<String, String> {
    let mut observed = place.run(&condition.recorded(run, observation, place));
    let (said, others) = ours(&observed);
    observed.stderr = others;
    let what = difference(plain, &observed);
    if !what.is_empty() {
        return Err(format!("{what}said: {}", said.concat()));
    }
    // Where standard error is closed, nothing can be reported, and a mounted filesystem is gone with its
    // namespace.
    let is_unheard =
        condition.name.contains("standard error") || condition.name.contains("streams");
    if is_unheard || condition.name == "full disk" {
        return Ok("the same".to_owned());
    }
    evidence(observation, &said, place).map_err(|what| format!("{what}: {said:?}"))
}

/// The process that runs the program.
fn process_of(child: &Child) -> Option<u32> {
    let mut found = vec![child.id()];
    let mut next = 0;
    while let Some(process) = found.get(next) {
        let name = fs::read_to_string(format!("/proc/{process}/comm")).unwrap_or_default();
        if name == "conditions\n" {
            return Some(*process);
        }
        let children = fs::read_to_string(format!("/proc/{process}/task/{process}/children"));
        let children = children.unwrap_or_default();
        found.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
        next += 1;
    }
    None
}

/// Attaches to the program while it waits, and lets it continue.
fn attach(condition: &Condition, run: &Run, plain: &Seen, place: &Place) -> Result<String, String> {
    let mut child = place.start(&condition.wrap(run, place));
    // Read as it arrives, to know when the program is ready.
    let heard = Arc::new(Mutex::new(Vec::new()));
    let mut pipe = child.stdout.take().expect("a pipe");
    let reader = thread::spawn({
        let heard = Arc::clone(&heard);
        move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                heard.lock().expect("no panic").extend_from_slice(&buffer[..count]);
            }
        }
    });
    let start = Instant::now();
    let patience = Duration::from_millis(if condition.is_silent { 500 } else { 20_000 });
    let is_ready = || heard.lock().expect("no panic").ends_with(b"ready\n");
    while !is_ready() && start.elapsed() < patience {
        thread::sleep(Duration::from_millis(2));
    }
    let came = match process_of(&child) {
        Some(process) => {
            let came = [0, 1].map(|number| take_snapshot(process, number, place));
            signal("USR1", &process.to_string());
            came.into_iter().collect::<Result<Vec<_>, _>>()
        }
        None => Err("there is no process".to_owned()),
    };
    let mut observed = finish(child, &place.work());
    reader.join().expect("it ends");
    observed.stdout.clone_from(&heard.lock().expect("no panic"));
    match difference(plain, &observed).as_str() {
        "" => came.map(|came| came.join(", ")),
        what => Err(format!("{what}{came:?}")),
    }
}

/// Takes a snapshot of a process: the result, or what is wrong.
fn take_snapshot(process: u32, number: u32, place: &Place) -> Result<String, String> {
    let file = place.trace(&format!("attached.{number}.heap"));
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(["snapshot", &process.to_string(), "-o"]).arg(&file).env("HOME", place.traces());
    let output = command.output().expect("bactrian starts");
    let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    match output.status.code() {
        Some(0) if file.is_file() => Ok("attached".to_owned()),
        Some(1..=9) if said.starts_with("bactrian:") && !file.exists() => Ok(said),
        _ => Err(format!("{}: {said}", output.status)),
    }
}

/// Whether a condition can be tested here.
fn is_possible(condition: &Condition) -> bool {
    let first = condition.starter.first().copied().unwrap_or(START);
    let is_there = first == START || Command::new(first).arg("--version").output().is_ok();
    let is_possible = is_there && (condition.by == By::Anybody || is_root());
    if !is_possible {
        // Bypasses the test's output capture, so that nobody thinks that it ran.
        let what = format!("NOT TESTED: {}: it needs root, or {first}\n", condition.name);
        std::io::stderr().write_all(what.as_bytes()).ok();
    }
    is_possible
}

/// A place for the cells of a condition, writable by the stranger if one runs it.
fn place_for(condition: &Condition) -> Place {
    let place = Place::new();
    for name in ["folder", "traces", "cache"] {
        fs::create_dir(place.trace(name)).expect("room");
    }
    // The file size limit is smaller than the agent, so the agent is installed before.
    let put_down = Run::new(env!("CARGO_BIN_EXE_bactrian"), &["agent", "--path"]);
    let put_down = put_down.with("XDG_CACHE_HOME", place.trace("cache"));
    assert_eq!(place.run(&put_down).end, "exit status 0");
    if condition.by == By::Stranger {
        let root = place.traces().join("..");
        let owner = format!("{STRANGER}:{STRANGER}");
        let changed = Command::new("chown").args(["-R", &owner]).arg(root).status();
        assert!(changed.is_ok_and(|status| status.success()));
    }
    place
}

/// Tests all cells of some conditions; reports all failures at once.
fn check(conditions: &[Condition], quick: &[Observation]) {
    let observations = if whole_table() { Observation::ALL } else { quick };
    let mut wrong = Vec::new();
    let possible = conditions.iter().filter(|condition| is_possible(condition));
    for (number, condition) in possible.enumerate() {
        for (turn, compiler) in BOTH.into_iter().enumerate() {
            // One compiler per condition, in turn.
            if !whole_table() && turn != number % BOTH.len() {
                continue;
            }
            let works = match whole_table() {
                true => condition.works.to_vec(),
                false => vec![condition.works[(number + turn) % condition.works.len()]],
            };
            for work in works {
                check_cells(condition, compiler, work, observations, &mut wrong);
            }
        }
    }
    assert!(wrong.is_empty(), "{} cells are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn check_cells(
    condition: &Condition,
    compiler: Compiler,
    work: &str,
    observations: &[Observation],
    wrong: &mut Vec<String>,
) {
    let executable = program("conditions", compiler, Variant::Plain);
    let place = place_for(condition);
    let run = condition.plain(&executable, work, false, &place);
    let plain = place.run(&condition.wrap(&run, &place));
    let cell = format!("{}, {work}, {compiler:?}", condition.name);
    if plain.end != "exit status 3" && !condition.is_silent {
        wrong.push(format!("{cell}: the plain program does not run: {plain:?}"));
        return;
    }
    for observation in observations {
        let place = place_for(condition);
        let result = match observation {
            Observation::Attach => {
                let run = condition.plain(&executable, work, true, &place);
                attach(condition, &run, &plain, &place)
            }
            Observation::Watch => {
                let run = condition.plain(&executable, work, false, &place);
                watch(condition, &run, &plain, &place)
            }
            observation => {
                let run = condition.plain(&executable, work, false, &place);
                record(condition, *observation, &run, &plain, &place)
            }
        };
        eprintln!("{cell}, {observation:?}: {result:?}");
        if let Err(what) = result {
            wrong.push(format!("{cell}, {observation:?}: {what}"));
        }
    }
}

#[test]
fn output_and_status_stay_under_seccomp_filters() {
    check(FILTERS, Observation::QUICK_UNDER_FILTERS);
}

#[test]
fn output_and_status_stay_in_unusual_environments() {
    check(SURROUNDINGS, Observation::QUICK);
}

#[test]
fn output_and_status_stay_with_few_resources() {
    check(RESOURCES, Observation::QUICK);
}
