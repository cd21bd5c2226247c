//! Live: numbers of a program while it runs, without changing it.
//!
//! A [`Watch`] is for a program that it starts, or for a running process. [`Watch::poll`] is called some
//! times per second and returns what is known at that moment; for every number that is unknown it says why.
//!
//! | numbers | source |
//! |---|---|
//! | memory, time, threads | the kernel ([`process`]) |
//! | heap, allocation, collections, domains | the runtime's own counters, read from outside ([`counters`]) |
//! | allocation sites | the trace that the agent writes ([`sites`]) |
//! | pauses, in OCaml 4 or where the program writes no rings | the agent, through hooks of the runtime ([`page`]) |
//! | pauses, in OCaml 5 | the rings of runtime_events ([`events`]), in a directory of ours ([`ring_folder`]) |

pub mod counters;
pub mod events;
pub mod memory;
pub mod page;
pub mod process;
mod ring_folder;
pub mod sites;

use std::ffi::{OsStr, OsString};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant, SystemTime};

use bactrian_agent_abi::{Children, Settings, variable};
use bactrian_live::Histogram;
use bactrian_ocaml::runtime_events::EventTable;
use bactrian_ocaml::{Runtime, Version};
use rustix::fs::OFlags;

use crate::doctor;
use crate::launch::{Launch, Launched, Streams};
use crate::memory::{Fixed, Memory, ProcessMemory, Region};
use crate::snapshot;
use crate::temporary::TemporaryFolder;
use counters::{Collector, Counters};
use events::{Events, Pause};
use memory::{MemoryUse, MemoryWatch};
use page::{Measured, Page};
use process::{Process, Usage, is_ring};
use ring_folder::RingFolder;
use sites::{Sampled, Sites};

/// A number, or a sentence that says why it is unknown.
pub type Known<T> = Result<T, String>;

/// The minimum interval between two searches for what was missing.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A program that was just started calls exec and starts its runtime: for this long, every poll looks again.
const BEGINNING: Duration = Duration::from_secs(2);
/// The maximal number of allocation sites reported, by rate and by live bytes each.
const MOST_SITES: usize = 100;

/// A program to start.
#[derive(Debug)]
pub struct LaunchOptions {
    /// The executable.
    pub program: PathBuf,
    /// Its argv[0].
    pub name: OsString,
    /// Its other arguments.
    pub arguments: Vec<OsString>,
    /// Its standard streams.
    pub streams: Streams,
    /// The sampling rate: samples per word.
    pub rate: f64,
    /// Where to keep the trace of its samples; if None, it is not kept.
    pub trace: Option<PathBuf>,
    /// Whether to sample from the start.
    pub sampling: bool,
}

/// A program that is watched.
#[derive(Debug)]
pub struct Watch {
    pid: u32,
    /// The program, if we have started it.
    launched: Option<Launched>,
    /// Files shared with the program; removed when this is dropped.
    folder: Option<TemporaryFolder>,
    began: Instant,
    process: Process,
    counters: Known<Counters>,
    events: Known<Events>,
    sites: Known<Sites>,
    trace: Trace,
    /// Why a program that we have started cannot be sampled.
    refusal: Option<String>,
    /// The directory for the rings of a program that we have started.
    rings: Option<RingFolder>,
    /// The page shared with the agent in a program that we have started.
    page: Option<Page>,
    /// The page of an agent that somebody else has put into the program.
    others_page: Option<Page>,
    looked: Option<Instant>,
    /// Whether only the counters, the pauses and the size of its memory are read.
    is_counting: bool,
    memory: MemoryWatch,
    /// When the counters were last read.
    read_last: Instant,
    last: Numbers,
}

/// Where the trace of a program's samples is.
#[derive(Debug)]
enum Trace {
    /// At this path; it is removed with us.
    Ours(PathBuf),
    /// At this path; it is kept.
    Kept(PathBuf),
    /// At the path in the settings of the process itself.
    OfProcess,
}

