//! A server and its clients, good and bad, in one process.

mod client;
mod crowd;
mod faults;
mod own;
mod values;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use bactrian_observe::Server;
use bactrian_observe::settings::{Live, Settings};
use client::Client;
use tempfile::TempDir;

/// Long enough for any machine; only a failing test waits this long.
const DEADLINE: Duration = Duration::from_secs(60);

/// A server with a socket in its own directory, and the Ocamlviz protocol on a free port.
struct Served {
    server: Server,
    _folder: TempDir,
}

impl Served {
    fn new() -> Served {
        Served::with(|settings| settings.period = Duration::from_millis(20))
    }

    fn with(change: impl FnOnce(&mut Settings)) -> Served {
        let folder = tempfile::tempdir().expect("there is room");
        let mut settings = Settings {
            live: Live::Path(folder.path().join("socket")),
            ocamlviz: Some(("127.0.0.1".into(), 0)),
            ..Settings::default()
        };
        change(&mut settings);
        Served { server: Server::start(settings), _folder: folder }
    }

    fn socket(&self) -> PathBuf {
        self.server.places().socket.expect("it listens")
    }

    fn port(&self) -> u16 {
        self.server.places().ocamlviz.expect("it listens").port()
    }

    /// A client that was accepted.
    fn client(&self) -> Client {
        Client::unix(&self.socket()).greet(b"")
    }

    fn wait_for_clients(&self, count: usize) {
        wait_until(&format!("{count} clients"), || self.server.clients() == count);
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.server.end("the test is over");
    }
}

/// Waits until a condition holds.
fn wait_until(what: &str, mut is_true: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_true() {
        assert!(start.elapsed() < DEADLINE, "{what}: not in {DEADLINE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}
