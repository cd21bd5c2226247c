//! `bactrian fleet`: what many machines allocate and hold, from the store that `bactrian ship` fills.
//!
//! The questions are those of `bactrian_fleet::questions`, the engine is a separate program ([`crate::engine`]), [`findings`] picks
//! out what stands out, [`shown`] prints the answers, and [`for_page`] has the engine answer questions of the page.

mod findings;
mod for_page;
mod shown;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::SystemTime;

use bactrian_analysis::question::CommandLine;
use bactrian_fleet::Store;
use bactrian_fleet::questions::{
    EXTENT, EXTENT_OF_HEAPS, OF_HOST, QUESTIONS, Question, STEPS, TOTALS, Window,
};
use bactrian_fleet::roll_up::{self, Retention};
use bactrian_tables::schema::{FLEET_STACKS, RUNTIME, SAMPLES, SUMMARIES};
use serde_json::{Value, json};

use crate::engine::process::PROGRESS;
use crate::engine::{self, Engine, FleetEngine, Row, TableFolders};
use crate::failure::{Failure, Status};
use crate::open::progress_bar;
use crate::output::{Console, print_envelope, show_number};
use crate::python_engine::{OtherEngine, PythonEngine};
use findings::findings;
pub use for_page::{engine_for_page, is_store};

/// Show what a fleet of machines allocates and holds.
///
/// First what stands out: sites whose live size keeps growing, builds that allocate or hold more than the build before them,
/// hosts that differ from the others of their service. Then services and the sites that hold most. The store is what
/// `bactrian ship` fills: a folder, or s3://BUCKET/FOLDER. `bactrian view STORE` shows the same as a page.
///
/// Bytes are estimates from samples. Differences are reported only if they exceed 4.5 standard errors (6 between hosts).
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "Examples:
  bactrian fleet /mnt/profiles                                  what stands out, services, sites
  bactrian fleet /mnt/profiles --show growing-sites --service search
  bactrian fleet /mnt/profiles --show builds-allocate --since 24h --by hour
  bactrian fleet /mnt/profiles --host mail-0031                 the programs of one host, and where their traces are
  bactrian fleet s3://profiles/production --json
  bactrian view /mnt/profiles                                   the same in a browser
  bactrian fleet roll-up /mnt/profiles                          pack, sum up by hour and day, remove old data")]
pub struct Args {
    #[command(subcommand)]
    work: Option<Work>,
    /// The store: a folder, or s3://BUCKET/FOLDER
    #[arg(value_name = "STORE", required = true)]
    store: Option<String>,
    /// The answer to one question instead of what stands out
    #[arg(long, value_name = "QUESTION", value_parser = clap::builder::PossibleValuesParser::new(
        QUESTIONS.map(|question| clap::builder::PossibleValue::new(question.option).help(question.about))))]
    show: Option<String>,
    /// Only this service
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Only this host: its programs, where their traces are on it, and what they hold
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// How much to look at, back from the last profile: 90m, 2h, 7d [default: 2h of minutes, 7d of hours, 90d of days]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    since: Option<u64>,
    /// By minutes as they were shipped, or by hours or days as `roll-up` sums them up
    #[arg(long, value_name = "STEP", value_enum, default_value = "minute")]
    by: Level,
    /// Have another engine answer: duckdb, chdb, clickhouse://HOST:8123, spark://HOST:7077, or spark:MASTER for any other master of
    /// Spark [default: bactrian-query]
    ///
    /// They are driven by Python. DuckDB and chDB are packages of python3, or of another Python: duckdb:PYTHON, chdb:PYTHON. For
    /// Spark, set PYSPARK_PYTHON to a Python that has pyspark (otherwise python3), or SPARK_HOME to an installation. CLICKHOUSE_USER and
    /// CLICKHOUSE_PASSWORD are for ClickHouse, unless the address has them.
    #[arg(long, value_name = "ENGINE", value_parser = OtherEngine::parse)]
    engine: Option<OtherEngine>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print the progress on standard error, for the page
    #[arg(long, hide = true)]
    progress: bool,
}

/// Maintenance of a store.
#[derive(clap::Subcommand, Debug)]
enum Work {
    RollUp(RollUpArgs),
}

/// Pack a store, sum it up by hour and day, and remove what is old.
///
/// The files of an hour's minutes become one file, sorted so that it takes an eighth of the space and is fast to read. Hours and
/// days are summed up for `--by hour` and `--by day`. Run only one roll-up of a store at a time. It may be killed at any moment and
/// run again: rows are never counted twice.
#[derive(clap::Args, Debug)]
struct RollUpArgs {
    /// The store: a folder, or s3://BUCKET/FOLDER
    #[arg(value_name = "STORE")]
    store: String,
    /// Days for which minutes are kept
    #[arg(long, value_name = "DAYS", default_value_t = Retention::default().minutes / DAY)]
    keep_minutes: u64,
    /// Days for which hours are kept
    #[arg(long, value_name = "DAYS", default_value_t = Retention::default().hours / DAY)]
    keep_hours: u64,
    /// Days for which days are kept
    #[arg(long, value_name = "DAYS", default_value_t = Retention::default().days / DAY)]
    keep_days: u64,
}