/// What is known about a program at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Numbers {
    /// Nanoseconds since its start.
    pub age: u64,
    /// The resident set in bytes, without the runtime_events ring.
    pub resident: Known<u64>,
    /// CPU time of all threads, in nanoseconds.
    pub cpu: Known<u64>,
    /// The number of threads.
    pub threads: Known<u64>,
    /// What its memory is used for.
    pub memory: Known<MemoryUse>,
    /// Its collector's counters.
    pub collector: Known<Collector>,
    /// Pauses by its collector.
    pub pauses: Known<Pauses>,
    /// Its allocation sites, by rate and by live bytes.
    pub sampled: Known<Sampled>,
    /// Set if it has ended; then all other numbers are the last known ones.
    pub ended: Option<End>,
}

/// Pauses of a program by its collector.
#[derive(Clone, Debug, PartialEq)]
pub struct Pauses {
    /// All of them, in nanoseconds.
    pub times: Histogram,
    /// The last long pauses, oldest first.
    pub long: Vec<Pause>,
    /// An estimate of the number of lost events, which may have been pauses.
    pub lost_events: u64,
}

/// The end of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct End {
    /// Its exit status; None if only another process can know it.
    pub status: Option<ExitStatus>,
}

/// The kernel measures the age of processes in hundredths of a second, and the clock may be adjusted slightly.
const CLOCK_SLACK: Duration = Duration::from_secs(1);

/// How users can have the agent measure pauses.
const PAUSES_BY_AGENT: &str = "start it under bactrian live, or have it sampled while it runs (bactrian live PID --rate 1e-4)";

impl Watch {
    /// Starts a program.
    ///
    /// # Errors
    /// If it cannot be started, or not be watched: then it is not started.
    pub fn launch(wanted: LaunchOptions) -> io::Result<Watch> {
        // After the start it would be too late to find this out.
        Process::open(std::process::id())
            .map_err(|_| io::Error::other("/proc is not mounted, and watching needs it"))?;
        let LaunchOptions { program, name, arguments, streams, rate, trace, sampling } = wanted;
        let folder = TemporaryFolder::new("live")?;
        let (path, is_kept) = match trace {
            Some(path) => (std::path::absolute(path)?, true),
            None => (folder.file("trace.ctf"), false),
        };
        let trace = path.clone().into_os_string().into_encoded_bytes();
        // Only this program uses the page; those that it starts do not.
        let page = Page::new(sampling).map_err(|error| {
            io::Error::other(format!("cannot create a page of shared memory: {error}"))
        })?;
        let settings = Settings {
            rate,
            children: Children::Ignore,
            page: page.path().map(|path| path.into_os_string().into_encoded_bytes()),
            ..Settings::new(trace)
        };
        let (version, refusal) = match doctor::enterable(&program) {
            Ok(facts) => (facts.ocaml.as_ref().and_then(|it| it.runtime), facts.recordable().err()),
            Err(refusal) => (None, Some(refusal)),
        };
        // Without rings the program still runs.
        let rings = writes_rings(version).then(RingFolder::new).transpose().ok().flatten();
        let [start, to, keep] = variable::RUNTIME_EVENTS.map(OsStr::new);
        let besides = rings.as_ref().map(|rings| {
            [
                (start, OsStr::new("1")),
                (to, rings.path().as_os_str()),
                (keep, OsStr::new("1")),
                (OsStr::new(variable::EVENTS), OsStr::new("1")),
            ]
        });
        let besides = besides.as_ref().map_or(&[][..], |all| &all[..]);
        let launched = Launch { program, name, arguments, settings }.spawn(streams, besides)?;
        let mut watch = Watch::of(launched.pid(), Some(launched))?;
        (watch.folder, watch.rings, watch.page) = (Some(folder), rings, Some(page));
        watch.trace = if is_kept { Trace::Kept(path) } else { Trace::Ours(path) };
        watch.refusal = refusal.map(|refusal| refusal.to_string());
        Ok(watch)
    }

