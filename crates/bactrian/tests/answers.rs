//! Every question is answered identically by HTTP, by the command named in its answer, as an assistant's
//! tool, and in a report.

#[allow(dead_code, reason = "shared with the tests of snapshots, which use more of it")]
#[path = "../../snapshot/tests/snapshot/heaps.rs"]
mod heaps;
#[allow(dead_code, reason = "shared with the tests of the live view, which use more of it")]
#[path = "live_view/recorded.rs"]
mod recorded;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use bactrian_analysis::question::QUESTIONS;
use bactrian_live::recording::Recorder;
use bactrian_snapshot::Columns;
use serde_json::{Value, json};

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../trace/tests/fixtures").join(name)
}

/// `bactrian view` of some files, until dropped.
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
        // JSON has no line breaks here, so chunks, if any, are lines.
        let body = match head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
            true => body.split("\r\n").skip(1).step_by(2).collect(),
            false => body.to_owned(),
        };
        (status.expect("a status"), serde_json::from_str(&body).expect("JSON"))
    }

    /// The state of a recording. It is read in the background: this waits for it.
    fn live_state(&self, file: usize) -> Value {
        loop {
            let state = self.answer(&format!("live/state?file={file}"));
            if state["result"]["is_over"] == true {
                return state;
            }
        }
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

/// The `result` printed by a command, which is passed to a shell as users do.
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

/// Whether two answers are equal up to the last digits of numbers.
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

/// Two snapshots of random heaps.
fn snapshots() -> [PathBuf; 2] {
    let folder = bactrian_fixtures::own_folder("answers");
    [("small", 400, 1), ("grown", 500, 2)].map(|(name, blocks, taken)| {
        let path = folder.join(format!("{name}.heap"));
        let mut heap = heaps::random(&mut heaps::Dice(1), blocks, Columns::default());
        // Of one process, which has not moved its blocks.
        (heap.info.pid, heap.info.program) = (7, "server".to_owned());
        (heap.info.host, heap.info.taken) = ("vm".to_owned(), taken * 1_000_000);
        heap.tables.statistics.clear();
        let bytes = heaps::write(&heap, 150).expect("it can be written");
        std::fs::write(&path, bytes).expect("room");
        path
    })
}

/// A recording of live numbers.
fn recording() -> PathBuf {
    let path = bactrian_fixtures::own_folder("answers").join("run.live");
    let mut recorder = Recorder::create(&path).expect("a file");
    recorded::events().iter().for_each(|event| recorder.add(event).expect("room"));
    recorder.flush().expect("room");
    path
}

/// Questions whose commands write pictures or only print text for people, and questions without a command.
const WITHOUT_JSON: &[&str] = &[
    "overview/contents",
    "trace/flame",
    "trace/around",
    "trace/diff-flame",
    "trace/source",
    "trace/names",
    "heap/first-roots",
    "heap/find",
    "heap/diff-flame",
    "heap/collections",
    "heap/evolution-names",
    "live/state",
    "live/observers",
    "live/chart",
    "live/log",
];

/// At least one instance of every other question. Files 0 and 1 are traces, 2 and 3 snapshots; `F` stands for
/// a function.
const ASKED: &[&str] = &[
    "overview/info?file=0",
    "overview/info?file=2",
    "trace/timeline?file=0&points=20",
    "trace/timeline?file=0&points=20&window=0.01..0.05",
    "trace/timeline?file=0&points=30&in=F",
    "trace/top?file=0",
    "trace/paths?file=0&number=3",
    "trace/top?file=1&by=site&metric=live&number=7&sort=total",
    "trace/top?file=0&by=line&metric=peak&heap=minor&size=16..",
    "trace/top?file=0&by=module&not-in=F&live-at-end=",
    "trace/top?file=0&metric=promoted&hide=F",
    "trace/top?file=0&search=a&offset=2&number=3&sort=name&reverse=",
    "trace/tree?file=0",
    "trace/tree?file=0&callers=&metric=live&by=site&min-share=5",
    "trace/tree?file=0&focus=F",
    "trace/lifetimes?file=0",
    "trace/lifetimes?file=1&by=function&lifetime=1ms..&number=3&sort=never",
    "trace/diff?before=0&after=1",
    "trace/diff?before=1&after=0&by=file&live-at-peak&in=F&sort=total",
    "heap/summary?file=2",
    "heap/suspects?files=2",
    "heap/suspects?files=2&files=3",
    "heap/roots?file=2",
    "heap/roots?file=3&depth=3&number=2",
    "heap/classes?file=2",
    "heap/classes?file=2&by=tag&sort=retained&number=5&offset=1",
    "heap/classes?file=2&by=site&search=m",
    "heap/classes?file=2&by=module",
    "heap/fields?file=2&type=lazy%20value",
    "heap/dominators?file=2",
    "heap/dominators?file=2&of=string&blocks=&number=3",
    "heap/paths?file=2&what=string",
    "heap/paths?file=2&what=%405",
    "heap/finalisers?file=2",
    "heap/duplicates?file=2&number=3",
    "heap/graph?file=2&nodes=10",
    "heap/graph?file=2&around=%405&steps=1",
    "heap/show?file=2&block=%405&depth=2",
    "heap/diff?files=2&files=3",
    "heap/diff?files=2&files=3&max=1GB&sort=name&number=4",
    "heap/leaks?files=2&files=3&files=3",
    "heap/what-if?file=2&cut=string&cut=globals&number=2",
    "heap/blocks?file=2&type=string&sort=size&number=3&offset=1",
    "heap/evolution?files=2&files=3",
    "heap/evolution?files=3&files=2&by=site&unit=blocks&sort=growth&number=3",
];

#[test]
fn answers_equal_the_output_of_their_commands() {
    let [small, grown] = snapshots();
    let files = [fixture("leaky_cache_v2.ctf"), fixture("every_word_v2.ctf"), small, grown];
    let served = Served::new(&files);
    let top = served.answer("trace/top?file=0");
    let function = top["result"]["rows"][0]["name"].as_str().expect("a function").to_owned();
    let function = function.replace('(', "%28").replace(')', "%29");
    for entry in QUESTIONS.iter().filter(|entry| !WITHOUT_JSON.contains(&entry.name)) {
        let begin = format!("{}?", entry.name);
        assert!(ASKED.iter().any(|asked| asked.starts_with(&begin)), "{} is not asked", entry.name);
    }
    for asked in ASKED {
        let question = asked.replace("=F", &format!("={function}"));
        let answer = served.answer(&question);
        let command = answer["command"].as_str().expect("a command");
        let expected = printed(command);
        let found = &answer["result"];
        let cut = |value: &Value| value.to_string().chars().take(3000).collect::<String>();
        let (is_same, found) = (same(found, &expected), cut(found));
        assert!(is_same, "{question}\n{command}\n{found}\n{}", cut(&expected));
    }
}

#[test]
fn live_answers_are_parts_of_their_commands_output() {
    let served = Served::new(&[fixture("leaky_cache_v2.ctf"), recording()]);
    let state = served.live_state(1);
    let whole = printed(state["command"].as_str().expect("a command").trim_end_matches(" --json"));
    let about = state["result"]["about"].as_object().expect("fields");
    assert!(about.iter().all(|(name, value)| same(value, &whole[name])), "{about:?}\n{whole}");
    let observers = served.answer("live/observers?file=1");
    assert!(same(&observers["result"]["observers"], &whole["observers"]), "{observers}\n{whole}");
    let log = served.answer("live/log?file=1&number=2000");
    assert!(same(&log["result"]["log"], &whole["log"]), "{log}\n{whole}");
    // The last point of a line is the observer's value at that moment.
    let mut said = observers["result"]["observers"].as_array().expect("a list").iter();
    let heap = said.rfind(|one| one["name"] == "runtime.heap").expect("a heap");
    let chart = served.answer("live/chart?file=1&name=runtime.heap&last=30&points=10");
    let values = chart["result"]["lines"][0]["values"].as_array().expect("numbers");
    assert!(same(values.last().expect("some"), &heap["value"]), "{chart}\n{heap}");
    let (status, refused) = served.ask("live/state?file=0");
    assert_eq!(
        (status, refused["error"].as_str().map(|why| why.contains("is no"))),
        (400, Some(true))
    );
}

#[test]
fn snapshots_of_one_process_are_sorted_by_time() {
    let [small, grown] = snapshots();
    let name = |path: &Path| path.file_name().expect("a name").to_string_lossy().into_owned();
    let expected = [name(&small), "leaky_cache_v2.ctf".to_owned(), name(&grown)];
    // Other files stay in the given order.
    let served = Served::new(&[grown, fixture("leaky_cache_v2.ctf"), small]);
    let files = served.answer("files")["result"]["files"].clone();
    let files = files.as_array().expect("files").iter();
    assert_eq!(
        files.map(|file| file["name"].as_str().expect("text")).collect::<Vec<_>>(),
        expected
    );
}

/// `bactrian mcp` of some files, driven like a client does: one line of JSON per message.
struct Assistant {
    child: Child,
    out: BufReader<ChildStdout>,
    last: u64,
}

impl Assistant {
    fn new(files: &[PathBuf]) -> Assistant {
        let mut child = Command::new(env!("CARGO_BIN_EXE_bactrian"))
            .arg("mcp")
            .args(files)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("bactrian starts");
        let out = BufReader::new(child.stdout.take().expect("an output"));
        let mut assistant = Assistant { child, out, last: 0 };
        let about = json!({
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": { "name": "test", "version": "1" },
        });
        let server = assistant.request("initialize", &about);
        assert_eq!(server["serverInfo"]["name"], "bactrian", "{server}");
        assistant.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        assistant
    }

    fn send(&mut self, message: &Value) {
        let input = self.child.stdin.as_mut().expect("an input");
        writeln!(input, "{message}").expect("it reads");
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let mut line = String::new();
        self.out.read_line(&mut line).expect("an answer");
        let answer: Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    }

    /// The text of a tool's answer.
    fn call(&mut self, name: &str, arguments: &Value) -> String {
        let called = json!({ "name": name, "arguments": arguments });
        let answer = self.request("tools/call", &called);
        answer["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }
}

impl Drop for Assistant {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether an assistant's answer equals the complete one, apart from omitted nulls and numbers rounded to
/// five digits.
fn same_for_assistants(told: &Value, whole: &Value) -> bool {
    match (told, whole) {
        (Value::Number(told), Value::Number(whole)) => {
            let (told, whole) = (told.as_f64().unwrap_or(0.0), whole.as_f64().unwrap_or(0.0));
            (told - whole).abs() <= 1e-3 * (1.0 + whole.abs())
        }
        (Value::Array(told), Value::Array(whole)) => {
            told.len() == whole.len()
                && told.iter().zip(whole).all(|(told, whole)| same_for_assistants(told, whole))
        }
        (Value::Object(told), Value::Object(whole)) => whole.iter().all(|(key, whole)| {
            told.get(key).map_or(whole.is_null(), |told| same_for_assistants(told, whole))
        }),
        _ => told == whole,
    }
}

#[test]
fn assistants_get_the_same_answers() {
    let [small, grown] = snapshots();
    let files = [fixture("leaky_cache_v2.ctf"), fixture("every_word_v2.ctf"), small, grown];
    let served = Served::new(&files);
    let mut assistant = Assistant::new(&files);
    let tools = assistant.request("tools/list", &json!({}));
    let tools = tools["tools"].as_array().expect("tools").clone();
    let mut compared = 0;
    for asked in ASKED.iter().filter(|asked| !asked.contains("=F")) {
        let (name, query) = asked.split_once('?').expect("a question");
        let entry = QUESTIONS.iter().find(|entry| entry.name == name).expect("a question");
        let parameters = entry.parameters();
        let mut arguments = serde_json::Map::new();
        for pair in query.split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let value = value.replace("%20", " ").replace("%40", "@");
            let parameter = parameters.iter().find(|known| known.name == name).expect(name);
            let value = parameter.read(&value).expect(name);
            match parameter.is_repeated {
                true => match arguments.entry(name).or_insert(json!([])) {
                    Value::Array(several) => several.push(value),
                    other => *other = value,
                },
                false => drop(arguments.insert(name.to_owned(), value)),
            }
        }
        // Tables have fewer rows for assistants by default.
        if let Some(number) = parameters.iter().find(|known| known.name == "number") {
            arguments.entry("number").or_insert(number.default.clone());
        }
        let tool = name.replace(['/', '-'], "_");
        assert!(tools.iter().any(|known| known["name"] == *tool), "{tool} is no tool");
        let text = assistant.call(&tool, &Value::Object(arguments));
        assert!(text.len() <= 8_000, "{asked}: {} bytes", text.len());
        let told: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{asked}: {text}"));
        if told.get("left_out").is_none() {
            let whole = &served.answer(asked)["result"];
            assert!(same_for_assistants(&told["result"], whole), "{asked}\n{text}");
            compared += 1;
        }
    }
    assert!(compared > 15, "only {compared} answers were not cut");
    let opened = assistant.call("open", &json!({ "path": files[0] }));
    assert_eq!(serde_json::from_str::<Value>(&opened).expect("JSON")["file"], 4);
    let refused = assistant.call("trace_top", &json!({ "by": "colour" }));
    assert!(refused.starts_with("by=colour: must be one of site, "), "{refused}");
    let refused = assistant.call("heap_classes", &json!({ "file": 2, "number": -1 }));
    assert!(refused.contains("number=-1"), "{refused}");
    assert!(assistant.call("open", &json!({ "path": "/nowhere" })).contains("/nowhere"));
}

mod consumers {
    use super::*;

    /// The reference client of the protocol, from PyPI.
    #[test]
    #[ignore = "needs the client of PyPI: cargo xtask test --all"]
    fn third_party_client_gets_the_same_answers() {
        let tools = std::env::var_os("BACTRIAN_CONSUMERS").expect("cargo xtask test --all sets it");
        let [small, grown] = snapshots();
        let files = [fixture("leaky_cache_v2.ctf"), fixture("every_word_v2.ctf"), small, grown];
        let client = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../consumers/mcp_client.py");
        let mut command = Command::new(Path::new(&tools).join("mcp/bin/python"));
        command.arg(client).arg(env!("CARGO_BIN_EXE_bactrian")).args(&files).arg("--");
        command.args(["trace_top", r#"{"file":0,"number":3}"#]);
        command.args(["heap_suspects", r#"{"files":[2,3]}"#]);
        command.args(["trace_top", r#"{"by":"colour"}"#]);
        let said = bactrian_fixtures::run(&mut command);
        let mut lines = said.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        let mut next = || -> Value { lines.next().expect("a line for each") };
        let tools = next();
        assert!(tools.as_array().is_some_and(|tools| tools.len() > 20), "{tools}");
        let served = Served::new(&files);
        for asked in ["trace/top?file=0&number=3", "heap/suspects?files=2&files=3"] {
            let answer = next();
            let told = answer["text"].as_str().expect("text");
            let told: Value = serde_json::from_str(told).expect("JSON");
            assert_eq!(answer["failed"], false);
            assert!(
                same_for_assistants(&told["result"], &served.answer(asked)["result"]),
                "{told}"
            );
        }
        let refused = next();
        assert_eq!(refused["failed"], true, "{refused}");
        assert!(refused["text"].as_str().is_some_and(|text| text.contains("must be one of")));
    }
}

/// Questions that no report contains: those that depend on typed text, and those that the page does not ask.
const NOT_REPORTED: &[&str] = &[
    "trace/tree",
    "trace/around",
    "trace/names",
    "heap/first-roots",
    "heap/find",
    "heap/leaks",
    "heap/evolution-names",
];

/// The answers in a report, by question.
fn carried(report: &str) -> Vec<(String, Value)> {
    let (_, after) = report.split_once(r#"id="answers">"#).expect("answers");
    let (json, _) = after.split_once("</script>").expect("their end");
    let data: Value = serde_json::from_str(json).expect("JSON");
    assert_eq!(data["left_out"], json!([]));
    let digit = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let unpacked = |text: &str| -> Value {
        let bits =
            |four: &[u8]| four.iter().fold(0_u32, |bits, c| bits << 6 | u32::from(digit(*c)));
        let bytes =
            text.as_bytes().chunks(4).flat_map(|four| bits(four).to_be_bytes()[1..].to_vec());
        let packed: Vec<u8> = bytes.collect();
        serde_json::from_reader(flate2::read::DeflateDecoder::new(&*packed)).expect("an answer")
    };
    let answers = data["answers"].as_object().expect("answers");
    let text = |packed: &Value| packed.as_str().expect("text").to_owned();
    answers.iter().map(|(question, packed)| (question.clone(), unpacked(&text(packed)))).collect()
}

#[test]
fn reports_contain_the_same_answers() {
    let [small, grown] = snapshots();
    let traces = ["leaky_cache_v2.ctf", "every_word_v2.ctf"].map(fixture);
    let files: Vec<_> = traces.into_iter().chain([small, grown, recording()]).collect();
    let folder = bactrian_fixtures::own_folder("reported");
    let path = folder.join("report.html");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.arg("report").args(&files).arg("--output").arg(&path);
    assert!(command.output().expect("bactrian runs").status.success());
    let carried = carried(&std::fs::read_to_string(&path).expect("a report"));
    for entry in QUESTIONS.iter().filter(|entry| !NOT_REPORTED.contains(&entry.name)) {
        let begin = format!("{}?", entry.name);
        let is_there = carried.iter().any(|(question, _)| question.starts_with(&begin));
        assert!(is_there, "the page never asked {}", entry.name);
    }
    let listed = carried.iter().find(|(question, _)| question == "files?").expect("its files");
    let listed = listed.1["result"]["files"].as_array().expect("files");
    assert!(listed.iter().all(|file| file["state"] == "open"), "{listed:?}");
    let served = Served::new(&files);
    served.live_state(4);
    // The progress of opening files differs.
    for (question, answer) in carried.iter().filter(|(question, _)| question != "files?") {
        let (_, asked) = served.ask(question);
        let is_same =
            same(&answer["result"], &asked["result"]) && answer["command"] == asked["command"];
        assert!(is_same, "{question}\n{answer}\n{asked}");
    }
}

#[test]
fn reports_contain_sources_unless_disabled() {
    let folder = bactrian_fixtures::own_folder("reported_sources");
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
    for (from, name) in [
        (fixture("leaky_cache_v2.ctf"), "x.ctf"),
        (programs.join("leaky_cache.ml"), "leaky_cache.ml"),
    ] {
        std::fs::copy(from, folder.join(name)).expect("a copy");
    }
    let sources = |options: &[&str]| -> Vec<Value> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(["report", "x.ctf", "-o", "out.html"]).args(options).current_dir(&folder);
        assert!(command.output().expect("bactrian runs").status.success());
        let carried = carried(&std::fs::read_to_string(folder.join("out.html")).expect("a report"));
        let is_source = |question: &str| question.starts_with("trace/source?");
        carried
            .into_iter()
            .filter(|(question, _)| is_source(question))
            .map(|(_, answer)| answer)
            .collect()
    };
    let has_lines = |answer: &Value| {
        answer["result"]["lines"].as_array().is_some_and(|lines| !lines.is_empty())
    };
    assert!(sources(&[]).iter().any(has_lines));
    let without = sources(&["--no-sources"]);
    assert!(!without.is_empty());
    for answer in without {
        assert!(answer["error"].as_str().expect("why").contains("--no-sources"), "{answer}");
    }
}

#[test]
fn tables_are_sorted_and_searched_before_they_are_cut() {
    let served = Served::new(&[fixture("leaky_cache_v2.ctf")]);
    let rows = |question: &str| {
        served.answer(question)["result"]["rows"].as_array().expect("rows").clone()
    };
    let total = |row: &Value| row["total"]["value"].as_f64().expect("a number");
    let all = rows("trace/top?number=0&sort=total");
    assert!(all.is_sorted_by(|a, b| total(a) >= total(b)));
    // All pages together equal the whole, in the same order.
    let mut pages = Vec::new();
    for offset in (0..all.len()).step_by(3) {
        pages.extend(rows(&format!("trace/top?sort=total&number=3&offset={offset}")));
    }
    assert_eq!(pages, all);
    let last = all.last().expect("a row")["name"].as_str().expect("a name").to_owned();
    let encoded =
        last.replace('(', "%28").replace(')', "%29").replace('[', "%5B").replace(']', "%5D");
    let found = rows(&format!("trace/top?number=1&search={}", encoded.to_uppercase()));
    assert_eq!(found[0]["name"].as_str(), Some(&*last));
}

#[test]
fn answers_are_limited_in_size() {
    let [small, _] = snapshots();
    let served = Served::new(&[small]);
    let size = |question: &str| served.answer(question).to_string().len();
    for question in [
        "heap/dominators?number=0&depth=1000&min-share=0&blocks=",
        "heap/paths?what=string&number=0&depth=1000&min-share=0",
        "heap/roots?depth=3&number=0",
        "heap/classes?number=0",
    ] {
        assert!(size(question) < 5_000_000, "{question}");
    }
}

/// A trace with many functions, so that questions about it take a while.
#[test]
fn aborted_questions_are_cancelled() {
    let served = Served::new(&[fixture("leaky_cache_v2.ctf")]);
    let threads = || {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", served.child.id()));
        tasks.expect("a process").count()
    };
    served.answer("trace/top");
    let before = threads();
    for number in 0..100 {
        let mut stream = TcpStream::connect(&served.host).expect("the server listens");
        let (token, host) = (&served.token, &served.host);
        let question = format!("trace/flame?min-share=0&hide=f{number}");
        write!(stream, "GET /{token}/api/{question} HTTP/1.1\r\nHost: {host}\r\n\r\n")
            .expect("a request");
        // Dropped at once.
    }
    let begin = std::time::Instant::now();
    served.answer("trace/top?number=1");
    assert!(begin.elapsed().as_secs() < 10, "{:?}", begin.elapsed());
    // Threads that answer questions are kept for a while, but no more than were needed at once.
    assert!(threads() <= before + 8, "{} threads, {before} before", threads());
}

/// A list in an answer.
fn list<'a>(answer: &'a Value, name: &str) -> &'a [Value] {
    answer[name].as_array().expect("a list")
}

/// A list of numbers in an answer.
fn numbers(answer: &Value, name: &str) -> Vec<f64> {
    list(answer, name).iter().map(|number| number.as_f64().expect("a number")).collect()
}

#[test]
fn flame_graphs_agree_with_call_trees() {
    let served = Served::new(&[fixture("leaky_cache_v2.ctf")]);
    for metric in ["allocated", "live", "peak", "objects"] {
        let flame = served.answer(&format!("trace/flame?file=0&metric={metric}&min-share=0"));
        let flame = &flame["result"];
        let (total, own) = (numbers(flame, "total"), numbers(flame, "own"));
        assert!((total[0] - flame["all"]["value"].as_f64().expect("a number")).abs() < 1e-6);
        assert!((own.iter().sum::<f64>() - total[0]).abs() < 1e-6 * total[0]);
        // The largest outermost frame equals that of the tree.
        let tree = printed(&format!(
            "bactrian tree {} --min-share 0 --metric {metric}",
            fixture("leaky_cache_v2.ctf").display()
        ));
        let branch = &tree["tree"]["branches"][0];
        let label = list(flame, "label")[1].as_u64().expect("a number") as usize;
        assert_eq!(list(flame, "labels")[label]["name"], branch["name"]);
        assert!((total[1] - branch["total"]["value"].as_f64().expect("a number")).abs() < 1e-6);
        // A single stack, and the path to it.
        let id = list(flame, "id")[1].as_u64().expect("a number");
        let zoomed = served.answer(&format!("trace/flame?file=0&metric={metric}&at={id}"));
        assert_eq!(zoomed["result"]["total"][0], flame["total"][1]);
        assert_eq!(list(&zoomed["result"], "path").len(), 2);
    }
    let cut = served.answer("trace/flame?file=0&min-share=20");
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
    let both = served.answer("trace/diff-flame?before=0&after=1");
    let flames = [0, 1].map(|file| served.answer(&format!("trace/flame?file={file}")));
    assert_eq!(both["result"]["before"][0], flames[0]["result"]["total"][0]);
    assert_eq!(both["result"]["total"][0], flames[1]["result"]["total"][0]);
}

#[test]
fn differential_flame_graph_compares_two_heaps() {
    let served = Served::new(&snapshots());
    let flame = |files: &str| served.answer(&format!("heap/diff-flame?{files}"))["result"].clone();
    let grown = flame("files=0&files=1");
    for (file, column) in [(0, "before"), (1, "total")] {
        let whole = served.answer(&format!("heap/dominators?file={file}"));
        assert_eq!(grown[column][0], whole["result"]["rows"][0]["retained"], "{column}");
        // A holder retains what is below it, and itself.
        let (sizes, parents) = (numbers(&grown, column), numbers(&grown, "parent"));
        let mut below = vec![0.0; sizes.len()];
        for at in 1..sizes.len() {
            below[parents[at] as usize] += sizes[at];
        }
        assert!(below.iter().zip(&sizes).all(|(below, size)| below <= size), "{column}");
    }
    assert!(numbers(&grown, "total").len() > 10);
    assert!(numbers(&grown, "before").iter().any(|size| *size > 0.0));
    // By time, in any order of arguments.
    assert_eq!(flame("files=1&files=0"), grown);
    let same = flame("files=1&files=1");
    assert_eq!((&same["before"], &same["own_before"]), (&same["total"], &same["own"]));
    let (status, one) = served.ask("heap/diff-flame?files=0");
    assert!(status >= 400 && one.to_string().contains("at least two"), "{one}");
    // And as a picture by the command.
    let path = bactrian_fixtures::own_folder("heap_flames").join("grown.svg");
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(["heap", "diff"]).args(snapshots()).arg("--flame").arg(&path);
    let output = command.output().expect("bactrian runs");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let svg = std::fs::read_to_string(&path).expect("a picture");
    assert!(svg.starts_with("<svg") || svg.starts_with("<?xml"), "{}", &svg[..100]);
    assert!(svg.contains("all roots") && svg.contains("Red grew"));
}

#[test]
fn paths_names_and_sources_are_answered() {
    let served = Served::new(&[fixture("leaky_cache_v2.ctf")]);
    let paths = served.answer("trace/paths?file=0&number=3");
    let rows = paths["result"]["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 3);
    assert!(rows.is_sorted_by_key(|row| -row["own"]["value"].as_f64().expect("a number")));
    let names = served.answer("trace/names?file=0&prefix=l");
    let files = names["result"]["files"].as_array().expect("files");
    assert!(!files.is_empty());
    let file = files[0].as_str().expect("a name");
    let source = served.answer(&format!("trace/source?file=0&path={file}&line=3"));
    assert_eq!(source["result"]["file"], file);
    // No other file on disk is shown, whatever is requested.
    for path in ["/etc/passwd", "../../../../etc/passwd", "Cargo.toml", "src/main.rs"] {
        let source = served.answer(&format!("trace/source?file=0&path={path}&line=1"));
        assert_eq!(source["result"]["found"], false, "{path}");
    }
}

#[test]
fn invalid_questions_get_an_error() {
    let served = Served::new(&[fixture("leaky_cache_v2.ctf")]);
    for (question, said) in [
        ("trace/top?file=3", "there is no file 3"),
        ("trace/top?file=0&metric=most", "metric=most"),
        ("trace/top?file=0&by=colour", "by=colour"),
        ("trace/top?file=0&in=/(/", "in=/(/"),
        ("trace/timeline?file=0&live-in=3..1", "live-in=3..1"),
        ("trace/flame?file=0&at=99999999", "no such stack"),
        ("trace/diff?before=0&after=9", "there is no file 9"),
        ("trace/top?fil=0", "no such parameter"),
        ("heap/paths?file=0", "what"),
    ] {
        let (status, answer) = served.ask(question);
        assert_eq!(status / 100, 4, "{question}: {answer}");
        let error = answer["error"].as_str().expect("an error");
        assert!(error.contains(said), "{question}: {error}");
    }
}

/// Its files are old and read by current readers; `cargo xtask demo --write` recreates them.
#[test]
fn demo_is_read_without_loss_with_its_source_and_types_and_leaves_nothing() {
    let mut served = Served::new(&[PathBuf::from("--demo")]);
    let files = served.answer("files")["result"]["files"].clone();
    let path = |file: &Value| PathBuf::from(file["path"].as_str().expect("a path"));
    let paths: Vec<PathBuf> = files.as_array().expect("files").iter().map(path).collect();
    let folder = paths[0].parent().expect("a folder");
    let mode = std::os::unix::fs::MetadataExt::mode(&folder.metadata().expect("it is there"));
    assert_eq!((paths.len(), mode & 0o777), (4, 0o700));
    for question in ["overview/contents?file=0", "heap/summary?file=1", "heap/summary?file=3"] {
        let answer = served.answer(question);
        assert_eq!(answer["notes"].as_array().map(Vec::len), Some(0), "{question}: {answer}");
    }
    // They contain no data of our machines.
    let infos = [0, 1, 2, 3].map(|file| served.answer(&format!("overview/info?file={file}")));
    for info in &infos {
        let of = (&info["result"]["host"], &info["result"]["program"]);
        assert_eq!(of, (&"demo".into(), &"/tmp/bactrian-demo/leaky_cache".into()));
    }
    let suspects = served.answer("heap/suspects?files=1&files=2&files=3").to_string();
    assert!(suspects.contains("Leaky_cache.Cache.entry"), "no types: {suspects}");
    // The line that retains most is still the same in the source.
    let top = served.answer("trace/top?file=0&by=line&number=1");
    assert_eq!(top["result"]["rows"][0]["name"], "leaky_cache.ml:34", "{top}");
    let source = served.answer("trace/source?file=0&path=leaky_cache.ml&line=34");
    let line = r#"  String.concat "," (List.map line (Words.bindings counts))"#;
    assert_eq!(source["result"]["lines"][20], line);
    let pid = served.child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &pid]).status().expect("kill").success());
    assert!(served.child.wait().expect("it ends").success());
    assert!(!folder.exists());
}
