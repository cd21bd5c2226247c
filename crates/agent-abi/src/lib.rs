//! The interface between the agent and everything that works with it: the environment variables that carry
//! its settings, what a frozen copy of a program reports to its walker ([`frozen`]), the [`ledger`] of snapshots,
//! the [`ring`] buffer that carries a trace to its keeper, the [`page`] through which a program is watched,
//! and the [`control`] block of an agent that was injected into a running program.
//!
//! Used by `bactrian record`, which sets the variables; by the agent, which reads them in the observed
//! program; and by service managers, which may set them without us (`bactrian agent` prints them,
//! docs/record.md explains).
//!
//! Guarantees: any environment, any bytes of a frozen copy and any ledger can be read; invalid input is an
//! error that names it.

#![no_std]

extern crate alloc;

pub mod control;
pub mod falling;
pub mod frozen;
pub mod ledger;
pub mod page;
pub mod ring;
mod snapshots;
pub mod token;

pub use snapshots::{Busy, DEFAULT_COPIES, DEFAULT_MARGIN, Limits, MAX_COPIES, Snapshots, When};

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::str::{self, FromStr};

/// Names of the environment variables.
pub mod variable {
    /// Defines a constant for each name, and the list of all.
    macro_rules! ours {
        ($($(#[$about:meta])* $name:ident = $text:literal;)*) => {
            $($(#[$about])* pub const $name: &str = $text;)*
            /// All variables that are ours.
            const OURS: &[&str] = &[$($text),*];
        };
    }

    ours! {
        /// The trace to write. Without it nothing is sampled.
        TRACE = "BACTRIAN_TRACE";
        /// Samples per word, more than 0 and at most 1.
        RATE = "BACTRIAN_RATE";
        /// The maximal number of frames kept per stack, the innermost first.
        DEPTH = "BACTRIAN_DEPTH";
        /// `follow` or `ignore`.
        CHILDREN = "BACTRIAN_CHILDREN";
        /// The number of a signal that starts and stops recording.
        SIGNAL = "BACTRIAN_SIGNAL";
        /// Seconds until recording starts.
        AFTER = "BACTRIAN_AFTER";
        /// Seconds until recording ends, counted from its start.
        FOR = "BACTRIAN_FOR";
        /// `runtime`: let OCaml's runtime collect all stacks, as it does wherever our own collection is not
        /// possible.
        STACKS = "BACTRIAN_STACKS";
        /// When snapshots of the heap are taken: a list of `major[=N]`, `every=SECONDS`, `signal=NUMBER`,
        /// `exit`, `peak[=PERCENT]` and `call`. Without it no snapshots are taken.
        SNAPSHOTS = "BACTRIAN_SNAPSHOTS";
        /// The prefix of snapshot file names.
        HEAP = "BACTRIAN_HEAP";
        /// The same prefix, for programs started by a program with snapshots: they put their process id into
        /// the names. As long as the other name, so that the agent can change one into the other in place.
        HEIR = "BACTRIAN_HEIR";
        /// The same prefix, for programs started by a program that adopts orphans. It would adopt the frozen
        /// copies of its children, so these take no snapshots. Also of the same length.
        WARD = "BACTRIAN_WARD";
        /// The executable that writes snapshots: `bactrian` itself.
        WALKER = "BACTRIAN_WALKER";
        /// The file that records what became of each snapshot.
        LEDGER = "BACTRIAN_LEDGER";
        /// `copies=N,memory=BYTES,disk=BYTES,busy=wait|skip`: what snapshots may cost.
        SNAPSHOT_LIMITS = "BACTRIAN_SNAPSHOT_LIMITS";
        /// The number of bytes that a snapshot keeps of each string.
        STRINGS = "BACTRIAN_STRINGS";
        /// The number of seccomp filters that are known to allow copying, because copying was tested under them.
        /// A process with more filters is not copied. 0 if not set.
        FILTERS = "BACTRIAN_FILTERS";
        /// The file through which the program is watched while it runs; see `page`.
        PAGE = "BACTRIAN_PAGE";
        /// The directory of the trace keeper; see `ring`. Without it the observed process writes its trace
        /// itself.
        KEEPER = "BACTRIAN_KEEPER";
        /// Inherited state that the launcher cannot pass on by itself; see `Inherited`.
        INHERITED = "BACTRIAN_INHERITED";
        /// Set to anything if the variables of OCaml 5 below are ours: the agent then removes them from the
        /// environment after the runtime has read them.
        EVENTS = "BACTRIAN_EVENTS";
    }

    /// OCaml 5's own variables: write runtime_events from the start, into which directory, and do not let the
    /// runtime remove its file at exit (a program that has confined itself may be killed for the unlink). The
    /// agent removes it, if it can.
    pub const RUNTIME_EVENTS: [&str; 3] =
        ["OCAML_RUNTIME_EVENTS_START", "OCAML_RUNTIME_EVENTS_DIR", "OCAML_RUNTIME_EVENTS_PRESERVE"];
    /// The dynamic linker's variable that loads the agent into a program.
    pub const PRELOAD: &str = "LD_PRELOAD";

    /// Whether a variable is one of ours. Others with the same prefix belong to the program, such as those
    /// that configure our library for observed programs.
    pub fn is_ours(name: &[u8]) -> bool {
        OURS.iter().any(|ours| ours.as_bytes() == name)
    }
}

/// What happens to a program's child processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Children {
    /// Children that are OCaml programs are recorded too, each into a file of its own.
    #[default]
    Follow,
    /// They are left alone, and the environment they inherit does not show the agent.
    Ignore,
}

/// Who collects the call stacks of allocations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StackSource {
    /// The agent at high rates, where it is much cheaper; the runtime otherwise.
    #[default]
    Auto,
    /// OCaml's runtime.
    Runtime,
}

/// State that the observed program must inherit, although its launcher has changed this state for itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Inherited {
    /// Ignored signals; the lowest bit is signal 1.
    pub ignored_signals: u64,
    /// Closed standard streams; the lowest bit is standard input.
    pub closed_streams: u8,
}

impl Inherited {
    /// Whether there is nothing to pass on.
    pub fn is_empty(self) -> bool {
        self == Inherited::default()
    }