const DAY: u64 = 86_400;

/// The time resolution of samples.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// As they were shipped.
    Minute,
    /// Summed up by hour.
    Hour,
    /// Summed up by day.
    Day,
}

impl Level {
    /// The folders of its samples, and of the runtime's counters.
    fn folders(self) -> (&'static str, &'static str) {
        match self {
            Level::Minute => ("samples", "runtime"),
            Level::Hour => ("hours", "runtime_hours"),
            Level::Day => ("days", "runtime_days"),
        }
    }

    /// The length of one step, in seconds.
    fn step(self) -> u64 {
        match self {
            Level::Minute => 60,
            Level::Hour => 3600,
            Level::Day => DAY,
        }
    }

    /// The default time range, in seconds.
    fn span(self) -> u64 {
        match self {
            Level::Minute => 2 * 3600,
            Level::Hour => 7 * DAY,
            Level::Day => 90 * DAY,
        }
    }
}

fn seconds(text: &str) -> Result<u64, String> {
    let of = |unit: &str| text.strip_suffix(unit).and_then(|number| number.parse::<u64>().ok());
    let times = |number: Option<u64>, unit: u64| number.and_then(|it| it.checked_mul(unit));
    times(of("m"), 60)
        .or_else(|| times(of("h"), 3600))
        .or_else(|| times(of("d"), DAY))
        .filter(|seconds| *seconds > 0)
        .ok_or_else(|| "a time is a number of minutes, hours or days: 90m, 2h, 7d".to_owned())
}

/// Answers the question. If this needs the engine, executes the program that contains it.
pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let is_folder = args.store.as_ref().is_some_and(|store| !store.contains("://"));
    match args.engine {
        Some(_) if is_folder => answer(args, None, console),
        None if args.work.is_none() && is_folder && engine::find().is_none() => Err(missing()),
        _ => engine::become_engine(),
    }
}

/// The error if there is no engine.
fn missing() -> Failure {
    let what = "the engine, bactrian-query, is neither beside bactrian nor in PATH: `make query` builds it. \
                With `pip install duckdb`, --engine duckdb answers as well";
    Failure::NotSupported(what.to_owned())
}

/// Answers with an engine.
pub(crate) fn answer(
    args: &Args,
    engine: Option<&dyn Engine>,
    console: &mut Console,
) -> Result<Status, Failure> {
    if let (Some(Work::RollUp(args)), Some(engine)) = (&args.work, engine) {
        return roll_up(args, engine, console);
    }
    let store = args.store.as_deref().unwrap_or_default();
    let mut fleet = Fleet::open(args, store, engine)?;
    let all = match &args.host {
        Some(_) if args.show.is_none() => &OF_HOST[..],
        _ => &QUESTIONS[..],
    };
    let chosen = |question: &&Question| match &args.show {
        Some(name) => question.option == name,
        None => true,
    };
    let chosen: Vec<&Question> = all.iter().filter(chosen).collect();
    let (totals, answers) = fleet.answers(&chosen, &*args.progress())?;
    let findings = findings(&fleet.window, &answers);
    if args.json {
        let Window { begin, end, .. } = fleet.window;
        let result = json!({
            "begin": begin,
            "end": end,
            "totals": totals,
            "findings": findings,
            "answers": answers,
        });
        print_envelope(console, "fleet", [], &result)?;
        return Ok(Status::Done);
    }
    match (&args.show, &args.host) {
        (Some(_), _) => answers.values().try_for_each(|rows| shown::print_rows(rows, console))?,
        (None, Some(host)) => shown::print_host(host, &answers, console)?,
        (None, None) => {
            shown::print_overview(&fleet.window, &totals, &answers, &findings, console)?;
        }
    }
    Ok(Status::Done)
}

impl Args {
    /// Shows the progress, from 0 to 1: to the page, or as a bar on a terminal.
    fn progress(&self) -> Box<dyn Fn(f64)> {
        match self.progress {
            true => Box::new(|done| {
                // If nobody reads the progress, the answer is still needed.
                let _ = writeln!(std::io::stderr(), "{PROGRESS}{done}");
            }),
            false if std::io::stderr().is_terminal() => progress_bar("asking"),
            false => Box::new(|_| {}),
        }
    }
}

/// Answers by question name.
type Answers = BTreeMap<&'static str, Vec<Row>>;

/// A fleet, opened by an engine.
struct Fleet {
    engine: Box<dyn FleetEngine>,
    window: Window,
}

