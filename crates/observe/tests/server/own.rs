//! Tests our own protocol.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bactrian_live::wire::{self, Frames, Greeting, Reply, VERSION};
use bactrian_live::{Action, Dropped, Event, ObserverId, ObserverKind, Value};
use bactrian_observe::settings::Live;
use bactrian_observe::{Name, Origin};

use crate::client::Client;
use crate::{Served, wait_until};

#[test]
fn new_client_gets_the_full_state_and_then_updates() {
    let served = Served::new();
    let server = &served.server;
    let point = server.declare(ObserverKind::Point, Name::new("p").label("a", "b"), Origin::Cell);
    let count = |count| point.count_cell().expect("it counts").add(count);
    count(3);
    server.log(b"before");
    let mut client = served.client();
    let Some(Event::Hello(program)) = client.event() else { panic!("first it says who it is") };
    assert_eq!((program.pid, program.controls), (std::process::id(), true));
    let declaration = client.declared("p");
    assert_eq!(declaration.labels, [("a".to_owned(), "b".to_owned())]);
    assert_eq!((declaration.id, declaration.period_ms), (point.id(), 20));
    let Some(Event::Tick(first)) = client.event() else { panic!("then what moment it is") };
    assert_eq!(client.event(), Some(Event::Update(point.id(), Value::Count(3))));
    let is_line = |text: &'static str| {
        move |event: &Event| match event {
            Event::Log(line) if line.text == text => Some(line.at),
            _ => None,
        }
    };
    client.until("the line", is_line("before"));

    count(4);
    server.log(b"after");
    server.marker("look");
    let text = server.declare(ObserverKind::Text, "t", Origin::Published);
    text.publish(Value::Text("news".into()));
    let later = client.until("a tick", |event| match event {
        Event::Tick(stamp) => Some(*stamp),
        _ => None,
    });
    assert!(later.at > first.at && later.cpu >= first.cpu);
    // A second client gets the same values, whatever the first one has received.
    for client in [&mut client, &mut served.client()] {
        client.value(text.id(), |value| *value == Value::Text("news".into()));
    }
    let mut third = served.client();
    third.value(point.id(), |value| *value == Value::Count(7));
    third.until("the line", is_line("after"));

    // Unchanged values are not repeated.
    let mut ticks = 0;
    while ticks < 3 {
        match third.event().expect("it goes on") {
            Event::Tick(_) => ticks += 1,
            Event::Update(id, value) => panic!("{id:?} says {value:?} again"),
            _ => {}
        }
    }
}

#[test]
fn markers_and_ends_reach_clients() {
    let served = Served::new();
    let server = &served.server;
    let point = server.declare(ObserverKind::Point, "p", Origin::Cell);
    let value = server.declare(ObserverKind::Int, "v", Origin::Published);
    let mut client = served.client();
    client.value(point.id(), |value| *value == Value::Count(0));
    server.marker("look");
    client.until("the marker", |event| (*event == Event::Marker("look".into())).then_some(()));
    point.count_cell().expect("it counts").add(1);
    point.kill();
    client.value(point.id(), |value| *value == Value::Count(1));
    client.value(point.id(), |value| *value == Value::Killed);
    value.collected();
    client.value(value.id(), |value| *value == Value::Collected);
    // A later client gets both.
    let mut later = served.client();
    later.value(point.id(), |value| *value == Value::Count(1));
    later.value(point.id(), |value| *value == Value::Killed);
    server.end("enough");
    client.until("the end", |event| (*event == Event::End("enough".into())).then_some(()));
    assert_eq!(client.event(), None);
    assert!(!server.places().socket.expect("it was there").exists());
}

