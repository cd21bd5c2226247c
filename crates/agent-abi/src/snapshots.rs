//! The agent's settings for snapshots of the heap: when to take them, where to write them, and their limits.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::str;

use crate::{BadVariable, micros, number, variable};

/// By how many percent the heap has to grow before another snapshot of its peak is taken, by default.
pub const DEFAULT_MARGIN: u32 = 10;
/// The default maximum number of frozen copies at a time. With one, even a program that collects all the time
/// has a copy only part of the time.
pub const DEFAULT_COPIES: u32 = 1;
/// The largest number of copies at a time that can be asked for.
pub const MAX_COPIES: u32 = 64;

/// A request for snapshots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshots {
    /// When they are taken.
    pub when: When,
    /// The prefix of their file names: `PREFIX.1.heap`, `PREFIX.2.heap`, ...
    pub heap: Vec<u8>,
    /// The executable that reads a frozen copy, as `WALKER walk-frozen`.
    pub walker: Vec<u8>,
    /// The file that records what became of each snapshot; see [`crate::ledger`].
    pub ledger: Option<Vec<u8>>,
    /// What they may cost.
    pub limits: Limits,
    /// The number of bytes kept of each string.
    pub strings: u32,
    /// The number of seccomp filters that are known to allow copying.
    pub filters: u32,
}

/// When snapshots are taken. If there is any setting at all, the program itself may ask for one at any time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// At the end of every Nth major collection.
    pub major: Option<u32>,
    /// At this interval, in microseconds.
    pub every: Option<u64>,
    /// When this signal arrives.
    pub signal: Option<u8>,
    /// When the program exits.
    pub exit: bool,
    /// When a major collection leaves this many percent more alive than at the last peak.
    pub peak: Option<u32>,
}

/// Limits on what snapshots may cost; beyond them, snapshots are skipped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The number of frozen copies at a time.
    pub copies: u32,
    /// Bytes of memory that all copies together may take; if None, as much as the machine can spare.
    pub memory: Option<u64>,
    /// Bytes that all files together may take; if None, as long as there is disk space.
    pub disk: Option<u64>,
    /// What happens to a snapshot while the maximum number of copies exists; if None, only snapshots that were
    /// requested (by a call or a signal) or are taken at exit wait.
    pub busy: Option<Busy>,
}

/// What to do when the maximal number of copies exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// The program waits until a copy has ended, up to a time limit.
    Wait,
    /// The snapshot is skipped and counted.
    Skip,
}

impl Busy {
    /// Its name in the variable.
    pub fn name(self) -> &'static str {
        match self {
            Busy::Wait => "wait",
            Busy::Skip => "skip",
        }
    }

    /// Parses the name.
    pub fn parse(text: &[u8]) -> Option<Busy> {
        [Busy::Wait, Busy::Skip].into_iter().find(|busy| busy.name().as_bytes() == text)
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { copies: DEFAULT_COPIES, memory: None, disk: None, busy: None }
    }
}

impl When {
    /// Parses a list such as `major=10,exit`; None if it is invalid.
    pub fn parse(text: &[u8]) -> Option<When> {
        let mut when = When::default();
        for item in str::from_utf8(text).ok()?.split(',') {
            let (name, value) = match item.split_once('=') {
                Some((name, value)) => (name, Some(value.as_bytes())),
                None => (item, None),
            };
            match (name, value) {
                ("major", None) => when.major = Some(1),
                ("major", Some(value)) => when.major = Some(number(value).filter(|n| *n > 0)?),
                ("every", Some(value)) => when.every = Some(micros(value).filter(|n| *n > 0)?),
                ("signal", Some(value)) => {
                    when.signal = Some(number(value).filter(|n| (1..=64).contains(n))?);
                }
                ("exit", None) => when.exit = true,
                ("peak", None) => when.peak = Some(DEFAULT_MARGIN),
                ("peak", Some(value)) => {
                    when.peak = Some(number(value).filter(|n| (1..=10_000).contains(n))?);
                }
                ("call", None) => {}
                _ => return None,
            }
        }
        Some(when)
    }

    /// Encodes it as the value of a variable.
    pub fn value(&self) -> String {
        let mut items = Vec::new();
        items.extend(self.major.map(|n| format!("major={n}")));
        items.extend(self.every.map(|n| format!("every={}", n as f64 / 1e6)));
        items.extend(self.signal.map(|n| format!("signal={n}")));
        items.extend(self.exit.then(|| "exit".into()));
        items.extend(self.peak.map(|n| format!("peak={n}")));
        // An empty list is not valid; `call` adds nothing.
        if items.is_empty() { "call".into() } else { items.join(",") }
    }
}

