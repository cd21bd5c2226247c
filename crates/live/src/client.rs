//! A client connection to an observed program, kept up by its own thread.
//!
//! The first bytes from the program show which protocol it speaks. The client greets first in either case:
//! programs linked with Ocamlviz never read, so a greeting does no harm. A program linked with our library
//! that is greeted on its Ocamlviz port answers with the address of its own-protocol socket, even if the
//! greeting arrives late. The client moves there if it can; otherwise it reconnects to the Ocamlviz port and
//! sends no greeting.

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

/// The address on which a program listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A Unix socket.
    Socket(PathBuf),
    /// A TCP address, as `host:port`.
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

/// The protocol that a program speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// Bactrian's own protocol.
    Own,
    /// The protocol of Ocamlviz.
    Ocamlviz,
}

/// A message from the connection's thread.
#[derive(Clone, Debug, PartialEq)]
pub enum Incoming {
    /// The connection was established, for the first time or again.
    Connected(Protocol),
    /// An event from the program.
    Event(Event),
    /// The connection was lost.
    Lost {
        /// The reason, for people.
        reason: String,
        /// Whether the client tries to reconnect.
        retries: bool,
    },
}

/// The sending side of the connection. Dropping it closes the connection.
#[derive(Debug)]
pub struct Client {
    writer: Arc<Mutex<Option<Stream>>>,
    requests: u32,
}

/// Capacity of the message queue. When it is full, the thread stops reading from the program.
const WAITING: usize = 64 << 10;
/// The first and the longest delay before a reconnection attempt.
const RETRY: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(3));

impl Client {
    /// Connects. The receiver ends when the connection is lost for good. With `reconnects`, a lost connection
    /// is retried until the client is dropped.
    ///
    /// # Errors
    /// If nobody listens at the address.
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

    /// Sends a request and returns its number, which the answer repeats.
    ///
    /// # Errors
    /// If there is no connection, or the program accepts no requests.
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
                "the program does not accept requests",
            )),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // Wakes the thread, which then finds the receiver gone.
        if let Some(stream) = self.writer.lock().unwrap_or_else(PoisonError::into_inner).take() {
            stream.shutdown();
        }
    }
}

/// The state of the connection's thread.
struct Connection {
    address: Address,
    token: Vec<u8>,
    sender: SyncSender<Incoming>,
    writer: Arc<Mutex<Option<Stream>>>,
}

/// The receiver was dropped.
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

    /// Connects and greets at once: a program takes a client that is silent at first for one of Ocamlviz's.
    fn greet(&self) -> io::Result<Stream> {
        Stream::connect(&self.address)?.greeted(&self.token)
    }

    fn tell(&self, incoming: Incoming) -> Result<(), Unwanted> {
        self.sender.send(incoming).map_err(|_| Unwanted)
    }

    /// Reads from a program until the connection ends, over our own protocol where the program speaks it.
    /// Returns the reason for the end, and whether reconnecting is pointless.
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

    /// Reads from a program at one address. The stream was greeted already unless the Ocamlviz protocol is
    /// expected.
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
                // `Elsewhere` may also come after Ocamlviz frames: if the greeting came late, the program
                // took us for an Ocamlviz client.
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
                // The first event must be `Hello` with the expected run.
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

    /// Determines the protocol from the first frame.
    fn first(&self, frame: &Frame, stream: &Stream) -> Result<Result<Language, String>, Unwanted> {
        match wire::take_reply(frame) {
            Ok(Reply::Welcome(version)) if version == wire::VERSION => {
                *self.writer.lock().unwrap_or_else(PoisonError::into_inner) = stream.again();
                self.tell(Incoming::Connected(Protocol::Own))?;
                Ok(Ok(Language::Own))
            }
            Ok(Reply::Welcome(version)) => Ok(Err(format!(
                "the program uses protocol version {version}, this Bactrian uses \
                    {}",
                wire::VERSION
            ))),
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
    format!("the peer uses neither Bactrian's protocol nor that of Ocamlviz: {malformed}")
}

/// Which program is expected at an address.
enum ExpectedProgram<'a> {
    /// Any program.
    Anyone,
    /// This run of a program, speaking our own protocol.
    Run(&'a str),
    /// Any program, speaking the Ocamlviz protocol; it is not greeted.
    Ocamlviz,
}

/// How reading from a program ended.
enum Listened {
    /// The reason, and whether reconnecting is pointless.
    Lost(String, bool),
    /// The program named the socket on which it speaks our protocol, and its run.
    Elsewhere { socket: String, run: String },
    /// Another run of a program answered.
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

/// A Unix or TCP stream.
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

    /// A second handle to the same stream.
    fn again(&self) -> Option<Stream> {
        match self {
            Stream::Unix(stream) => stream.try_clone().map(Stream::Unix).ok(),
            Stream::Tcp(stream) => stream.try_clone().map(Stream::Tcp).ok(),
        }
    }

    /// Whether the peer seems to be on this machine. A forwarded port also looks local.
    fn is_of_this_machine(&self) -> bool {
        match self {
            Stream::Unix(_) => true,
            Stream::Tcp(stream) => stream.peer_addr().is_ok_and(|peer| peer.ip().is_loopback()),
        }
    }

    fn shutdown(&self) {
        // Failure means that it was shut down already.
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
