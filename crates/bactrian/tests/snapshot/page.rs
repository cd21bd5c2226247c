//! Snapshots requested from the page: the same as from `bactrian snapshot`, and only for authorised clients.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use bactrian_fixtures::{BOTH, Compiler, Variant, program};
use serde_json::Value;

use crate::runs::signal;

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// `bactrian view` of a program, in its own directory.
struct View {
    child: Child,
    output: BufReader<ChildStdout>,
    host: String,
    token: String,
}

impl View {
    fn start(folder: &Path, words: &[&str]) -> View {
        // Independent of the signals that the test's parent ignores.
        let mut command = Command::new("env");
        command.args(["--default-signal", env!("CARGO_BIN_EXE_bactrian"), "view"]).args(words);
        command.current_dir(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().expect("bactrian starts");
        let mut output = BufReader::new(child.stdout.take().expect("an output"));
        // A program that it starts writes to the same output.
        let url = loop {
            let mut line = String::new();
            assert_ne!(output.read_line(&mut line).expect("a line"), 0, "no URL");
            if let Some(url) = line.trim().strip_prefix("http://") {
                break url.to_owned();
            }
        };
        let (host, token) = url.trim_end_matches('/').split_once('/').expect("a token");
        View { child, output, host: host.to_owned(), token: token.to_owned() }
    }

    /// Sends a request. Returns the status and the body of the answer.
    fn send(&self, method: &str, path: &str, headers: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.host).expect("the server listens");
        let host = &self.host;
        let head = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}");
        let request = format!("{head}Content-Length: 0\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("a request");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), serde_json::from_str(body).unwrap_or_default())
    }

    fn ask(&self, question: &str) -> Value {
        let (status, answer) = self.send("GET", &format!("/{}/api/{question}", self.token), "");
        assert_eq!(status, 200, "{question}: {answer}");
        answer["result"].clone()
    }

    /// Requests a snapshot, as the page does.
    fn ask_for_snapshot(&self) -> (u16, Value) {
        let path = format!("/{}/api/snapshot?file=0", self.token);
        self.send("POST", &path, &format!("Origin: http://{}\r\n", self.host))
    }

    /// Requests a permitted snapshot, and waits for the result.
    fn snapshot(&self) -> Value {
        let (status, begun) = self.ask_for_snapshot();
        assert_eq!((status, &begun["result"]["state"]), (202, &Value::from("freezing")), "{begun}");
        self.until("files", |files| {
            let taking = &files["taking"];
            let is_over = taking["state"] == "taken" || taking["state"] == "failed";
            is_over.then(|| taking.clone())
        })
    }

