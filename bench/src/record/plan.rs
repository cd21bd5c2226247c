//! The ways to run a program: alone, recorded by Bactrian, recorded by memtrace.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::measure::Run;
use xtask::command::output;

/// What the runs need.
pub struct Tools {
    pub bactrian: PathBuf,
    /// The path of every trace.
    pub trace: PathBuf,
}

pub struct Variant {
    pub title: String,
    /// Whether it is too slow for every round.
    pub only_once: bool,
    /// The variant without a recorder that this one is compared with, by its index in the list.
    pub plain: usize,
    program: Run,
    recorder: Recorder,
}

#[derive(Clone)]
enum Recorder {
    None,
    Bactrian {
        rate: String,
        depth: Option<&'static str>,
    },
    /// Memtrace is linked into the program and enabled by an environment variable.
    Memtrace {
        rate: String,
    },
}

/// The default rates.
pub const RATES: &str = "1e-6,1e-5,1e-4,1e-3,1e-2,1";
/// Samples every word.
const EXACT: &str = "1";
/// Memtrace keeps all frames. No stack here has more than this many.
const ALL_FRAMES: &str = "4096";

/// Everything to measure on one program, at these comma-separated rates. `rival` is the same program linked
/// with memtrace.
pub fn variants(program: &Run, rival: Option<&Path>, is_deep: bool, rates: &str) -> Vec<Variant> {
    let mut all = Vec::new();
    let mut add = |title: String, program: &Run, plain, recorder: Recorder| {
        let only_once = match &recorder {
            Recorder::None => false,
            Recorder::Bactrian { rate, .. } | Recorder::Memtrace { rate } => rate == EXACT,
        };
        let program = program.clone();
        all.push(Variant { title, only_once, plain, program, recorder });
        all.len() - 1
    };
    let plain = add("plain".to_owned(), program, 0, Recorder::None);
    add("plain again".to_owned(), program, plain, Recorder::None);
    let rival = rival.map(|path| {
        let program = Run { program: path.to_path_buf(), ..program.clone() };
        let plain = add("plain, with memtrace in it".to_owned(), &program, 2, Recorder::None);
        (program, plain)
    });
    for rate in rates.split(',') {
        let title = if rate == EXACT { "every allocation" } else { rate };
        let mut ours = |extra: &str, depth| {
            let recorder = Recorder::Bactrian { rate: rate.to_owned(), depth };
            add(format!("bactrian, {title}{extra}"), program, plain, recorder);
        };
        ours("", None);
        if rate == EXACT {
            ours(", depth 1", Some("1"));
        }
        if let Some((rival, plain)) = &rival {
            if is_deep {
                ours(", depth 4096", Some(ALL_FRAMES));
            }
            let recorder = Recorder::Memtrace { rate: rate.to_owned() };
            add(format!("memtrace, {title}"), rival, *plain, recorder);
        }
    }
    all
}

impl Variant {
    /// The run as a user would start it.
    pub fn command(&self, tools: &Tools) -> Run {
        let environment = match &self.recorder {
            Recorder::None => Vec::new(),
            Recorder::Memtrace { rate } => vec![
                ("MEMTRACE".into(), tools.trace.clone().into()),
                ("MEMTRACE_RATE".into(), rate.into()),
            ],
            Recorder::Bactrian { rate, depth } => {
                let mut arguments = vec![OsString::from("record"), "--quiet".into()];
                arguments.extend(options(rate, *depth, tools));
                arguments.extend(["--".into(), self.program.program.clone().into()]);
                arguments.extend(self.program.arguments.iter().cloned());
                return Run::new(tools.bactrian.clone(), arguments);
            }
        };
        Run { environment, ..self.program.clone() }
    }

    /// The same without Bactrian as the parent process; None for other recorders.
    pub fn command_alone(&self, tools: &Tools) -> Result<Option<Run>, String> {
        let Recorder::Bactrian { rate, depth } = &self.recorder else { return Ok(None) };
        let mut command = Command::new(&tools.bactrian);
        command.arg("agent").args(options(rate, *depth, tools)).arg("--install");
        // Installs the agent beside the traces instead of in the home directory.
        command.arg(tools.trace.parent().unwrap_or(Path::new(".")));
        let variables = output(&mut command)?;
        let variables = variables.lines().filter_map(|line| line.split_once('='));
        let environment = variables.map(|(name, value)| (name.into(), value.into())).collect();
        Ok(Some(Run { environment, ..self.program.clone() }))
    }
}

/// The options that `record` and `agent` share.
fn options(rate: &str, depth: Option<&str>, tools: &Tools) -> Vec<OsString> {
    let mut options = vec!["--rate".into(), rate.into(), "-o".into(), tools.trace.clone().into()];
    options.extend(depth.iter().flat_map(|depth| ["--depth".into(), depth.into()]));
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recorders_are_compared_with_the_program_they_record() {
        let program = Run::new("p".into(), vec!["x".into()]);
        let all = variants(&program, Some(Path::new("/rivals/p")), true, RATES);
        for variant in &all {
            assert_eq!(all[variant.plain].program.program, variant.program.program);
            assert!(matches!(all[variant.plain].recorder, Recorder::None));
        }
        assert_eq!(all.iter().filter(|variant| variant.only_once).count(), 4);
        assert_eq!(variants(&program, None, true, RATES).len(), 9);
        assert_eq!(variants(&program, None, true, "1e-5,1e-4").len(), 4);
    }

    #[test]
    fn a_recorded_run_has_its_options_before_the_program() {
        let tools = Tools { bactrian: "b".into(), trace: "t".into() };
        let program = Run::new("p".into(), vec!["x".into()]);
        let all = variants(&program, None, false, RATES);
        let run = all[all.len() - 1].command(&tools);
        let expected = "record --quiet --rate 1 -o t --depth 1 -- p x";
        assert_eq!(run.arguments, expected.split(' ').map(OsString::from).collect::<Vec<_>>());
    }
}
