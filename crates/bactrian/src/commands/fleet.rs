//! `bactrian fleet`: what many machines allocate and retain, from the store that `bactrian ship` fills.
//!
//! The questions are those of `bactrian_fleet::questions`, and the engine is a separate program
//! ([`crate::engine`]); this module displays the answers.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use bactrian_analysis::units::show_bytes;
use bactrian_fleet::questions::{EXTENT, QUESTIONS, Question, STEPS, Window};
use bactrian_fleet::roll_up::{self, Retention};
use bactrian_fleet::{Folder, Store};
use serde_json::{Value, json};

use crate::engine::{self, Engine, FleetEngine, Row};
use crate::failure::{Failure, Status};
use crate::output::{
    Align, Console, HEADING, INTERVAL, Table, print_envelope, show_date, show_number,
};

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
  bactrian fleet s3://profiles/production --json
  bactrian fleet roll-up /mnt/profiles                          pack, sum up by hour and day, remove what is old")]
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
    /// How much to look at, back from the last profile: 90m, 2h, 7d [default: 2h of minutes, 7d of hours, 90d of days]
    #[arg(long, value_name = "TIME", value_parser = seconds)]
    since: Option<u64>,
    /// By minutes as they were shipped, or by hours or days as `roll-up` sums them up
    #[arg(long, value_name = "STEP", value_enum, default_value = "minute")]
    by: Level,
    /// Print JSON
    #[arg(long)]
    json: bool,
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
    /// The directory of its samples.
    fn folder(self) -> &'static str {
        match self {
            Level::Minute => "samples",
            Level::Hour => "hours",
            Level::Day => "days",
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

/// Executes the program that has the engine.
pub fn run() -> Result<Status, Failure> {
    engine::become_engine()
}

/// Answers with an engine.
pub(crate) fn answer(
    args: &Args,
    engine: &dyn Engine,
    console: &mut Console,
) -> Result<Status, Failure> {
    if let Some(Work::RollUp(args)) = &args.work {
        return roll_up(args, engine, console);
    }
    let store = args.store.as_deref().unwrap_or_default();
    let mut fleet = Fleet::open(args, store, engine)?;
    let chosen = |question: &&Question| match &args.show {
        Some(name) => question.option == name,
        None => true,
    };
    let answers = fleet.answers(QUESTIONS.iter().filter(chosen))?;
    if args.json {
        let Window { begin, end, .. } = fleet.window;
        let result = json!({ "begin": begin, "end": end, "answers": answers });
        print_envelope(console, "fleet", [], &result)?;
        return Ok(Status::Done);
    }
    match &args.show {
        Some(_) => answers.values().try_for_each(|rows| print_rows(rows, console))?,
        None => print_overview(&fleet.window, &answers, console)?,
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
    fn open(args: &Args, store: &str, engine: &dyn Engine) -> Result<Fleet, Failure> {
        let span = args.since.unwrap_or(args.by.span());
        let nothing = |what: &str| {
            Failure::Input(anyhow::anyhow!(
                "{store}: {what}: `bactrian ship --to {store}` fills it"
            ))
        };
        let names =
            opened(store, engine)?.names(args.by.folder()).map_err(|error| named(store, error))?;
        let mut folders: Vec<&str> =
            names.iter().filter_map(|name| Some(name.rsplit_once('/')?.0)).collect();
        folders.dedup();
        // More folders than the range needs, because there may be hours without data.
        let most = span.div_ceil(args.by.step().max(3600)) + 1;
        let skip = folders.len().saturating_sub(usize::try_from(most).unwrap_or(usize::MAX));
        if folders.is_empty() {
            return Err(nothing("there are no profiles"));
        }
        let mut engine = engine.fleet(store, &folders[skip..])?;
        let extent = engine.rows(EXTENT)?;
        let time = |name: &str| extent.first().and_then(|row| row.get(name)?.as_u64());
        let (Some(first), Some(last)) = (time("first"), time("last")) else {
            return Err(nothing("its profiles are empty"));
        };
        let end = last + args.by.step();
        let begin = first.max(end.saturating_sub(span));
        Ok(Fleet { engine, window: Window { begin, end, service: args.service.clone() } })
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

/// Opens a store, local or remote.
fn opened(store: &str, engine: &dyn Engine) -> Result<Arc<dyn Store>, Failure> {
    match store.contains("://") {
        true => engine.store(store),
        false => Ok(Arc::new(Folder::new(Path::new(store)))),
    }
}

fn roll_up(
    args: &RollUpArgs,
    engine: &dyn Engine,
    console: &mut Console,
) -> Result<Status, Failure> {
    let store = opened(&args.store, engine)?;
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

fn text<'r>(row: &'r Row, column: &str) -> &'r str {
    row.get(column).and_then(Value::as_str).unwrap_or_default()
}

fn number(row: &Row, column: &str) -> f64 {
    row.get(column).and_then(Value::as_f64).unwrap_or_default()
}

/// A site: `Index.add index.ml:40`.
fn site(row: &Row) -> String {
    match (text(row, "leaf"), text(row, "file"), number(row, "line")) {
        (leaf, "", _) => leaf.to_owned(),
        (leaf, file, line) => format!("{leaf} {file}:{line}"),
    }
}

fn times(now: f64, before: f64) -> String {
    match now / before {
        ratio if ratio >= 10.0 => format!("{ratio:.0} times"),
        ratio => format!("{ratio:.1} times"),
    }
}

/// Findings, one sentence each: growth, regressions of a build, outlying hosts.
fn findings(window: &Window, answers: &Answers) -> Vec<String> {
    let rows = |name: &str| answers.get(name).map_or(&[][..], Vec::as_slice);
    let mut all = Vec::new();
    // From the middle of the first quarter to the middle of the last.
    let hours = (window.end - window.begin) as f64 / 3600.0 * 0.75;
    for row in rows("growing_sites").iter().take(3) {
        all.push(format!(
            "{}: {} is held more and more: {} an hour on {}, {} at the end",
            text(row, "service"),
            site(row),
            show_bytes(number(row, "growth") / hours),
            show_number(number(row, "hosts") as u64, "host"),
            show_bytes(number(row, "late")),
        ));
    }
    for (name, what) in [("builds_allocate", "allocates"), ("builds_hold", "holds")] {
        let per = if name == "builds_allocate" { " a minute and host" } else { " a host" };
        for row in rows(name).iter().filter(|row| number(row, "difference") > 0.0).take(3) {
            let (before, now) = (number(row, "before"), number(row, "now"));
            all.push(format!(
                "{}: build {} {what} {} as much as {} in {}: {} instead of {}{per}",
                text(row, "service"),
                text(row, "build"),
                times(now, before),
                text(row, "build_before"),
                text(row, "leaf"),
                show_bytes(now),
                show_bytes(before),
            ));
        }
    }
    for row in rows("odd_hosts").iter().take(3) {
        let (live, others) = (number(row, "live"), number(row, "others"));
        all.push(format!(
            "{}: {} holds {}, {} what the others hold",
            text(row, "service"),
            text(row, "host"),
            show_bytes(live),
            times(live, others)
        ));
    }
    for row in rows("odd_sites").iter().take(3) {
        all.push(format!(
            "{}: {} holds {} of {}, the others {}",
            text(row, "service"),
            text(row, "host"),
            show_bytes(number(row, "live")),
            site(row),
            show_bytes(number(row, "others"))
        ));
    }
    all
}

fn print_overview(
    window: &Window,
    answers: &Answers,
    console: &mut Console,
) -> Result<(), Failure> {
    let rows = |name: &str| answers.get(name).map_or(&[][..], Vec::as_slice);
    let total =
        |column: &str| rows("services").iter().map(|row| number(row, column)).sum::<f64>() as u64;
    writeln!(
        console.out(),
        "{}, {}, {}; {} from {} to {}",
        show_number(rows("services").len() as u64, "service"),
        show_number(total("hosts"), "host"),
        show_number(total("builds"), "build"),
        show_number(total("profiles"), "profile"),
        show_date(window.begin as f64),
        show_date(window.end as f64)
    )?;
    let findings = findings(window, answers);
    writeln!(console.out(), "\n{HEADING}What stands out{HEADING:#}")?;
    for finding in &findings {
        writeln!(console.out(), "- {finding}")?;
    }
    if findings.is_empty() {
        writeln!(
            console.out(),
            "nothing: no growth, no build and no host differs by more than chance"
        )?;
    }
    let mut services = Table::new(&[
        ("hosts", Align::Right),
        ("builds", Align::Right),
        ("allocated/min", Align::Right),
        ("held", Align::Right),
        ("service", Align::Left),
    ]);
    for row in rows("services") {
        services.row(vec![
            number(row, "hosts").to_string(),
            number(row, "builds").to_string(),
            show_bytes(number(row, "allocated_per_minute")),
            show_bytes(number(row, "live")),
            text(row, "service").to_owned(),
        ]);
    }
    services.print_apart(console)?;
    let mut sites = Table::new(&[
        ("held", Align::Right),
        (INTERVAL, Align::Right),
        ("hosts", Align::Right),
        ("service", Align::Left),
        ("allocated in", Align::Left),
    ]);
    for row in rows("live_sites").iter().take(12) {
        let live = number(row, "live");
        sites.row(vec![
            show_bytes(live),
            format!("±{:.1} %", 196.0 * number(row, "error") / live),
            number(row, "hosts").to_string(),
            text(row, "service").to_owned(),
            site(row),
        ]);
    }
    Ok(sites.print_apart(console)?)
}

/// Columns that are seconds since 1970, and columns that are counts or plain numbers; other numbers are
/// bytes.
const DATES: [&str; 2] = ["time", "since"];
const COUNTS: [&str; 5] = ["hosts", "hosts_growing", "builds", "runs", "profiles"];
const PLAIN: [&str; 2] = ["line", "significance"];

/// Prints any answer as a table headed by its column names.
fn print_rows(rows: &[Row], console: &mut Console) -> Result<(), Failure> {
    let Some(first) = rows.first() else {
        writeln!(console.out(), "nothing")?;
        return Ok(());
    };
    let is_site = first.contains_key("file");
    let columns: Vec<&String> = first
        .keys()
        .filter(|name| !is_site || !["file", "line"].contains(&name.as_str()))
        .collect();
    let mut table = Table::named(columns.iter().map(|name| {
        let is_text = first[name.as_str()].is_string() || DATES.contains(&name.as_str());
        (name.replace('_', " ").into(), if is_text { Align::Left } else { Align::Right })
    }));
    for row in rows {
        let cell = |name: &&String| match &row[name.as_str()] {
            _ if is_site && *name == "leaf" => site(row),
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            value if DATES.contains(&name.as_str()) => {
                show_date(value.as_f64().unwrap_or_default())
            }
            value if COUNTS.contains(&name.as_str()) => value.to_string(),
            value if PLAIN.contains(&name.as_str()) => {
                format!("{:.1}", value.as_f64().unwrap_or_default())
            }
            value => show_bytes(value.as_f64().unwrap_or_default()),
        };
        table.row(columns.iter().map(cell).collect());
    }
    Ok(table.print(console)?)
}
