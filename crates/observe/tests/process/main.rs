//! Tests events that concern whole processes: no clients, fork, exec, exit, SIGKILL.
//!
//! Each test runs this executable again as the observed program: see [`scenarios`].

mod fork;
mod scenarios;

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use bactrian_live::wire::{self, Frames, Greeting};
use bactrian_live::{Event, Value};

const DEADLINE: Duration = Duration::from_secs(60);

/// A program that is observed.
struct Program {
    child: Child,
    output: BufReader<ChildStdout>,
    socket: PathBuf,
}

impl Program {
    fn start(scenario: &str, folder: &Path) -> Program {
        let socket = folder.join("socket");
        Program::start_with(
            scenario,
            &[("BACTRIAN_LIVE", socket.to_str().expect("text"))],
            socket.clone(),
        )
    }

    fn start_with(scenario: &str, variables: &[(&str, &str)], socket: PathBuf) -> Program {
        // Our parent may have left descriptors open.
        let mut command = Command::new("sh");
        command.args(["-c", "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; exec \"$0\" \"$@\""]);
        command.arg(std::env::current_exe().expect("it runs"));
        command.args(["--exact", "scenarios::run", "--nocapture"]);
        command
            .env("SCENARIO", scenario)
            .env("OCAMLVIZ_HOST", "off")
            .envs(variables.iter().copied());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let output = BufReader::new(child.stdout.take().expect("it was asked for"));
        Program { child, output, socket }
    }

    /// Waits for a line with this beginning and returns the rest.
    fn says(&mut self, beginning: &str) -> String {
        loop {
            let mut line = String::new();
            let count = self.output.read_line(&mut line).expect("text");
            assert!(count > 0, "the program has ended without saying {beginning:?}");
            // The test harness may have printed something before it on the same line.
            if let Some((_, rest)) = line.split_once(&format!("@{beginning}")) {
                return rest.trim().to_owned();
            }
        }
    }

    fn tell(&mut self, line: &str) {
        let input = self.child.stdin.as_mut().expect("it was asked for");
        writeln!(input, "{line}").expect("it listens");
    }

    fn client(&self) -> Client {
        Client::connect(&self.socket)
    }