    /// Repeats a question until the answer satisfies a condition.
    fn until<T>(&self, question: &str, wanted: impl Fn(&Value) -> Option<T>) -> T {
        let start = Instant::now();
        loop {
            let answer = self.ask(question);
            if let Some(found) = wanted(&answer) {
                return found;
            }
            assert!(start.elapsed() < PATIENCE, "{question}: {answer}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Interrupts it. Returns its output since the last read, and its exit status.
    fn end(mut self) -> (String, Option<i32>) {
        signal("INT", &self.child.id().to_string());
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).expect("text");
        (rest, self.child.wait().expect("it ends").code())
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // It has exited, unless the test failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process that runs until its standard input ends.
fn running(path: &Path) -> (Child, ChildStdin) {
    let mut command = Command::new(path);
    command.arg("busy").stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it runs");
    let input = child.stdin.take().expect("an input");
    let mut said = [0; 6];
    child.stdout.as_mut().expect("an output").read_exact(&mut said).expect("it is ready");
    (child, input)
}

#[test]
fn program_continues_and_its_snapshots_are_added_to_the_page() {
    for compiler in BOTH {
        let folder = tempfile::tempdir().expect("a folder");
        let path = program("running", compiler, Variant::Plain);
        let path = path.to_str().expect("text");
        let mut view = View::start(folder.path(), &["--", path, "busy"]);
        let pid = view.until("live/state?file=0", |state| {
            state["about"]["program"]["pid"].as_u64().filter(|pid| *pid > 0)
        });
        let files = view.ask("files");
        assert_eq!(files["files"][0]["takes_snapshots"], true, "{files}");
        assert_eq!(files["taking"], Value::Null);
        // An existing file is not overwritten.
        let name = |number: u32| format!("running.pid{pid}.{number}.heap");
        std::fs::write(folder.path().join(name(1)), "mine").expect("room");
        for (file, number) in [(1, 2), (2, 3)] {
            let taking = view.snapshot();
            let told = (&taking["state"], &taking["file"]);
            assert_eq!(told, (&"taken".into(), &file.into()), "{taking}");
            let said = taking["said"].to_string();
            let written = folder.path().canonicalize().expect("a folder").join(name(number));
            assert!(said.contains("the program was paused for"), "{said}");
            assert!(said.contains(&name(number)) && written.is_file(), "{said}");
            let info = view.ask(&format!("overview/info?file={file}"));
            assert_eq!(info["pid"].as_u64(), Some(pid), "{compiler:?}: {info}");
            let shown = view.ask("files")["files"][file]["name"].clone();
            assert_eq!(shown, name(number));
        }
        assert_eq!(std::fs::read(folder.path().join(name(1))).expect("a file"), b"mine");
        // From then on, questions include them.
        let heaps = view.ask("heap/evolution?by=type");
        assert_eq!(heaps["snapshots"].as_array().map(Vec::len), Some(2), "{heaps}");
        drop(view.child.stdin.take());
        view.until("live/state?file=0", |state| (state["state"] == "over").then_some(()));
        let taking = view.snapshot();
        assert_eq!(taking["state"], "failed");
        assert_eq!(taking["why"], format!("process {pid} has ended"));
        assert_eq!(view.ask("files")["files"].as_array().map(Vec::len), Some(3));
        let (said, status) = view.end();
        assert!(said.ends_with("done, 0 wrong\n"), "{compiler:?}: {said}");
        assert_eq!(status, Some(0));
    }
}

#[test]
fn only_the_page_itself_may_ask_for_a_snapshot() {
    let folder = tempfile::tempdir().expect("a folder");
    let (child, input) = running(&program("running", Compiler::OCaml4, Variant::Plain));
    let view = View::start(folder.path(), &[&child.id().to_string()]);
    let good = format!("/{}/api/snapshot?file=0", view.token);
    let ours = format!("Origin: http://{}\r\n", view.host);
    let cases = [
        ("POST", good.as_str(), "", 403),
        ("POST", &good, "Origin: http://example.org\r\n", 403),
        ("POST", &good, &format!("{ours}Sec-Fetch-Site: cross-site\r\n"), 403),
        ("POST", "/api/snapshot?file=0", &ours, 403),
        ("POST", "/00000000000000000000000000000000/api/snapshot?file=0", &ours, 403),
        ("POST", &good.replace("file=0", "file=9"), &ours, 400),
        ("POST", &good.replace("file=0", "file=x"), &ours, 400),
        // A link or an image cannot change anything.
        ("GET", &good, &ours, 404),
        ("POST", &good.replace("snapshot?file=0", "files"), &ours, 405),
        ("PUT", &good, &ours, 405),
    ];
    for (method, path, headers, expected) in cases {
        let (status, answer) = view.send(method, path, headers);
        assert_eq!(status, expected, "{method} {path} {headers:?}: {answer}");
    }
    assert_eq!(view.ask("files")["taking"], Value::Null);
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
    // Taking a snapshot does not change the effect of a signal.
    assert_eq!(view.snapshot()["state"], "taken");
    assert_eq!(view.end(), (String::new(), Some(0)));
    drop(input);
    assert!(child.wait_with_output().expect("it ends").status.success());
}

#[test]
fn read_only_page_takes_no_snapshot() {
    let folder = tempfile::tempdir().expect("a folder");
    let (child, input) = running(&program("running", Compiler::OCaml4, Variant::Plain));
    let view = View::start(folder.path(), &["--read-only", &child.id().to_string()]);
    assert_eq!(view.ask("files")["files"][0]["takes_snapshots"], false);
    let (status, answer) = view.ask_for_snapshot();
    assert_eq!(status, 403, "{answer}");
    assert!(answer["error"].as_str().is_some_and(|why| why.contains("cannot take snapshots of")));
    view.end();
    drop(input);
    assert!(child.wait_with_output().expect("it ends").status.success());
    assert_eq!(folder.path().read_dir().expect("a folder").count(), 0);
}

#[test]
fn failure_has_the_wording_of_the_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut sleeping = Command::new("sleep").arg("1000").spawn().expect("it runs");
    let pid = sleeping.id().to_string();
    let view = View::start(folder.path(), &[&pid]);
    let taking = view.snapshot();
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    let printed = command.args(["snapshot", &pid]).current_dir(folder.path()).output();
    let printed = String::from_utf8(printed.expect("it runs").stderr).expect("text");
    assert_eq!(taking["state"], "failed");
    let why = taking["why"].as_str().expect("a reason");
    assert_eq!(format!("bactrian: {why}\n"), printed);
    view.end();
    sleeping.kill().and_then(|()| sleeping.wait()).expect("it ends");
}
