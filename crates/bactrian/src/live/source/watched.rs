//! A program on this machine, observed from outside; with its own numbers, if it is linked with our library.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, PipeReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bactrian_capture::live::{Numbers, Watch};
use bactrian_live::client::{Address, Client};
use bactrian_live::{Action, Event, LogLine, Program, Stamp, place};

use super::connected::connect;
use super::outside;
use super::target::socket;
use crate::live::{Message, Status, Wish};
use crate::threads::ReservedThread;

/// How to observe a program.
pub struct Watched {
    /// The program.
    pub watch: Watch,
    /// Its name.
    pub name: String,
    /// The interval between reads.
    pub period: Duration,
}

/// A program that is being observed.
pub struct Started {
    /// Its process id.
    pub pid: u32,
    /// Sends requests to it.
    pub wish: Wish,
    /// Returns the program's exit status, if we started it.
    pub end: JoinHandle<Option<ExitStatus>>,
}

/// The interval between checks for a socket of the program.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Longer lines are split, in bytes.
const LONGEST_LINE: u64 = 16 << 10;
/// The interval between updates of allocation sites.
const SITES_EVERY: Duration = Duration::from_secs(1);

/// The threads that observe a program.
pub struct Watcher {
    looking: ReservedThread<Option<ExitStatus>>,
    passing_on: Vec<(ReservedThread<()>, PipeReader)>,
}

impl Watcher {
    /// Starts them, also for the program's captured output, unless that goes where ours goes.
    ///
    /// # Errors
    /// If there can be no other threads.
    pub fn new(output: Vec<PipeReader>) -> io::Result<Watcher> {
        let thread = |output| Ok((ReservedThread::new()?, output));
        let passing_on = output.into_iter().map(thread).collect::<io::Result<_>>()?;
        Ok(Watcher { looking: ReservedThread::new()?, passing_on })
    }

    /// Observes a program until it has ended or the receiver is gone.
    pub fn watch(self, watched: Watched, messages: SyncSender<Message>) -> Started {
        let (wishes, wanted) = channel();
        let pid = watched.watch.pid();
        let began = Instant::now();
        for (thread, output) in self.passing_on {
            let messages = messages.clone();
            thread.run(move || pass_on(output, began, &messages));
        }
        let looking = Looking {
            watch: watched.watch,
            period: watched.period,
            messages,
            wanted,
            own: None,
            looked: None,
            sites_told: None,
            snapshots: 0,
            name: watched.name,
            said: VecDeque::new(),
        };
        let end = self.looking.run(move || looking.run());
        Started { pid, wish: Box::new(move |action| send(&wishes, action)), end }
    }
}

fn send(wishes: &Sender<Action>, action: Action) -> Result<(), String> {
    wishes.send(action).map_err(|_| "the program has ended".to_owned())
}

/// The output of the program is shown as its log. When nobody is observing any more, it is copied to our
/// standard error.
fn pass_on(output: PipeReader, began: Instant, messages: &SyncSender<Message>) {
    let mut lines = BufReader::new(output);
    let mut line = Vec::new();
    let mut is_watched = true;
    while lines
        .by_ref()
        .take(LONGEST_LINE)
        .read_until(b'\n', &mut line)
        .is_ok_and(|length| length > 0)
    {
        if is_watched {
            let text = String::from_utf8_lossy(&line);
            let text = text.trim_end_matches(['\n', '\r']).to_owned();
            let at = u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX);
            is_watched = messages.send(Message::Event(Event::Log(LogLine { at, text }))).is_ok();
        }
        if !is_watched {
            // The program must not notice if our standard error is closed.
            let _ = io::stderr().write_all(&line);
        }
        line.clear();
    }
}

/// The observing thread.
struct Looking {
    watch: Watch,
    name: String,
    period: Duration,
    messages: SyncSender<Message>,
    wanted: Receiver<Action>,
    /// The connection to the program itself, if it has a socket.
    own: Option<Wish>,
    looked: Option<Instant>,
    sites_told: Option<Instant>,
    snapshots: u32,
    /// Notices that need not be repeated.
    said: VecDeque<String>,
}

/// The receiver is gone.
struct Unwanted;

impl Looking {
    fn run(mut self) -> Option<ExitStatus> {
        let told = self.tell();
        drop(self.own.take());
        match told {
            Ok(status) => status,
            // The program goes on, and we wait until it ends.
            Err(Unwanted) => self.watch.wait().ok(),
        }
    }

