//! What Bactrian's own recorder says about itself in a trace.
//!
//! The format has a free text, the context, in its first packet. Losses happen later, so the recorder writes a
//! context of fixed length and overwrites it whenever a number changes: the trace is truthful at every moment,
//! even if its program is killed. Other readers see one line of text.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::{self, Write};
use core::str;

/// The prefix of such a context.
const PREFIX: &str = "recorded by bactrian";

/// The state of a recording.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum State {
    /// The recording was going on when this was written. In a finished trace it means that the program was
    /// killed.
    #[default]
    Running,
    /// The program ended, or the requested time was over.
    Ended,
    /// The program turned out to use Gc.Memprof itself, which takes precedence.
    ProgramSamples,
    /// The recorder met something that it could not handle and switched itself off.
    SwitchedOff,
}

impl State {
    /// A single word for the state.
    pub fn name(self) -> &'static str {
        STATES.iter().find(|(state, _)| *state == self).map_or("", |(_, name)| name)
    }
}

const STATES: [(State, &str); 4] = [
    (State::Running, "running"),
    (State::Ended, "ended"),
    (State::ProgramSamples, "program-samples"),
    (State::SwitchedOff, "switched-off"),
];

/// What the recorder says about itself and about what it lost.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recorder {
    /// Bactrian's version.
    pub version: String,
    /// OCaml's version.
    pub ocaml: String,
    /// The maximum number of frames kept of a stack.
    pub depth: u64,
    /// The state of the recording.
    pub state: State,
    /// Sampled allocations that are not in the trace because it could not be written.
    pub lost_allocations: u64,
    /// Promotions and collections that are not in the trace: these blocks seem to live on.
    pub lost_ends: u64,
    /// Allocations whose stacks were lost because too many had to wait.
    pub lost_stacks: u64,
    /// Stacks of which not all frames were kept.
    pub capped_stacks: u64,
    /// Frames that pointed nowhere and were left out.
    pub unknown_frames: u64,
    /// How often the sampling rate was halved. Each time, later samples count twice as much as those before.
    pub halved: u64,
}

const COUNTS: [&str; 7] = [
    "depth",
    "lost-allocations",
    "lost-ends",
    "lost-stacks",
    "capped-stacks",
    "unknown-frames",
    "halved",
];

impl Recorder {
    /// The length of the context in bytes, enough for the largest numbers.
    pub const LEN: usize = 400;

    fn counts(&self) -> [u64; 7] {
        let Recorder { depth, lost_allocations, lost_ends, lost_stacks, .. } = *self;
        let Recorder { capped_stacks, unknown_frames, halved, .. } = *self;
        [depth, lost_allocations, lost_ends, lost_stacks, capped_stacks, unknown_frames, halved]
    }

    /// The context, of [`Recorder::LEN`] bytes.
    pub fn context(&self) -> Vec<u8> {
        let mut text = String::with_capacity(Recorder::LEN);
        // Writing to a string does not fail.
        let _ = write!(text, "{self}");
        let mut bytes = text.into_bytes();
        bytes.resize(Recorder::LEN, b' ');
        bytes
    }

    /// What users should know about the recording, as sentences; empty if all is well.
    pub fn sentences(&self) -> Vec<String> {
        let mut out = Vec::new();
        let mut say = |count: u64, one: &str, many: &str| match count {
            0 => {}
            1 => out.push(format!("1 {one}")),
            count => out.push(format!("{count} {many}")),
        };
        say(
            self.lost_allocations,
            "sampled allocation could not be written and is missing",
            "sampled allocations could not be written and are missing",
        );
        say(
            self.lost_ends,
            "promotion or end of a block could not be written: the block seems to stay alive",
            "promotions or ends of blocks could not be written: the blocks seem to stay alive",
        );
        say(
            self.lost_stacks,
            "allocation has no call stack: too many were waiting to be written",
            "allocations have no call stacks: too many were waiting to be written",
        );
        let depth = self.depth;
        say(
            self.capped_stacks,
            &format!("stack of {depth} frames or more: the outermost may be missing"),
            &format!("stacks of {depth} frames or more: the outermost may be missing"),
        );
        say(
            self.unknown_frames,
            "frame reported by the runtime has an unknown address",
            "frames reported by the runtime have unknown addresses",
        );
        let state = match self.state {
            State::Ended => return out,
            State::Running => {
                "the recording was not finished: the program was killed, or is \
                still running"
            }
            State::ProgramSamples => {
                "the program started Gc.Memprof itself; nothing is recorded from then on"
            }
            State::SwitchedOff => "the recorder switched itself off because of an unexpected error",
        };
        out.push(state.into());
        out
    }

    /// Parses a context; None if another recorder wrote it.
    pub fn parse(context: &[u8]) -> Option<Recorder> {
        let text = str::from_utf8(context).ok()?;
        let rest = text.strip_prefix(PREFIX)?;
        let mut recorder = Recorder::default();
        for field in rest.split_whitespace() {
            let Some((key, value)) = field.split_once('=') else { continue };
            let count = || value.parse().unwrap_or(0);
            match key {
                "version" => recorder.version = value.into(),
                "ocaml" => recorder.ocaml = value.into(),
                "state" => {
                    let known = STATES.iter().find(|(_, name)| *name == value)?;
                    recorder.state = known.0;
                }
                "depth" => recorder.depth = count(),
                "lost-allocations" => recorder.lost_allocations = count(),
                "lost-ends" => recorder.lost_ends = count(),
                "lost-stacks" => recorder.lost_stacks = count(),
                "capped-stacks" => recorder.capped_stacks = count(),
                "unknown-frames" => recorder.unknown_frames = count(),
                "halved" => recorder.halved = count(),
                // A key of a later version.
                _ => {}
            }
        }
        Some(recorder)
    }
}

impl fmt::Display for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recorder { version, ocaml, state, .. } = self;
        let state = state.name();
        write!(f, "{PREFIX} version={version:.16} ocaml={ocaml:.16} state={state}")?;
        for (name, count) in COUNTS.into_iter().zip(self.counts()) {
            write!(f, " {name}={count}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorder_contexts_round_trip_at_a_fixed_length() {
        let mut recorder = Recorder {
            version: "0.1.0".into(),
            ocaml: "4.13".into(),
            depth: 400,
            ..Recorder::default()
        };
        assert_eq!(Recorder::parse(&recorder.context()), Some(recorder.clone()));
        for (state, _) in STATES {
            recorder.state = state;
            recorder.version = "1234567890.123456".get(..16).unwrap_or_default().into();
            (recorder.lost_allocations, recorder.lost_ends) = (u64::MAX, u64::MAX);
            recorder.lost_stacks = u64::MAX;
            (recorder.capped_stacks, recorder.unknown_frames) = (u64::MAX, u64::MAX);
            recorder.halved = u64::MAX;
            let context = recorder.context();
            assert_eq!(context.len(), Recorder::LEN);
            assert_eq!(Recorder::parse(&context), Some(recorder.clone()));
        }
    }

    #[test]
    fn contexts_of_other_recorders_are_ignored() {
        assert_eq!(Recorder::parse(b""), None);
        assert_eq!(Recorder::parse(b"my service, shard 3"), None);
        assert_eq!(Recorder::parse(b"recorded by bactrian state=unheard-of"), None);
    }
}