impl Fleet {
    fn open(args: &Args, address: &str, engine: Option<&dyn Engine>) -> Result<Fleet, Failure> {
        let span = args.since.unwrap_or(args.by.span());
        let nothing = |what: &str| {
            let filled_by = match args.by {
                Level::Minute => format!("`bactrian ship --to {address}` fills it"),
                Level::Hour | Level::Day => format!("`bactrian fleet roll-up {address}` sums up"),
            };
            Failure::Input(anyhow::anyhow!("{address}: {what}: {filled_by}"))
        };
        let store = engine::open_store(address, engine)?;
        // Hours without files have no folder, so this many folders are enough.
        let most = span.div_ceil(args.by.step().max(3600)) + 1;
        let (samples, runtime) = args.by.folders();
        let samples = last_folders(&*store, address, samples, most)?;
        let runtime = last_folders(&*store, address, runtime, most)?;
        let heaps = last_folders(&*store, address, SUMMARIES.name, u64::MAX)?;
        let has_samples = !samples.is_empty();
        // Snapshots are not summed up by hour.
        if !has_samples && (heaps.is_empty() || args.by != Level::Minute) {
            return Err(nothing(match args.by {
                Level::Minute => "there are no profiles",
                Level::Hour => "there are no profiles by hour",
                Level::Day => "there are no profiles by day",
            }));
        }
        let stacks = if has_samples { vec![FLEET_STACKS.name.to_owned()] } else { Vec::new() };
        let tables = [
            TableFolders { table: &SAMPLES, folders: samples },
            TableFolders { table: &RUNTIME, folders: runtime },
            TableFolders { table: &SUMMARIES, folders: heaps },
            TableFolders { table: &FLEET_STACKS, folders: stacks },
        ];
        let mut engine: Box<dyn FleetEngine> = match (&args.engine, engine) {
            (Some(other), _) => Box::new(PythonEngine::open(other, address, &tables)?),
            (None, Some(engine)) => engine.fleet(address, &tables)?,
            (None, None) => return Err(Failure::Usage("this needs an engine".to_owned())),
        };
        let extent = engine.rows(if has_samples { EXTENT } else { EXTENT_OF_HEAPS })?;
        let time = |name: &str| extent.first().and_then(|row| row.get(name)?.as_u64());
        let (Some(first), Some(last)) = (time("first"), time("last")) else {
            return Err(nothing("its profiles are empty"));
        };
        let end = last + args.by.step();
        let begin = first.max(end.saturating_sub(span));
        let (service, host) = (args.service.clone(), args.host.clone());
        let window = Window { begin, end, step: args.by.step(), service, host };
        Ok(Fleet { engine, window })
    }

    /// The totals, and the answers to some questions.
    fn answers(
        &mut self,
        questions: &[&Question],
        progress: &dyn Fn(f64),
    ) -> Result<(Row, Answers), Failure> {
        let all = (STEPS.len() + 1 + questions.len()) as f64;
        let mut done = 0.0;
        let mut did_one = || {
            done += 1.0;
            progress(done / all);
        };
        for step in &STEPS {
            self.engine.keep(step.name, &self.window.of(step.sql))?;
            did_one();
        }
        let totals = self.engine.rows(TOTALS)?.into_iter().next().unwrap_or_default();
        did_one();
        let mut answers = Answers::new();
        for question in questions {
            let mut rows = self.engine.rows(&self.window.of(question.sql))?;
            rows.iter_mut().for_each(add_command);
            answers.insert(question.name, rows);
            did_one();
        }
        Ok((totals, answers))
    }
}

/// Adds the command that shows a run's trace on its host.
fn add_command(run: &mut Row) {
    if let Some(trace) = run.get("trace").and_then(Value::as_str) {
        let command = CommandLine::new("view").file(Path::new(trace));
        run.insert("command".to_owned(), command.to_string().into());
    }
}

fn named(store: &str, error: std::io::Error) -> Failure {
    Failure::Input(anyhow::anyhow!("{store}: {error}"))
}

/// The last folders with files of a table.
fn last_folders(
    store: &dyn Store,
    address: &str,
    table: &str,
    most: u64,
) -> Result<Vec<String>, Failure> {
    let names = store.names(table).map_err(|error| named(address, error))?;
    let folders: BTreeSet<&str> =
        names.iter().filter_map(|name| Some(name.rsplit_once('/')?.0)).collect();
    let skip = folders.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
    Ok(folders.into_iter().skip(skip).map(str::to_owned).collect())
}

fn roll_up(
    args: &RollUpArgs,
    engine: &dyn Engine,
    console: &mut Console,
) -> Result<Status, Failure> {
    let store = engine::open_store(&args.store, Some(engine))?;
    let mut packer = engine.packer(&args.store)?;
    let keep = Retention {
        minutes: args.keep_minutes.saturating_mul(DAY),
        hours: args.keep_hours.saturating_mul(DAY),
        days: args.keep_days.saturating_mul(DAY),
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    let done = roll_up::roll_up(&*store, &mut *packer, keep, now.as_secs())
        .map_err(|error| named(&args.store, error))?;
    let files = |count: usize| show_number(count as u64, "file");
    writeln!(
        console.out(),
        "{} packed, {} of hours and days written, {} removed",
        files(done.packed),
        files(done.sums),
        files(done.removed)
    )?;
    Ok(Status::Done)
}
