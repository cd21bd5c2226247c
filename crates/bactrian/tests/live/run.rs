//! Runs of `bactrian live`.

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// The time limit for what takes no time on an idle machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub fn live<I: AsRef<OsStr>>(arguments: impl IntoIterator<Item = I>) -> Command {
    // Independent of the signals that the test's parent ignores.
    let mut command = Command::new("env");
    command.args(["--default-signal", env!("CARGO_BIN_EXE_bactrian"), "live"]);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// The result in the JSON of a run, after any output of the program.
pub fn result(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let start = text.find("{\n").unwrap_or_else(|| panic!("no JSON in {text:?}, {output:?}"));
    let envelope: Value = serde_json::from_str(&text[start..]).expect("JSON");
    assert_eq!(envelope["command"], "live");
    envelope["result"].clone()
}

/// The value of an observer.
pub fn value<'a>(result: &'a Value, name: &str) -> &'a Value {
    let observers = result["observers"].as_array().expect("observers");
    let observer = observers.iter().find(|observer| observer["name"] == name);
    let observer = observer.unwrap_or_else(|| panic!("no observer {name} in {result:#}"));
    assert_eq!(observer["state"], "observed", "{observer:#}");
    &observer["value"]
}

/// Waits until `look` finds something.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < PATIENCE, "{what} did not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// A program that is killed with the test.
pub struct Running(pub std::process::Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have exited already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
