//! What the headers of exports say besides the profile.

use bactrian_analysis::TraceFile;
use bactrian_analysis::units::Bytes;
use bactrian_trace::{Micros, TraceInfo};

/// The facts about a run.
#[derive(Clone, Debug, PartialEq)]
pub struct About {
    /// Path of the program.
    pub program: String,
    /// Name of the machine it ran on.
    pub host: String,
    /// Its process id.
    pub pid: u64,
    /// When the trace begins, counted from the Unix epoch.
    pub start: Micros,
    /// How long it lasts.
    pub duration: Micros,
    /// The probability with which each allocated word was sampled.
    pub sample_rate: f64,
    /// Size of a word of the program.
    pub word_size: Bytes,
    /// Version of Bactrian.
    pub version: String,
}

impl About {
    /// The facts that a trace has, and the version of this Bactrian.
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

    /// The program without its folder, for titles.
    pub fn title(&self) -> &str {
        let name = self.program.rsplit('/').next().unwrap_or_default();
        if name.is_empty() { "program" } else { name }
    }
}

/// How much was live at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LivePoint {
    /// When, counted from the start of the trace.
    pub time: Micros,
    /// Estimated bytes that were live then.
    pub live: Bytes,
}
