//! Runs the real clients of Ocamlviz on our example.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_live::ocamlviz::{MAX_FRAME, Message, Uid, VizValue, take};
use bactrian_live::wire::Frames;

#[path = "../../examples/observed.rs"]
mod observed;

const DEADLINE: Duration = Duration::from_secs(60);

/// The example in its own process, which ends on drop.
struct Observed {
    child: Child,
    port: u16,
}

/// Not a test: this is what [`Observed`] runs, in a process marked by the variable.
#[test]
fn the_example_runs() {
    if std::env::var_os("OBSERVED").is_some() {
        observed::main();
    }
}

impl Observed {
    fn start(folder: &Path) -> Observed {
        // Picks a port that is free at the moment.
        let port = std::net::TcpListener::bind("127.0.0.1:0").and_then(|it| it.local_addr());
        let port = port.expect("there is one").port();
        let socket = folder.join("socket");
        let mut command = Command::new(std::env::current_exe().expect("it runs"));
        command.args(["--exact", "the_example_runs", "--nocapture"]).env("OBSERVED", "1");
        command.env("OCAMLVIZ_PORT", port.to_string()).env("BACTRIAN_LIVE", &socket);
        command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().expect("it runs");
        let start = Instant::now();
        while UnixStream::connect(&socket).is_err() {
            assert!(start.elapsed() < DEADLINE, "it does not listen");
            thread::sleep(Duration::from_millis(10));
        }
        Observed { child, port }
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        // The end of its standard input makes it exit.
        drop(self.child.stdin.take());
        let status = self.child.wait();
        assert!(thread::panicking() || status.is_ok_and(|status| status.success()));
    }
}

/// The value and status that the Ocamlviz client shows for an observer.
fn shown<'a>(text: &'a str, name: &str) -> Option<(&'a str, &'a str)> {
    let (_, after) = text.split_once(&format!(" name:{name} t:"))?;
    let (_, after) = after.split_once(" value:")?;
    let (value, after) = after.split_once("status:")?;
    Some((value.trim(), after.split_once(" }")?.0))
}

#[test]
fn original_client_shows_all_kinds_that_it_knows() {
    let folder = tempfile::tempdir().expect("there is room");
    let observed = Observed::start(folder.path());
    let file = folder.path().join("ascii.log");
    let mut client = Command::new("ocamlviz-ascii");
    client.args(["-server", "localhost", "-port", &observed.port.to_string(), "-o"]).arg(&file);
    client.current_dir(folder.path()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut client = client.spawn().expect("Debian's package ocamlviz: see scripts/setup");
    // The client writes its whole state each time; a complete one ends with the log.
    let round = |text: &str| shown(text, "rounds")?.0.strip_prefix("Int ")?.parse::<u64>().ok();
    let complete = |least: u64| {
        let start = Instant::now();
        loop {
            assert!(start.elapsed() < DEADLINE, "nothing is shown");
            let text = fs::read(&file).map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
            if let Ok(text) = text
                && let Some(last) =
                    text.rsplit("\nGC:").find(|part| part.contains("a hundred rounds"))
                && last.contains("status:active }\n\nLog:")
                && round(last).is_some_and(|round| round >= least)
            {
                return last.to_owned();
            }
            thread::sleep(Duration::from_millis(50));
        }
    };
    let first = complete(1);
    // If a frame froze the client, its numbers would stop.
    let seen = round(&first).expect("shown");
    let text = complete(seen + 50);
    client.kill().and_then(|()| client.wait()).expect("it ran");

    let value =
        |name: &str| shown(&text, name).unwrap_or_else(|| panic!("{name} is not shown: {text}")).0;
    let number = |name: &str| -> f64 {
        let value = value(name);
        let digits = value.rsplit(' ').next().expect("a number");
        digits.trim_end_matches('.').parse().unwrap_or_else(|_| panic!("{name}: {value}"))
    };
    assert_eq!(shown(&text, "killed"), Some(("Int 1", "killed")));
    assert!(number("bytes {to=nowhere}") >= 1000.0 * seen as f64);
    assert!(number("sorting") > 0.0);
    assert!((-1.0..=1.0).contains(&number("level")));
    assert!(number("counted") > 50.0 && number("half") > 25.0);
    assert!(value("even").starts_with("Bool "));
    assert_eq!(value("text"), "String caf\u{e9} au lait");
    assert!(value("long text").ends_with("…") && value("long text").len() < 8192);
    assert!(value("sizes").starts_with("String p50 ") && value("sizes").contains("max 99 B"));
    assert!(value("requests").contains("open, p50 ") && value("requests").contains("ms"));
    // Buckets and bindings come first. The number of bindings must grow, although the longest bucket never
    // does.
    let table = |text| {
        let numbers = shown(text, "table")?.0.strip_prefix("Hashtable (")?;
        numbers.split(' ').nth(1)?.parse::<u64>().ok()
    };
    assert!(table(&text).expect("shown") >= table(&first).expect("shown") + 40);
    let tree: Vec<_> = value("tree").lines().map(str::trim).collect();
    let shared = ["-shared", "-leaf"];
    let expected = [&["-root", "-left"][..], &shared, &["-right"], &shared, &shared, &["-↑ root"]];
    assert_eq!(tree, expected.concat());
    assert!(text.contains("broken failed: this observer always fails"));
    assert!(text.contains("--- a hundred rounds ---"));
    assert!(text.contains("round 20 is done"));
    // Of the two entries with this name, the count comes first, then the bytes.
    assert!((0.0..=51.0).contains(&number("tagged")));
    assert_eq!(text.matches(" name:tagged t:").count(), 2);
}

#[test]
fn every_frame_is_valid_for_original_clients() {
    let folder = tempfile::tempdir().expect("there is room");
    let observed = Observed::start(folder.path());
    let mut stream = TcpStream::connect(("127.0.0.1", observed.port)).expect("it listens");
    stream.set_read_timeout(Some(DEADLINE)).expect("a time");
    let mut frames = Frames::up_to(MAX_FRAME - 4);
    let mut declared = Vec::new();
    let mut clocks = Vec::new();
    let mut bytes = vec![0; 65_536];
    while clocks.len() < 20 {
        let count = stream.read(&mut bytes).expect("it goes on");
        assert!(count > 0);
        frames.push(&bytes[..count]);
        while let Some(frame) = frames.next().expect("not too long") {
            match take(&frame).expect("known, and nothing after it") {
                Message::Declare(uid, ..) => declared.push(uid),
                Message::Send(uid, value) => {
                    assert!(declared.contains(&uid), "{uid:?} was not declared");
                    if let (Uid::CLOCK, VizValue::Float(seconds)) = (uid, value) {
                        clocks.push(seconds);
                    }
                }
                Message::Bind(uids) => assert!(uids.iter().all(|uid| declared.contains(uid))),
            }
        }
    }
    assert!(clocks.is_sorted());
    assert!([Uid::HEAP, Uid::LIVE, Uid::CLOCK, Uid::LOG].iter().all(|uid| declared.contains(uid)));
    assert!(!declared.contains(&Uid(4)));
    let mut once = declared.clone();
    once.sort_unstable();
    once.dedup();
    assert_eq!(once.len(), declared.len(), "declared once each");
}
