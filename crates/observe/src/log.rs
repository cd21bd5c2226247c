//! The program's log: a ring buffer of the newest lines.
//!
//! Lines are kept whether or not a client is connected, so that a new client sees what happened before. Lines
//! that are overwritten before any client saw them are counted.

use std::cell::RefCell;
use std::fmt;
use std::sync::Mutex;

use bactrian_live::LogLine;

use crate::clock;
use crate::name::cut;
use crate::process;
use crate::registry::lock;

/// Capacity of the ring, in lines: the most that can wait for the next tick.
const LINES: usize = 1024;
/// The number of earlier lines that a new client gets.
pub(crate) const HISTORY: usize = 200;
/// Longer lines are cut, in bytes.
const LONGEST: usize = 4096;
/// The capacity that a slot keeps, in bytes; the rest of a long line's buffer is freed.
const KEPT_SPACE: usize = 512;

#[derive(Debug)]
pub(crate) struct Log {
    ring: Mutex<Ring>,
}

#[derive(Debug, Default)]
struct Ring {
    /// Line number `n` is at index `n % LINES`.
    lines: Vec<Slot>,
    /// The number of the next line.
    next: u64,
    /// Lines before this number were sent to a client.
    seen: u64,
    /// The number of lines that were overwritten before any client saw them.
    lost: u64,
}

#[derive(Debug, Default)]
struct Slot {
    at: u64,
    text: Vec<u8>,
}

/// The lines since the last call.
#[derive(Debug, Default)]
pub(crate) struct NewLines {
    pub lines: Vec<LogLine>,
    /// The number of lines lost before these.
    pub lost: u64,
}

impl Log {
    pub fn new() -> Log {
        Log { ring: Mutex::default() }
    }

    /// Adds a line.
    pub fn add(&self, text: &[u8]) {
        if process::is_child() {
            return;
        }
        let at = clock::now();
        let mut ring = lock(&self.ring);
        let number = ring.next;
        ring.next += 1;
        let place = (number % LINES as u64) as usize;
        if ring.lines.len() <= place {
            ring.lines.push(Slot::default());
        } else if number - LINES as u64 >= ring.seen {
            ring.lost += 1;
        }
        let slot = &mut ring.lines[place];
        slot.at = at;
        slot.text.clear();
        // One byte beyond the limit shows that the line was longer.
        slot.text.extend_from_slice(&text[..text.len().min(LONGEST + 1)]);
        slot.text.shrink_to(KEPT_SPACE);
    }

    /// Adds a formatted line.
    pub fn format(&self, line: fmt::Arguments<'_>) {
        thread_local! {
            static BUFFER: RefCell<String> = const { RefCell::new(String::new()) };
        }
        if let Some(text) = line.as_str() {
            return self.add(text.as_bytes());
        }
        // The buffer is taken out because a `Display` implementation may log something itself. While the
        // thread exits there is no buffer.
        let mut text = BUFFER.try_with(RefCell::take).unwrap_or_default();
        text.clear();
        // If a `Display` implementation fails, its part of the line is missing.
        let _ = fmt::Write::write_fmt(&mut text, line);
        self.add(text.as_bytes());
        text.shrink_to(LONGEST);
        let _ = BUFFER.try_with(|buffer| buffer.replace(text));
    }

    /// Takes the lines that no client has seen, and marks them as seen.
    pub fn take_new(&self) -> NewLines {
        let mut ring = lock(&self.ring);
        let lost = std::mem::take(&mut ring.lost);
        let from = ring.seen.max(ring.oldest());
        ring.seen = ring.next;
        NewLines { lines: ring.from(from), lost }
    }

    /// The newest lines that were sent already: the history for a new client.
    pub fn history(&self) -> Vec<LogLine> {
        let ring = lock(&self.ring);
        let from = ring.seen.saturating_sub(HISTORY as u64).max(ring.oldest());
        let mut lines = ring.from(from);
        lines.truncate((ring.seen.saturating_sub(from)) as usize);
        lines
    }
}

impl Ring {
    fn oldest(&self) -> u64 {
        self.next.saturating_sub(LINES as u64)
    }

    fn from(&self, from: u64) -> Vec<LogLine> {
        let line = |number: u64| {
            let slot = &self.lines[(number % LINES as u64) as usize];
            LogLine { at: slot.at, text: cut(&String::from_utf8_lossy(&slot.text), LONGEST) }
        };
        (from..self.next).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(lines: &[LogLine]) -> Vec<&str> {
        lines.iter().map(|line| line.text.as_str()).collect()
    }

    #[test]
    fn lines_are_sent_once_and_stay_in_the_history() {
        let log = Log::new();
        log.add(b"one");
        log.format(format_args!("{}", 2));
        assert!(log.history().is_empty(), "nobody has seen any");
        assert_eq!(texts(&log.take_new().lines), ["one", "2"]);
        assert!(log.take_new().lines.is_empty());
        log.add(b"three");
        assert_eq!(texts(&log.history()), ["one", "2"]);
        assert_eq!(texts(&log.take_new().lines), ["three"]);
        assert_eq!(texts(&log.history()), ["one", "2", "three"]);
    }

    #[test]
    fn unseen_overwritten_lines_are_counted() {
        let log = Log::new();
        (0..10).for_each(|_| log.add(b"seen"));
        log.take_new();
        (0..LINES + 5).for_each(|number| log.format(format_args!("line {number}")));
        let new = log.take_new();
        assert_eq!((new.lines.len(), new.lost), (LINES, 5));
        assert_eq!(new.lines[0].text, "line 5");
        let history = log.history();
        assert_eq!(history.len(), HISTORY);
        assert_eq!(history[HISTORY - 1].text, format!("line {}", LINES + 4));
        assert_eq!(log.take_new().lost, 0);
    }

    #[test]
    fn long_lines_and_invalid_utf8_are_accepted() {
        let log = Log::new();
        log.add(&[b'x'; 3 * LONGEST]);
        log.add(b"odd \xFF byte");
        let new = log.take_new();
        assert!(new.lines[0].text.len() <= LONGEST && new.lines[0].text.ends_with('…'));
        assert_eq!(new.lines[1].text, "odd \u{FFFD} byte");
    }

    #[test]
    fn formatting_a_line_may_log_another() {
        struct Talks<'a>(&'a Log);
        impl fmt::Display for Talks<'_> {
            fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.format(format_args!("inner {}", 1));
                to.write_str("outer")
            }
        }
        let log = Log::new();
        log.format(format_args!("{}", Talks(&log)));
        assert_eq!(texts(&log.take_new().lines), ["inner 1", "outer"]);
    }
}