impl Limits {
    /// Parses a list such as `copies=2,disk=1000000`; None if it is invalid.
    pub fn parse(text: &[u8]) -> Option<Limits> {
        let mut limits = Limits::default();
        for item in str::from_utf8(text).ok()?.split(',') {
            let (name, value) = item.split_once('=')?;
            let value = value.as_bytes();
            match name {
                "copies" => {
                    limits.copies = number(value).filter(|n| (1..=MAX_COPIES).contains(n))?;
                }
                "memory" => limits.memory = Some(number(value)?),
                "disk" => limits.disk = Some(number(value)?),
                "busy" => limits.busy = Some(Busy::parse(value)?),
                _ => return None,
            }
        }
        Some(limits)
    }

    /// Encodes it as the value of a variable.
    pub fn value(&self) -> String {
        let mut text = format!("copies={}", self.copies);
        if let Some(bytes) = self.memory {
            text.push_str(&format!(",memory={bytes}"));
        }
        if let Some(bytes) = self.disk {
            text.push_str(&format!(",disk={bytes}"));
        }
        if let Some(busy) = self.busy {
            text.push_str(&format!(",busy={}", busy.name()));
        }
        text
    }
}

impl Snapshots {
    /// Reads the request from an environment; None if there is none.
    pub(crate) fn read<'a>(
        get: &impl Fn(&str) -> Option<&'a [u8]>,
    ) -> Result<Option<Snapshots>, BadVariable> {
        let Some(when) = get(variable::SNAPSHOTS).filter(|text| !text.is_empty()) else {
            return Ok(None);
        };
        let bad = |name, expected| BadVariable { name, expected };
        let path = |name| get(name).filter(|path| !path.is_empty());
        let limits = match get(variable::SNAPSHOT_LIMITS) {
            None => Limits::default(),
            Some(text) => Limits::parse(text).ok_or(bad(
                variable::SNAPSHOT_LIMITS,
                "a list of copies=N, memory=BYTES, disk=BYTES and busy=wait|skip",
            ))?,
        };
        let strings = match get(variable::STRINGS) {
            None => 0,
            Some(text) => number(text).ok_or(bad(variable::STRINGS, "a number of bytes"))?,
        };
        Ok(Some(Snapshots {
            when: When::parse(when)
                .ok_or(bad(variable::SNAPSHOTS, "a list of moments to take snapshots at"))?,
            heap: path(variable::HEAP).ok_or(bad(variable::HEAP, "a path"))?.into(),
            walker: path(variable::WALKER).ok_or(bad(variable::WALKER, "a path"))?.into(),
            ledger: path(variable::LEDGER).map(Into::into),
            limits,
            strings,
            filters: match get(variable::FILTERS) {
                None => 0,
                Some(text) => number(text).ok_or(bad(variable::FILTERS, "a number of filters"))?,
            },
        }))
    }

    /// The variables from which this is read, except the paths.
    pub(crate) fn variables(&self, list: &mut Vec<(&'static str, String)>) {
        list.push((variable::SNAPSHOTS, self.when.value()));
        if self.limits != Limits::default() {
            list.push((variable::SNAPSHOT_LIMITS, self.limits.value()));
        }
        if self.strings > 0 {
            list.push((variable::STRINGS, format!("{}", self.strings)));
        }
        if self.filters > 0 {
            list.push((variable::FILTERS, format!("{}", self.filters)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_moments_survive_the_environment() {
        for text in ["major=1", "every=0.5", "signal=12", "exit", "peak=25", "call"] {
            let when = When::parse(text.as_bytes());
            assert_eq!(when.map(|when| when.value()).as_deref(), Some(text));
        }
        let all = When {
            major: Some(3),
            every: Some(10_000_000),
            signal: Some(10),
            exit: true,
            peak: Some(DEFAULT_MARGIN),
        };
        assert_eq!(When::parse(all.value().as_bytes()), Some(all));
        assert_eq!(When::parse(b"major,peak,call").map(|w| (w.major, w.peak)), {
            Some((Some(1), Some(DEFAULT_MARGIN)))
        });
    }

    #[test]
    fn snapshot_limits_survive_the_environment() {
        for (memory, disk) in [(None, None), (Some(5), None), (None, Some(6)), (Some(7), Some(0))] {
            let limits = Limits { copies: 3, memory, disk, busy: disk.map(|_| Busy::Skip) };
            assert_eq!(Limits::parse(limits.value().as_bytes()), Some(limits));
        }
    }

    #[test]
    fn invalid_moments_and_limits_are_refused() {
        for text in
            ["", "major=0", "every", "every=0", "signal", "signal=65", "exit=1", "peak=0", "x"]
        {
            assert_eq!(When::parse(text.as_bytes()), None, "{text}");
        }
        for text in ["", "copies", "copies=0", "copies=65", "memory=x", "disk=-1", "swap=1"] {
            assert_eq!(Limits::parse(text.as_bytes()), None, "{text}");
        }
    }
}
