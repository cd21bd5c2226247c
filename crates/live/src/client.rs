//! A connection to a program, kept up by a thread of its own.
//!
//! Which protocol a program speaks shows in its first bytes. A client of ours speaks first; programs linked with Ocamlviz
//! never listen, so nothing is lost by greeting them too. A program linked with our library, greeted where it speaks
//! Ocamlviz's protocol, says where it speaks ours, also if the greeting comes late; whoever cannot go there comes back and says
//! nothing.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::ocamlviz::{self, Translator};
use crate::wire::{self, Frame, Frames, Greeting, Reply};
use crate::{Action, Control, Event};

/// Where a program listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// On a socket of this machine.
    Socket(PathBuf),
    /// On the network: a host and a port.
    Tcp(String),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Socket(path) => write!(f, "{}", path.display()),
            Address::Tcp(address) => f.write_str(address),
        }
    }
}

/// What a program speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Bactrian's.
    Own,
    /// That of Ocamlviz.
    Ocamlviz,
}

/// What comes from a connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// It was made, for the first time or again.
    Connected(Protocol),
    /// Something from the program.
    Event(Event),
    /// It is gone; why, and whether it will be tried again.
    Lost {
        /// Why.
        reason: String,
        /// Whether another try is made.
        retries: bool,
    },
}

/// The way back to the program. The connection ends when it is dropped.
#[derive(Debug)]
pub struct Client {
    writer: Arc<Mutex<Option<Stream>>>,
    requests: u32,
}

/// How many messages may wait for who reads them; then the program is not read from.
const WAITING: usize = 64 << 10;
/// The first wait before another try, and the longest.
const RETRY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(3));

impl Client {
    /// Connects; what comes ends when the connection is lost for good. With `reconnects`, one that is lost is tried
    /// again until the client is dropped.
    ///
    /// # Errors
    /// If there is nobody at that address.
    pub fn connect(
        address: Address,
        token: &[u8],
        reconnects: bool,
    ) -> io::Result<(Client, Receiver<Incoming>)> {
        let (sender, incoming) = sync_channel(WAITING);
        let writer = Arc::new(Mutex::new(None));
        let connection =
            Connection { address, token: token.to_vec(), sender, writer: writer.clone() };
        let stream = connection.greet()?;
        thread::Builder::new()
            .name("live client".into())
            .spawn(move || connection.run(stream, reconnects))?;
        Ok((Client { writer, requests: 0 }, incoming))
    }

    /// Sends a wish; the answer will repeat the number that this gives.
    ///
    /// # Errors
    /// If there is no connection, or one to a program that does not listen.
    pub fn control(&mut self, action: Action) -> io::Result<u32> {
        self.requests += 1;
        let control = Control { request: self.requests, action };
        let mut bytes = Vec::new();
        wire::put_control(&mut bytes, &control);
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        match writer.as_mut() {
            Some(stream) => stream.write_all(&bytes).map(|()| self.requests),
            None => Err(io::Error::new(
                io::ErrorKind::NotConnected,
                "the program does not listen to wishes",
            )),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Wakes the thread, which finds nobody to tell.
        if let Some(stream) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            stream.shutdown();
        }
    }
}

/// What the thread has.
struct Connection {
    address: Address,
    token: Vec<u8>,
    sender: SyncSender<Incoming>,
    writer: Arc<Mutex<Option<Stream>>>,
}

/// Nobody is interested any more.
struct Unwanted;

impl Connection {
    fn run(self, first: Stream, reconnects: bool) {
        let mut stream = Ok(first);
        let mut wait = RETRY.0;
        loop {
            let begin = Instant::now();
            let (reason, is_final) = match stream {
                Ok(stream) => match self.hear_out(stream) {
                    Ok(end) => end,
                    Err(Unwanted) => return,
                },
                Err(error) => (format!("{}: {error}", self.address), false),
            };
            *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = None;
            let retries = reconnects && !is_final;
            if self.sender.send(Incoming::Lost { reason, retries }).is_err() || !retries {
                return;
            }
            wait = if begin.elapsed() > RETRY.1 { RETRY.0 } else { (wait * 2).min(RETRY.1) };
            thread::sleep(wait);
            stream = self.greet();
        }
    }

