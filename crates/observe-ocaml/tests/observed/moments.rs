//! What a program wants to show at a moment is shown, whatever happens to the value afterwards.

use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use bactrian_fixtures::{BOTH, Compiler, Variant};
use bactrian_live::client::{Address, Client, Incoming, Protocol};
use bactrian_live::ocamlviz::{MAX_FRAME, Message, VizValue, take};
use bactrian_live::wire::Frames;
use bactrian_live::{Event, Value};

use crate::compatible::original;
use crate::programs::program;
use crate::watch::Running;

const PATIENCE: Duration = Duration::from_secs(60);

/// A program that speaks the Ocamlviz protocol on a port that was free a moment ago, and our protocol unless
/// `is_off`.
fn on_a_port(program: &Path, is_off: bool) -> (Running, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("its address").port();
    drop(listener);
    let mut running = Running::start_with(program, |command| {
        command.env("OCAMLVIZ_PORT", port.to_string()).env_remove("OCAMLVIZ_HOST");
        if is_off {
            command.env("BACTRIAN_LIVE", "off");
        }
    });
    assert_eq!(running.line(), "ready");
    (running, port)
}

fn connected<T>(mut connect: impl FnMut() -> std::io::Result<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        match connect() {
            Ok(connected) => return connected,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// The values that an Ocamlviz client receives, without the zeros between them.
fn told_in_ocamlviz(program: &Path) -> Vec<i64> {
    let (_running, port) = on_a_port(program, false);
    let mut stream = connected(|| TcpStream::connect(("127.0.0.1", port)));
    stream.set_read_timeout(Some(PATIENCE)).expect("a time");
    let mut frames = Frames::up_to(MAX_FRAME);
    let (mut uid, mut told) = (None, Vec::new());
    let mut piece = [0; 4096];
    while told.last() != Some(&20) {
        let count = stream.read(&mut piece).expect("it goes on");
        assert!(count > 0, "it ended after {told:?}");
        frames.push(&piece[..count]);
        while let Some(frame) = frames.next().expect("frames") {
            match take(&frame).expect("a message") {
                Message::Declare(it, _, name) if name == "moment" => uid = Some(it),
                Message::Send(it, VizValue::Int(value)) if Some(it) == uid => told.push(value),
                _ => {}
            }
        }
    }
    told.retain(|value| *value != 0);
    // All values are sent at each tick, as the original does.
    told.dedup();
    told
}

#[test]
fn twenty_values_sent_now_arrive_in_order() {
    let twenty: Vec<i64> = (1..=20).collect();
    assert_eq!(told_in_ocamlviz(&original("observe_moments")), twenty, "the original");
    for compiler in BOTH {
        let program = program("observe_moments", compiler, Variant::Plain);
        assert_eq!(told_in_ocamlviz(&program), twenty, "{compiler:?}");
        let mut running = Running::start(&program);
        assert_eq!(running.line(), "ready");
        let mut watch = running.watch();
        watch.until("the last of them", |watch| {
            watch.told("moment").last() == Some(&Value::Int(20))
        });
        let told = watch.told("moment").into_iter().filter(|value| *value != Value::Int(0));
        assert_eq!(
            told.collect::<Vec<_>>(),
            twenty.iter().map(|n| Value::Int(*n)).collect::<Vec<_>>()
        );
        assert_eq!(running.line(), "done");
    }
}

#[test]
fn marker_shows_the_values_at_its_point() {
    for compiler in BOTH {
        let mut running = Running::start(&program("observe_marker", compiler, Variant::Plain));
        assert_eq!(running.line(), "ready");
        let mut watch = running.watch();
        for n in 1..=20 {
            let text = n.to_string();
            watch.until(&text, |watch| watch.markers.last() == Some(&text));
            let seen = (watch.value("here").cloned(), watch.value("times").cloned());
            assert_eq!(seen, (Some(Value::Bool(true)), Some(Value::Int(n))), "{compiler:?}, {n}");
        }
    }
}

/// The protocol that our client speaks with a program found by its Ocamlviz port: our own with programs
/// linked with our library, unless it is off.
#[test]
fn program_is_found_by_its_ocamlviz_port() {
    let spoken = |program: &Path, is_off: bool| {
        let (mut running, port) = on_a_port(program, is_off);
        let address = Address::Tcp(format!("127.0.0.1:{port}"));
        let (_client, incoming) = connected(|| Client::connect(address.clone(), b"", true));
        let mut protocol = None;
        let mut declared = 0;
        // The connection continues, and everything is declared once.
        let mut is_done = false;
        while !is_done {
            match incoming.recv_timeout(PATIENCE).expect("something comes") {
                // If we greeted too late, the connection starts with the Ocamlviz protocol and then begins
                // anew.
                Incoming::Connected(it) => (protocol, declared) = (Some(it), 0),
                Incoming::Event(Event::Declare(it)) => declared += usize::from(it.name == "moment"),
                Incoming::Event(Event::Update(_, Value::Int(20))) => is_done = true,
                Incoming::Event(_) => {}
                Incoming::Lost { reason, .. } => panic!("{reason}"),
            }
        }
        assert_eq!(declared, 1);
        assert_eq!(running.line(), "done");
        protocol
    };
    let ours = program("observe_moments", Compiler::OCaml5, Variant::Plain);
    assert_eq!(spoken(&ours, false), Some(Protocol::Own));
    assert_eq!(
        spoken(&ours, true),
        Some(Protocol::Ocamlviz),
        "our protocol is not spoken anywhere"
    );
    assert_eq!(spoken(&original("observe_moments"), false), Some(Protocol::Ocamlviz));
}
