//! The session: the answer to each message.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::{Annotations, Ended, LineNote};

/// Error codes of JSON-RPC and of the protocol.
const PARSE_ERROR: i64 = -32700;
const INVALID_REQUEST: i64 = -32600;
const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;
const NOT_INITIALIZED: i64 = -32002;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Only `initialize` is answered.
    New,
    Running,
    /// Only `exit` is left.
    ShutDown,
    Gone(Ended),
}

/// Why a request is refused.
struct Refusal {
    code: i64,
    why: String,
}

/// A session with one client.
pub struct Server<'a> {
    annotations: &'a mut dyn Annotations,
    state: State,
    /// The requests by which the client can be made to ask again for hints and lenses.
    refreshes: Vec<&'static str>,
    /// The last complaint. It is not repeated at every keystroke.
    complaint: String,
    /// The number of requests that we sent.
    requests: u64,
}

impl<'a> Server<'a> {
    /// A session that has not begun.
    pub fn new(annotations: &'a mut dyn Annotations) -> Server<'a> {
        Server {
            annotations,
            state: State::New,
            refreshes: Vec::new(),
            complaint: String::new(),
            requests: 0,
        }
    }

    /// How the client left, if it has.
    pub fn ended(&self) -> Option<Ended> {
        if let State::Gone(ended) = self.state { Some(ended) } else { None }
    }

    /// The messages that answer a message; none for a notification.
    pub fn handle(&mut self, body: &[u8]) -> Vec<Value> {
        let message: Value = match serde_json::from_slice(body) {
            Ok(message) => message,
            Err(error) => return vec![error_answer(&Value::Null, PARSE_ERROR, &error.to_string())],
        };
        let id = message.get("id").filter(|id| id.is_string() || id.is_number());
        let Some(method) = message.get("method").and_then(Value::as_str) else {
            // An answer to a request of ours. Its contents do not matter.
            let is_answer = message.get("result").is_some() || message.get("error").is_some();
            if id.is_some() && is_answer {
                return Vec::new();
            }
            let id = id.unwrap_or(&Value::Null);
            return vec![error_answer(id, INVALID_REQUEST, "a message is an object with a method")];
        };
        let parameters = message.get("params").unwrap_or(&Value::Null);
        let Some(id) = id else { return self.notification(method) };
        let mut more = Vec::new();
        let answer = match self.request(method, parameters, &mut more) {
            Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
            Err(Refusal { code, why }) => error_answer(id, code, &why),
        };
        more.insert(0, answer);
        more
    }

    fn notification(&mut self, method: &str) -> Vec<Value> {
        match method {
            "exit" => {
                let is_orderly = self.state == State::ShutDown;
                let ended = if is_orderly { Ended::Orderly } else { Ended::Abruptly };
                self.state = State::Gone(ended);
                Vec::new()
            }
            // A trace was written, so the numbers have changed.
            "workspace/didChangeWatchedFiles" if self.state == State::Running => {
                let methods = self.refreshes.clone();
                methods.into_iter().map(|method| self.own_request(method)).collect()
            }
            _ => Vec::new(),
        }
    }

    fn own_request(&mut self, method: &str) -> Value {
        self.requests += 1;
        json!({ "jsonrpc": "2.0", "id": format!("bactrian-{}", self.requests), "method": method })
    }

    fn request(
        &mut self,
        method: &str,
        parameters: &Value,
        more: &mut Vec<Value>,
    ) -> Result<Value, Refusal> {
        let refuse = |code, why: &str| Err(Refusal { code, why: why.to_owned() });
        match (self.state, method) {
            (State::New, "initialize") => Ok(self.initialize(parameters)),
            (State::New, _) => refuse(NOT_INITIALIZED, "initialize comes first"),
            (State::Running, "shutdown") => {
                self.state = State::ShutDown;
                Ok(Value::Null)
            }
            (State::Running, "textDocument/inlayHint") => {
                let (file, shown) = (file_of(parameters)?, lines_in(parameters));
                let notes = self.notes(&file, more);
                Ok(notes.iter().filter(|note| shown.contains(&note.line)).map(hint).collect())
            }
            (State::Running, "textDocument/codeLens") => {
                let file = file_of(parameters)?;
                Ok(self.notes(&file, more).iter().filter_map(lens).collect())
            }
            (State::Running, "textDocument/hover") => {
                let file = file_of(parameters)?;
                let line = line_of(parameters.get("position")).ok_or_else(|| Refusal {
                    code: INVALID_PARAMS,
                    why: "position.line is missing".to_owned(),
                })?;
                let said = self.annotations.hover(&file, line);
                let said = self.or_complain(said, more).flatten();
                Ok(said.map_or(
                    Value::Null,
                    |text| json!({ "contents": { "kind": "markdown", "value": text } }),
                ))
            }
            (State::Running, "initialize") => refuse(INVALID_REQUEST, "initialize came already"),
            (State::ShutDown | State::Gone(_), _) => {
                refuse(INVALID_REQUEST, "after shutdown, only exit is expected")
            }
            (State::Running, _) => {
                refuse(METHOD_NOT_FOUND, &format!("{method:.80} is not answered here"))
            }
        }
    }

    fn initialize(&mut self, parameters: &Value) -> Value {
        self.state = State::Running;
        let mut folders: Vec<_> = parameters
            .get("workspaceFolders")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(|folder| path_of(folder.get("uri")?.as_str()?))
            .collect();
        if folders.is_empty() {
            // Clients that know only one folder send this.
            folders.extend(parameters.get("rootUri").and_then(Value::as_str).and_then(path_of));
        }
        self.annotations.set_folders(folders);
        let can_refresh = |what: &str| {
            parameters.pointer(&format!("/capabilities/workspace/{what}/refreshSupport"))
                == Some(&Value::Bool(true))
        };
        if can_refresh("inlayHint") {
            self.refreshes.push("workspace/inlayHint/refresh");
        }
        if can_refresh("codeLens") {
            self.refreshes.push("workspace/codeLens/refresh");
        }
        json!({
            "capabilities": {
                "textDocumentSync": 0,
                "positionEncoding": "utf-16",
                "inlayHintProvider": true,
                "codeLensProvider": { "resolveProvider": false },
                "hoverProvider": true,
            },
            "serverInfo": { "name": "bactrian", "version": env!("CARGO_PKG_VERSION") },
        })
    }

    fn notes(&mut self, file: &Path, more: &mut Vec<Value>) -> Vec<LineNote> {
        let notes = self.annotations.notes(file);
        self.or_complain(notes, more).unwrap_or_default()
    }

    /// A file without numbers should not make the editor open a window: the reason goes to its log, once.
    fn or_complain<T>(&mut self, result: Result<T, String>, more: &mut Vec<Value>) -> Option<T> {
        match result {
            Ok(value) => {
                self.complaint.clear();
                Some(value)
            }
            Err(why) => {
                if why != self.complaint {
                    more.push(json!({
                        "jsonrpc": "2.0",
                        "method": "window/logMessage",
                        "params": { "type": 2, "message": &why },
                    }));
                    self.complaint = why;
                }
                None
            }
        }
    }
}

/// The answer to a message that was skipped.
pub fn too_long(bytes: u64) -> Value {
    let why = format!("the message has {bytes} bytes, more than {}", crate::wire::MOST_BYTES);
    error_answer(&Value::Null, INVALID_REQUEST, &why)
}

fn error_answer(id: &Value, code: i64, why: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": why } })
}

fn hint(note: &LineNote) -> Value {
    json!({
        "position": { "line": note.line, "character": note.end },
        "label": note.hint,
        "tooltip": note.tooltip,
        "paddingLeft": true,
    })
}

fn lens(note: &LineNote) -> Option<Value> {
    let title = note.lens.as_ref()?;
    let place = json!({ "line": note.line, "character": 0 });
    // An empty command makes it plain text.
    Some(json!({
        "range": { "start": place, "end": place },
        "command": { "title": title, "command": "" },
    }))
}

fn file_of(parameters: &Value) -> Result<PathBuf, Refusal> {
    let uri = parameters.pointer("/textDocument/uri").and_then(Value::as_str);
    let path = uri.and_then(path_of);
    path.ok_or_else(|| Refusal {
        code: INVALID_PARAMS,
        why: "textDocument.uri is not the URI of a file".to_owned(),
    })
}

fn line_of(position: Option<&Value>) -> Option<u32> {
    u32::try_from(position?.get("line")?.as_u64()?).ok()
}

/// The lines of a range, including the last; all lines if there is no range.
fn lines_in(parameters: &Value) -> std::ops::RangeInclusive<u32> {
    let range = parameters.get("range");
    let end = |name| range.and_then(|range| line_of(range.get(name)));
    end("start").unwrap_or(0)..=end("end").unwrap_or(u32::MAX)
}

/// The path of a URI such as `file:///a%20b`. Other schemes and files of other machines have no path.
fn path_of(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let rest = rest.strip_prefix("localhost").unwrap_or(rest);
    if !rest.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(rest.len());
    let mut left = rest.bytes();
    while let Some(byte) = left.next() {
        bytes.push(match byte {
            b'%' => {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                (digit(left.next()?)? * 16 + digit(left.next()?)?) as u8
            }
            byte => byte,
        });
    }
    if bytes.contains(&0) {
        return None;
    }
    Some(PathBuf::from(String::from_utf8(bytes).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Has the same notes for each file except `/none.ml`.
    struct Fixed(Vec<PathBuf>);

    impl Annotations for Fixed {
        fn set_folders(&mut self, folders: Vec<PathBuf>) {
            self.0 = folders;
        }

        fn notes(&mut self, file: &Path) -> Result<Vec<LineNote>, String> {
            if file == Path::new("/none.ml") {
                return Err("no trace".to_owned());
            }
            let note = |line, lens: Option<&str>| LineNote {
                line,
                end: 7,
                hint: format!("{line} kB"),
                tooltip: file.display().to_string(),
                lens: lens.map(str::to_owned),
            };
            Ok(vec![note(1, None), note(5, Some("much"))])
        }

        fn hover(&mut self, _: &Path, line: u32) -> Result<Option<String>, String> {
            Ok((line == 5).then(|| "**much**".to_owned()))
        }
    }

    fn session(messages: &[Value]) -> (Vec<Value>, Option<Ended>, Vec<PathBuf>) {
        let mut fixed = Fixed(Vec::new());
        let mut server = Server::new(&mut fixed);
        let answers =
            messages.iter().flat_map(|m| server.handle(m.to_string().as_bytes())).collect();
        let ended = server.ended();
        (answers, ended, fixed.0)
    }

    fn ask(id: u32, method: &str, params: Value) -> Value {
        json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
    }

    fn tell(method: &str) -> Value {
        json!({ "jsonrpc": "2.0", "method": method, "params": {} })
    }

    fn codes(answers: &[Value]) -> Vec<i64> {
        answers.iter().filter_map(|answer| answer.pointer("/error/code")?.as_i64()).collect()
    }

    #[test]
    fn hints_lenses_and_hovers_have_the_callers_notes() {
        let file = json!({ "uri": "file:///a%20b.ml" });
        let range =
            json!({ "start": { "line": 2, "character": 0 }, "end": { "line": 9, "character": 0 } });
        let folders =
            json!({ "workspaceFolders": [{ "uri": "file:///some%2Fspace", "name": "x" }] });
        let (answers, ended, folders) = session(&[
            ask(1, "initialize", folders),
            tell("initialized"),
            ask(2, "textDocument/inlayHint", json!({ "textDocument": file, "range": range })),
            ask(3, "textDocument/codeLens", json!({ "textDocument": file })),
            ask(
                4,
                "textDocument/hover",
                json!({ "textDocument": file, "position": { "line": 5 } }),
            ),
            ask(
                5,
                "textDocument/hover",
                json!({ "textDocument": file, "position": { "line": 6 } }),
            ),
            ask(6, "shutdown", Value::Null),
            tell("exit"),
        ]);
        assert_eq!(folders, [Path::new("/some/space")]);
        assert_eq!(answers.len(), 6);
        assert_eq!(answers[1]["result"][0]["position"], json!({ "line": 5, "character": 7 }));
        assert_eq!(answers[1]["result"][0]["tooltip"], "/a b.ml");
        assert_eq!(answers[1]["result"].as_array().map(Vec::len), Some(1));
        assert_eq!(answers[2]["result"][0]["command"]["title"], "much");
        assert_eq!(answers[3]["result"]["contents"]["value"], "**much**");
        assert_eq!(answers[4]["result"], Value::Null);
        assert_eq!(ended, Some(Ended::Orderly));
    }

    #[test]
    fn invalid_requests_get_errors() {
        let file = json!({ "textDocument": { "uri": "untitled:1" } });
        let (answers, ended, _) = session(&[
            ask(1, "textDocument/hover", json!({})),
            json!([]),
            json!({ "id": 7 }),
            ask(2, "initialize", Value::Null),
            ask(3, "initialize", Value::Null),
            ask(4, "textDocument/definition", json!({})),
            ask(5, "textDocument/codeLens", file),
            ask(6, "shutdown", Value::Null),
            ask(7, "textDocument/hover", json!({})),
        ]);
        let expected = [
            NOT_INITIALIZED,
            INVALID_REQUEST,
            INVALID_REQUEST,
            INVALID_REQUEST,
            METHOD_NOT_FOUND,
            INVALID_PARAMS,
            INVALID_REQUEST,
        ];
        assert_eq!(codes(&answers), expected);
        assert_eq!(ended, None);
    }

    #[test]
    fn a_complaint_is_logged_once() {
        let file = json!({ "textDocument": { "uri": "file:///none.ml" } });
        let (answers, ..) = session(&[
            ask(1, "initialize", Value::Null),
            ask(2, "textDocument/codeLens", file.clone()),
            ask(3, "textDocument/codeLens", file),
        ]);
        let logged = answers.iter().filter(|answer| answer["method"] == "window/logMessage");
        assert_eq!(logged.count(), 1);
        assert_eq!(codes(&answers), [0; 0]);
    }

    #[test]
    fn a_new_trace_makes_the_client_ask_again_for_hints() {
        let can =
            json!({ "capabilities": { "workspace": { "inlayHint": { "refreshSupport": true } } } });
        let (answers, ..) = session(&[
            ask(1, "initialize", can),
            tell("workspace/didChangeWatchedFiles"),
            json!({ "jsonrpc": "2.0", "id": "bactrian-1", "result": null }),
        ]);
        assert_eq!(answers.len(), 2);
        assert_eq!(answers[1]["method"], "workspace/inlayHint/refresh");
    }

    #[test]
    fn only_uris_of_files_here_are_paths() {
        for (uri, path) in [
            ("file:///a/b.ml", Some("/a/b.ml")),
            ("file://localhost/a%C3%A9", Some("/aé")),
            ("file://elsewhere/a", None),
            ("file:///a%0", None),
            ("file:///a%zz", None),
            ("file:///a%00", None),
            ("file:///a%ff", None),
            ("https://a/b", None),
        ] {
            assert_eq!(path_of(uri).as_deref(), path.map(Path::new), "{uri}");
        }
    }
}
