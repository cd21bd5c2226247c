//! Tests the client with programs that come, go, refuse and send nonsense. Tests with real servers are in
//! crates/observe and crates/bactrian.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use bactrian_live::client::{Address, Client, Incoming, Protocol};
use bactrian_live::wire::{self, Frames, Greeting, MAX_REQUEST, Reply};
use bactrian_live::{Action, Control, Event, Program, Stamp};

/// Generous, because the machine may be busy.
const PATIENCE: Duration = Duration::from_secs(60);

fn next(incoming: &Receiver<Incoming>) -> Incoming {
    incoming.recv_timeout(PATIENCE).expect("something comes")
}

/// Reads a client's first frame.
fn greeting(stream: &mut UnixStream) -> Greeting {
    wire::take_greeting(&frame(stream)).expect("a greeting")
}

fn frame(stream: &mut UnixStream) -> wire::Frame {
    let mut frames = Frames::up_to(MAX_REQUEST);
    let mut byte = [0];
    loop {
        if let Some(frame) = frames.next().expect("sound") {
            return frame;
        }
        stream.read_exact(&mut byte).expect("a client that speaks");
        frames.push(&byte);
    }
}

fn send(stream: &mut UnixStream, put: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = Vec::new();
    put(&mut bytes);
    stream.write_all(&bytes).expect("a client that listens");
}

fn welcome(stream: &mut UnixStream, program: &Program) {
    greeting(stream);
    send(stream, |bytes| {
        wire::put_reply(bytes, &Reply::Welcome(wire::VERSION));
        wire::put_event(bytes, &Event::Hello(program.clone()));
    });
}

fn connect(path: &Path, reconnects: bool) -> (Client, Receiver<Incoming>) {
    Client::connect(Address::Socket(path.to_owned()), b"token", reconnects)
        .expect("somebody listens")
}

#[test]
fn lost_connection_is_reestablished() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let program = Program { name: "p".into(), pid: 7, ..Program::default() };
    let (_client, incoming) = connect(&path, true);
    for round in 0..3 {
        let (mut stream, _) = listener.accept().expect("a client");
        welcome(&mut stream, &program);
        let tick = Event::Tick(Stamp { at: round, cpu: 0 });
        send(&mut stream, |bytes| wire::put_event(bytes, &tick));
        assert_eq!(next(&incoming), Incoming::Connected(Protocol::Own));
        assert_eq!(next(&incoming), Incoming::Event(Event::Hello(program.clone())));
        assert_eq!(next(&incoming), Incoming::Event(tick));
        drop(stream);
        assert!(matches!(next(&incoming), Incoming::Lost { retries: true, .. }));
    }
    // The program goes away and comes back.
    drop(listener);
    std::fs::remove_file(&path).expect("it was there");
    assert!(matches!(next(&incoming), Incoming::Lost { retries: true, .. }));
    let listener = UnixListener::bind(&path).expect("a socket");
    welcome(&mut listener.accept().expect("a client").0, &program);
    let again =
        std::iter::repeat_with(|| next(&incoming)).find(|it| !matches!(it, Incoming::Lost { .. }));
    assert_eq!(again, Some(Incoming::Connected(Protocol::Own)));
}

#[test]
fn requests_reach_the_program() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let (mut client, incoming) = connect(&path, false);
    let (mut stream, _) = listener.accept().expect("a client");
    assert!(client.control(Action::Sampling(true)).is_err(), "nobody has said that they listen");
    assert_eq!(greeting(&mut stream).token, b"token");
    send(&mut stream, |bytes| wire::put_reply(bytes, &Reply::Welcome(wire::VERSION)));
    assert_eq!(next(&incoming), Incoming::Connected(Protocol::Own));
    let request = client.control(Action::Mark("here".into())).expect("it listens");
    let wish = Control { request, action: Action::Mark("here".into()) };
    assert_eq!(wire::take_control(&frame(&mut stream)), Ok(Some(wish)));
    // Dropping the client closes the connection.
    drop(client);
    assert_eq!(stream.read(&mut [0]).expect("no error"), 0);
}

#[test]
fn refusing_or_malformed_program_is_not_retried() {
    let said: [(&[u8], &str); 3] = [
        (&refusal(), "wrong token"),
        (b"\x05\0\0\0HELLO there", "uses neither"),
        (b"\xFF\xFF\xFF\xFF", "uses neither"),
    ];
    for (bytes, expected) in said {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("socket");
        let listener = UnixListener::bind(&path).expect("a socket");
        let (_client, incoming) = connect(&path, true);
        let (mut stream, _) = listener.accept().expect("a client");
        stream.write_all(bytes).expect("a client that listens");
        match next(&incoming) {
            Incoming::Lost { reason, retries: false } => {
                assert!(reason.contains(expected), "{reason}")
            }
            other => panic!("{other:?} after {bytes:?}"),
        }
        assert!(incoming.recv_timeout(PATIENCE).is_err(), "nothing more comes");
    }
}

fn refusal() -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::put_reply(&mut bytes, &Reply::Refused("wrong token".into()));
    bytes
}

#[test]
fn ocamlviz_program_is_recognised_by_its_first_frame() {
    let capture: &[u8] = include_bytes!("captures/alarm_second_client.bin");
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).expect("a socket");
    let (_client, incoming) = connect(&path, false);
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        // If the connection were closed before the client greets, the client would not receive what was sent
        // before.
        greeting(&mut stream);
        stream.write_all(capture).expect("a client that listens");
    });
    assert_eq!(next(&incoming), Incoming::Connected(Protocol::Ocamlviz));
    let names: Vec<String> = incoming
        .into_iter()
        .filter_map(|incoming| match incoming {
            Incoming::Event(Event::Declare(declaration)) => Some(declaration.name),
            _ => None,
        })
        .collect();
    assert!(names.contains(&"my value".to_owned()), "{names:?}");
}

/// On a busy machine our program may stop waiting for the greeting and take the client for one of Ocamlviz's.
#[test]
fn client_mistaken_for_ocamlviz_still_follows_the_redirection() {
    let capture: &[u8] = include_bytes!("captures/alarm_second_client.bin");
    let folder = tempfile::tempdir().expect("a folder");
    let (old, own) = (folder.path().join("old"), folder.path().join("own"));
    let listeners = [&old, &own].map(|path| UnixListener::bind(path).expect("a socket"));
    let program = Program { name: "p".into(), run: "this one".into(), ..Program::default() };
    let (_client, incoming) = connect(&old, false);
    let (mut stream, _) = listeners[0].accept().expect("a client");
    send(&mut stream, |bytes| bytes.extend(capture));
    assert_eq!(next(&incoming), Incoming::Connected(Protocol::Ocamlviz));
    greeting(&mut stream);
    let reply = Reply::Elsewhere { socket: own.display().to_string(), run: program.run.clone() };
    send(&mut stream, |bytes| wire::put_reply(bytes, &reply));
    welcome(&mut listeners[1].accept().expect("a client").0, &program);
    let later: Vec<Incoming> = incoming.into_iter().collect();
    let own = later.iter().position(|it| *it == Incoming::Connected(Protocol::Own));
    assert_eq!(later[own.expect("it goes there") + 1], Incoming::Event(Event::Hello(program)));
}
