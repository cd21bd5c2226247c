//! What the page is told of traces is what the commands print that it names beside it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::Value;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures").join(name)
}

/// `bactrian view` of some files, until it goes.
struct Served {
    child: Child,
    host: String,
    token: String,
}

impl Served {
    fn new(files: &[PathBuf]) -> Served {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bactrian"))
            .arg("view")
            .args(files)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("bactrian starts");
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().expect("an output"));
        out.read_line(&mut line).expect("a URL");
        let url = line.trim().strip_prefix("http://").expect("a URL").to_owned();
        let (host, token) = url.split_once('/').expect("a token in the URL");
        let (host, token) = (host.to_owned(), token.trim_matches('/').to_owned());
        Served { child, host, token }
    }

    /// The status and the body of an answer.
    fn ask(&self, question: &str) -> (u16, Value) {
        let mut stream = TcpStream::connect(&self.host).expect("the server listens");
        let (token, host) = (&self.token, &self.host);
        write!(
            stream,
            "GET /{token}/api/{question} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .expect("a request");
        let mut text = Vec::new();
        stream.read_to_end(&mut text).expect("an answer");
        let text = String::from_utf8(text).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        // Chunks, if there are any, are lines of JSON's one line.
        let body = match head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            true => body.split("\r\n").skip(1).step_by(2).collect(),
            false => body.to_owned(),
        };
        (status.expect("a status"), serde_json::from_str(&body).expect("JSON"))
    }

    fn answer(&self, question: &str) -> Value {
        let (status, answer) = self.ask(question);
        assert_eq!(status, 200, "{question}: {answer}");
        answer
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a command prints as `result`. It is typed into a shell, as people do with it.
fn printed(command: &str) -> Value {
    let folder = Path::new(env!("CARGO_BIN_EXE_bactrian")).parent().expect("a folder");
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("sh")
        .args(["-c", &format!("{command} --json")])
        .env("PATH", format!("{}:{path}", folder.display()))
        .output()
        .expect("a shell");
    let text = String::from_utf8_lossy(&output.stdout);
    let json: Value = serde_json::from_str(&text).unwrap_or_else(|error| {
        let said = String::from_utf8_lossy(&output.stderr);
        panic!("{command}: {error}\n{text}\n{said}")
    });
    json["result"].clone()
}

/// Whether two answers are the same but for the last digits of numbers.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => {
            let (one, other) = (one.as_f64().unwrap_or(0.0), other.as_f64().unwrap_or(0.0));
            (one - other).abs() <= 1e-9 * (1.0 + one.abs().max(other.abs()))
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one.iter().all(|(key, one)| other.get(key).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}

#[test]
fn answers_are_those_of_the_commands_beside_them() {
    let files = [fixture("leaky_cache_v2.ctf"), fixture("every_word_v2.ctf")];
    let served = Served::new(&files);
    let top = served.answer("trace/top?file=0");
    let function = top["result"]["rows"][0]["name"].as_str().expect("a function").to_owned();
    let function = function.replace('(', "%28").replace(')', "%29");
    let questions = [
        "trace/timeline?file=0&points=20".to_owned(),
        "trace/timeline?file=0&points=20&from=0.01&to=0.05".to_owned(),
        format!("trace/timeline?file=0&points=30&in={function}"),
        "trace/top?file=0".to_owned(),
        "trace/top?file=1&by=site&metric=live&n=7&sort=total".to_owned(),
        "trace/top?file=0&by=line&metric=peak&heap=minor&size=16..".to_owned(),
        format!("trace/top?file=0&by=module&not-in={function}&live-at-end="),
        format!("trace/top?file=0&metric=promoted&hide={function}"),
        "trace/lifetimes?file=0".to_owned(),
        "trace/lifetimes?file=1&by=function&lifetime=1ms..&n=3".to_owned(),
        "trace/diff?file=1&with=0".to_owned(),
        format!("trace/diff?file=0&with=1&by=file&live-at-peak&in={function}"),
    ];
    for question in questions {
        let answer = served.answer(&question);
        let command = answer["command"].as_str().expect("a command");
        let expected = printed(command);
        let found = &answer["result"];
        assert!(same(found, &expected), "{question}\n{command}\n{found}\n{expected}");
    }
}

#[test]
fn flame_graphs_have_what_trees_have() {
    let served = Served::new(&[fixture("leaky_cache_v2.ctf")]);
    let list = |flame: &Value, name: &str| flame[name].as_array().expect("a list").clone();
    let numbers = |flame: &Value, name: &str| -> Vec<f64> {
        list(flame, name).iter().map(|n| n.as_f64().expect("a number")).collect()
    };
    for metric in ["allocated", "live", "peak", "objects"] {
        let flame = served.answer(&format!("trace/flame?file=0&metric={metric}&min=0"));
        let flame = &flame["result"];
        let (total, own) = (numbers(flame, "total"), numbers(flame, "own"));
        assert!((total[0] - flame["all"]["value"].as_f64().expect("a number")).abs() < 1e-6);
        assert!((own.iter().sum::<f64>() - total[0]).abs() < 1e-6 * total[0]);
        // The largest outermost frame is that of the tree.
        let tree = printed(&format!(
            "bactrian tree {} --min-share 0 --metric {metric}",
            fixture("leaky_cache_v2.ctf").display()
        ));
        let branch = &tree["tree"]["branches"][0];
        let label = list(flame, "label")[1].as_u64().expect("a number") as usize;
        assert_eq!(list(flame, "labels")[label]["name"], branch["name"]);
        assert!((total[1] - branch["total"]["value"].as_f64().expect("a number")).abs() < 1e-6);
        // A stack by itself, and the way to it.
        let id = list(flame, "id")[1].as_u64().expect("a number");
        let zoomed = served.answer(&format!("trace/flame?file=0&metric={metric}&at={id}"));
        assert_eq!(zoomed["result"]["total"][0], flame["total"][1]);
        assert_eq!(list(&zoomed["result"], "path").len(), 2);
    }
    let cut = served.answer("trace/flame?file=0&min=0.2");
    assert!(numbers(&cut["result"], "more").iter().sum::<f64>() > 0.0);
}

#[test]
fn both_sides_of_a_function_are_shown() {
    let served = Served::new(&[fixture("leaky_cache_v2.ctf"), fixture("every_word_v2.ctf")]);
    let top = served.answer("trace/top?file=0");
    let name = top["result"]["rows"][0]["name"].as_str().expect("a name").to_owned();
    let around = served.answer(&format!("trace/around?file=0&focus={name}"));
    let (all, share) = (&around["result"]["all"]["value"], &around["result"]["share"]);
    let through = all.as_f64().expect("a number") * share.as_f64().expect("a number");
    for side in ["callees", "callers"] {
        let total = around["result"][side]["total"][0].as_f64().expect("a number");
        assert!((total - through).abs() <= 1e-6 * through, "{side}");
    }
    let both = served.answer("trace/diff-flame?file=1&with=0");
    let flames = [0, 1].map(|file| served.answer(&format!("trace/flame?file={file}")));
    assert_eq!(both["result"]["before"][0], flames[0]["result"]["total"][0]);
    assert_eq!(both["result"]["total"][0], flames[1]["result"]["total"][0]);
}

#[test]
fn paths_names_and_sources_are_told() {
    let served = Served::new(&[fixture("leaky_cache_v2.ctf")]);
    let paths = served.answer("trace/paths?file=0&n=3");
    let rows = paths["result"]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    assert!(rows.is_sorted_by_key(|row| -row["own"]["value"].as_f64().expect("a number")));
    let names = served.answer("trace/names?file=0&prefix=l");
    let files = names["result"]["files"].as_array().expect("files");
    assert!(!files.is_empty());
    let file = files[0].as_str().expect("a name");
    let source = served.answer(&format!("trace/source?file=0&path={file}&line=3"));
    assert_eq!(source["result"]["file"], file);
    // No other file of the disk is shown, whatever is asked for.
    for path in ["/etc/passwd", "../../../../etc/passwd", "Cargo.toml", "src/main.rs"] {
        let source = served.answer(&format!("trace/source?file=0&path={path}&line=1"));
        assert_eq!(source["result"]["found"], false, "{path}");
    }
}

#[test]
fn what_is_wrong_with_a_question_is_said() {
    let served = Served::new(&[fixture("leaky_cache_v2.ctf")]);
    for (question, said) in [
        ("trace/top?file=3", "there is no file 3"),
        ("trace/top?file=0&metric=most", "metric=most"),
        ("trace/top?file=0&by=colour", "by=colour"),
        ("trace/top?file=0&in=/(/", "in:"),
        ("trace/timeline?file=0&live-in=3..1", "live-in:"),
        ("trace/flame?file=0&at=99999999", "no such stack"),
        ("trace/diff?file=0", "with"),
    ] {
        let (status, answer) = served.ask(question);
        assert_eq!(status / 100, 4, "{question}: {answer}");
        let error = answer["error"].as_str().expect("an error");
        assert!(error.contains(said), "{question}: {error}");
    }
}
