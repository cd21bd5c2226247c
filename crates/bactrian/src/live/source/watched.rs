//! A program of this machine, looked at from outside; and what it says itself, where it is linked with our library.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, PipeReader, Read, Write};
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

/// How a program is looked at.
pub struct Watched {
    /// Who.
    pub watch: Watch,
    /// What it is called.
    pub name: String,
    /// How often.
    pub period: Duration,
    /// What it writes, if that is not to go where ours goes.
    pub output: Vec<PipeReader>,
}

/// A program that is being looked at.
pub struct Started {
    /// The number of its process.
    pub pid: u32,
    /// How to ask it for something.
    pub wish: Wish,
    /// Gives how the program ended, if it was started by us.
    pub end: JoinHandle<Option<ExitStatus>>,
}

/// How often it is looked whether the program has opened a socket.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A line that is longer is shown as several.
const LONGEST_LINE: u64 = 16 << 10;
/// How often it is told where the program allocates.
const SITES_EVERY: Duration = Duration::from_secs(1);

/// Looks at a program until it has ended or nobody listens any more.
pub fn watch(watched: Watched, messages: SyncSender<Message>) -> Started {
    let (wishes, wanted) = channel();
    let pid = watched.watch.pid();
    let began = Instant::now();
    for output in watched.output {
        let messages = messages.clone();
        thread::spawn(move || pass_on(output, began, &messages));
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
    let end = thread::spawn(move || looking.run());
    Started { pid, wish: Box::new(move |action| send(&wishes, action)), end }
}

fn send(wishes: &Sender<Action>, action: Action) -> Result<(), String> {
    wishes.send(action).map_err(|_| "the program has ended".to_owned())
}

/// What a program writes to its standard streams is shown as its log; when nobody looks any more, it is written to ours.
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
            // The program is not to notice if ours is closed.
            let _ = std::io::stderr().write_all(&line);
        }
        line.clear();
    }
}

/// The thread that looks.
struct Looking {
    watch: Watch,
    name: String,
    period: Duration,
    messages: SyncSender<Message>,
    wanted: Receiver<Action>,
    /// The program itself, if it speaks.
    own: Option<Wish>,
    looked: Option<Instant>,
    sites_told: Option<Instant>,
    snapshots: u32,
    /// What was said of it that goes without saying from then on.
    said: VecDeque<String>,
}

/// Nobody listens any more.
struct Unwanted;

impl Looking {
    fn run(mut self) -> Option<ExitStatus> {
        let told = self.tell();
        drop(self.own.take());
        match told {
            Ok(status) => status,
            // The program goes on, and we stay with it until it ends.
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

    /// Finds the program's own voice, once it has one.
    fn connect(&mut self) {
        let is_due = self.looked.is_none_or(|last| last.elapsed() >= LOOK_EVERY);
        if self.own.is_some() || !is_due {
            return;
        }
        self.looked = Some(Instant::now());
        if let Some(path) = socket(self.watch.pid())
            && let Ok(client) = Client::connect(Address::Socket(path), &[], true)
        {
            self.own = Some(connect(client, true, self.messages.clone()));
        }
    }

    fn grant(&mut self, action: Action) -> Result<(), Unwanted> {
        let said = match action {
            Action::Snapshot(name) => self.snapshot(&name),
            Action::Sampling(on) => self.watch.set_sampling(on).map(|()| {
                let what = if on {
                    "sampling allocations"
                } else {
                    "allocations are not sampled any more"
                };
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