    /// Watches a running process.
    ///
    /// # Errors
    /// If there is no process with this id.
    pub fn attach(pid: u32) -> io::Result<Watch> {
        Watch::of(pid, None)
    }

    /// Reads only the counters, the pauses and the size of the memory of a recorded run. This has little overhead, because neither its
    /// trace nor the kernel's account of its mappings is read. Process ids are reused, and differ inside a container, so this checks
    /// that the process is recorded and began before its trace. The trace begins at `start`, in microseconds since 1970.
    ///
    /// # Errors
    /// If there is no such process on this machine.
    pub fn counting(pid: u32, start: u64) -> io::Result<Watch> {
        let mut watch = Watch::of(pid, None)?;
        watch.is_counting = true;
        let age = watch.process.usage().map(|usage| Duration::from_nanos(usage.age));
        let began = age.and_then(|age| SystemTime::now().checked_sub(age));
        let trace = SystemTime::UNIX_EPOCH + Duration::from_micros(start) + CLOCK_SLACK;
        if began.is_none_or(|began| began > trace) || snapshot::trace_of(pid).is_none() {
            return Err(io::Error::other("the process is not of this run"));
        }
        Ok(watch)
    }

    fn of(pid: u32, launched: Option<Launched>) -> io::Result<Watch> {
        let unknown = || "it was not read yet".to_owned();
        Ok(Watch {
            pid,
            launched,
            folder: None,
            began: Instant::now(),
            process: Process::open(pid)?,
            counters: Err(unknown()),
            events: Err(unknown()),
            sites: Err(unknown()),
            trace: Trace::OfProcess,
            refusal: None,
            rings: None,
            page: None,
            others_page: None,
            looked: None,
            is_counting: false,
            memory: MemoryWatch::new(pid),
            read_last: Instant::now(),
            last: Numbers {
                age: 0,
                resident: Err(unknown()),
                cpu: Err(unknown()),
                threads: Err(unknown()),
                memory: Err(unknown()),
                collector: Err(unknown()),
                pauses: Err(unknown()),
                sampled: Err(unknown()),
                ended: None,
            },
        })
    }

    /// The process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The trace that is followed, once there is one.
    pub fn trace(&self) -> Option<&Path> {
        self.sites.as_ref().ok().map(Sites::path)
    }

    /// The OCaml version of the program, once it is known.
    pub fn version(&self) -> Option<Version> {
        self.counters.as_ref().ok().map(Counters::version)
    }

