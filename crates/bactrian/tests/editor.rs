//! `bactrian annotate --lsp` as an editor uses it: the hints beside lines equal the numbers that `bactrian annotate` prints.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use bactrian_fixtures::{own_folder, repository, run};
use serde_json::{Value, json};

/// A folder opened in an editor: a program, and a trace of it in a subfolder.
fn workspace(name: &str) -> PathBuf {
    let folder = own_folder(name);
    fs::create_dir(folder.join("traces")).expect("it is ours");
    let trace = repository().join("crates/trace/tests/fixtures/leaky_cache_v2.ctf");
    fs::copy(trace, folder.join("traces/leaky_cache.ctf")).expect("the fixture");
    fs::copy(repository().join("programs/leaky_cache.ml"), folder.join("leaky_cache.ml"))
        .expect("the program");
    folder
}

struct Editor {
    child: Child,
    out: BufReader<ChildStdout>,
    last: u64,
}

impl Editor {
    fn open(folder: &Path, options: &[&str]) -> Editor {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
        command.args(["annotate", "--lsp"]).args(options).current_dir("/");
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("bactrian starts");
        let out = BufReader::new(child.stdout.take().expect("an output"));
        let mut editor = Editor { child, out, last: 0 };
        let folders = json!([{ "uri": format!("file://{}", folder.display()), "name": "x" }]);
        let server = editor.request("initialize", json!({ "workspaceFolders": folders }));
        assert_eq!(server["capabilities"]["inlayHintProvider"], true, "{server}");
        editor
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        let input = self.child.stdin.as_mut().expect("an input");
        write!(input, "Content-Length: {}\r\n\r\n{text}", text.len()).expect("it reads");
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            self.out.read_line(&mut line).expect("headers");
            match line.trim_end().split_once(": ") {
                Some(("Content-Length", number)) => length = number.parse().expect("a number"),
                _ => break,
            }
        }
        let mut body = vec![0; length];
        self.out.read_exact(&mut body).expect("a message");
        serde_json::from_slice(&body).expect("JSON")
    }

    fn request(&mut self, method: &str, params: Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer["result"].clone()
    }

    fn close(mut self) -> Option<i32> {
        self.request("shutdown", Value::Null);
        self.send(&json!({ "jsonrpc": "2.0", "method": "exit" }));
        self.child.wait().expect("it ends").code()
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn document(file: &Path) -> Value {
    json!({ "uri": format!("file://{}", file.display()) })
}

#[test]
fn hints_are_beside_the_lines_that_annotate_lists() {
    let folder = workspace("editor-hints");
    let source = folder.join("leaky_cache.ml");
    let mut annotate = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    annotate.args(["annotate", "--json", "--metric", "live"]).arg(&source);
    let told = run(annotate.arg("--profile").arg(folder.join("traces/leaky_cache.ctf")));
    let told: Value = serde_json::from_str(&told).expect("JSON");
    let lines = told["result"]["lines"].as_array().expect("lines").clone();
    assert!(lines.len() > 3, "{told}");

    let mut editor = Editor::open(&folder, &["--metric", "live"]);
    let hints =
        editor.request("textDocument/inlayHint", json!({ "textDocument": document(&source) }));
    let hints = hints.as_array().expect("hints").clone();
    let numbers = |values: &[Value], path: &str, less: u64| -> Vec<u64> {
        values
            .iter()
            .map(|value| value.pointer(path).and_then(Value::as_u64).expect("a line") - less)
            .collect()
    };
    assert_eq!(numbers(&hints, "/position/line", 0), numbers(&lines, "/line", 1));
    let text = fs::read_to_string(&source).expect("the program");
    for hint in &hints {
        let line = hint["position"]["line"].as_u64().expect("a line") as usize;
        let end = text.lines().nth(line).expect("the line is there").len() as u64;
        assert_eq!(hint["position"]["character"], end);
        assert!(hint["label"].as_str().is_some_and(|label| label.ends_with(" %")), "{hint}");
    }

    // The line that holds most has a lens, and its hover shows the stacks.
    let own = |line: &Value| line["self"]["value"].as_f64().expect("a number");
    let most = lines.iter().max_by(|a, b| own(a).total_cmp(&own(b))).expect("a line");
    let line = most["line"].as_u64().expect("a line") - 1;
    let lenses =
        editor.request("textDocument/codeLens", json!({ "textDocument": document(&source) }));
    let lenses = lenses.as_array().expect("lenses");
    assert!(lenses.iter().any(|lens| lens["range"]["start"]["line"] == line), "{lenses:?}");
    assert!(lenses.len() < hints.len());
    let position =
        json!({ "textDocument": document(&source), "position": { "line": line, "character": 0 } });
    let hover = editor.request("textDocument/hover", position);
    let hover = hover["contents"]["value"].as_str().expect("text");
    let place = format!("leaky_cache.ml:{}", line + 1);
    assert!(hover.contains("by the stack") && hover.contains(&place), "{hover}");
    assert_eq!(editor.close(), Some(0));
}

#[test]
fn a_newer_trace_replaces_the_older_one() {
    let folder = own_folder("editor-newer");
    let source = folder.join("leaky_cache.ml");
    fs::copy(repository().join("programs/leaky_cache.ml"), &source).expect("the program");
    let mut editor = Editor::open(&folder, &["--stdio"]);
    let question = json!({ "textDocument": document(&source) });
    assert_eq!(editor.request("textDocument/inlayHint", question.clone()), json!([]));
    let logged = editor.receive();
    let said = logged["params"]["message"].as_str().expect("a message");
    assert!(said.contains("bactrian record"), "{logged}");
    let trace = repository().join("crates/trace/tests/fixtures/leaky_cache_v2.ctf");
    fs::copy(trace, folder.join("new.ctf")).expect("the fixture");
    let hints = editor.request("textDocument/inlayHint", question);
    assert!(hints.as_array().is_some_and(|hints| !hints.is_empty()), "{hints}");
}

#[test]
fn input_in_another_protocol_ends_the_server_with_a_reason() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bactrian"));
    command.args(["annotate", "--lsp"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("bactrian starts");
    child.stdin.take().expect("an input").write_all(b"hello\n\n").expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(3));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("not the Language Server Protocol"), "{said}");
}

