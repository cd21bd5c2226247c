//! What the headers of exports contain besides the profile.

use bactrian_analysis::TraceFile;
use bactrian_analysis::units::Bytes;
use bactrian_trace::{Micros, TraceInfo};

/// Facts about a run.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// Path of the program.
    pub program: String,
    /// Host name of the machine it ran on.
    pub host: String,
    /// Process id of the program.
    pub pid: u64,
    /// Start of the trace, since the Unix epoch.
    pub start: Micros,
    /// Length of the trace.
    pub duration: Micros,
    /// The probability with which each allocated word was sampled, per word.
    pub sample_rate: f64,
    /// Word size of the program.
    pub word_size: Bytes,
    /// Version of Bactrian.
    pub version: String,
}

impl About {
    /// The facts in a trace, and the version of this Bactrian.
    pub fn of(trace: &TraceFile) -> About {
        let info = trace.info();
        About {
            program: TraceInfo::text(&info.executable).into_owned(),
            host: TraceInfo::text(&info.host).into_owned(),
            pid: info.pid,
            start: Micros(info.start),
            duration: trace.index().duration(),
            sample_rate: info.sample_rate,
            word_size: Bytes(info.word_bytes()),
            version: env!("CARGO_PKG_VERSION").to_owned(),
        }
    }

    /// The program's name without its folder, for titles.
    pub fn title(&self) -> &str {
        let name = self.program.rsplit('/').next().unwrap_or_default();
        if name.is_empty() { "program" } else { name }
    }
}

/// The live memory at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivePoint {
    /// The time since the start of the trace.
    pub time: Micros,
    /// Estimated live bytes at that time.
    pub live: Bytes,
}
