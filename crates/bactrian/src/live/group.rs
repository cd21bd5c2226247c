//! Several programs observed at once: all of a user, those with a name, or processes with their children.
//! They come and go meanwhile.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use bactrian_capture::live::counters::Counters;
use bactrian_live::{Database, Limits, place};
use bactrian_terminal::Programs;

use super::opening::{HowToWatch, WAITING};
use super::source::Target;
use super::{Session, Status};
use crate::failure::Failure;

/// Which programs to observe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// All OCaml programs that we may read.
    All,
    /// Programs whose name contains this.
    Named(String),
    /// These processes.
    These(Vec<u32>),
    /// These processes and their descendants.
    Below(Vec<u32>),
}

/// The interval between searches for new programs.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A process that does not look like an OCaml program may become one by exec: it is examined this often.
const TRIES: u32 = 5;
/// Negative results are forgotten after this many rounds: a file may have been replaced by then.
const FORGET_AFTER: u32 = 10;
/// The most programs observed: each takes a thread and a part of the memory.
const MOST: usize = 200;
/// How long an ended program stays in a view.
const ENDED_STAYS: Duration = Duration::from_secs(10);

/// The observed programs.
pub struct Group<'a> {
    choice: Choice,
    how: HowToWatch<'a>,
    limits: Limits,
    members: Vec<Member>,
    /// How often each unobserved process was examined, by run; observed processes are never examined again.
    looked_at: HashMap<String, u32>,
    looked: Option<Instant>,
    /// Files of programs that are not OCaml programs, or that we may not read.
    others: HashSet<PathBuf>,
    /// The number of searches so far.
    rounds: u32,
    /// Whether ended programs are removed after a while.
    forgets: bool,
    /// Whether some programs exceeded the limit.
    is_full: bool,
    /// Whether any wanted process existed at the last search.
    is_any_there: bool,
}

struct Member {
    pid: u32,
    session: Session,
    ended: Option<Instant>,
}

/// The identity of a process.
struct Found {
    pid: u32,
    parent: u32,
    run: String,
    /// The kernel's name, truncated to 15 characters, and the file name, which for bytecode is the runtime's.
    names: [String; 2],
    /// The executable file.
    file: PathBuf,
}

impl<'a> Group<'a> {
    /// Observes these programs, with a memory limit for all of them together.
    pub fn new(choice: Choice, how: HowToWatch<'a>, limits: Limits, forgets: bool) -> Group<'a> {
        Group {
            choice,
            how,
            limits,
            members: Vec::new(),
            looked_at: HashMap::new(),
            looked: None,
            others: HashSet::new(),
            rounds: 0,
            forgets,
            is_full: false,
            is_any_there: false,
        }
    }

    /// Adds a program that is observed already.
    pub fn with(mut self, session: Session, pid: u32) -> Group<'a> {
        self.looked_at.insert(run_of(pid), TRIES);
        self.members.push(Member { pid, session, ended: None });
        self
    }

    /// The data of each program.
    pub fn databases(&self) -> impl Iterator<Item = &Database> {
        self.members.iter().map(|member| member.session.database())
    }

    /// The data of each program, and whether it is running.
    pub fn programs(&self) -> impl Iterator<Item = (&Database, bool)> {
        let is_up = |session: &Session| *session.status() == Status::Live;
        self.members.iter().map(move |member| (member.session.database(), is_up(&member.session)))
    }

    /// Whether no more programs will come, because the named processes have ended.
    pub fn is_over(&self) -> bool {
        let is_open = matches!(self.choice, Choice::All | Choice::Named(_));
        let is_there = self.looked.is_none() || self.is_any_there;
        !is_open && !is_there && self.members.iter().all(|it| it.session.is_over())
    }

    /// Whether some programs exceeded the limit.
    pub fn is_full(&self) -> bool {
        self.is_full
    }

    /// Searches for new programs, if it is time.
    fn look(&mut self) {
        if self.looked.is_some_and(|last| last.elapsed() < LOOK_EVERY) {
            return;
        }
        self.looked = Some(Instant::now());
        let found = processes();
        let parents: HashMap<u32, u32> = found.iter().map(|it| (it.pid, it.parent)).collect();
        let chosen = found.iter().filter(|it| self.choice.has(it, &parents));
        let runs: Vec<&Found> = chosen.collect();
        self.is_any_there = !runs.is_empty();
        self.looked_at.retain(|run, _| found.iter().any(|it| it.run == *run));
        // A program may be replaced by another one on disk.
        if self.rounds.is_multiple_of(FORGET_AFTER) {
            self.others.clear();
        }
        self.rounds += 1;
        let mut running = self.members.iter().filter(|member| member.ended.is_none()).count();
        for Found { pid, run, file, .. } in runs {
            let tries = self.looked_at.entry(run.clone()).or_insert(0);
            // Examining a program takes a while, and there may be hundreds of processes of one program.
            if *tries >= TRIES || self.others.contains(file) {
                continue;
            }
            *tries += 1;
            if Counters::find(*pid).is_err() {
                // A process that has just ended, or executed another program, says nothing about its file.
                if run_of(*pid) == *run && file_of(*pid).as_ref() == Some(file) {
                    self.others.insert(file.clone());
                }
                continue;
            }
            if running >= MOST {
                self.is_full = true;
                continue;
            }
            running += 1;
            *tries = TRIES;
            // It may have ended by now.
            if let Ok(session) = self.open(*pid) {
                self.members.push(Member { pid: *pid, session, ended: None });
            }
        }
        self.members.sort_by_key(|member| member.pid);
    }