mod consumers {
    use super::*;

    /// The library on which VS Code's own client is based, from npm, started as our extension starts it.
    #[test]
    #[ignore = "needs the client of npm: cargo xtask consumers"]
    fn the_client_library_of_vs_code_gets_answers() {
        let tools = std::env::var_os("BACTRIAN_CONSUMERS").expect("cargo xtask consumers sets it");
        let folder = workspace("editor-consumer");
        let mut node = Command::new("node");
        node.arg(repository().join("consumers/editor.mjs"))
            .env("NODE_PATH", Path::new(&tools).join("node_modules"));
        node.arg(repository().join("editors/vscode/server.js"));
        node.arg(env!("CARGO_BIN_EXE_bactrian")).arg(&folder).arg(folder.join("leaky_cache.ml"));
        let said: Value = serde_json::from_str(&run(&mut node)).expect("JSON");
        assert!(said["hints"].as_u64().is_some_and(|count| count > 3), "{said}");
        assert!(said["lenses"].as_u64().is_some_and(|count| count > 0), "{said}");
        assert!(
            said["hover"].as_str().is_some_and(|text| text.contains("leaky_cache.ml")),
            "{said}"
        );
        assert_eq!(said["unknown"], -32601, "{said}");
        assert_eq!(said["status"], 0, "{said}");
    }
}

mod vscode {
    use super::*;

    /// VS Code itself, with the extension as users pack and install it.
    #[test]
    #[ignore = "needs VS Code of npm: cargo xtask test --all"]
    fn vs_code_shows_numbers_beside_lines() {
        let tools = std::env::var_os("BACTRIAN_CONSUMERS").expect("cargo xtask consumers sets it");
        let folder = workspace("vscode");
        let mut node = Command::new("node");
        node.arg(repository().join("consumers/vscode.mjs")).arg(Path::new(&tools).join("vscode"));
        node.arg(repository().join("editors/vscode")).arg(env!("CARGO_BIN_EXE_bactrian"));
        let said: Value =
            serde_json::from_str(&run(node.arg(&folder).arg("leaky_cache.ml"))).expect("JSON");
        let is_shown = |list: &str, texts: &[&str]| {
            let all = said[list].as_array().expect("a list").iter().filter_map(Value::as_str);
            all.into_iter().any(|shown| texts.iter().all(|text| shown.contains(text)))
        };
        assert!(is_shown("lenses", &["B", "live at the end here"]), "{said:#}");
        // A hint follows its line.
        assert!(
            is_shown("lines", &["let words = read_request random in", " kB", " %"]),
            "{said:#}"
        );
        let refusal = said["refusal"].as_str().expect("a text");
        assert!(refusal.contains("/nowhere/bactrian"), "{refusal}");
    }
}