#[test]
fn requests_are_executed_and_answered() {
    let served = Served::new();
    let server = &served.server;
    let point = server.declare(ObserverKind::Point, "p", Origin::Cell);
    let mut client = served.client();
    client.declared("p");
    let id = point.id();
    assert_eq!(client.control(Action::SetPeriod(id, 40)), Ok("every 40 ms".into()));
    assert_eq!(client.declared("p").period_ms, 40);
    assert_eq!(client.control(Action::Stop(id)), Ok("stopped".into()));
    assert_eq!(client.declared("p").period_ms, 0);
    point.count_cell().expect("it counts").add(5);
    let from = server.ticks();
    wait_until("ticks", || server.ticks() > from + 3);
    assert_eq!(client.control(Action::Resume(id)), Ok("resumed".into()));
    assert_eq!(client.declared("p").period_ms, 40);
    client.value(id, |value| *value == Value::Count(5));
    for nonsense in [
        Action::SetPeriod(id, 0),
        Action::Stop(ObserverId(999)),
        Action::SetPeriod(ObserverId(0), 5),
    ] {
        client.control(nonsense).expect_err("it is refused");
    }
    client.control(Action::Snapshot("x".into())).expect_err("there is nobody to take one");
    client.control(Action::Sampling(true)).expect_err("there is nobody who samples");
    server.on_snapshot(|name, reply| reply.send(Ok(format!("took {name}"))));
    server.on_sampling(|on, reply| drop((on, reply)));
    assert_eq!(client.control(Action::Snapshot("x".into())), Ok("took x".into()));
    assert_eq!(client.control(Action::Sampling(true)), Err("the program did not answer".into()));
    let asked = client.ask(Action::Mark("here".into()));
    let (mut is_marked, mut is_answered) = (false, false);
    while !(is_marked && is_answered) {
        match client.event().expect("it goes on") {
            Event::Marker(text) => is_marked = text == "here",
            Event::Answer { request, result } if request == asked => is_answered = result.is_ok(),
            _ => {}
        }
    }
}

#[test]
fn stopped_observer_sends_nothing_until_resumed() {
    let served = Served::new();
    let point = served.server.declare(ObserverKind::Point, "p", Origin::Cell);
    let other = served.server.declare(ObserverKind::Point, "other", Origin::Cell);
    let mut client = served.client();
    client.control(Action::Stop(point.id())).expect("it is there");
    client.until("the new period", |event| match event {
        Event::Declare(it) if it.id == point.id() && it.period_ms == 0 => Some(()),
        _ => None,
    });
    point.count_cell().expect("it counts").add(1);
    other.count_cell().expect("it counts").add(1);
    loop {
        match client.event().expect("it goes on") {
            Event::Update(id, value) if id == point.id() => panic!("{value:?}"),
            Event::Update(id, Value::Count(1)) if id == other.id() => break,
            _ => {}
        }
    }
}

#[test]
fn network_clients_need_the_token() {
    let settings_of = |token: Option<String>| {
        move |settings: &mut bactrian_observe::settings::Settings| {
            settings.live = Live::Network("127.0.0.1:0".into(), token);
        }
    };
    let served = Served::with(settings_of(Some("secret".into())));
    let address: SocketAddr = served.server.places().network.expect("it listens");
    let mut wrong = Client::network(address);
    let reply = wrong.try_greet(&Greeting::new(b"Secret"));
    assert_eq!(reply, Reply::Refused("the token is wrong".into()));
    assert_eq!(wrong.event(), None);
    let mut right = Client::network(address).greet(b"secret");
    assert!(matches!(right.event(), Some(Event::Hello(_))));

    // A generated token is in a file that only the user can read.
    let served = Served::with(settings_of(None));
    let address = served.server.places().network.expect("it listens");
    let folder = bactrian_live::place::folder(rustix::process::getuid().as_raw());
    let file = bactrian_live::place::token(&folder, std::process::id());
    let token = std::fs::read(&file).expect("it is there");
    assert!(token.len() >= 32);
    assert_eq!(file.metadata().expect("it is there").permissions().mode() & 0o777, 0o600);
    let mut client = Client::network(address);
    assert!(matches!(client.try_greet(&Greeting::new(b"")), Reply::Refused(_)));
    Client::network(address).greet(&token);
    served.server.end("over");
    assert!(!file.exists());
}

#[test]
fn clients_of_other_versions_get_the_supported_version() {
    let served = Served::new();
    let mut client = Client::unix(&served.socket());
    let future = Greeting { lowest: VERSION + 1, highest: VERSION + 9, token: Vec::new() };
    assert!(matches!(client.try_greet(&future), Reply::Refused(why) if why.contains("version 1")));
    assert_eq!(client.event(), None);
    served.wait_for_clients(0);
}

