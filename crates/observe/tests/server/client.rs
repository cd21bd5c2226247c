//! A client for the tests.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;

use bactrian_live::wire::{self, Frame, Frames, Greeting, Reply};
use bactrian_live::{Action, Control, Event, ObserverId, Value};

use crate::DEADLINE;

trait Stream: Read + Write + Send {}
impl<T: Read + Write + Send> Stream for T {}

pub struct Client {
    stream: Box<dyn Stream>,
    frames: Frames,
    requests: u32,
}

impl Client {
    pub fn unix(path: &Path) -> Client {
        let stream = UnixStream::connect(path).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a time");
        Client { stream: Box::new(stream), frames: Frames::default(), requests: 0 }
    }

    pub fn network(address: SocketAddr) -> Client {
        let stream = TcpStream::connect(address).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a time");
        Client { stream: Box::new(stream), frames: Frames::default(), requests: 0 }
    }

    pub fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).expect("the server reads");
    }

    /// Greets, and must be accepted.
    pub fn greet(mut self, token: &[u8]) -> Client {
        assert_eq!(self.try_greet(&Greeting::new(token)), Reply::Welcome(wire::VERSION));
        self
    }

    pub fn try_greet(&mut self, greeting: &Greeting) -> Reply {
        let mut bytes = Vec::new();
        wire::put_greeting(&mut bytes, greeting);
        self.say(&bytes);
        wire::take_reply(&self.frame().expect("an answer")).expect("sound")
    }

    /// The next frame; None at the end.
    fn frame(&mut self) -> Option<Frame> {
        loop {
            if let Some(frame) = self.frames.next().expect("sound") {
                return Some(frame);
            }
            let mut bytes = [0; 65_536];
            match self.stream.read(&mut bytes) {
                Ok(0) => return None,
                Ok(count) => self.frames.push(&bytes[..count]),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("nothing comes: {error}"),
            }
        }
    }

    /// The next event; None at the end.
    pub fn event(&mut self) -> Option<Event> {
        let frame = self.frame()?;
        Some(wire::take_event(&frame).expect("sound").expect("known"))
    }

    /// Waits for an event that satisfies `found`.
    pub fn until<T>(&mut self, what: &str, mut found: impl FnMut(&Event) -> Option<T>) -> T {
        loop {
            let event = self.event().unwrap_or_else(|| panic!("the end, without {what}"));
            if let Some(found) = found(&event) {
                return found;
            }
        }
    }

    /// Waits for the declaration of an observer.
    pub fn declared(&mut self, name: &str) -> bactrian_live::Declaration {
        self.until(name, |event| match event {
            Event::Declare(declaration) if declaration.name == name => Some(declaration.clone()),
            _ => None,
        })
    }

    /// Waits for a value of an observer that satisfies `is_right`.
    pub fn value(&mut self, id: ObserverId, is_right: impl Fn(&Value) -> bool) -> Value {
        self.until("a value", |event| match event {
            Event::Update(of, value) if *of == id && is_right(value) => Some(value.clone()),
            _ => None,
        })
    }

    pub fn ask(&mut self, action: Action) -> u32 {
        self.requests += 1;
        let mut bytes = Vec::new();
        wire::put_control(&mut bytes, &Control { request: self.requests, action });
        self.say(&bytes);
        self.requests
    }

    /// Sends a request and waits for the answer.
    pub fn control(&mut self, action: Action) -> Result<String, String> {
        let asked = self.ask(action);
        self.until("an answer", |event| match event {
            Event::Answer { request, result } if *request == asked => Some(result.clone()),
            _ => None,
        })
    }
}
