//! `bactrian live`: live numbers of running programs.

mod several;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use anyhow::Context;
use bactrian_capture::DEFAULT_RATE;
use bactrian_capture::launch::interrupts;
use bactrian_live::Limits;
use bactrian_live::recording::Recorder;
use bactrian_terminal::{Look, Options};
use bactrian_web::Metrics;

use crate::failure::{Failure, Status};
use crate::live::late_samples::LateSamples;
use crate::live::metrics;
use crate::live::opening::{HowToWatch, WAITING, stay};
use crate::live::source::{self, Target};
use crate::live::{self, Session, headless};
use crate::output::Console;

/// Watch a running program: its heap, collections, allocation sites, and values that it publishes.
///
/// Shows a program that is started here, a process that is already running, a program linked with Bactrian's or Ocamlviz's
/// library, or a recording. On a terminal, the view can go back in time and forward again. The program is not changed, and
/// keeps running when the view is closed.
#[derive(clap::Args, Debug)]
#[command(after_help = "Examples:
  bactrian live -- ./server --port 8080      start it and watch it
  bactrian live 1234                         a running process
  bactrian live --rate 1e-4 1234             also its allocation sites
  bactrian live                              programs linked with our library
  bactrian live localhost:51000              a program linked with Ocamlviz, or ours on the network
  bactrian live --record run.live 1234       also record into a file
  bactrian live run.live                     replay the recording
  bactrian live --for 60s --json 1234        no view: what is known after a minute
  bactrian live --metrics :9464 1234         also for Prometheus, at http://127.0.0.1:9464/metrics
  bactrian live --all                        all OCaml programs, side by side
  bactrian live --name flow                  programs of this name
  bactrian live --children -- flow check     a program and all its child processes")]
pub struct Args {
    /// A process id (several: side by side), HOST:PORT or a socket of a program that listens, or a recording (-: standard input)
    #[arg(value_name = "TARGET", conflicts_with = "command")]
    targets: Vec<String>,
    /// Watch all OCaml programs of this user side by side, including those that start later
    #[arg(long, conflicts_with_all = ["targets", "command", "name", "children"])]
    all: bool,
    /// Like --all, but only programs whose name contains this
    #[arg(long, value_name = "NAME", conflicts_with_all = ["targets", "command", "children"])]
    name: Option<String>,
    /// Also watch the child processes of the program
    #[arg(long)]
    children: bool,
    /// Record everything that arrives into this file
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Show no view; stop after this time and print what is known by then [for example: 500ms, 60s, 5m]
    #[arg(long = "for", value_name = "TIME", value_parser = duration)]
    time: Option<Duration>,
    /// Show no view; print everything that is known at the end as JSON
    #[arg(long)]
    json: bool,
    /// Serve metrics for Prometheus at this address; without a host, on this machine only
    #[arg(long, value_name = "[HOST]:PORT")]
    metrics: Option<String>,
    /// How often to read a process
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "200ms")]
    every: Duration,
    /// How far back the view can go
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "15m")]
    window: Duration,
    /// How much memory the history may take, in megabytes
    #[arg(long, value_name = "MB", default_value_t = 256)]
    memory: usize,
    /// Samples per allocated word; 0: none [default: 1e-5 for a program that is started here, none for a process that is already
    /// running]
    #[arg(long, value_name = "RATE", value_parser = rate)]
    rate: Option<f64>,
    /// Token that a program on the network demands: that of its BACTRIAN_LIVE_TOKEN, or the content of PID.token beside its sockets
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// The program to start, and its arguments
    #[arg(value_name = "PROGRAM", last = true)]
    command: Vec<OsString>,
}

pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let is_headless = args.json || args.time.is_some() || !io::stdout().is_terminal();
    let limits = Limits { window: args.window, memory: args.memory.saturating_mul(1 << 20) };
    let how = HowToWatch {
        every: args.every,
        rate: args.rate.unwrap_or(DEFAULT_RATE),
        token: args.token.as_deref().unwrap_or_default(),
        // The view needs the terminal, so it shows the program's output itself.
        is_captured: !is_headless,
    };
    if args.all || args.name.is_some() || args.children || args.targets.len() > 1 {
        return several::run(args, how, limits, is_headless, console);
    }
    let (messages, incoming) = sync_channel(WAITING);
    let mut session = Session::new(incoming, limits);
    // What can be detected before the program starts is reported before.
    if let Some(path) = &args.record {
        if args.targets.iter().any(|target| is_same(path, Path::new(target))) {
            return Err(Failure::Usage(
                "--record would overwrite the recording that is \
                shown"
                    .to_owned(),
            ));
        }
        let recorder = Recorder::create(path).with_context(|| path.display().to_string())?;
        session = session.with_recorder(recorder);
    }
    if let Some(address) = &args.metrics {
        let metrics =
            Metrics::serve(address).with_context(|| format!("cannot listen on {address}"))?;
        console.note(&format!("metrics for Prometheus: http://{}/metrics", metrics.address()))?;
        session = session.with_publisher(Box::new(move |database, status| {
            metrics.publish(metrics::text(database, *status == live::Status::Live));
        }));
    }
    let mut end = None;
    let mut samples = None;
    if let Some((name, arguments)) = args.command.split_first() {
        let started = how.start(name, arguments, messages)?;
        end = Some(started.end);
        session = session.with_wish(started.wish);
    } else {
        let target = target(args, console)?;
        samples = match (&target, args.rate) {
            (_, None | Some(0.0)) => None,
            (Target::Process(pid), Some(rate)) => Some(LateSamples::begin(*pid, rate)?),
            (Target::Address(_) | Target::File(_), Some(_)) => {
                let what = "--rate only works for processes and for programs started here";
                return Err(Failure::Usage(what.to_owned()));
            }
        };
        if let Some(wish) = how.open(target, messages)? {
            session = session.with_wish(wish);
        }
    }
    let watched = heard_of(&mut session, console)
        .and_then(|()| watch(args, &mut session, is_headless, console));
    let pid = session.database().program().pid;
    drop(session);
    drop(samples);
    match watched {
        // If the numbers can no longer be shown or recorded, still wait for the program, because its exit
        // status is ours.
        Err(failure) if end.is_some() => console.complain(&failure.to_string()),
        watched => watched?,
    }
    stay(end, pid, console)
}