    /// What is known now. After the program's end, the last known numbers.
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
            last.age = age;
            match collector {
                Ok(collector) => (last.collector, self.read_last) = (Ok(collector), Instant::now()),
                // A program that is about to end has lost its memory already.
                Err(_) if last.collector.is_ok() && self.read_last.elapsed() < LOOK_EVERY => {}
                Err(why) => last.collector = Err(why),
            }
        }
        if !self.is_counting {
            self.look_at_memory();
        }
        // Also if it has just ended: its rings exist as long as we have them open.
        self.last.pauses = self.read_events();
        self.last.sampled = self.read_sites();
        let is_behind = |last: &Numbers| last.sampled.as_ref().is_ok_and(|now| now.is_behind);
        // Its last numbers must cover everything that it did.
        while self.last.ended.is_some() && is_behind(&self.last) {
            self.last.sampled = self.read_sites();
        }
        &self.last
    }

    /// Measures memory use, which requires the counters.
    fn look_at_memory(&mut self) {
        let Numbers { collector, sampled, ended: None, .. } = &self.last else { return };
        let external = sampled.as_ref().ok().map(|sampled| sampled.external as u64);
        let told = match (&self.counters, collector) {
            (Ok(counters), Ok(collector)) => self.memory.poll(counters, collector, external),
            (Err(why), _) | (_, Err(why)) => Some(Err(why.clone())),
        };
        if let Some(told) = told {
            self.last.memory = told;
        }
    }

    /// Starts or stops sampling.
    ///
    /// # Errors
    /// A sentence if the agent is not in the program, or was not put there by us.
    pub fn set_sampling(&self, is_wanted: bool) -> Known<()> {
        let page = self
            .page
            .as_ref()
            .ok_or("sampling can only be switched in programs that bactrian live started")?;
        if let Some(why) = self.refusal.as_ref().filter(|_| is_wanted) {
            return Err(why.clone());
        }
        if page.owner().is_none() {
            return Err("the agent is not loaded in it, or has not started yet".to_owned());
        }
        page.set_sampling(is_wanted).map_err(|error| error.to_string())
    }

    /// Waits for the end of a program that we have started.
    ///
    /// # Errors
    /// If somebody else started it, or the kernel refuses.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        let launched = self.launched.take();
        let launched =
            launched.ok_or_else(|| io::Error::other("it is not a child of this process"))?;
        let status = launched.wait()?;
        self.last.ended = Some(End { status: Some(status) });
        Ok(status)
    }

    /// Takes a snapshot of its heap into a file, which pauses it for a moment.
    ///
    /// # Errors
    /// If it cannot be frozen, or the file cannot be written.
    pub fn snapshot(&self, path: &Path) -> Result<snapshot::Written, snapshot::Failure> {
        let wait = crate::attach::Options::default().wait;
        let wanted = snapshot::SnapshotOptions {
            path: path.to_owned(),
            replaces: true,
            strings: None,
            wait,
        };
        snapshot::of_process(self.pid, &wanted, &|_| ()).map(|(written, _, _)| written)
    }

    /// Looks again for what was missing.
    fn look(&mut self) {
        let is_due = self.looked.is_none_or(|last| last.elapsed() >= LOOK_EVERY);
        let is_missing = self.counters.is_err()
            || (self.rings.is_some() && self.events.is_err())
            || (self.launched.is_some() && self.sites.is_err());
        let is_new = self.began.elapsed() < BEGINNING && is_missing;
        if !is_due && !is_new {
            return;
        }
        self.looked = Some(Instant::now());
        if self.counters.is_err() {
            self.counters = Counters::find(self.pid);
        }
        if self.sites.is_err() && !self.is_counting {
            self.sites = self.find_sites();
        }
        // If it cannot be read, the counters say why.
        if let Ok(memory) = ProcessMemory::open(self.pid) {
            self.process.note_mappings(memory.regions());
            if self.events.is_err() {
                self.events = self.find_events(memory.regions());
            }
            if self.page.is_none() {
                self.others_page = self.find_page(memory.regions());
            }
        }
    }

    /// Opens the page of an agent that somebody else has put into the program. The page of an earlier
    /// recording has been removed.
    fn find_page(&self, regions: &[Region]) -> Option<Page> {
        let is_page = |region: &&Region| region.file.as_deref().is_some_and(Page::is_one);
        // Pages of earlier recordings are still mapped.
        let mut files = regions.iter().filter(is_page);
        files.find_map(|region| open_mapped(self.pid, region).ok()).map(Page::of_others)
    }

    /// Opens the rings that the program writes.
    fn find_events(&self, regions: &[Region]) -> Known<Events> {
        let Some(version) = self.version() else {
            return Err("its OCaml version is unknown".to_owned());
        };
        if version < FIRST_WITH_RINGS {
            return Err(format!(
                "pauses of OCaml {version} are measured by the agent: {PAUSES_BY_AGENT}"
            ));
        }
        let region = regions.iter().find(|region| is_ring(region)).ok_or_else(|| {
            let begin =
                "it does not write runtime_events: start it with OCAML_RUNTIME_EVENTS_START=1";
            match Runtime::of(version).is_some_and(|runtime| runtime.has_sampler) {
                true => format!("{begin}; or {PAUSES_BY_AGENT}"),
                false => format!("{begin}, or under bactrian live"),
            }
        })?;
        let file = open_mapped(self.pid, region).and_then(Fixed::new);
        let file = file.map_err(|error| format!("its runtime_events file: {error}"))?;
        Events::open(Box::new(file), version, self.launched.is_some())
    }

    /// Opens the trace that the agent writes.
    fn find_sites(&self) -> Known<Sites> {
        let not_there = "the agent is not loaded in it: start it under bactrian live or bactrian \
            record, or record it while it runs";
        match &self.trace {
            Trace::Ours(path) => Sites::open(path, true),
            Trace::Kept(path) => Sites::open(path, false),
            Trace::OfProcess => {
                let runtime = self.version().and_then(Runtime::of);
                if let Some(runtime) = runtime.filter(|runtime| !runtime.has_sampler) {
                    return Err(doctor::no_sampler(&runtime.versions.0.to_string(), true).0);
                }
                let path = snapshot::trace_of(self.pid).ok_or(not_there)?;
                return Sites::open(&path, false).map_err(|error| format!("its trace: {error}"));
            }
        }
        .map_err(|_| match &self.refusal {
            Some(refusal) => refusal.clone(),
            None => "nothing was sampled yet".to_owned(),
        })
    }

    fn read_sites(&mut self) -> Known<Sampled> {
        let sites = self.sites.as_mut().map_err(|why| why.clone())?;
        let sampled = sites.poll(MOST_SITES);
        if let (Some(found), Trace::OfProcess) = (sites.process(), &self.trace)
            && found != u64::from(self.pid)
        {
            // Children inherit the variable, and write elsewhere.
            let why = "its trace is of another process: children of recorded programs have their own \
                 traces";
            self.sites = Err(why.to_owned());
            return Err(why.to_owned());
        }
        sampled
    }

    fn read_events(&mut self) -> Known<Pauses> {
        let polled = self.events.as_mut().map_err(|why| why.clone()).and_then(Events::poll);
        if let Err(why) = polled {
            self.events = Err(why);
        }
        let page = self.page.as_ref().or(self.others_page.as_ref());
        // Where there are rings, they say more.
        if self.events.is_err()
            && let Some(Measured { pauses, long }) = page.and_then(Page::measured)
        {
            return Ok(Pauses { times: pauses, long, lost_events: 0 });
        }
        let seen = self.events.as_ref().map_err(|why| why.clone())?.seen();
        Ok(Pauses {
            times: seen.pauses.clone(),
            long: seen.long.iter().copied().collect(),
            lost_events: seen.lost_events(),
        })
    }

    fn read_counters(&mut self) -> Known<Collector> {
        let counters = self.counters.as_mut().map_err(|why| why.clone())?;
        let read = counters.read();
        if let Err(why) = &read {
            // It may have called exec.
            self.counters = Err(why.clone());
        }
        read
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        // The program may continue, and nobody will read what it would write.
        if let (Some(page), Trace::Ours(_)) = (&self.page, &self.trace) {
            let _ = page.set_sampling(false);
        }
    }
}

const FIRST_WITH_RINGS: Version = Version::new(5, 0);

/// Whether a program can be made to write rings that we can read, hidden from its children: the latter
/// requires the agent.
fn writes_rings(entered: Option<Version>) -> bool {
    let is_asked_by_others = variable::RUNTIME_EVENTS.iter().any(|n| std::env::var_os(n).is_some());
    !is_asked_by_others && entered.is_some_and(|version| EventTable::of(version).is_some())
}

/// Opens a file that a process has mapped, if its path still leads to the same file.
fn open_mapped(pid: u32, region: &Region) -> io::Result<File> {
    let path = region.file.as_deref().unwrap_or(Path::new(""));
    let inside = path.strip_prefix("/").unwrap_or(path);
    // By now the path may lead to anything, even another user's file: opening a FIFO would block.
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(flags.bits().cast_signed());
    let file = options.open(Path::new(&format!("/proc/{pid}/root")).join(inside))?;
    if file.metadata()?.ino() != region.inode {
        return Err(io::Error::other("its file was replaced by another"));
    }
    Ok(file)
}
