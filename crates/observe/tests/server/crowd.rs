//! Tests with very many clients.

use std::io::Read;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::sync::Barrier;
use std::time::Duration;

use bactrian_live::{Event, ObserverKind, Value};
use bactrian_observe::Origin;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::client::Client;
use crate::{DEADLINE, Served, wait_until};

/// Both ends of all connections are in this process.
const DESCRIPTORS: u64 = 8192;

/// Raises the limit on open descriptors.
fn allow_many_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_some_and(|current| current < DESCRIPTORS) {
        let more = Rlimit { current: Some(DESCRIPTORS), maximum: limit.maximum };
        setrlimit(Resource::Nofile, more).expect("this test needs 8192 descriptors");
    }
}

#[test]
fn hundred_simultaneous_clients_are_served_soon() {
    let served = Served::new();
    let point = served.server.declare(ObserverKind::Point, "p", Origin::Cell);
    served.socket();
    let start = Barrier::new(100);
    std::thread::scope(|scope| {
        for number in 0..100 {
            let (served, start, id) = (&served, &start, point.id());
            scope.spawn(move || {
                start.wait();
                if number % 2 == 0 {
                    served.client().value(id, |value| *value == Value::Count(0));
                } else {
                    let mut stream =
                        TcpStream::connect(("127.0.0.1", served.port())).expect("it listens");
                    stream.set_read_timeout(Some(DEADLINE)).expect("a time");
                    stream.read_exact(&mut [0; 200]).expect("it is served");
                }
            });
        }
    });
    served.wait_for_clients(0);
}

#[test]
fn thousand_mostly_stalled_clients_disturb_nobody() {
    allow_many_descriptors();
    let served = Served::with(|settings| settings.period = Duration::from_millis(100));
    let server = &served.server;
    let point = server.declare(ObserverKind::Point, "p", Origin::Cell);
    let text = server.declare(ObserverKind::Text, "t", Origin::Published);
    let mut good = served.client();
    let socket = served.socket();
    // They greet and never read again.
    let own: Vec<Client> = (0..500).map(|_| Client::unix(&socket).greet(b"")).collect();
    let connect = || TcpStream::connect(("127.0.0.1", served.port())).expect("it listens");
    let old: Vec<TcpStream> = (0..499).map(|_| connect()).collect();
    served.wait_for_clients(1000);
    for round in 1..=10 {
        point.count_cell().expect("it counts").add(1);
        text.publish(Value::Text(format!("{round} {}", "x".repeat(50_000))));
        good.value(point.id(), |value| *value == Value::Count(round));
    }
    drop((own, old));
    served.wait_for_clients(1);
    point.count_cell().expect("it counts").add(1);
    good.value(point.id(), |value| *value == Value::Count(11));
}

#[test]
fn silent_clients_do_not_keep_others_out() {
    allow_many_descriptors();
    let served = Served::new();
    let socket = served.socket();
    let connect = || UnixStream::connect(&socket).expect("it listens");
    let silent: Vec<UnixStream> = (0..1100).map(|_| connect()).collect();
    let mut good = served.client();
    good.until("a tick", |event| matches!(event, Event::Tick(_)).then_some(()));
    // The first of them was disconnected.
    silent[0].set_read_timeout(Some(DEADLINE)).expect("a time");
    assert_eq!((&silent[0]).read(&mut [0]).expect("it ends"), 0);
    served.wait_for_clients(1);
}

#[test]
fn the_program_keeps_descriptors_for_itself() {
    // In a separate process, because it lowers a limit that all threads share.
    if std::env::var_os("LOWERED").is_none() {
        let mut again = std::process::Command::new(std::env::current_exe().expect("it runs"));
        let name = "crowd::the_program_keeps_descriptors_for_itself";
        again.args(["--exact", name, "--nocapture"]).env("LOWERED", "1");
        let output = again.output().expect("it runs");
        let said = String::from_utf8_lossy(&output.stdout);
        let complained = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("1 passed"), "{said}{complained}");
        return;
    }
    let served = Served::new();
    let mut good = served.client();
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: Some(400), maximum: limit.maximum })
        .expect("lower");
    // Connected, and then disconnected by the server; both ends count against the limit.
    let mut clients = Vec::new();
    for _ in 0..180 {
        let Ok(client) = UnixStream::connect(served.socket()) else { break };
        clients.push(client);
    }
    // The server takes them in order. Once it has disconnected the last, it opens nothing any more.
    let last = clients.last_mut().expect("some are connected");
    last.set_read_timeout(Some(DEADLINE)).expect("a time");
    assert_eq!(last.read(&mut [0]).expect("it ends"), 0);
    let mut files = Vec::new();
    while let Ok(file) = std::fs::File::open("/dev/null") {
        files.push(file);
    }
    assert!(files.len() > 60, "only {} are left to the program", files.len());
    // Now no descriptor is left, and a client waits to be accepted.
    files.pop();
    let waiting = UnixStream::connect(served.socket()).expect("it waits in the queue");
    let cpu = || clock_gettime(ClockId::ProcessCPUTime);
    let before = cpu();
    std::thread::sleep(Duration::from_secs(1));
    let spent = cpu() - before;
    assert!(spent.tv_sec == 0 && spent.tv_nsec < 500_000_000, "{spent:?} in a second: it spins");
    drop((files, clients));
    // And all clients are served again.
    good.until("a tick", |event| matches!(event, Event::Tick(_)).then_some(()));
    drop(waiting);
    let mut client = served.client();
    client.until("a tick", |event| matches!(event, Event::Tick(_)).then_some(()));
    wait_until("both", || served.server.clients() == 2);
}
