//! The summary of a recording, printed by `record` at the end.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use bactrian_analysis::units::{show_bytes, show_time};
use bactrian_trace::{Index, Input, Recorder};

use crate::commands::agent::RecordArgs;
use crate::failure::Failure;
use crate::output::{Console, shortened, show_number};

/// With fewer samples the rate was too low: a site with 10 % of the allocation is not known to within 30 %.
const FEW_SAMPLES: u64 = 100;
/// With this many samples, a site with 1 % of the allocation is known to within 10 %.
const ENOUGH_SAMPLES: f64 = 10_000.0;
/// A program without a single sample has allocated less than this many times the words that a sample stands
/// for (95 % confidence).
const AT_MOST_WITHOUT_SAMPLE: f64 = 3.0;
/// From this rate on, sampling costs about as much as recording everything.
const AS_GOOD_AS_EXACT: f64 = 1e-2;

/// A completed recording.
pub struct Recorded<'a> {
    /// The traces that were written: the requested one first, then those of children.
    pub traces: &'a [PathBuf],
    /// The arguments.
    pub args: &'a RecordArgs,
    /// Whether only the program's children could be recorded, not the program itself.
    pub is_wrapper: bool,
}

impl Recorded<'_> {
    /// Prints a summary of the recording of this program, and what to do with it.
    pub fn tell(&self, program: &OsStr, console: &mut Console) -> Result<(), Failure> {
        if self.traces.is_empty() {
            let program = program.display();
            let what = match self.is_wrapper {
                true => format!(
                    "nothing was recorded: {program} is not an OCaml program, and started none \
                     that can be recorded"
                ),
                false => format!(
                    "nothing was recorded: the agent was not loaded into {program}, or found no \
                     known OCaml runtime there; bactrian doctor {program} may say why"
                ),
            };
            return Ok(console.warn(&what)?);
        }
        let mut most: Option<(u64, &Path)> = None;
        for path in self.traces {
            let shown = shortened(path).display();
            let Ok(input) = Input::open(path) else { continue };
            let Ok(index) = Index::skim(&input) else {
                console.warn(&format!("{shown}: the program ended before recording began"))?;
                continue;
            };
            let samples = index.allocations();
            if samples > 0 && most.is_none_or(|(count, _)| count < samples) {
                most = Some((samples, path));
            }
            let whose = match self.is_wrapper || self.traces.len() > 1 {
                true => format!(" ({}, process {})", executable(&index), index.info().pid),
                false => String::new(),
            };
            let count = show_number(samples, "sampled allocation");
            let time = show_time(index.duration());
            let size = show_bytes(index.bytes() as f64);
            console.note(&format!("{shown}{whose}: {count} in {time}, {size}"))?;
            let recorder = Recorder::parse(&index.info().context);
            for sentence in recorder.iter().flat_map(Recorder::sentences) {
                console.warn(&format!("{shown}: {sentence}"))?;
            }
            let losses = index.losses();
            if losses.bytes_missing > 0 || losses.bytes_unread > 0 {
                // By a limit of file sizes, or on a full disk.
                let what = "the end of the trace could not be written, and is lost";
                console.warn(&format!("{shown}: {what}"))?;
            }
        }
        let samples = most.map_or(0, |(samples, _)| samples);
        if samples < FEW_SAMPLES && self.args.first_rate() < 1.0 {
            console.note(&self.too_few(samples))?;
        }
        if let Some((_, path)) = most {
            console.note(&format!("look at it: bactrian top {}", shortened(path).display()))?;
        }
        Ok(())
    }

    /// Why there are so few samples, and how to get more.
    fn too_few(&self, samples: u64) -> String {
        let RecordArgs { after, signal, .. } = *self.args;
        let rate = self.args.first_rate();
        let was_off = match (samples, signal) {
            (0, Some(_)) => "the signal did not come before the end, or ",
            (0, None) if after > 0.0 => "the program ended before the time of --after, or ",
            _ => "",
        };
        format!(
            "{was_off}the rate of {rate:.0e} was too low for so little allocation: {}",
            better(samples, rate)
        )
    }
}

/// Whether a trace has any samples.
pub fn has_samples(path: &Path) -> bool {
    let Ok(input) = Input::open(path) else { return false };
    Index::skim(&input).is_ok_and(|index| index.allocations() > 0)
}

/// Options that would give enough samples of a program with so few at this rate.
fn better(samples: u64, rate: f64) -> String {
    let words = (samples as f64).max(AT_MOST_WITHOUT_SAMPLE) / rate;
    let wanted = ENOUGH_SAMPLES / words;
    if wanted >= AS_GOOD_AS_EXACT {
        return "--exact records every allocation".to_owned();
    }
    // So few samples justify only one digit.
    format!("--rate {wanted:.0e} would give about 10,000 samples")
}

/// The name of the traced program.
fn executable(index: &Index) -> String {
    let path = String::from_utf8_lossy(&index.info().executable).into_owned();
    Path::new(&path).file_name().map_or(path.clone(), |name| name.display().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_better_rate_gives_ten_thousand_samples() {
        for (samples, rate, expected) in [
            (0, 1e-5, "--exact"),
            (0, 1e-7, "--rate 3e-4 would give about 10,000 samples"),
            (50, 1e-5, "--rate 2e-3 would give"),
            (99, 1e-6, "--rate 1e-4 would give"),
            (2, 1e-6, "--rate 3e-3 would give"),
            (3, 1e-5, "--exact"),
        ] {
            let said = better(samples, rate);
            assert!(said.contains(expected), "{samples} at {rate}: {said}");
        }
    }
}
