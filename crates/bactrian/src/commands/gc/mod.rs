//! `bactrian gc`: recommends GC parameters for a program, with evidence.

mod plot;
mod running;
mod text;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;
use bactrian_advice::choice::{Goal, percent};
use bactrian_advice::comparison::GcAnswers;
use bactrian_advice::file::{FORMAT, FORMAT_VERSION, GcResult, GcResultError, Run, Subject};
use bactrian_advice::measurement::Measurement;
use bactrian_advice::plan::{self, Budget, Next, Why};
use bactrian_advice::runner::{self, Ran, present_parameters};
use bactrian_analysis::units::{Bytes, Time, show_bytes};
use bactrian_capture::launch::interrupts;
use bactrian_capture::{doctor, find_program};

use super::record::refused;
use crate::failure::{Failure, Status};
use crate::output::{Console, print_envelope, write_file};

/// Find GC parameters for a program: measured, modelled, verified.
///
/// Runs the program a few times, unchanged except for OCAMLRUNPARAM, and reads the collector's exact counters from outside. The
/// size of the minor heap (s) is measured; the effect of space_overhead (o) is modelled from two runs; a recommendation is
/// verified by a run before it is made. The program's standard input is empty unless --input names a file. Its output is compared
/// between runs and not shown. Files that it writes are written again in every run.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian gc -- ./prover problem.ae                 the least time x memory
  bactrian gc --memory 500MB -- ./prover problem.ae  the fastest setting in 500 MB
  bactrian gc --slower 5% -- ./prover problem.ae     the least memory, at most 5 % slower
  bactrian gc -o prover.gc -- ./prover problem.ae    keep the result
  bactrian gc prover.gc --memory 300MB               another goal for a kept result, without running anything
  bactrian view prover.gc                            a kept result in a browser
  bactrian gc --against ./new -- ./old problem.ae    two builds at equal memory
  bactrian gc 1234                                   what a running program's counters show
  bactrian gc run.live                               the same for a recording (bactrian live --record)")]
pub struct Args {
    /// A process ID, a recording of live numbers, or a kept result
    #[arg(value_name = "TARGET", conflicts_with = "command", required_unless_present = "command")]
    target: Option<String>,
    /// The budget: a number of runs, a time, or both; whichever is exhausted first ends the runs
    #[arg(long, value_name = "RUNS,TIME", value_parser = budget, default_value = "6,10min")]
    budget: Budget,
    /// Find the fastest setting that needs at most this much memory
    #[arg(long, value_name = "SIZE", conflicts_with = "slower")]
    memory: Option<Bytes>,
    /// Find the setting with the least memory that is at most this much slower
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    slower: Option<f64>,
    /// Also run this program, with the same arguments, and compare both at equal memory
    #[arg(long, value_name = "PROGRAM", requires = "command")]
    against: Option<OsString>,
    /// The file that the program reads on standard input, in every run
    #[arg(long, value_name = "FILE", requires = "command")]
    input: Option<PathBuf>,
    /// Keep the result in this file
    #[arg(long, short, value_name = "FILE", requires = "command")]
    output: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The program to run, and its arguments
    #[arg(value_name = "PROGRAM", last = true)]
    command: Vec<OsString>,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let Some((name, arguments)) = args.command.split_first() else {
        let target = args.target.as_deref().unwrap_or_default();
        return of_target(target, args, console);
    };
    let first = subject(name, arguments, args)?;
    let second = args.against.as_ref().map(|name| subject(name, arguments, args)).transpose()?;
    let mut result = GcResult {
        format: FORMAT.to_owned(),
        version: FORMAT_VERSION,
        goal: goal(args).unwrap_or(Goal::Balance),
        budget: args.budget,
        ocamlrunparam: present_parameters(),
        subjects: Vec::new(),
    };
    let interrupted = interrupts();
    for program in [Some(first), second].into_iter().flatten() {
        let runs = Experiment { program: &program, result: &result, quiet: args.json };
        let subject = runs.perform(&interrupted, console)?;
        result.subjects.push(subject);
        if interrupted() {
            break;
        }
    }
    if let Some(path) = &args.output {
        let bytes = result.to_bytes().map_err(|error| no_result(path, error))?;
        write_file(path, console, |out, _| Ok(out.write_all(&bytes)?))?;
    }
    show(&result, args, console)
}

fn goal(args: &Args) -> Option<Goal> {
    let memory = args.memory.map(|Bytes(bytes)| Goal::Memory(bytes));
    memory.or(args.slower.map(Goal::Slower))
}

fn subject(
    name: &OsString,
    arguments: &[OsString],
    args: &Args,
) -> Result<runner::Subject, Failure> {
    let program = find_program(name).map_err(anyhow::Error::from)?;
    doctor::enterable(&program).map_err(refused)?;
    Ok(runner::Subject {
        program,
        name: name.clone(),
        arguments: arguments.to_vec(),
        input: args.input.clone(),
    })
}

/// The runs of one program.
struct Experiment<'a> {
    program: &'a runner::Subject,
    result: &'a GcResult,
    quiet: bool,
}

