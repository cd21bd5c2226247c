//! Clients that misbehave.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use bactrian_live::wire::{self, Greeting};
use bactrian_live::{Action, Event, ObserverKind, Value};
use bactrian_observe::Origin;

use crate::client::Client;
use crate::{DEADLINE, Served, wait_until};

/// The number of open descriptors in this process. Other tests open some at the same time.
fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").expect("proc is there").count()
}

/// The resident memory of this process, in bytes.
fn memory() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("proc is there");
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok()).expect("a number") * 4096
}

fn greeting() -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::put_greeting(&mut bytes, &Greeting::new(b""));
    bytes
}

fn is_closed(stream: &mut impl Read) -> bool {
    let mut bytes = [0; 4096];
    loop {
        match stream.read(&mut bytes) {
            Ok(0) | Err(_) => return true,
            Ok(_) => {}
        }
    }
}

#[test]
fn garbage_closes_only_its_senders_connection() {
    let served = Served::new();
    let point = served.server.declare(ObserverKind::Point, "p", Origin::Cell);
    let mut good = served.client();
    let frame = |body: &[u8]| [&(body.len() as u32).to_le_bytes()[..], body].concat();
    let after_greeting = |bytes: &[u8]| [greeting(), bytes.to_vec()].concat();
    for garbage in [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0; 100],
        vec![0xFF; 100_000],
        frame(b"\x00not bactrian at all"),
        frame(&[7; 1000]),
        // A frame that is announced and never completed.
        [&60_000_u32.to_le_bytes()[..], &[0; 10_000]].concat(),
        after_greeting(&[0; 4]),
        after_greeting(&u32::MAX.to_le_bytes()),
        after_greeting(&frame(&[64])),
        after_greeting(&frame(&[64, 1, 3, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F])),
    ] {
        let mut bad = UnixStream::connect(served.socket()).expect("it listens");
        bad.set_read_timeout(Some(DEADLINE)).expect("a time");
        // The connection may be closed before all is written.
        let _ = bad.write_all(&garbage);
        assert!(is_closed(&mut bad), "{:?}", &garbage[..garbage.len().min(20)]);
    }
    let mut bad = TcpStream::connect(("127.0.0.1", served.port())).expect("it listens");
    bad.set_read_timeout(Some(DEADLINE)).expect("a time");
    bad.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("it listens");
    assert!(is_closed(&mut bad));
    point.count_cell().expect("it counts").add(1);
    good.value(point.id(), |value| *value == Value::Count(1));
    served.wait_for_clients(1);
}

#[test]
fn greeting_may_arrive_byte_by_byte() {
    let served = Served::new();
    let mut stream = UnixStream::connect(served.socket()).expect("it listens");
    for byte in greeting() {
        stream.write_all(&[byte]).expect("it listens");
        std::thread::sleep(Duration::from_millis(1));
    }
    served.wait_for_clients(1);
}

#[test]
fn stalled_client_misses_whole_ticks_and_then_gets_the_full_state() {
    let served = Served::new();
    let server = &served.server;
    let text = server.declare(ObserverKind::Text, "t", Origin::Published);
    let point = server.declare(ObserverKind::Point, "p", Origin::Cell);
    let mut stalled = served.client();
    let mut good = served.client();
    good.value(point.id(), |_| true);
    let before = memory();
    // Far more than the queue and the kernel's buffers hold.
    let mut sent = 0_u64;
    while sent < 8 << 20 {
        let news = format!("{sent} {}", "x".repeat(60_000));
        text.publish(Value::Text(news.clone()));
        good.value(text.id(), |value| *value == Value::Text(news.clone()));
        sent += news.len() as u64;
    }
    assert!(memory() < before + (64 << 20), "a queue is limited");
    point.count_cell().expect("it counts").add(9);
    text.publish(Value::Text("last".into()));
    good.value(text.id(), |value| *value == Value::Text("last".into()));
    // It reads again: every frame is whole, it is told what it missed, and then gets the full state.
    let dropped = stalled.until("what it missed", |event| match event {
        Event::Dropped(dropped) => Some(*dropped),
        _ => None,
    });
    assert!(dropped.ticks > 10, "{dropped:?}");
    stalled.declared("t");
    stalled.value(text.id(), |value| *value == Value::Text("last".into()));
    stalled.value(point.id(), |value| *value == Value::Count(9));
    server.log(b"and goes on");
    stalled.until("a line", |event| match event {
        Event::Log(line) if line.text == "and goes on" => Some(()),
        _ => None,
    });
}

#[test]
fn requesting_client_that_does_not_read_costs_little() {
    let served = Served::new();
    let mut good = served.client();
    let mut bad = UnixStream::connect(served.socket()).expect("it listens");
    bad.set_write_timeout(Some(Duration::from_millis(500))).expect("a time");
    bad.write_all(&greeting()).expect("it listens");
    let mut asks = Vec::new();
    let mark = Action::Mark("m".repeat(500));
    for request in 0..100 {
        let action = mark.clone();
        wire::put_control(&mut asks, &bactrian_live::Control { request, action });
    }
    let before = memory();
    for _ in 0..200 {
        if bad.write_all(&asks).is_err() {
            break;
        }
    }
    good.control(Action::Mark("mine".into())).expect("others are served");
    assert!(memory() < before + (32 << 20));
}

#[test]
fn half_closed_ocamlviz_client_still_receives() {
    let served = Served::new();
    let mut stream = TcpStream::connect(("127.0.0.1", served.port())).expect("it listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time");
    stream.shutdown(Shutdown::Write).expect("it is open");
    let mut heard = 0;
    let mut bytes = [0; 4096];
    let start = Instant::now();
    let from = served.server.ticks();
    while served.server.ticks() < from + 10 || heard < 500 {
        let count = stream.read(&mut bytes).expect("it goes on");
        assert!(count > 0 && start.elapsed() < DEADLINE);
        heard += count;
    }
    drop(stream);
    served.wait_for_clients(0);
}

#[test]
fn silent_client_does_not_count_and_half_closed_stranger_is_disconnected() {
    let served = Served::new();
    let mut silent = UnixStream::connect(served.socket()).expect("it listens");
    let mut client = served.client();
    client.until("a tick", |event| matches!(event, Event::Tick(_)).then_some(()));
    served.wait_for_clients(1);
    silent.shutdown(Shutdown::Write).expect("it is open");
    silent.set_read_timeout(Some(DEADLINE)).expect("a time");
    assert!(is_closed(&mut silent));
}

#[test]
fn disconnected_clients_leave_nothing_behind() {
    let served = Served::new();
    served.client();
    served.wait_for_clients(0);
    let before = descriptors();
    for round in 0..300 {
        match round % 4 {
            0 => drop(Client::unix(&served.socket())),
            1 => drop(served.client()),
            2 => drop(TcpStream::connect(("127.0.0.1", served.port())).expect("it listens")),
            _ => {
                let mut bad = UnixStream::connect(served.socket()).expect("it listens");
                bad.write_all(b"nonsense").expect("the server reads");
            }
        }
    }
    // Other tests have some open too.
    wait_until("descriptors are closed", || descriptors() < before + 100);
    served.wait_for_clients(0);
}