    /// Encodes it as the value of a variable.
    pub fn value(self) -> String {
        format!("{:x}:{:x}", self.ignored_signals, self.closed_streams)
    }

    /// Decodes the value of a variable.
    pub fn parse(text: &[u8]) -> Option<Inherited> {
        let (signals, streams) = str::from_utf8(text).ok()?.split_once(':')?;
        let ignored_signals = u64::from_str_radix(signals, 16).ok()?;
        Some(Inherited { ignored_signals, closed_streams: u8::from_str_radix(streams, 16).ok()? })
    }
}

/// The settings of the agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The trace to write; if None, nothing is sampled.
    pub trace: Option<Vec<u8>>,
    /// The snapshots to take.
    pub snapshots: Option<Snapshots>,
    /// The file through which the program is watched.
    pub page: Option<Vec<u8>>,
    /// The keeper's directory.
    pub keeper: Option<Vec<u8>>,
    /// The sampling rate: samples per word.
    pub rate: f64,
    /// Whether the rate falls as the trace grows ([`falling`]).
    pub falls: bool,
    /// The maximal number of frames kept per stack.
    pub depth: u32,
    /// What happens to child processes.
    pub children: Children,
    /// The signal that starts and stops recording; if there is one, recording is off until it arrives.
    pub signal: Option<u8>,
    /// Microseconds until recording starts.
    pub after: u64,
    /// Microseconds until recording ends, counted from its start.
    pub duration: Option<u64>,
    /// Who collects call stacks.
    pub stacks: StackSource,
}

/// The default sampling rate, in samples per word: one in 100,000.
pub const DEFAULT_RATE: f64 = 1e-5;
/// The default number of frames per stack. The trace format has room for this many new frames in one stack.
pub const DEFAULT_DEPTH: u32 = 400;
/// The largest number of frames that can be asked for.
pub const MAX_DEPTH: u32 = 4096;

/// A variable with an invalid value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadVariable {
    /// The variable's name.
    pub name: &'static str,
    /// A description of valid values.
    pub expected: &'static str,
}

impl fmt::Display for BadVariable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not {}", self.name, self.expected)
    }
}

impl Settings {
    /// The default settings for a trace.
    pub fn new(trace: Vec<u8>) -> Settings {
        Settings { trace: Some(trace), ..Settings::nothing() }
    }

    /// The default settings for snapshots without a trace.
    pub fn only_snapshots(snapshots: Snapshots) -> Settings {
        Settings { snapshots: Some(snapshots), ..Settings::nothing() }
    }

    fn nothing() -> Settings {
        Settings {
            trace: None,
            snapshots: None,
            page: None,
            keeper: None,
            rate: DEFAULT_RATE,
            falls: false,
            depth: DEFAULT_DEPTH,
            children: Children::default(),
            signal: None,
            after: 0,
            duration: None,
            stacks: StackSource::default(),
        }
    }