    /// Waits for a successful exit.
    fn ends(mut self) {
        let start = Instant::now();
        loop {
            match self.child.try_wait().expect("it is ours") {
                Some(status) => return assert!(status.success(), "{status}"),
                None => assert!(start.elapsed() < DEADLINE, "it does not end"),
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// A client that reads to the end.
struct Client {
    stream: UnixStream,
    frames: Frames,
}

impl Client {
    fn connect(socket: &Path) -> Client {
        let mut stream = UnixStream::connect(socket).expect("it listens");
        stream.set_read_timeout(Some(DEADLINE)).expect("a time");
        let mut greeting = Vec::new();
        wire::put_greeting(&mut greeting, &Greeting::new(b""));
        stream.write_all(&greeting).expect("the server reads");
        let mut client = Client { stream, frames: Frames::default() };
        wire::take_reply(&client.frame().expect("an answer")).expect("sound");
        client
    }

    fn frame(&mut self) -> Option<wire::Frame> {
        loop {
            if let Some(frame) = self.frames.next().expect("sound") {
                return Some(frame);
            }
            let mut bytes = [0; 65_536];
            match self.stream.read(&mut bytes).expect("it comes in time") {
                0 => return None,
                count => self.frames.push(&bytes[..count]),
            }
        }
    }

    fn event(&mut self) -> Option<Event> {
        let frame = self.frame()?;
        Some(wire::take_event(&frame).expect("sound").expect("known"))
    }

    fn until(&mut self, what: &str, is_it: impl Fn(&Event) -> bool) {
        while !is_it(&self.event().unwrap_or_else(|| panic!("the end, without {what}"))) {}
    }
}

#[test]
fn without_clients_the_thread_does_nothing_at_all() {
    let folder = tempfile::tempdir().expect("there is room");
    let mut program = Program::start("idle", folder.path());
    let pid = program.says("ready ");
    let server_thread = || {
        let tasks = fs::read_dir(format!("/proc/{pid}/task")).expect("it runs").flatten();
        let is_it = |task: &fs::DirEntry| {
            fs::read_to_string(task.path().join("comm"))
                .is_ok_and(|name| name.trim() == "bactrian-live")
        };
        tasks.into_iter().find(is_it).expect("the server's thread").path()
    };
    let task = server_thread();
    // The thread's processor time in nanoseconds, and how often it was scheduled.
    let work = || fs::read_to_string(task.join("schedstat")).expect("it runs");
    let is_quiet = || {
        let before = work();
        std::thread::sleep(Duration::from_secs(1));
        before == work()
    };
    // It may still be busy with its start or with a client that left; ongoing work would show each time.
    let becomes_quiet = || (0..5).any(|_| is_quiet());
    assert!(becomes_quiet(), "it works though nobody watches");
    let mut client = program.client();
    client.until("a tick", |event| matches!(event, Event::Tick(_)));
    assert!(!is_quiet(), "it does not work though somebody watches");
    drop(client);
    program.tell("wait until nobody watches");
    program.says("nobody");
    assert!(becomes_quiet(), "it works though nobody watches any more");
    program.tell("end");
    program.ends();
}

#[test]
fn at_exit_clients_get_the_last_values_and_the_socket_goes() {
    let folder = tempfile::tempdir().expect("there is room");
    for scenario in
        ["returns from main", "calls exit", "exits from a closure", "exits with a hanging closure"]
    {
        let mut program = Program::start(scenario, folder.path());
        program.says("ready ");
        let mut client = program.client();
        client.until("a value", |event| matches!(event, Event::Update(_, Value::Count(0))));
        program.tell("go on");
        client.until("the last value", |event| matches!(event, Event::Update(_, Value::Count(41))));
        client.until("the end", |event| matches!(event, Event::End(_)));
        assert_eq!(client.event(), None);
        assert!(!program.socket.exists(), "{scenario}");
        let start = Instant::now();
        program.ends();
        assert!(start.elapsed() < Duration::from_secs(30));
    }
}

#[test]
fn forked_child_has_no_descriptors_and_removes_nothing() {
    let folder = tempfile::tempdir().expect("there is room");
    let mut program = Program::start("fork", folder.path());
    program.says("ready ");
    let mut client = program.client();
    client.until("a tick", |event| matches!(event, Event::Tick(_)));
    program.tell("fork");
    assert_eq!(program.says("child "), "0 descriptors, 0 clients");
    // The child exited normally, and the parent goes on.
    program.says("child has ended");
    assert!(program.socket.exists());
    client.until("a tick", |event| matches!(event, Event::Tick(_)));
    // Another child outlives its parent; the client sees the parent's end all the same.
    client.until("the end", |event| matches!(event, Event::End(_)));
    assert_eq!(client.event(), None);
    program.ends();
}

#[test]
fn forks_in_the_middle_of_everything_never_hang() {
    let folder = tempfile::tempdir().expect("there is room");
    let mut program = Program::start("many forks", folder.path());
    program.says("ready ");
    let socket = program.socket.clone();
    let busy = std::thread::spawn(move || {
        // Opens and closes descriptors continuously until the program ends.
        while let Ok(mut stream) = UnixStream::connect(&socket) {
            let _ = stream.write_all(b"x");
        }
    });
    program.tell("go on");
    assert_eq!(program.says("children "), "100 of 100 are well");
    program.ends();
    busy.join().expect("it ends with the program");
}

#[test]
fn exec_inherits_no_descriptors_and_socket_is_reused() {
    let folder = tempfile::tempdir().expect("there is room");
    let mut program = Program::start("exec", folder.path());
    let before = program.says("ready ");
    let mut client = program.client();
    client.until("a tick", |event| matches!(event, Event::Tick(_)));
    program.tell("exec");
    assert_eq!(program.says("descriptors "), "0");
    assert_eq!(program.says("ready "), before, "the same process");
    // The connection ended with the program before the exec, without a goodbye.
    while client.event().is_some() {}
    program.client().until("a tick", |event| matches!(event, Event::Tick(_)));
    program.tell("end");
    program.ends();
}

#[test]
fn files_of_killed_processes_are_removed_by_the_next() {
    let folder = tempfile::tempdir().expect("there is room");
    let variables = [("XDG_RUNTIME_DIR", folder.path().to_str().expect("text"))];
    let inner = folder.path().join("bactrian-live");
    let start = || {
        let mut program = Program::start_with("idle", &variables, PathBuf::new());
        let pid = program.says("ready ");
        program.socket = inner.join(format!("{pid}.sock"));
        program
    };
    let mut killed = start();
    assert_eq!(inner.metadata().expect("it is there").permissions().mode() & 0o777, 0o700);
    killed.child.kill().and_then(|()| killed.child.wait()).expect("it ran");
    assert!(killed.socket.exists());
    let mut next = start();
    assert!(!killed.socket.exists() && next.socket.exists());
    // Sockets of live processes stay.
    let mut third = start();
    assert!(next.socket.exists());
    next.client().until("a tick", |event| matches!(event, Event::Tick(_)));
    for program in [&mut next, &mut third] {
        program.tell("end");
    }
    next.ends();
    third.ends();

    // A directory that others can enter is not used; the program goes on.
    fs::set_permissions(&inner, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let mut refused = start();
    assert!(!refused.socket.exists());
    refused.tell("end");
    refused.ends();
}

#[test]
fn busy_port_and_invalid_settings_are_reported_and_not_fatal() {
    let folder = tempfile::tempdir().expect("there is room");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("there is one");
    let port = taken.local_addr().expect("it has one").port().to_string();
    let socket = folder.path().join("socket");
    let variables = [
        ("BACTRIAN_LIVE", socket.to_str().expect("text")),
        ("OCAMLVIZ_HOST", "127.0.0.1"),
        ("OCAMLVIZ_PORT", &port),
        ("OCAMLVIZ_PERIOD", "often"),
    ];
    let mut program = Program::start_with("idle", &variables, socket.clone());
    program.says("ready ");
    let mut client = program.client();
    for said in ["OCAMLVIZ_PERIOD", "is taken by another program"] {
        client.until(said, |event| matches!(event, Event::Log(line) if line.text.contains(said)));
    }
    program.tell("end");
    program.ends();
}

#[test]
fn program_that_closes_all_descriptors_goes_on() {
    let folder = tempfile::tempdir().expect("there is room");
    let mut program = Program::start("closes all", folder.path());
    program.says("ready ");
    let client = program.client();
    program.tell("go on");
    // The program's files have our numbers now, and we neither write to them nor close them.
    assert_eq!(program.says("files "), "intact");
    drop(client);
    program.ends();
}