#[test]
fn lost_lines_are_counted() {
    let served = Served::with(|settings| settings.period = Duration::from_secs(3600));
    (0..5000).for_each(|number| served.server.log_format(format_args!("line {number}")));
    let mut client = served.client();
    let dropped = client.until("what was lost", |event| match event {
        Event::Dropped(dropped) => Some(*dropped),
        _ => None,
    });
    assert_eq!(dropped, Dropped { ticks: 0, lines: 5000 - 1024 });
    let mut lines = Vec::new();
    while lines.last().is_none_or(|last| last != "line 4999") {
        if let Some(Event::Log(line)) = client.event() {
            lines.push(line.text);
        }
    }
    assert_eq!(lines.len(), 200);
}

/// A client of ours on the Ocamlviz port is told where our protocol is spoken. A silent client is taken for
/// one of Ocamlviz's until it greets: on a busy machine, ours may not be scheduled for long between
/// connecting and greeting.
#[test]
fn our_clients_on_the_ocamlviz_port_are_redirected() {
    let served = Served::new();
    let address = SocketAddr::from(([127, 0, 0, 1], served.port()));
    let mut client = Client::network(address);
    let Reply::Elsewhere { socket, run } = client.try_greet(&Greeting::new(b"")) else {
        panic!("it is let in")
    };
    assert_eq!((Path::new(&socket), client.event()), (served.socket().as_path(), None));
    let mut own = served.client();
    let program = own.until("who it is", |event| match event {
        Event::Hello(program) => Some(program.clone()),
        _ => None,
    });
    assert_eq!(program.run, run);
    let mut late = TcpStream::connect(address).expect("it listens");
    served.wait_for_clients(2);
    let mut greeting = Vec::new();
    wire::put_greeting(&mut greeting, &Greeting::new(b""));
    late.write_all(&greeting).expect("it is open");
    let mut told = Vec::new();
    late.read_to_end(&mut told).expect("it is told, and the connection closed");
    let mut frames = Frames::default();
    frames.push(&told);
    let mut last = None;
    while let Some(frame) = frames.next().expect("whole frames of either protocol") {
        last = Some(frame);
    }
    let last = wire::take_reply(&last.expect("something"));
    assert!(matches!(&last, Ok(Reply::Elsewhere { run: it, .. }) if *it == run), "{last:?}");
    served.wait_for_clients(1);
    // A client that sends something other than a greeting belongs to neither protocol.
    let mut nobody = TcpStream::connect(address).expect("it listens");
    served.wait_for_clients(2);
    wait_until("it is sent away", || nobody.write_all(&[0; 1024]).is_err());
    served.wait_for_clients(1);
}

#[test]
fn next_port_is_used_if_one_is_taken() {
    let first = Served::new();
    let taken = first.port();
    let second = Served::with(|settings| settings.ocamlviz = Some(("127.0.0.1".into(), taken)));
    assert!((taken + 1..=taken + 100).contains(&second.port()), "{}", second.port());
    let mut client = second.client();
    let line = client.until("where it listens", |event| match event {
        Event::Log(line) if line.text.contains("is taken") => Some(line.text.clone()),
        _ => None,
    });
    assert!(line.ends_with(&format!("on port {}", second.port())), "{line}");
}

/// A value that changes right after `show_now` is shown as it was when `show_now` was called.
#[test]
fn show_now_sends_the_current_values() {
    let served = Served::with(|settings| settings.period = Duration::from_secs(3600));
    let shown = Arc::new(AtomicU64::new(0));
    let read = Arc::clone(&shown);
    served.server.watch(ObserverKind::Int, "closure", move || {
        Value::Int(read.load(Ordering::Relaxed) as i64)
    });
    let gauge = served.server.declare(ObserverKind::Int, "published", Origin::Published);
    // Without clients nothing happens, and the call does not block.
    served.server.show_now();
    let mut client = served.client();
    let ids = [client.declared("closure").id, client.declared("published").id];
    served.wait_for_clients(1);
    for n in 1..=20 {
        shown.store(n, Ordering::Relaxed);
        gauge.publish(Value::Int(n as i64));
        served.server.marker("look");
        shown.store(0, Ordering::Relaxed);
        gauge.publish(Value::Int(0));
    }
    for n in 1..=20 {
        for id in ids {
            client.value(id, |value| *value == Value::Int(n));
        }
    }
}