impl Experiment<'_> {
    fn perform(
        &self,
        interrupted: &impl Fn() -> bool,
        console: &mut Console,
    ) -> Result<Subject, Failure> {
        let GcResult { goal, budget, ocamlrunparam, .. } = self.result;
        let program = self.program;
        let command = [&program.name].into_iter().chain(&program.arguments);
        let mut subject = Subject {
            command: command.map(|word| word.to_string_lossy().into_owned()).collect(),
            ocaml: String::new(),
            runs: Vec::new(),
        };
        let mut measured: Vec<Measurement> = Vec::new();
        while let Some(next) = plan::next(&measured, *goal, *budget) {
            if interrupted() {
                break;
            }
            self.announce(&next, measured.len(), console)?;
            let ran = program
                .run(&next, ocamlrunparam, *budget)
                .with_context(|| format!("{} was not run", program.name.to_string_lossy()))?;
            if measured.is_empty() {
                self.judge_first(&ran, console)?;
                subject.ocaml.clone_from(&ran.ocaml);
            }
            if !self.quiet {
                let Measurement { wall, rss, .. } = &ran.measurement;
                console.note(&format!("  {wall:.2} s, {}", show_bytes(*rss as f64)))?;
            }
            // A run that did not finish its work says nothing about the parameters.
            let is_usable = !ran.was_stopped && !interrupted();
            if is_usable || measured.is_empty() {
                let Next { why, predicted, .. } = next;
                measured.push(ran.measurement.clone());
                subject.runs.push(Run { why, predicted, measured: ran.measurement });
            }
            if !is_usable {
                break;
            }
        }
        if subject.runs.is_empty() {
            return Err(Failure::Input(anyhow::anyhow!("interrupted before the first run ended")));
        }
        Ok(subject)
    }

    fn announce(&self, next: &Next, done: usize, console: &mut Console) -> Result<(), Failure> {
        if self.quiet {
            return Ok(());
        }
        let of = self.result.budget.runs;
        let setting = match (next.setting, next.why) {
            (Some(setting), Why::Law | Why::MinorHeap | Why::Verification) => {
                format!("{setting}, {}", next.why.in_words())
            }
            _ => next.why.in_words().to_owned(),
        };
        Ok(console.note(&format!("run {} of at most {of}: {setting}", done + 1))?)
    }

    /// Whether further runs make sense.
    fn judge_first(&self, ran: &Ran, console: &mut Console) -> Result<(), Failure> {
        let name = self.program.name.to_string_lossy();
        if ran.was_stopped {
            return Err(Failure::NotSupported(format!(
                "{name} was still running when the time of --budget was over, and was killed. A server does not end: use `bactrian gc PID` \
                 while it runs. A program that takes longer needs a larger --budget"
            )));
        }
        let status = &ran.measurement.status;
        if status.starts_with("signal") {
            return Err(Failure::Input(anyhow::anyhow!(
                "{name} was killed by a signal ({status}): there is nothing to compare"
            )));
        }
        if let Some(why) = &ran.why_no_counters {
            return Err(Failure::NotSupported(format!(
                "the collector's counters of {name} are unknown: {why}"
            )));
        }
        if !ran.is_success {
            let last = ran.last_words.lines().last().unwrap_or_default();
            console.warn(&format!(
                "{name} ended with {status}; the last line of its standard error: {last:?}"
            ))?;
        }
        Ok(())
    }
}

/// Answers from a process, a recording or a kept result, without running a program.
fn of_target(target: &str, args: &Args, console: &mut Console) -> Result<Status, Failure> {
    if let Ok(pid) = target.parse() {
        return running::of_process(pid, args.json, console);
    }
    let path = Path::new(target);
    if !is_result(path).with_context(|| path.display().to_string())? {
        return running::of_recording(path, args.json, console);
    }
    let mut result = read_result(path)?;
    result.goal = goal(args).unwrap_or(result.goal);
    show(&result, args, console)
}

/// Whether a file is a kept result.
pub fn is_result(path: &Path) -> io::Result<bool> {
    let mut begin = Vec::new();
    File::open(path)?.take(64).read_to_end(&mut begin)?;
    Ok(GcResult::is_one(&begin))
}

/// Reads a kept result.
pub fn read_result(path: &Path) -> Result<GcResult, Failure> {
    GcResult::read(path).map_err(|error| no_result(path, error))
}

fn no_result(path: &Path, error: GcResultError) -> Failure {
    Failure::Input(anyhow::Error::from(error).context(path.display().to_string()))
}

fn show(result: &GcResult, args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let all = GcAnswers::of(result);
    if args.json {
        print_envelope(console, "gc", [], &all)?;
    } else {
        for answer in &all.answers {
            text::print(answer, console)?;
        }
        if let Some(comparison) = &all.comparison {
            text::print_comparison(comparison, &all.answers, console)?;
        }
    }
    console.flush()?;
    Ok(Status::Done)
}

/// `6`, `10min`, or `6,10min`.
fn budget(text: &str) -> Result<Budget, String> {
    let no = || "write a number of runs, a time, or both: 6, 10min or 6,10min".to_owned();
    // A part that is not given is no limit.
    let (mut runs, mut seconds) = (None, None);
    for part in text.split(',') {
        if let Ok(number) = part.trim().parse::<usize>() {
            if !(1..=10_000).contains(&number) || runs.replace(number).is_some() {
                return Err(no());
            }
        } else {
            let Time(time) = part.trim().parse().map_err(|_| no())?;
            let time = time.0 as f64 / 1e6;
            if time <= 0.0 || time > 1e9 || seconds.replace(time).is_some() {
                return Err(no());
            }
        }
    }
    let usual = Budget::default();
    Ok(match (runs, seconds) {
        (Some(runs), Some(seconds)) => Budget { runs, seconds },
        (Some(runs), None) => Budget { runs, seconds: 1e9 },
        (None, Some(seconds)) => Budget { seconds, ..usual },
        (None, None) => usual,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_is_runs_or_time_or_both() {
        let of = |text| budget(text).map(|it| (it.runs, it.seconds)).ok();
        assert_eq!(of("6,10min"), Some((6, 600.0)));
        assert_eq!(of("90s"), Some((6, 90.0)));
        assert_eq!(of("12"), Some((12, 1e9)));
        for text in ["", "0", "6,6", "1s,2s", "x", "-1", "6,10min,3"] {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
