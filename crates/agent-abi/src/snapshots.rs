//! What the agent is asked to do about snapshots of the heap: when to take them, where they go, and what they
//! may cost.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::str;

use crate::{BadVariable, micros, number, variable};

/// The heap has to grow by so many percent before another snapshot is taken of its peak, if nothing is said.
pub const DEFAULT_MARGIN: u32 = 10;
/// So many frozen copies may be there at a time, if nothing is said. With one, a program that collects all the time is
/// copied a part of the time only.
pub const DEFAULT_COPIES: u32 = 1;
/// More copies than this are never there at a time.
pub const MAX_COPIES: u32 = 64;

/// Snapshots that are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshots {
    /// When they are taken.
    pub when: When,
    /// What the names of their files begin with: `PREFIX.1.heap`, `PREFIX.2.heap`, ...
    pub heap: Vec<u8>,
    /// The executable that reads a frozen copy, as `WALKER walk-frozen`.
    pub walker: Vec<u8>,
    /// The file that says what became of each of them; see [`crate::ledger`].
    pub ledger: Option<Vec<u8>>,
    /// What they may cost.
    pub limits: Limits,
    /// So many bytes of each string are kept.
    pub strings: u32,
    /// So many seccomp filters are known to allow what copies are made by.
    pub filters: u32,
}

/// When snapshots are taken. The program may ask for one at any time if there is any setting at all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct When {
    /// At the end of every so manieth major collection.
    pub major: Option<u32>,
    /// Every so many microseconds.
    pub every: Option<u64>,
    /// When this signal comes.
    pub signal: Option<u8>,
    /// At the end of the program.
    pub exit: bool,
    /// When a major collection leaves so many percent more than was there at the last peak.
    pub peak: Option<u32>,
}

/// What snapshots may cost; beyond that they are skipped, and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Frozen copies at a time.
    pub copies: u32,
    /// Bytes of memory that the copies may come to; none: as much as the machine has to spare.
    pub memory: Option<u64>,
    /// Bytes that the files may come to; none: as long as there is room.
    pub disk: Option<u64>,
    /// What becomes of a snapshot for which there are too many copies; none: those that somebody asked for wait.
    pub busy: Option<Busy>,
}

/// What is done when there are as many copies as there may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// The program waits until one has ended, but not for ever.
    Wait,
    /// The snapshot is skipped, and counted.
    Skip,
}

impl Busy {
    /// One word for it.
    pub fn name(self) -> &'static str {
        match self {
            Busy::Wait => "wait",
            Busy::Skip => "skip",
        }
    }

    /// Reads the word.
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
    /// Reads a list such as `major=10,exit`; none if it makes no sense.
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

    /// As the value of a variable.
    pub fn value(&self) -> String {
        let mut items = Vec::new();
        items.extend(self.major.map(|n| format!("major={n}")));
        items.extend(self.every.map(|n| format!("every={}", n as f64 / 1e6)));
        items.extend(self.signal.map(|n| format!("signal={n}")));
        items.extend(self.exit.then(|| "exit".into()));
        items.extend(self.peak.map(|n| format!("peak={n}")));
        // What is always allowed stands for what has nothing else.
        if items.is_empty() { "call".into() } else { items.join(",") }
    }
}

impl Limits {
    /// Reads a list such as `copies=2,disk=1000000`; none if it makes no sense.
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

    /// As the value of a variable.
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
    /// Reads what is asked for from an environment; none if nothing is.
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
            Some(text) => Limits::parse(text)
                .ok_or(bad(variable::SNAPSHOT_LIMITS, "a list of copies=, memory= and disk="))?,
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

    /// The variables that they are read from, all but the paths.
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
    fn moments_survive_the_environment() {
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
    fn limits_survive_the_environment() {
        for (memory, disk) in [(None, None), (Some(5), None), (None, Some(6)), (Some(7), Some(0))] {
            let limits = Limits { copies: 3, memory, disk, busy: disk.map(|_| Busy::Skip) };
            assert_eq!(Limits::parse(limits.value().as_bytes()), Some(limits));
        }
    }

    #[test]
    fn nonsense_is_refused() {
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
