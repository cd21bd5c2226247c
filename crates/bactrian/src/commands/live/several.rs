//! Several programs in one view.

use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use anyhow::Context;
use bactrian_capture::launch::interrupts;
use bactrian_live::Limits;
use bactrian_terminal::{Look, Options, Programs, run_columns};
use bactrian_web::Metrics;

use super::Args;
use crate::failure::{Failure, Status};
use crate::live::group::{Choice, Group};
use crate::live::opening::{HowToWatch, WAITING, stay};
use crate::live::source::Target;
use crate::live::{Session, headless, metrics};
use crate::output::Console;

/// How often conditions are checked and numbers are published where there is no view.
const EVERY: Duration = Duration::from_millis(100);
const PUBLISH_EVERY: Duration = Duration::from_millis(500);

/// Observes programs until the user quits, the time is over, or all named programs have ended.
pub fn run(
    args: &Args,
    how: HowToWatch<'_>,
    limits: Limits,
    is_headless: bool,
    console: &mut Console,
) -> Result<Status, Failure> {
    if args.record.is_some() {
        let what = "--record works for one program only: a recording contains one program";
        return Err(Failure::Usage(what.to_owned()));
    }
    if args.rate.is_some_and(|rate| rate > 0.0) && args.command.is_empty() {
        let what = "--rate works for one process only";
        return Err(Failure::Usage(what.to_owned()));
    }
    let metrics = match &args.metrics {
        None => None,
        Some(address) => {
            let metrics =
                Metrics::serve(address).with_context(|| format!("cannot listen on {address}"))?;
            console
                .note(&format!("metrics for Prometheus: http://{}/metrics", metrics.address()))?;
            Some(metrics)
        }
    };
    // A long-running server forgets ended programs, as a view does.
    let forgets = !is_headless || (args.metrics.is_some() && !args.json);
    let mut end = None;
    let mut group = match args.command.split_first() {
        None => Group::new(choice(args)?, how, limits, forgets),
        Some((name, arguments)) => {
            let (messages, incoming) = sync_channel(WAITING);
            let started = how.start(name, arguments, messages)?;
            let session = Session::new(incoming, limits).with_wish(started.wish);
            end = Some((started.end, started.pid));
            let choice = Choice::Below(vec![started.pid]);
            Group::new(choice, how, limits, forgets).with(session, started.pid)
        }
    };
    let mut watched = Watched { group: &mut group, metrics, published: None };
    let shown = match is_headless {
        false => {
            let look = Look::of_environment(console.colours());
            run_columns(&mut watched, Options { look }, &interrupts())
                .context("the view failed")
                .map(drop)
        }
        true => {
            wait(args, &mut watched);
            tell(args, watched.group, console)
        }
    };
    drop(group);
    let (end, pid) = end.unzip();
    match shown {
        // If the numbers can no longer be shown, still wait for the program, because its exit status is ours.
        Err(error) if end.is_some() => console.complain(&error.to_string()),
        shown => shown?,
    }
    stay(end, pid.unwrap_or(0), console)
}

fn choice(args: &Args) -> Result<Choice, Failure> {
    if args.all {
        return Ok(Choice::All);
    }
    if let Some(name) = &args.name {
        return Ok(Choice::Named(name.clone()));
    }
    let pids = args.targets.iter().map(|word| match Target::of(word) {
        Ok(Target::Process(pid)) if std::path::Path::new(&format!("/proc/{pid}")).exists() => {
            Ok(pid)
        }
        Ok(Target::Process(pid)) => {
            Err(Failure::Input(anyhow::anyhow!("there is no process {pid}")))
        }
        _ => Err(Failure::Usage(format!(
            "{word} is not a process id: only processes can be \
                watched side by side"
        ))),
    });
    let pids = pids.collect::<Result<Vec<u32>, Failure>>()?;
    match pids.is_empty() {
        true => Err(Failure::Usage("--children needs a process, or a program to start".to_owned())),
        false if args.children => Ok(Choice::Below(pids)),
        false => Ok(Choice::These(pids)),
    }
}

/// Programs whose numbers are also published.
struct Watched<'a, 'h> {
    group: &'a mut Group<'h>,
    metrics: Option<Metrics>,
    published: Option<Instant>,
}

impl Programs for Watched<'_, '_> {
    fn take_in(&mut self) {
        self.group.take_in();
        let is_due = self.published.is_none_or(|last| last.elapsed() >= PUBLISH_EVERY);
        if let Some(published) = self.metrics.as_ref().filter(|_| is_due) {
            published.publish(metrics::text_of_several(self.group.programs()));
            self.published = Some(Instant::now());
        }
    }

    fn sessions(&mut self) -> Vec<&mut Session> {
        self.group.sessions()
    }

    fn title(&self) -> String {
        self.group.title()
    }
}

/// Waits until the time is over, all named programs have ended, or a signal comes.
fn wait(args: &Args, watched: &mut Watched<'_, '_>) {
    let (interrupted, begin) = (interrupts(), Instant::now());
    loop {
        watched.take_in();
        let is_over =
            watched.group.is_over() || args.time.is_some_and(|time| begin.elapsed() >= time);
        if is_over || interrupted() {
            return;
        }
        std::thread::sleep(EVERY);
    }
}

fn tell(args: &Args, group: &Group<'_>, console: &mut Console) -> anyhow::Result<()> {
    if group.is_full() {
        console.warn("there were more programs than can be watched at once")?;
    }
    if args.json {
        headless::print_json_of_several(group.databases(), console)?;
    } else if group.databases().next().is_none() {
        console.note(&format!("{}: none was found", group.title()))?;
    } else {
        headless::print_several(group.programs(), console)?;
    }
    Ok(console.flush()?)
}
