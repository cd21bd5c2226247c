//! What the kernel says of a process in `/proc/PID/stat`.

use std::fs;

/// The fields that we need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// A zombie is a process that has ended, or whose main thread has while others go on.
    state: char,
    threads: u64,
    /// When it was started, in the kernel's unit.
    pub start: u64,
}

impl ProcessStat {
    /// That of a process; `process` is its id, or "self".
    pub fn of(process: &str) -> Option<ProcessStat> {
        ProcessStat::parse(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)
    }

    /// Parses the kernel's text.
    pub fn parse(stat: &str) -> Option<ProcessStat> {
        // The name before them, in parentheses, may contain anything.
        let mut fields = stat.rsplit(')').next()?.split_whitespace();
        let state = fields.next()?.chars().next()?;
        let threads = fields.nth(16)?.parse().ok()?;
        let start = fields.nth(1)?.parse().ok()?;
        Some(ProcessStat { state, threads, start })
    }

    /// Whether the process has ended.
    pub fn has_ended(&self) -> bool {
        self.state == 'X' || self.state == 'Z' && self.threads <= 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zombie_with_other_threads_has_not_ended() {
        let stat = |state: &str, threads: &str| {
            let text = format!(
                "7 (a) b) {state} 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 {threads} 0 4711 8 9\n"
            );
            ProcessStat::parse(&text).expect("it is whole")
        };
        assert_eq!(stat("S", "1"), ProcessStat { state: 'S', threads: 1, start: 4711 });
        assert!(stat("Z", "1").has_ended() && stat("X", "3").has_ended());
        assert!(!stat("Z", "2").has_ended() && !stat("R", "1").has_ended());
        assert_eq!(ProcessStat::parse("7 (a) S 1 2"), None);
        let us = ProcessStat::of("self").expect("/proc");
        assert!(us.threads >= 1 && us.start > 0 && !us.has_ended());
    }
}
