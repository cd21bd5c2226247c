//! Live: numbers of a program as it runs, without changing it.
//!
//! A [`Watch`] is of a program that it starts, or of a process that runs already. [`Watch::poll`] is called some times
//! in a second and tells what is known in that moment; for every number that is not known it says why.
//!
//! | numbers | come from |
//! |---|---|
//! | memory, time, threads | the kernel ([`process`]) |
//! | heap, allocation, collections, domains | the runtime's own counters, read from outside ([`counters`]) |

pub mod counters;
pub mod process;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use bactrian_agent_abi::{Children, Settings};
use bactrian_ocaml::Version;
use tempfile::TempDir;

use crate::launch::{Launch, Launched, Streams};
use crate::memory::{Memory, ProcessMemory};
use crate::snapshot;
use counters::{Collector, Counters};
use process::{Process, Usage};

/// A number, or why it is not known: a sentence.
pub type Known<T> = Result<T, String>;

/// What is looked for again is looked for so often at most.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A program that was just started becomes another one, and starts its runtime: in this time it is looked at each time.
const BEGINNING: Duration = Duration::from_secs(2);

/// A program to be started.
#[derive(Debug)]
pub struct Wanted {
    /// The file to run.
    pub program: PathBuf,
    /// What it is called: its first argument.
    pub name: OsString,
    /// Its other arguments.
    pub arguments: Vec<OsString>,
    /// Its standard streams.
    pub streams: Streams,
    /// Samples per word.
    pub rate: f64,
    /// Where the trace of its samples is kept; none: it is not.
    pub trace: Option<PathBuf>,
    /// Whether to sample from the beginning.
    pub sampling: bool,
}

/// A program that is watched.
#[derive(Debug)]
pub struct Watch {
    pid: u32,
    /// The program, if we have started it.
    launched: Option<Launched>,
    /// What is between the program and us; it goes when we do.
    folder: Option<TempDir>,
    began: Instant,
    process: Process,
    counters: Known<Counters>,
    looked: Option<Instant>,
    last: Numbers,
}

/// What is known of a program in one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Nanoseconds since the program was started.
    pub age: u64,
    /// Bytes in physical memory, without the ring of runtime_events.
    pub resident: Known<u64>,
    /// Nanoseconds on processors, of all threads.
    pub cpu: Known<u64>,
    /// How many threads it has.
    pub threads: Known<u64>,
    /// What its collector counts.
    pub collector: Known<Collector>,
    /// Whether it has ended, and how; then all else is what was known last.
    pub ended: Option<End>,
}

/// The end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// How it ended; none if that is for another process to know.
    pub status: Option<ExitStatus>,
}

impl Watch {
    /// Starts a program.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn launch(wanted: Wanted) -> io::Result<Watch> {
        let Wanted { program, name, arguments, streams, rate, trace, .. } = wanted;
        let folder = tempfile::Builder::new().prefix("bactrian-live").tempdir()?;
        let trace = trace.unwrap_or_else(|| folder.path().join("trace.ctf"));
        let trace = std::path::absolute(trace)?.into_os_string().into_encoded_bytes();
        // Whoever it starts is somebody else.
        let settings = Settings { rate, children: Children::Ignore, ..Settings::new(trace) };
        let launched = Launch { program, name, arguments, settings }.spawn(streams, &[])?;
        let mut watch = Watch::of(launched.pid(), Some(launched))?;
        watch.folder = Some(folder);
        Ok(watch)
    }

    /// Looks at a process that runs.
    ///
    /// # Errors
    /// If there is none of this number.
    pub fn attach(pid: u32) -> io::Result<Watch> {
        Watch::of(pid, None)
    }

    fn of(pid: u32, launched: Option<Launched>) -> io::Result<Watch> {
        let unknown = || "it was not looked at yet".to_owned();
        Ok(Watch {
            pid,
            launched,
            folder: None,
            began: Instant::now(),
            process: Process::open(pid)?,
            counters: Err(unknown()),
            looked: None,
            last: Numbers {
                age: 0,
                resident: Err(unknown()),
                cpu: Err(unknown()),
                threads: Err(unknown()),
                collector: Err(unknown()),
                ended: None,
            },
        })
    }

    /// The number of the process.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The OCaml of the program, once that is known.
    pub fn version(&self) -> Option<Version> {
        self.counters.as_ref().ok().map(Counters::version)
    }

    /// What is known now.
    pub fn poll(&mut self) -> &Numbers {
        if self.last.ended.is_some() {
            return &self.last;
        }
        let status = self.launched.as_mut().and_then(|launched| launched.try_wait().ok().flatten());
        let usage = self.process.usage();
        if status.is_some() || (self.launched.is_none() && usage.is_none()) {
            self.last.ended = Some(End { status });
        }
        if let Some(Usage { resident, cpu, threads, age }) = usage {
            self.look();
            let collector = self.read_counters();
            let last = &mut self.last;
            (last.resident, last.cpu, last.threads) = (resident, Ok(cpu), Ok(threads));
            (last.collector, last.age) = (collector, age);
        }
        &self.last
    }

    /// Waits for the end of a program that we have started.
    ///
    /// # Errors
    /// If it was started by somebody else, or the kernel does not tell.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let launched = self.launched.take();
        let launched = launched.ok_or_else(|| io::Error::other("it is not a child of ours"))?;
        let status = launched.wait()?;
        self.last.ended = Some(End { status: Some(status) });
        Ok(status)
    }

    /// Takes a snapshot of its heap into a file: it stands still for a moment.
    ///
    /// # Errors
    /// If it cannot be frozen, or the file not be written.
    pub fn snapshot(&self, path: &Path) -> Result<snapshot::Written, snapshot::Failure> {
        let wait = crate::attach::Options::default().wait;
        let wanted = snapshot::Wanted { path: path.to_owned(), strings: None, wait };
        snapshot::of_process(self.pid, &wanted).map(|(written, _, _)| written)
    }

    /// Looks for what was not there when it was looked for last.
    fn look(&mut self) {
        let is_due = self.looked.is_none_or(|last| last.elapsed() >= LOOK_EVERY);
        let is_new = self.began.elapsed() < BEGINNING && self.counters.is_err();
        if !is_due && !is_new {
            return;
        }
        self.looked = Some(Instant::now());
        if self.counters.is_err() {
            self.counters = Counters::find(self.pid);
        }
        // Where it cannot be read, the counters say why.
        if let Ok(memory) = ProcessMemory::open(self.pid) {
            self.process.note_mappings(memory.regions());
        }
    }

    fn read_counters(&mut self) -> Known<Collector> {
        let counters = self.counters.as_mut().map_err(|why| why.clone())?;
        let read = counters.read();
        if let Err(why) = &read {
            // It may have become another program.
            self.counters = Err(why.clone());
        }
        read
    }
}
