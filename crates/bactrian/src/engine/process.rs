//! Runs the engine as a child process and reads its answer: for the page.

use std::ffi::OsStr;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_analysis::wait_until;
use serde_json::Value;

/// The prefix of lines on standard error that report the progress, from 0 to 1; all other lines are messages.
pub const PROGRESS: &str = "progress ";
/// The size limit of error messages, in bytes.
const MOST_COMPLAINTS: usize = 1 << 16;

/// Limits of an answer.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Its size in bytes.
    pub bytes: u64,
    /// How long it may take.
    pub time: Duration,
}

/// A running engine, killed when dropped: at the end, or when the answer is cancelled.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // It may have exited.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs the engine with these arguments and returns the JSON that it prints. The engine's progress is that of the answer that
/// this thread is computing. If that is cancelled, the engine is killed.
///
/// # Errors
/// A sentence: the message of the engine, or the limit that was exceeded.
pub fn ask<A: AsRef<OsStr>>(
    engine: &Path,
    arguments: impl IntoIterator<Item = A>,
    limits: Limits,
) -> Result<Value, String> {
    let broken = |error: io::Error| format!("{}: {error}", engine.display());
    let mut command = Command::new(engine);
    command.args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = Running(command.spawn().map_err(broken)?);
    let is_too_large = Arc::new(AtomicBool::new(false));
    let share = Arc::new(AtomicU64::new(0));
    let answer = running.0.stdout.take().map(|from| {
        let is_too_large = Arc::clone(&is_too_large);
        thread::spawn(move || {
            let mut text = Vec::new();
            // After an error, what was read so far is no JSON.
            let _ = from.take(limits.bytes + 1).read_to_end(&mut text);
            is_too_large.store(text.len() as u64 > limits.bytes, Ordering::Relaxed);
            text
        })
    });
    let complaints = running.0.stderr.take().map(|from| {
        let share = Arc::clone(&share);
        thread::spawn(move || read_complaints(BufReader::new(from), &share))
    });
    let begin = Instant::now();
    let ready = || match running.0.try_wait() {
        Ok(Some(status)) => Some(Ok(Some(status))),
        Ok(None) if is_too_large.load(Ordering::Relaxed) => Some(Ok(None)),
        Ok(None) if begin.elapsed() > limits.time => Some(Ok(None)),
        Ok(None) => None,
        Err(error) => Some(Err(error)),
    };
    let status = wait_until(ready, || f64::from_bits(share.load(Ordering::Relaxed)));
    let status = status.map_err(broken)?;
    // Closes the pipes, so that the threads end.
    drop(running);
    let answer = answer.and_then(|thread| thread.join().ok()).unwrap_or_default();
    let complaints = complaints.and_then(|thread| thread.join().ok()).unwrap_or_default();
    if is_too_large.load(Ordering::Relaxed) {
        return Err("the answer is too large for the page: add a limit".to_owned());
    }
    let Some(status) = status else {
        return Err(format!("there was no answer after {} s", limits.time.as_secs()));
    };
    match serde_json::from_slice(&answer) {
        Ok(json) if status.success() => Ok(json),
        _ if complaints.is_empty() => {
            Err(format!("{} failed without a message: {status}", engine.display()))
        }
        _ => Err(complaints),
    }
}

/// Reads messages up to their end, and the progress among them.
fn read_complaints(from: impl BufRead, share: &AtomicU64) -> String {
    let mut text = String::new();
    for line in from.split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        if let Some(done) = line.strip_prefix(PROGRESS).and_then(|done| done.parse::<f64>().ok()) {
            share.store(done.to_bits(), Ordering::Relaxed);
        } else if text.len() + line.len() < MOST_COMPLAINTS {
            text += &line;
            text.push('\n');
        }
    }
    text.trim().trim_start_matches("bactrian: ").to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use bactrian_analysis::UnderWay;
    use serde_json::json;

    use super::*;

    const LIMITS: Limits = Limits { bytes: 1000, time: Duration::from_secs(600) };

    fn shell(script: &str, limits: Limits) -> Result<Value, String> {
        ask(Path::new("/bin/sh"), ["-c", script], limits)
    }

    #[test]
    fn answers_and_messages_are_told_apart() {
        assert_eq!(shell("echo progress 0.5 >&2; echo '[1]'", LIMITS), Ok(json!([1])));
        let failed = "echo progress 0.5 >&2; echo 'bactrian: there are no profiles' >&2; exit 3";
        assert_eq!(shell(failed, LIMITS), Err("there are no profiles".to_owned()));
        let silent = shell("exit 3", LIMITS).expect_err("it fails");
        assert!(silent.contains("without a message"), "{silent}");
        assert!(ask(Path::new("/nowhere"), ["x"], LIMITS).is_err());
    }

    #[test]
    fn answers_beyond_a_limit_are_refused() {
        let large = shell("while echo 1234567890; do :; done", LIMITS).expect_err("too large");
        assert!(large.contains("too large"), "{large}");
        let limits = Limits { time: Duration::from_millis(10), ..LIMITS };
        let late = shell("exec sleep 600", limits).expect_err("too late");
        assert!(late.contains("no answer"), "{late}");
    }

    #[test]
    fn engine_of_a_cancelled_answer_is_killed() {
        let folder = bactrian_fixtures::own_folder("engine_cancelled");
        let named = folder.join("pid");
        let answer = UnderWay::default();
        let (asked, file) = (answer.clone(), named.clone());
        let asking = thread::spawn(move || {
            let script =
                format!("echo progress 0.25 >&2; echo $$ > '{}'; exec sleep 600", file.display());
            asked.run(|| shell(&script, LIMITS))
        });
        while answer.progress().done != 0.25 {
            thread::sleep(Duration::from_millis(1));
        }
        let pid = loop {
            let text = fs::read_to_string(&named).unwrap_or_default();
            if let Ok(pid) = text.trim().parse::<u32>() {
                break pid;
            }
        };
        answer.cancel();
        assert!(asking.join().expect("no panic").is_err());
        assert!(!Path::new(&format!("/proc/{pid}")).exists());
    }
}