    fn tell(&mut self) -> Result<Option<ExitStatus>, Unwanted> {
        let program = Program {
            name: self.name.clone(),
            pid: self.watch.pid(),
            started: 0,
            run: place::run_of(Path::new(&format!("/proc/{}", self.watch.pid()))),
            runtime: String::new(),
            controls: true,
        };
        self.event(Event::Hello(program.clone()))?;
        let period_ms = u32::try_from(self.period.as_millis()).unwrap_or(u32::MAX);
        for declaration in outside::declarations(period_ms) {
            self.event(declaration)?;
        }
        let mut runtime = None;
        loop {
            let begin = Instant::now();
            let numbers = self.watch.poll().clone();
            if runtime.is_none()
                && let Some(version) = self.watch.version()
            {
                let text = format!("OCaml {version}");
                self.event(Event::Hello(Program { runtime: text.clone(), ..program.clone() }))?;
                runtime = Some(text);
            }
            self.numbers(&numbers)?;
            if let Some(end) = numbers.ended {
                let how = end.status.map_or("the program has ended".to_owned(), |status| {
                    format!("the program has ended: {status}")
                });
                self.event(Event::End(how))?;
                self.message(Message::Status(Status::Over))?;
                return Ok(end.status);
            }
            self.connect();
            loop {
                let rest = self.period.saturating_sub(begin.elapsed());
                match self.wanted.recv_timeout(rest) {
                    Ok(action) => self.grant(action)?,
                    Err(_) if rest.is_zero() => break,
                    Err(_) => thread::sleep(self.period.saturating_sub(begin.elapsed())),
                }
            }
        }
    }

    fn message(&self, message: Message) -> Result<(), Unwanted> {
        self.messages.send(message).map_err(|_| Unwanted)
    }

    fn event(&self, event: Event) -> Result<(), Unwanted> {
        self.message(Message::Event(event))
    }

    fn numbers(&mut self, numbers: &Numbers) -> Result<(), Unwanted> {
        let cpu = numbers.cpu.as_ref().copied().unwrap_or(0);
        self.event(Event::Tick(Stamp { at: numbers.age, cpu }))?;
        let with_sites = numbers.ended.is_some()
            || self.sites_told.is_none_or(|last| last.elapsed() >= SITES_EVERY);
        if with_sites {
            self.sites_told = Some(Instant::now());
        }
        for update in outside::updates(numbers, with_sites) {
            self.event(update)?;
        }
        let gaps =
            numbers.collector.as_ref().map(|collector| collector.gaps.clone()).unwrap_or_default();
        for gap in gaps {
            if !self.said.contains(&gap) {
                self.message(Message::Notice(format!("not counted: {gap}")))?;
                self.said.push_back(gap);
            }
        }
        Ok(())
    }

    /// Connects to the program's own socket, once it has one.
    fn connect(&mut self) {
        let is_due = self.looked.is_none_or(|last| last.elapsed() >= LOOK_EVERY);
        if self.own.is_some() || !is_due {
            return;
        }
        self.looked = Some(Instant::now());
        if let Some(path) = socket(self.watch.pid())
            && let Ok(client) = Client::connect(Address::Socket(path), &[], true)
        {
            // If there can be no thread for it now, there may be later.
            self.own = connect(client, true, self.messages.clone()).ok();
        }
    }

    fn grant(&mut self, action: Action) -> Result<(), Unwanted> {
        let said = match action {
            Action::Snapshot(name) => self.snapshot(&name),
            Action::Sampling(on) => self.watch.set_sampling(on).map(|()| {
                let what =
                    if on { "sampling allocations" } else { "sampling of allocations has stopped" };
                Some(what.to_owned())
            }),
            action => match &mut self.own {
                Some(own) => own(action).map(|()| None),
                None => Err("the program is not linked with Bactrian's library".to_owned()),
            },
        };
        match said {
            Ok(None) => Ok(()),
            Ok(Some(done)) => self.message(Message::Notice(done)),
            Err(reason) => self.message(Message::Notice(format!("not done: {reason}"))),
        }
    }

    fn snapshot(&mut self, name: &str) -> Result<Option<String>, String> {
        self.snapshots += 1;
        let name = if name.is_empty() { &self.name } else { name };
        let name: String = name.chars().map(|it| if it == '/' { '_' } else { it }).collect();
        let path =
            PathBuf::from(format!("{name}.pid{}.live{}.heap", self.watch.pid(), self.snapshots));
        let written = self.watch.snapshot(&path).map_err(|failure| failure.to_string())?;
        Ok(Some(format!("snapshot in {}", written.path.display())))
    }
}