    /// Connects and greets, without anything in between: who says nothing at first is taken for a client of Ocamlviz.
    fn greet(&self) -> io::Result<Stream> {
        Stream::connect(&self.address)?.greeted(&self.token)
    }

    fn tell(&self, incoming: Incoming) -> Result<(), Unwanted> {
        self.sender.send(incoming).map_err(|_| Unwanted)
    }

    /// Hears a program out, where it speaks our protocol if it does; gives why that ended, and whether it is no use to try again.
    fn hear_out(&self, stream: Stream) -> Result<(String, bool), Unwanted> {
        let is_here = stream.is_of_this_machine();
        let (socket, run) = match self.listen(stream, ExpectedProgram::Anyone)? {
            Listened::Elsewhere { socket, run } => (socket, run),
            end => return Ok(end.told()),
        };
        let there = Address::Socket(PathBuf::from(&socket));
        if is_here
            && !socket.is_empty()
            && let Ok(stream) = Stream::connect(&there).and_then(|stream| stream.greeted(&[]))
            && let end @ Listened::Lost(..) = self.listen(stream, ExpectedProgram::Run(&run))?
        {
            return Ok(end.told());
        }
        match Stream::connect(&self.address) {
            Err(error) => Ok((format!("{}: {error}", self.address), false)),
            Ok(stream) => Ok(self.listen(stream, ExpectedProgram::Ocamlviz)?.told()),
        }
    }

    /// Hears a program out at one place, where it was greeted if it is to be.
    fn listen(
        &self,
        mut stream: Stream,
        mut expected: ExpectedProgram<'_>,
    ) -> Result<Listened, Unwanted> {
        let lost = |reason: String, is_final| Ok(Listened::Lost(reason, is_final));
        let mut frames = Frames::default();
        let mut language = Language::Unknown;
        let begin = Instant::now();
        let mut piece = vec![0; 64 << 10];
        loop {
            match stream.read(&mut piece) {
                Ok(0) => return lost("the program closed the connection".into(), false),
                Ok(length) => frames.push(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return lost(error.to_string(), false),
            }
            loop {
                let frame = match frames.next() {
                    Ok(Some(frame)) => frame,
                    Ok(None) => break,
                    Err(malformed) => return lost(not_understood(&malformed), true),
                };
                // Also after frames of Ocamlviz: a greeting may come so late that we were taken for one of its clients.
                if !matches!(language, Language::Own)
                    && !matches!(expected, ExpectedProgram::Ocamlviz)
                    && let Ok(Reply::Elsewhere { socket, run }) = wire::take_reply(&frame)
                {
                    return Ok(Listened::Elsewhere { socket, run });
                }
                if let Language::Unknown = language {
                    language = match self.first(&frame, &stream)? {
                        Ok(language) => language,
                        Err(reason) => return lost(reason, true),
                    };
                    if let Language::Own = language {
                        continue;
                    }
                }
                // It says who it is before anything else.
                if let ExpectedProgram::Run(run) =
                    std::mem::replace(&mut expected, ExpectedProgram::Anyone)
                    && !matches!(wire::take_event(&frame), Ok(Some(Event::Hello(it))) if it.run == run)
                {
                    return Ok(Listened::AnotherRun);
                }
                if let Err(reason) = self.frame(&mut language, &frame, begin)? {
                    return lost(reason, true);
                }
            }
        }
    }

    /// What is spoken, by the first frame.
    fn first(&self, frame: &Frame, stream: &Stream) -> Result<Result<Language, String>, Unwanted> {
        match wire::take_reply(frame) {
            Ok(Reply::Welcome(version)) if version == wire::VERSION => {
                *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = stream.again();
                self.tell(Incoming::Connected(Protocol::Own))?;
                Ok(Ok(Language::Own))
            }
            Ok(Reply::Welcome(version)) => {
                Ok(Err(format!("the program speaks version {version}, this is {}", wire::VERSION)))
            }
            Ok(Reply::Refused(reason)) => Ok(Err(format!("the program says: {reason}"))),
            Ok(Reply::Elsewhere { socket, .. }) => Ok(Err(format!("the program is at {socket}"))),
            Err(_) if ocamlviz::take(frame).is_ok() => {
                let (translator, events) = Translator::new(&self.address.to_string());
                self.tell(Incoming::Connected(Protocol::Ocamlviz))?;
                for event in events {
                    self.tell(Incoming::Event(event))?;
                }
                Ok(Ok(Language::Ocamlviz(Box::new(translator))))
            }
            Err(malformed) => Ok(Err(not_understood(&malformed))),
        }
    }

    fn frame(
        &self,
        language: &mut Language,
        frame: &Frame,
        begin: Instant,
    ) -> Result<Result<(), String>, Unwanted> {
        let events = match language {
            Language::Unknown => Vec::new(),
            Language::Own => match wire::take_event(frame) {
                Ok(event) => event.into_iter().collect(),
                Err(malformed) => return Ok(Err(not_understood(&malformed))),
            },
            Language::Ocamlviz(translator) => match ocamlviz::take(frame) {
                Ok(message) => translator.translate(
                    message,
                    u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX),
                ),
                Err(malformed) => return Ok(Err(not_understood(&malformed))),
            },
        };
        for event in events {
            self.tell(Incoming::Event(event))?;
        }
        Ok(Ok(()))
    }
}

