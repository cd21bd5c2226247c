//! Long builds with one line of progress: what cargo is compiling, how much of the total that is, and the
//! elapsed time. On a terminal the line is overwritten; elsewhere it is printed again every few seconds.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::{ChildStderr, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use crate::Outcome;
use crate::command::{cargo, output};

/// The maximum time without a sign of life.
const BETWEEN_LINES: Duration = Duration::from_secs(4);
const BETWEEN_UPDATES: Duration = Duration::from_millis(250);

/// Builds the program with these cargo options.
pub fn build(options: &str) -> Outcome {
    // This waits while cargo downloads; the build does not wait for it.
    let total = Arc::new(OnceLock::new());
    let counted = Arc::clone(&total);
    thread::spawn(move || counted.get_or_init(|| packages().unwrap_or(0)).to_owned());
    let mut command = cargo(&format!("build --package bactrian {options}"));
    let mut child = command
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cargo cannot be started: {error}"))?;
    let lines = child.stderr.take().map(lines_of).ok_or("cargo has no standard error")?;
    let said = Progress::new(total).follow(&lines);
    let status = child.wait().map_err(|error| format!("cargo: {error}"))?;
    match status.success() {
        true => Ok(()),
        false => Err(format!("bactrian does not build ({status}):\n{said}")),
    }
}

/// The maximum number of packages that a build compiles.
fn packages() -> Option<usize> {
    let mut tree = cargo("tree --package bactrian --edges normal,build --prefix none --quiet");
    let listed = output(&mut tree).ok()?;
    let names: BTreeSet<_> = listed
        .lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|l| !l.is_empty())
        .collect();
    Some(names.len())
}

fn lines_of(pipe: ChildStderr) -> Receiver<String> {
    let (send, receive) = channel();
    thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

struct Progress {
    total: Arc<OnceLock<usize>>,
    compiled: usize,
    /// What cargo did last, in its own words.
    now: String,
    start: Instant,
    shown: Instant,
    is_terminal: bool,
}

impl Progress {
    fn new(total: Arc<OnceLock<usize>>) -> Progress {
        let (start, is_terminal) = (Instant::now(), std::io::stdout().is_terminal());
        Progress { total, compiled: 0, now: "starts".to_owned(), start, shown: start, is_terminal }
    }

    /// Shows progress until the lines end; returns all lines that are more than progress.
    fn follow(mut self, lines: &Receiver<String>) -> String {
        let mut rest = String::new();
        loop {
            match lines.recv_timeout(BETWEEN_UPDATES) {
                Ok(line) if !self.note(&line) => {
                    rest.push_str(&line);
                    rest.push('\n');
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let pause = if self.is_terminal { BETWEEN_UPDATES } else { BETWEEN_LINES };
            if self.shown.elapsed() >= pause {
                self.show();
            }
        }
        self.now = "done".to_owned();
        self.show();
        if self.is_terminal {
            println!();
        }
        rest
    }

    /// Handles a line that is only progress; returns whether it was one.
    fn note(&mut self, line: &str) -> bool {
        let mut words = line.split_whitespace();
        let (verb, what) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        match verb {
            "Compiling" => {
                self.compiled += 1;
                self.now = format!("compiles {what}");
            }
            "Updating" | "Downloading" | "Downloaded" | "Locking" => {
                self.now = "downloads crates".to_owned();
            }
            "Finished" | "Blocking" => {}
            _ => return false,
        }
        true
    }

    fn show(&mut self) {
        self.shown = Instant::now();
        let seconds = self.start.elapsed().as_secs();
        let (compiled, now) = (self.compiled, &self.now);
        let line = match self.total.get() {
            // Some packages are compiled twice, for build scripts and for the program.
            Some(total) => {
                format!("{seconds:4} s  {compiled} of {} packages, {now}", compiled.max(*total))
            }
            None => format!("{seconds:4} s  {compiled} packages, {now}"),
        };
        match self.is_terminal {
            // Overwritten up to the end of the previous text.
            true => print!("\r{line}\x1b[K"),
            false => println!("{line}"),
        }
        // The reader may be gone.
        std::io::stdout().flush().ok();
    }
}
