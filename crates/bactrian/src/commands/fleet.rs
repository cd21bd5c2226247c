//! `bactrian fleet`: what many machines allocate and retain, from the store that `bactrian ship` fills.
//!
//! The questions are those of `bactrian_fleet::questions`, the engine is a program of its own ([`crate::engine`]); [`shown`] shows
//! the answers.

mod shown;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::time::SystemTime;

use bactrian_fleet::Store;
use bactrian_fleet::questions::{
    EXTENT, EXTENT_OF_HEAPS, OF_HOST, QUESTIONS, Question, STEPS, Window,
};
use bactrian_fleet::roll_up::{self, Retention};
use bactrian_tables::schema::{FLEET_STACKS, RUNTIME, SAMPLES, SUMMARIES};
use serde_json::json;

use crate::engine::{self, Engine, FleetEngine, Row, TableFolders};
use crate::failure::{Failure, Status};
use crate::output::{Console, print_envelope, show_number};
use crate::spark::Spark;

/// Show what a fleet of machines allocates and holds.
///
/// First what stands out: sites that are held more and more, builds that allocate or hold more than the build before them,
/// machines that differ from the others of their service. Then services and the sites that hold most. The store is what
/// `bactrian ship` fills: a folder, or s3://BUCKET/FOLDER.
///
/// Bytes are estimates from samples. What is said to differ does so by more than chance: 4.5 standard errors, over all machines.
#[derive(clap::Args, Debug)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
#[command(after_help = "Examples:
  bactrian fleet /mnt/profiles                                  what stands out, services, sites
  bactrian fleet /mnt/profiles --show growing-sites --service search
  bactrian fleet /mnt/profiles --show builds-allocate --since 24h --by hour
  bactrian fleet /mnt/profiles --host mail-0031                 the programs of one machine, and where their traces are
  bactrian fleet s3://profiles/production --json
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
    /// Of one service only
    #[arg(long, value_name = "NAME")]
    service: Option<String>,
    /// Of one machine only: its programs, where their traces are on it, and what they hold
    #[arg(long, value_name = "NAME")]
    host: Option<String>,
    /// How much to look at, back from the last profile: 90m, 2h, 7d [default: 2h of minutes, 7d of hours, 90d of days]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    since: Option<u64>,
    /// By minutes as they were shipped, or by hours or days as `roll-up` sums them up
    #[arg(long, value_name = "STEP", value_enum, default_value = "minute")]
    by: Level,
    /// Have another engine answer: spark://HOST:7077, or spark:MASTER for any other master of Spark [default: bactrian-query]
    ///
    /// Spark is driven by Python: PYSPARK_PYTHON names one that has pyspark (otherwise python3), or SPARK_HOME an installation.
    #[arg(long, value_name = "ENGINE", value_parser = other_engine)]
    engine: Option<OtherEngine>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// An engine that is not ours.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OtherEngine {
    /// Spark, with this master.
    Spark(String),
}

fn other_engine(text: &str) -> Result<OtherEngine, String> {
    match text.split_once(':') {
        Some(("spark", rest)) if rest.starts_with("//") => {
            Ok(OtherEngine::Spark(text.to_owned()))
        }
        Some(("spark", master)) if !master.is_empty() => Ok(OtherEngine::Spark(master.to_owned())),
        Some(("clickhouse", _)) => Err(
            "ClickHouse is not supported: it reads the files by itself (docs/fleet.md), and these questions were never run there"
                .to_owned(),
        ),
        _ => Err("an engine is spark://HOST:7077, or spark:MASTER".to_owned()),
    }
}

/// What is done with a store.
#[derive(clap::Subcommand, Debug)]
enum Work {
    RollUp(RollUpArgs),
}

/// Pack a store, sum it up by hour and day, and remove what is old.
///
/// Files of minutes become one file an hour, sorted so that they take an eighth of the space and are read at once; hours and days
/// are summed up for `--by hour` and `--by day`. May be ended at any moment, and run again, by one at a time; rows are never
/// there twice.
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

/// How fine samples are.
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
    /// Where its samples are, and what the runtime counted.
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

/// Answers, or becomes the program that has the engine if that is needed.
pub fn run(args: &Args, console: &mut Console) -> Result<Status, Failure> {
    let is_folder = args.store.as_ref().is_some_and(|store| !store.contains("://"));
    match args.engine {
        Some(_) if is_folder => answer(args, None, console),
        _ => engine::become_engine(),
    }
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
    let answers = fleet.answers(all.iter().filter(chosen))?;
    let findings = shown::findings(&fleet.window, &answers);
    if args.json {
        let Window { begin, end, .. } = fleet.window;
        let result =
            json!({ "begin": begin, "end": end, "findings": findings, "answers": answers });
        print_envelope(console, "fleet", [], &result)?;
        return Ok(Status::Done);
    }
    match (&args.show, &args.host) {
        (Some(_), _) => answers.values().try_for_each(|rows| shown::print_rows(rows, console))?,
        (None, Some(host)) => shown::print_host(host, &answers, console)?,
        (None, None) => shown::print_overview(&fleet.window, &answers, &findings, console)?,
    }
    Ok(Status::Done)
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
            Failure::Input(anyhow::anyhow!(
                "{address}: {what}: `bactrian ship --to {address}` fills it"
            ))
        };
        let store = engine::open_store(address, engine)?;
        // Enough of the last: there may be hours without anything.
        let most = span.div_ceil(args.by.step().max(3600)) + 1;
        let (samples, runtime) = args.by.folders();
        let samples = last_folders(&*store, address, samples, most)?;
        let runtime = last_folders(&*store, address, runtime, most)?;
        let heaps = last_folders(&*store, address, SUMMARIES.name, u64::MAX)?;
        let has_samples = !samples.is_empty();
        // Of snapshots there are no sums of hours.
        if !has_samples && (heaps.is_empty() || args.by != Level::Minute) {
            return Err(nothing("there are no profiles"));
        }
        let stacks = if has_samples { vec![FLEET_STACKS.name.to_owned()] } else { Vec::new() };
        let tables = [
            TableFolders { table: &SAMPLES, folders: samples },
            TableFolders { table: &RUNTIME, folders: runtime },
            TableFolders { table: &SUMMARIES, folders: heaps },
            TableFolders { table: &FLEET_STACKS, folders: stacks },
        ];
        let mut engine: Box<dyn FleetEngine> = match (&args.engine, engine) {
            (Some(OtherEngine::Spark(master)), _) => {
                Box::new(Spark::open(master, address, &tables)?)
            }
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
        Ok(Fleet { engine, window: Window { begin, end, service, host } })
    }

    fn answers<'q>(
        &mut self,
        questions: impl Iterator<Item = &'q Question>,
    ) -> Result<Answers, Failure> {
        for step in &STEPS {
            self.engine.keep(step.name, &self.window.of(step.sql))?;
        }
        let mut answers = Answers::new();
        for question in questions {
            answers.insert(question.name, self.engine.rows(&self.window.of(question.sql))?);
        }
        Ok(answers)
    }
}

fn named(store: &str, error: std::io::Error) -> Failure {
    Failure::Input(anyhow::anyhow!("{store}: {error}"))
}

/// The last folders in which there are files of a table.
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