fn not_understood(malformed: &wire::Malformed) -> String {
    format!("what is there speaks neither Bactrian's protocol nor that of Ocamlviz: {malformed}")
}

/// Which program is expected at an address.
enum ExpectedProgram<'a> {
    /// Whoever is there.
    Anyone,
    /// This run of a program, where our protocol is spoken.
    Run(&'a str),
    /// Whoever is there, in Ocamlviz's protocol: it is not greeted.
    Ocamlviz,
}

/// How listening to a program ended.
enum Listened {
    /// Why, and whether it is no use to try again.
    Lost(String, bool),
    /// The program says where else it is, and which run of it.
    Elsewhere { socket: String, run: String },
    /// Somebody else is there.
    AnotherRun,
}

impl Listened {
    fn told(self) -> (String, bool) {
        match self {
            Listened::Lost(reason, is_final) => (reason, is_final),
            Listened::Elsewhere { socket, .. } => (format!("the program is at {socket}"), true),
            Listened::AnotherRun => ("another program is there".into(), false),
        }
    }
}

enum Language {
    Unknown,
    Own,
    Ocamlviz(Box<Translator>),
}

/// Either sort of stream.
#[derive(Debug)]
enum Stream {
    Unix(UnixStream),
    Tcp(TcpStream),
}

impl Stream {
    fn connect(address: &Address) -> io::Result<Stream> {
        match address {
            Address::Socket(path) => UnixStream::connect(path).map(Stream::Unix),
            Address::Tcp(address) => TcpStream::connect(address.as_str()).map(Stream::Tcp),
        }
    }

    fn greeted(mut self, token: &[u8]) -> io::Result<Stream> {
        let mut greeting = Vec::new();
        wire::put_greeting(&mut greeting, &Greeting::new(token));
        self.write_all(&greeting)?;
        Ok(self)
    }

    /// Another handle of the same stream.
    fn again(&self) -> Option<Stream> {
        match self {
            Stream::Unix(stream) => stream.try_clone().map(Stream::Unix).ok(),
            Stream::Tcp(stream) => stream.try_clone().map(Stream::Tcp).ok(),
        }
    }

    /// Whether the other side seems to be on this machine; it may be on another one whose port was brought here.
    fn is_of_this_machine(&self) -> bool {
        match self {
            Stream::Unix(_) => true,
            Stream::Tcp(stream) => stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
        }
    }

    fn shutdown(&self) {
        // If that fails it was shut down already.
        let _ = match self {
            Stream::Unix(stream) => stream.shutdown(std::net::Shutdown::Both),
            Stream::Tcp(stream) => stream.shutdown(std::net::Shutdown::Both),
        };
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.read(buffer),
            Stream::Tcp(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Unix(stream) => stream.write(bytes),
            Stream::Tcp(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