    /// Reads the settings from an environment; None if there is no trace to write, no snapshot to take and no
    /// observer.
    ///
    /// # Errors
    /// If a variable has an invalid value.
    pub fn read<'a>(
        get: impl Fn(&str) -> Option<&'a [u8]>,
    ) -> Result<Option<Settings>, BadVariable> {
        let trace = get(variable::TRACE).filter(|path| !path.is_empty());
        let snapshots = Snapshots::read(&get)?;
        let page = get(variable::PAGE).filter(|path| !path.is_empty()).map(Into::into);
        if trace.is_none() && snapshots.is_none() && page.is_none() {
            return Ok(None);
        }
        let trace = trace.map(Into::into);
        let keeper = get(variable::KEEPER).filter(|path| !path.is_empty()).map(Into::into);
        let mut settings = Settings { trace, snapshots, page, keeper, ..Settings::nothing() };
        let bad = |name, expected| BadVariable { name, expected };
        match get(variable::RATE) {
            None => {}
            Some(text) if text == falling::WORD.as_bytes() => {
                (settings.rate, settings.falls) = (falling::FIRST, true);
            }
            Some(text) => {
                settings.rate = number(text)
                    .filter(|rate| *rate > 0.0 && *rate <= 1.0)
                    .ok_or(bad(variable::RATE, "auto, or a rate above 0 and up to 1"))?;
            }
        }
        if let Some(text) = get(variable::DEPTH) {
            settings.depth = number(text)
                .filter(|depth| (1..=MAX_DEPTH).contains(depth))
                .ok_or(bad(variable::DEPTH, "a number of frames from 1 to 4096"))?;
        }
        settings.children = match get(variable::CHILDREN) {
            None | Some(b"follow") => Children::Follow,
            Some(b"ignore") => Children::Ignore,
            Some(_) => return Err(bad(variable::CHILDREN, "follow or ignore")),
        };
        if let Some(text) = get(variable::SIGNAL) {
            let signal = number(text)
                .filter(|signal| (1..=64).contains(signal))
                .ok_or(bad(variable::SIGNAL, "the number of a signal"))?;
            settings.signal = Some(signal);
        }
        if let Some(text) = get(variable::AFTER) {
            settings.after = micros(text).ok_or(bad(variable::AFTER, "a number of seconds"))?;
        }
        if let Some(text) = get(variable::FOR) {
            let duration = micros(text).ok_or(bad(variable::FOR, "a number of seconds"))?;
            settings.duration = Some(duration);
        }
        settings.stacks = match get(variable::STACKS) {
            None | Some(b"auto") => StackSource::Auto,
            Some(b"runtime") => StackSource::Runtime,
            Some(_) => return Err(bad(variable::STACKS, "auto or runtime")),
        };
        Ok(Some(settings))
    }

    /// The variables from which [`Settings::read`] reads these settings, except those of [`Settings::paths`].
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let mut list = Vec::new();
        if let Some(snapshots) = &self.snapshots {
            snapshots.variables(&mut list);
        }
        list.push(match self.falls {
            true => (variable::RATE, falling::WORD.into()),
            false => (variable::RATE, format!("{}", self.rate)),
        });
        list.push((variable::DEPTH, format!("{}", self.depth)));
        if self.children == Children::Ignore {
            list.push((variable::CHILDREN, "ignore".into()));
        }
        if let Some(signal) = self.signal {
            list.push((variable::SIGNAL, format!("{signal}")));
        }
        if self.after > 0 {
            list.push((variable::AFTER, format!("{}", self.after as f64 / 1e6)));
        }
        if let Some(duration) = self.duration {
            list.push((variable::FOR, format!("{}", duration as f64 / 1e6)));
        }
        if self.stacks == StackSource::Runtime {
            list.push((variable::STACKS, "runtime".into()));
        }
        list
    }

    /// The variables with paths, which need not be UTF-8.
    pub fn paths(&self) -> Vec<(&'static str, &[u8])> {
        let mut list: Vec<(&'static str, &[u8])> = Vec::new();
        list.extend(self.trace.as_deref().map(|path| (variable::TRACE, path)));
        list.extend(self.page.as_deref().map(|path| (variable::PAGE, path)));
        list.extend(self.keeper.as_deref().map(|path| (variable::KEEPER, path)));
        if let Some(Snapshots { heap, walker, ledger, .. }) = &self.snapshots {
            list.push((variable::HEAP, heap));
            list.push((variable::WALKER, walker));
            list.extend(ledger.as_deref().map(|path| (variable::LEDGER, path)));
        }
        list
    }
}

