//! A running program and a client that observes it.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use bactrian_live::client::{Address, Client, Incoming};
use bactrian_live::{Declaration, Event, ObserverId, Value};

/// Longer than any machine should take.
const PATIENCE: Duration = Duration::from_secs(60);

/// The period in tests that wait for evaluations: a fifth of the default.
pub const PERIOD: Duration = Duration::from_millis(20);

/// A running program.
pub struct Running {
    pub child: Child,
    stdout: BufReader<ChildStdout>,
    socket: PathBuf,
    _folder: tempfile::TempDir,
}

impl Running {
    pub fn start(program: &Path) -> Running {
        Running::start_with(program, |_| {})
    }

    pub fn start_with(program: &Path, change: impl FnOnce(&mut Command)) -> Running {
        let folder = tempfile::tempdir().expect("a folder");
        let socket = folder.path().join("socket");
        let mut command = Command::new(program);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .env("BACTRIAN_LIVE", &socket)
            .env("OCAMLVIZ_HOST", "off");
        change(&mut command);
        let mut child = command.spawn().expect("the program starts");
        let stdout = BufReader::new(child.stdout.take().expect("its output"));
        Running { child, stdout, socket, _folder: folder }
    }

    /// With a short period.
    pub fn start_fast(program: &Path, argument: Option<&str>) -> Running {
        Running::start_with(program, |command| {
            command.args(argument).env("OCAMLVIZ_PERIOD", PERIOD.as_secs_f64().to_string());
        })
    }

    /// The next line of output.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.stdout.read_line(&mut line).expect("its output");
        line.trim_end().to_owned()
    }

    /// All lines before `last`.
    pub fn lines_until(&mut self, last: &str) -> Vec<String> {
        let mut lines = Vec::new();
        loop {
            let line = self.line();
            if line == last {
                return lines;
            }
            assert!(!line.is_empty(), "it ended after {lines:?}");
            lines.push(line);
        }
    }

    pub fn tell(&mut self, line: &str) {
        let stdin = self.child.stdin.as_mut().expect("its input");
        writeln!(stdin, "{line}").and_then(|()| stdin.flush()).expect("it reads");
    }

    /// Closes its standard input. Returns the rest of its output, and whether it exited with status 0.
    pub fn end(mut self) -> (String, bool) {
        drop(self.child.stdin.take());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).expect("its output");
        (rest, self.child.wait().expect("its end").success())
    }

    pub fn watch(&self) -> Watch {
        let deadline = Instant::now() + PATIENCE;
        loop {
            match Client::connect(Address::Socket(self.socket.clone()), b"", false) {
                Ok((client, incoming)) => return Watch::new(client, incoming),
                Err(error) => assert!(Instant::now() < deadline, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have exited already.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// What a client has received.
pub struct Watch {
    /// Keeps the connection open.
    _client: Client,
    incoming: Receiver<Incoming>,
    pub declarations: HashMap<ObserverId, Declaration>,
    values: HashMap<ObserverId, Value>,
    /// All updates, in order.
    updates: Vec<(ObserverId, Value)>,
    pub log: Vec<String>,
    pub markers: Vec<String>,
    pub end: Option<String>,
    pub ticks: u64,
}

impl Watch {
    fn new(client: Client, incoming: Receiver<Incoming>) -> Watch {
        Watch {
            _client: client,
            incoming,
            declarations: HashMap::new(),
            values: HashMap::new(),
            updates: Vec::new(),
            log: Vec::new(),
            markers: Vec::new(),
            end: None,
            ticks: 0,
        }
    }

    /// The last value of the observer with this name.
    pub fn value(&self, name: &str) -> Option<&Value> {
        let id = self
            .declarations
            .values()
            .filter(|known| known.name == name)
            .map(|known| known.id)
            .max()?;
        self.values.get(&id)
    }

    /// All values of the observer with this name, in order.
    pub fn told(&self, name: &str) -> Vec<Value> {
        let Some(id) = self.declaration(name).map(|known| known.id) else { return Vec::new() };
        self.updates.iter().filter(|(it, _)| *it == id).map(|(_, value)| value.clone()).collect()
    }

    /// The last value of an observer.
    pub fn of(&self, id: ObserverId) -> Option<&Value> {
        self.values.get(&id)
    }

    pub fn declaration(&self, name: &str) -> Option<&Declaration> {
        self.declarations.values().find(|known| known.name == name)
    }

    /// Waits until a condition holds.
    pub fn until(&mut self, what: &str, is_so: impl Fn(&Watch) -> bool) {
        let deadline = Instant::now() + PATIENCE;
        while !is_so(self) {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.incoming.recv_timeout(left) {
                Ok(Incoming::Event(event)) => self.take(event),
                Ok(Incoming::Connected(_)) => {}
                Ok(Incoming::Lost { reason, .. }) => self.end = self.end.take().or(Some(reason)),
                Err(RecvTimeoutError::Disconnected) if is_so(self) => return,
                Err(error) => panic!("{what}: {error}: {:?}", self.seen()),
            }
        }
    }

    /// Waits until an observer has this value.
    pub fn expect(&mut self, name: &str, expected: &Value) {
        self.until(&format!("{name} is {expected:?}"), |watch| watch.value(name) == Some(expected));
    }

    fn take(&mut self, event: Event) {
        match event {
            Event::Declare(declaration) => {
                drop(self.declarations.insert(declaration.id, declaration))
            }
            Event::Update(id, value) => {
                self.updates.push((id, value.clone()));
                self.values.insert(id, value);
            }
            Event::Log(line) => self.log.push(line.text),
            Event::Marker(text) => self.markers.push(text),
            Event::Tick(_) => self.ticks += 1,
            Event::End(why) => self.end = Some(why),
            _ => {}
        }
    }

    fn seen(&self) -> Vec<(&str, Option<&Value>)> {
        let mut seen: Vec<_> = self
            .declarations
            .values()
            .map(|known| (known.name.as_str(), self.values.get(&known.id)))
            .collect();
        seen.sort_by_key(|(name, _)| *name);
        seen
    }
}
