//! The promises of the language server: any bytes are messages, errors or the end, and every answer is one that a client
//! of the protocol understands.

use std::path::{Path, PathBuf};

use bactrian_lsp::{Annotations, LineNote, serve};
use serde_json::{Value, json};

/// One note for each line of which the path's length says how many.
struct OfLength;

impl Annotations for OfLength {
    fn set_folders(&mut self, folders: Vec<PathBuf>) {
        assert!(folders.iter().all(|folder| folder.is_absolute()));
    }

    fn notes(&mut self, file: &Path) -> Result<Vec<LineNote>, String> {
        assert!(file.is_absolute());
        let note = |line| LineNote {
            line,
            end: 1,
            hint: "1 kB".to_owned(),
            tooltip: String::new(),
            lens: (line == 2).then(String::new),
        };
        let lines = file.as_os_str().len().min(10) as u32;
        if lines == 1 { Err("no trace".to_owned()) } else { Ok((0..lines).map(note).collect()) }
    }

    fn hover(&mut self, _: &Path, line: u32) -> Result<Option<String>, String> {
        Ok(line.is_multiple_of(2).then(|| "text".to_owned()))
    }
}

/// Takes bytes as what a client sends. What is answered is framed, and each message is an answer, a request or a
/// notification of JSON-RPC.
pub fn check(mut bytes: &[u8]) {
    let mut output = Vec::new();
    let _ = serve(&mut bytes, &mut output, &mut OfLength);
    let mut answers = &output[..];
    while let Some(received) = bactrian_lsp::wire::read(&mut answers).expect("we write frames") {
        let bactrian_lsp::wire::Received::Message(body) = received else {
            panic!("no answer is as long as that");
        };
        let message: Value = serde_json::from_slice(&body).expect("we write JSON");
        assert_eq!(message["jsonrpc"], "2.0");
        let is_answer = message.get("id").is_some()
            && (message.get("result").is_some() != message.get("error").is_some());
        assert!(is_answer || message.get("method").is_some(), "{message}");
        if let Some(error) = message.get("error") {
            assert!(error["code"].is_i64() && error["message"].is_string());
        }
    }
}

/// What editors send, to start fuzzing from.
pub fn sessions() -> Vec<(&'static str, Vec<u8>)> {
    let framed = |messages: &[Value]| {
        let mut bytes = Vec::new();
        for message in messages {
            bactrian_lsp::wire::write(&mut bytes, message).expect("memory can be written");
        }
        bytes
    };
    let document = json!({ "uri": "file:///a%20b.ml" });
    let capabilities = json!({ "workspace": { "inlayHint": { "refreshSupport": true } } });
    let initialize = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize",
        "params": { "workspaceFolders": [{ "uri": "file:///w" }], "capabilities": capabilities } });
    let ask = |id: u32, method: &str| {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": {
            "textDocument": document,
            "position": { "line": 2, "character": 3 },
            "range": { "start": { "line": 0 }, "end": { "line": 4 } } } })
    };
    let whole = framed(&[
        initialize.clone(),
        ask(1, "textDocument/inlayHint"),
        ask(2, "textDocument/codeLens"),
        ask(3, "textDocument/hover"),
        json!({ "jsonrpc": "2.0", "method": "workspace/didChangeWatchedFiles", "params": {} }),
        json!({ "jsonrpc": "2.0", "id": 4, "method": "shutdown" }),
        json!({ "jsonrpc": "2.0", "method": "exit" }),
    ]);
    let wrong =
        framed(&[json!([]), initialize, ask(1, "a/b"), json!({ "id": "x", "method": "shutdown" })]);
    vec![("cut", whole[..whole.len() / 2].to_vec()), ("whole", whole), ("wrong", wrong)]
}