/// How long to wait for the first numbers before showing anything.
const PATIENCE_FOR_A_WORD: Duration = Duration::from_millis(500);

/// Waits for the first numbers. If the connection is refused or not understood, this is an error, instead of
/// an empty view.
fn heard_of(session: &mut Session, console: &mut Console) -> Result<(), Failure> {
    let begin = Instant::now();
    let is_heard = |session: &Session| session.database().moments().next().is_some();
    while !is_heard(session) && !session.is_over() && begin.elapsed() < PATIENCE_FOR_A_WORD {
        session.wait(Duration::from_millis(20)).context("the recording cannot be written")?;
    }
    let database = session.database();
    match database.ended() {
        Some((_, reason))
            if session.is_over() && !is_heard(session) && database.program().name.is_empty() =>
        {
            let reason = reason.to_owned();
            while let Some(notice) = session.notice() {
                console.note(&notice)?;
            }
            Err(Failure::Input(anyhow::anyhow!(reason)))
        }
        _ => Ok(()),
    }
}

/// A program without any numbers for this long may never provide any.
const PATIENCE_FOR_NUMBERS: Duration = Duration::from_secs(30);

/// Runs until the time is over, the program has ended, or the user quits.
fn watch(
    args: &Args,
    session: &mut Session,
    is_headless: bool,
    console: &mut Console,
) -> Result<(), Failure> {
    if !is_headless {
        let look = Look::of_environment(console.colours());
        bactrian_terminal::run(session, Options { look }, &interrupts())
            .context("the view failed")?;
        session.flush().context("the recording cannot be written")?;
        return Ok(());
    }
    let interrupted = interrupts();
    // On a busy machine the first numbers of a large program take a while, so the time starts with them.
    let (start, mut first) = (Instant::now(), None);
    let is_over = |session: &Session, first: Option<Instant>| {
        let watched = match first {
            Some(first) => first.elapsed(),
            None => start.elapsed().saturating_sub(PATIENCE_FOR_NUMBERS),
        };
        session.is_over() || args.time.is_some_and(|time| watched >= time)
    };
    while !is_over(session, first) && !interrupted() {
        session.wait(Duration::from_millis(50)).context("the recording cannot be written")?;
        if first.is_none() && session.database().moments().next().is_some() {
            first = Some(Instant::now());
        }
    }
    session.take_in().context("the recording cannot be written")?;
    session.flush().context("the recording cannot be written")?;
    if let live::Status::Lost(reason) = session.status() {
        console.warn(&format!("the connection is lost: {reason}"))?;
    }
    while let Some(notice) = session.notice() {
        console.note(&notice)?;
    }
    if args.json {
        headless::print_json(session.database(), console)?;
    } else {
        headless::print(session.database(), console)?;
    }
    console.flush()?;
    Ok(())
}

fn target(args: &Args, console: &mut Console) -> Result<Target, Failure> {
    if let Some(word) = args.targets.first() {
        return Target::of(word).map_err(Failure::Usage);
    }
    let observed = source::observed();
    match observed.as_slice() {
        [(pid, _)] => Ok(Target::Process(*pid)),
        [] => Err(Failure::Usage(
            "nothing to watch: no running program of this user is linked with Bactrian's \
             library. Name a process (bactrian live 1234), or start a program (bactrian live -- \
             ./server)"
                .to_owned(),
        )),
        several => {
            for (pid, name) in several {
                console.note(&format!("{pid:>8}  {name}"))?;
            }
            Err(Failure::Usage(
                "several programs can be watched: choose one by its process \
                id"
                .to_owned(),
            ))
        }
    }
}

fn is_same(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| "not a rate from 0 to 1".to_owned())
}

/// Parses a number and a unit: 500ms, 60s, 5m, 2h; without a unit, seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        unit => return Err(format!("{unit} is not a unit of time: use ms, s, m or h")),
    };
    let number: f64 = digits.trim().parse().map_err(|_| "not a time, such as 60s".to_owned())?;
    let time = Duration::try_from_secs_f64(number * unit).ok().filter(|time| !time.is_zero());
    time.ok_or_else(|| "too short or too long".to_owned())
}