pub(crate) fn number<T: FromStr>(text: &[u8]) -> Option<T> {
    str::from_utf8(text).ok()?.parse().ok()
}

/// Parses seconds and converts them to microseconds.
pub(crate) fn micros(text: &[u8]) -> Option<u64> {
    let seconds: f64 = number(text)?;
    (0.0..=1e9).contains(&seconds).then_some((seconds * 1e6) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    fn read(variables: &[(&str, &'static str)]) -> Result<Option<Settings>, BadVariable> {
        Settings::read(|name| {
            variables.iter().find(|(n, _)| *n == name).map(|(_, value)| value.as_bytes())
        })
    }

    #[test]
    fn variables_of_others_with_our_prefix_are_not_ours() {
        assert!(variable::is_ours(b"BACTRIAN_TRACE") && variable::is_ours(b"BACTRIAN_EVENTS"));
        for theirs in ["BACTRIAN_LIVE", "BACTRIAN_TEST", "BACTRIAN", "LD_PRELOAD", ""] {
            assert!(!variable::is_ours(theirs.as_bytes()), "{theirs}");
        }
    }

    #[test]
    fn without_a_trace_a_snapshot_or_a_page_nothing_is_asked_for() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[("BACTRIAN_TRACE", ""), ("BACTRIAN_RATE", "x")]), Ok(None));
    }

    #[test]
    fn settings_survive_the_environment() {
        let settings = Settings {
            rate: 0.1 + 0.2,
            depth: 7,
            children: Children::Ignore,
            signal: Some(12),
            after: 1_500_000,
            duration: Some(250_000),
            stacks: StackSource::Runtime,
            page: Some(vec![b'p']),
            keeper: Some(vec![b'k']),
            ..Settings::new(vec![b'x'])
        };
        check_that_it_survives(settings);
    }

    fn check_that_it_survives(settings: Settings) {
        let (variables, paths) = (settings.variables(), settings.paths());
        let get = |name: &str| {
            let path = paths.iter().find(|(n, _)| *n == name).map(|(_, value)| *value);
            let text = || variables.iter().find(|(n, _)| *n == name).map(|(_, v)| v.as_bytes());
            path.or_else(text)
        };
        assert_eq!(Settings::read(get), Ok(Some(settings.clone())));
    }

    #[test]
    fn snapshots_survive_the_environment() {
        let snapshots = Snapshots {
            when: When { exit: true, ..When::default() },
            heap: vec![b'h'],
            walker: vec![0xFF],
            ledger: Some(vec![b'l']),
            limits: Limits { disk: Some(5), busy: Some(Busy::Wait), ..Limits::default() },
            strings: 16,
            filters: 2,
        };
        check_that_it_survives(Settings::only_snapshots(snapshots.clone()));
        check_that_it_survives(Settings {
            snapshots: Some(snapshots),
            ..Settings::new(vec![b'x'])
        });
    }

    #[test]
    fn snapshots_need_a_path_and_a_walker() {
        let when = ("BACTRIAN_SNAPSHOTS", "exit");
        let (heap, walker) = (("BACTRIAN_HEAP", "h"), ("BACTRIAN_WALKER", "w"));
        let name = |said: Result<Option<Settings>, BadVariable>| said.map_err(|bad| bad.name);
        assert_eq!(name(read(&[when, heap])), Err("BACTRIAN_WALKER"));
        assert_eq!(name(read(&[when, walker])), Err("BACTRIAN_HEAP"));
        assert!(read(&[when, heap, walker]).is_ok_and(|settings| settings.is_some()));
        assert_eq!(read(&[heap, walker]), Ok(None));
    }

    #[test]
    fn the_error_names_the_invalid_variable() {
        for (name, value) in [
            ("BACTRIAN_RATE", "0"),
            ("BACTRIAN_RATE", "nan"),
            ("BACTRIAN_RATE", "1.1"),
            ("BACTRIAN_DEPTH", "0"),
            ("BACTRIAN_DEPTH", "5000"),
            ("BACTRIAN_CHILDREN", "eat"),
            ("BACTRIAN_SIGNAL", "0"),
            ("BACTRIAN_AFTER", "-1"),
            ("BACTRIAN_FOR", "inf"),
            ("BACTRIAN_STACKS", "deep"),
            ("BACTRIAN_SNAPSHOTS", "sometimes"),
        ] {
            let said = read(&[("BACTRIAN_TRACE", "t"), (name, value)]);
            assert_eq!(said.map_err(|bad| bad.name), Err(name), "{value}");
        }
    }
}