    fn open(&self, pid: u32) -> Result<Session, Failure> {
        let (messages, incoming) = sync_channel(WAITING);
        let limits = Limits { memory: self.limits.memory / MOST * 4, ..self.limits };
        let wish = self.how.open(Target::Process(pid), messages)?;
        let session = Session::new(incoming, limits);
        Ok(match wish {
            Some(wish) => session.with_wish(wish),
            None => session,
        })
    }
}

impl Programs for Group<'_> {
    fn take_in(&mut self) {
        self.look();
        for member in &mut self.members {
            // Nothing is recorded, so nothing can fail.
            let _ = member.session.take_in();
            if member.ended.is_none() && member.session.is_over() {
                member.ended = Some(Instant::now());
            }
        }
        let is_past = |member: &Member| member.ended.is_some_and(|it| it.elapsed() > ENDED_STAYS);
        if self.forgets {
            self.members.retain(|member| !is_past(member));
        }
    }

    fn sessions(&mut self) -> Vec<&mut Session> {
        self.members.iter_mut().map(|member| &mut member.session).collect()
    }

    fn title(&self) -> String {
        match &self.choice {
            Choice::All => "OCaml programs".to_owned(),
            Choice::Named(name) => format!("programs named {name}"),
            Choice::These(pids) => format!("{} processes", pids.len()),
            Choice::Below(pids) => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                format!("process {} and its children", pids.join(", "))
            }
        }
    }
}

impl Choice {
    fn has(&self, found: &Found, parents: &HashMap<u32, u32>) -> bool {
        match self {
            Choice::All => true,
            Choice::Named(name) => found.names.iter().any(|it| it.contains(name.as_str())),
            Choice::These(pids) => pids.contains(&found.pid),
            // Process trees are not deeper. Parents form no cycle, but they are read one after the other.
            Choice::Below(pids) => {
                std::iter::successors(Some(found.pid), |pid| parents.get(pid).copied())
                    .take(1000)
                    .any(|pid| pids.contains(&pid))
            }
        }
    }
}

/// The processes that we may read, without this one.
fn processes() -> Vec<Found> {
    let Ok(us) = fs::metadata("/proc/self").map(|us| us.uid()) else { return Vec::new() };
    let own = std::process::id();
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let found = pids.filter(|pid| *pid != own).filter_map(|pid| {
        let folder = format!("/proc/{pid}");
        let owner = fs::metadata(&folder).ok()?.uid();
        if us != 0 && owner != us {
            return None;
        }
        let stat = fs::read_to_string(format!("{folder}/stat")).ok()?;
        let (name, parent) = name_and_parent(&stat)?;
        let file = file_of(pid)?;
        let of_file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Some(Found { pid, parent, run: run_of(pid), names: [name, of_file], file })
    });
    let mut found: Vec<Found> = found.collect();
    found.sort_by_key(|it| it.pid);
    found
}

/// The executable file of a process.
fn file_of(pid: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{pid}/exe")).ok()
}

/// Identifies a run of a process: process ids are reused.
fn run_of(pid: u32) -> String {
    format!("{pid} {}", place::run_of(Path::new(&format!("/proc/{pid}"))))
}

/// Parses `/proc/PID/stat`: the name is in parentheses and may contain some itself.
fn name_and_parent(stat: &str) -> Option<(String, u32)> {
    let (before, after) = stat.rsplit_once(") ")?;
    let (_, name) = before.split_once('(')?;
    Some((name.to_owned(), after.split(' ').nth(1)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_are_selected() {
        let found = |pid, parent, name: &str| Found {
            pid,
            parent,
            run: String::new(),
            names: [name.to_owned(), String::new()],
            file: PathBuf::new(),
        };
        let all =
            [found(1, 0, "init"), found(5, 1, "flow"), found(6, 5, "flow"), found(7, 6, "sh")];
        let parents: HashMap<u32, u32> = all.iter().map(|it| (it.pid, it.parent)).collect();
        let pids = |choice: &Choice| -> Vec<u32> {
            all.iter().filter(|it| choice.has(it, &parents)).map(|it| it.pid).collect()
        };
        assert_eq!(pids(&Choice::All), [1, 5, 6, 7]);
        assert_eq!(pids(&Choice::Named("flo".to_owned())), [5, 6]);
        assert_eq!(pids(&Choice::These(vec![1, 7])), [1, 7]);
        assert_eq!(pids(&Choice::Below(vec![5])), [5, 6, 7]);
        assert_eq!(pids(&Choice::Below(vec![9])), [] as [u32; 0]);
    }

    #[test]
    fn names_may_have_parentheses() {
        assert_eq!(name_and_parent("7 (a) (b) S 4 7 7"), Some(("a) (b".to_owned(), 4)));
        assert_eq!(name_and_parent("7 (a) S"), None);
        assert_eq!(name_and_parent(""), None);
    }
}
