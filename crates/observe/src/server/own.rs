//! Encodes for our own protocol.

use bactrian_live::wire::{self, Greeting, Reply};
use bactrian_live::{Dropped, Event, LogLine, Program};

use super::Shared;
use super::sampler::Sampler;
use crate::clock;
use crate::name::cut;
use crate::process;
use crate::registry::lock;

/// Identifies this program.
pub(crate) fn hello(shared: &Shared) -> Event {
    let name = std::env::args_os().next().unwrap_or_default();
    let runtime = match lock(&shared.runtime).as_str() {
        "" => "Rust".to_owned(),
        runtime => runtime.to_owned(),
    };
    Event::Hello(Program {
        name: cut(&name.to_string_lossy(), 1000),
        pid: std::process::id(),
        started: clock::started(),
        run: process::run().to_owned(),
        runtime,
        controls: true,
    })
}

/// The answer to a greeting on the Ocamlviz port. Everybody on this machine can connect there, but requests
/// are not for everybody; the Unix socket checks who connects.
pub(crate) fn elsewhere(shared: &Shared) -> Reply {
    let places = lock(&shared.state).places.clone().unwrap_or_default();
    let socket = places.socket.and_then(|path| path.into_os_string().into_string().ok());
    Reply::Elsewhere { socket: socket.unwrap_or_default(), run: process::run().to_owned() }
}

/// The answer to a greeting, and whether the client is accepted.
pub(crate) fn answer(greeting: &Greeting, token: Option<&[u8]>) -> (Reply, bool) {
    let refuse = |why: &str| (Reply::Refused(why.to_owned()), false);
    if !token.is_none_or(|token| is_equal(token, &greeting.token)) {
        return refuse("the token is wrong");
    }
    if !(greeting.lowest..=greeting.highest).contains(&wire::VERSION) {
        return refuse(&format!("only version {} is spoken here", wire::VERSION));
    }
    (Reply::Welcome(wire::VERSION), true)
}

/// Compares in constant time, so that the duration does not reveal where the texts differ.
fn is_equal(ours: &[u8], theirs: &[u8]) -> bool {
    let differences = ours.iter().zip(theirs).fold(0, |sum, (a, b)| sum | (a ^ b));
    std::hint::black_box(differences) == 0 && ours.len() == theirs.len()
}

/// The full state, for a client that is new or missed something.
pub(crate) fn everything(sampler: &Sampler) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in &sampler.entries {
        wire::put_event(&mut bytes, &Event::Declare(entry.declaration()));
    }
    wire::put_event(&mut bytes, &Event::Tick(sampler.stamp));
    for entry in &sampler.entries {
        for value in entry.last.iter().chain(&entry.end) {
            wire::put_event(&mut bytes, &Event::Update(entry.observer.id(), value.clone()));
        }
    }
    bytes
}

/// The update for a tick.
pub(crate) fn news(sampler: &Sampler, lines: &[LogLine], markers: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in sampler.entries.iter().filter(|entry| entry.is_declared) {
        wire::put_event(&mut bytes, &Event::Declare(entry.declaration()));
    }
    wire::put_event(&mut bytes, &Event::Tick(sampler.stamp));
    for entry in &sampler.entries {
        let last = entry.last.iter().filter(|_| entry.is_new);
        let end = entry.end.iter().filter(|_| entry.has_just_ended);
        for value in last.chain(end) {
            wire::put_event(&mut bytes, &Event::Update(entry.observer.id(), value.clone()));
        }
    }
    put_lines(&mut bytes, lines);
    for marker in markers {
        wire::put_event(&mut bytes, &Event::Marker(marker.clone()));
    }
    bytes
}

/// Lines of the log.
pub(crate) fn put_lines(bytes: &mut Vec<u8>, lines: &[LogLine]) {
    for line in lines {
        wire::put_event(bytes, &Event::Log(line.clone()));
    }
}

/// What a client has missed so far.
pub(crate) fn dropped(dropped: Dropped) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::put_event(&mut bytes, &Event::Dropped(dropped));
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_clients_with_the_token_are_accepted() {
        let greeting = |token: &[u8]| Greeting::new(token);
        assert!(answer(&greeting(b""), None).1);
        assert!(answer(&greeting(b"anything"), None).1);
        assert!(answer(&greeting(b"secret"), Some(b"secret")).1);
        for wrong in [&b""[..], b"secreT", b"secret ", b"secre"] {
            assert!(!answer(&greeting(wrong), Some(b"secret")).1);
        }
        let future =
            Greeting { lowest: wire::VERSION + 1, highest: wire::VERSION + 5, token: Vec::new() };
        assert!(
            matches!(answer(&future, None), (Reply::Refused(why), false) if why.contains("version"))
        );
    }
}
