//! Everything known of a program at a moment, as plain data: for scripts and for views.

use std::collections::BTreeMap;

use bactrian_live::{
    Database, Histogram, Node, ObserverKind, Program, Run, Series, Site, Unit, Value, names,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::measure::{full_name, rate};
use super::warnings::{self, Warning};
use super::words::show_value;

/// Everything that is known of a program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Known {
    /// The program as a whole.
    #[serde(flatten)]
    pub about: About,
    /// Values that are observed.
    pub observers: Vec<Observer>,
    /// The program's log.
    pub log: Vec<Line>,
}

/// What is known of a program as a whole. Times are in seconds since its start.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct About {
    /// The program.
    pub program: ProgramInfo,
    /// Time of the first data.
    pub from: f64,
    /// Time of the last data.
    pub to: f64,
    /// Processor time in seconds.
    pub cpu: Option<f64>,
    /// When and how the program ended, if it did.
    pub ended: Option<End>,
    /// Data that did not arrive.
    pub dropped: Lost,
    /// Number of values that are older than the time window.
    pub forgotten_values: u64,
    /// Warnings.
    pub warnings: Vec<WarningRow>,
    /// Markers that the program set.
    pub markers: Vec<Line>,
    /// All runs of the program, the present one last.
    pub runs: Vec<RunRow>,
}

/// A run of a program, to be compared with others.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RunRow {
    /// The program.
    pub program: ProgramInfo,
    /// Time of the first data.
    pub from: f64,
    /// Time of the last data.
    pub to: f64,
    /// Maximum heap size in bytes, as far as it is known.
    pub largest_heap: Option<f64>,
    /// Maximum of live bytes.
    pub largest_live: Option<f64>,
    /// Maximum resident set size.
    pub largest_rss: Option<f64>,
    /// Allocated bytes per second.
    pub allocation_rate: Option<f64>,
}

/// A program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ProgramInfo {
    /// Its name.
    pub name: String,
    /// Its process id; 0 if unknown.
    pub pid: u32,
    /// The language and its version.
    pub runtime: String,
}

/// The end of a program.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct End {
    /// When.
    pub time: f64,
    /// How.
    pub reason: String,
}

/// Data that did not arrive.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Lost {
    /// Number of lost ticks (sets of values).
    pub ticks: u64,
    /// Number of lost lines of the log.
    pub lines: u64,
}

/// A warning.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct WarningRow {
    /// The rule that found it.
    pub name: &'static str,
    /// The observer concerned.
    pub subject: String,
    /// Since when.
    pub since: f64,
    /// What was seen.
    pub sentence: String,
    /// What to do.
    pub advice: &'static str,
}

/// A line of the log, or a marker.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Line {
    /// When.
    pub time: f64,
    /// What.
    pub text: String,
}

/// An observed value, and its state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Observer {
    /// Its name.
    pub name: String,
    /// Its name with its labels.
    pub title: String,
    /// The kind of observer.
    pub kind: &'static str,
    /// Labels that distinguish it from others of the same name.
    pub labels: BTreeMap<String, String>,
    /// The unit of its numbers: `bytes`, `nanoseconds`, `percent`.
    pub unit: Option<&'static str>,
    /// Milliseconds between values; 0 if it is stopped.
    pub period_ms: u32,
    /// Number of values known up to the moment.
    pub changes: usize,
    /// `unknown`, `observed`, `failed`, `collected`, `killed`.
    pub state: &'static str,
    /// Its value, or the reason of its failure.
    pub value: ObserverValue,
    /// The value as a line of text.
    pub text: String,
}

/// Values of observers.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum ObserverValue {
    /// No value.
    Nothing,
    /// A counter.
    Count(u64),
    /// A whole number.
    Int(i64),
    /// A number; null for NaN and infinity.
    Float(f64),
    /// A boolean.
    Truth(bool),
    /// A text, or the reason of a failure.
    Text(String),
    /// A stopwatch.
    Elapsed {
        /// Total running time.
        seconds: f64,
        /// Number of runs.
        runs: u64,
        /// Whether it is running.
        running: bool,
        /// Share of recent time that it was running; null if not known yet.
        share: Option<f64>,
    },
    /// Tagged values that are alive.
    Tag {
        /// Number of values.
        count: Option<u64>,
        /// Memory that they hold.
        bytes: Option<u64>,
    },
    /// A tree or graph; its root is the first node.
    Tree {
        /// All nodes.
        nodes: Vec<TreeNode>,
    },
    /// A hash table.
    Table {
        /// Number of buckets.
        buckets: u64,
        /// Number of bindings.
        bindings: u64,
        /// Number of empty buckets.
        empty: u64,
        /// Share of buckets in use.
        fill: f64,
        /// Number of bindings in the fullest bucket.
        longest: u64,
    },
    /// Distribution of numbers.
    Histogram(Distribution),
    /// Pieces of work.
    Span {
        /// Number of pieces that are under way.
        open: u64,
        /// Durations of finished pieces.
        durations: Distribution,
    },
    /// Allocation sites.
    Sites(Vec<SiteRow>),
}

/// A node of a tree.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct TreeNode {
    /// Its text.
    pub label: String,
    /// Indexes of its children.
    pub children: Vec<u32>,
}

/// Distribution of numbers.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub struct Distribution {
    /// Number of values.
    pub count: u64,
    /// Their sum.
    pub sum: u64,
    /// The smallest.
    pub min: u64,
    /// The largest.
    pub max: u64,
    /// Median.
    pub p50: u64,
    /// 90th percentile.
    pub p90: u64,
    /// 99th percentile.
    pub p99: u64,
    /// 99.9th percentile.
    pub p999: u64,
}

/// An allocation site.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SiteRow {
    /// Function, file and line.
    pub name: String,
    /// Allocated bytes per second.
    pub bytes_per_second: f64,
    /// Live bytes of these.
    pub live_bytes: f64,
    /// Number of samples that the estimates are based on.
    pub samples: u64,
}

/// Converts nanoseconds to seconds.
pub fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// Everything known at the end.
pub fn known(database: &Database) -> Known {
    let end = database.last();
    Known {
        about: about(database, end),
        observers: observers(database, end),
        log: database.log().map(line).collect(),
    }
}

/// Facts about the program as a whole; the warnings are those of the moment `at`.
pub fn about(database: &Database, at: u64) -> About {
    let program = database.program();
    let dropped = database.dropped();
    let end = |(time, reason): (u64, &str)| End { time: seconds(time), reason: reason.to_owned() };
    About {
        program: who(program),
        from: seconds(database.first()),
        to: seconds(database.last()),
        cpu: database.cpu_at(at).map(seconds),
        ended: database.ended().map(end),
        dropped: Lost { ticks: dropped.ticks, lines: dropped.lines },
        forgotten_values: database.forgotten(),
        warnings: warnings::find(database, at).into_iter().map(worry).collect(),
        markers: database.markers().map(line).collect(),
        runs: database.runs().map(|it| run(database, &it)).collect(),
    }
}

fn who(program: &Program) -> ProgramInfo {
    let Program { name, pid, runtime, .. } = program;
    ProgramInfo { name: name.clone(), pid: *pid, runtime: runtime.clone() }
}

fn run(database: &Database, run: &Run) -> RunRow {
    let from = run.begin.max(database.first());
    let number = |value: &Value| value.numbers().into_iter().next().map(|(_, number)| number);
    let values = |name: &str| {
        let series = database.named_at(name, run.end)?;
        let first = series.at(from).into_iter();
        let all = first.chain(series.between(from, run.end));
        Some(all.filter_map(|(time, value)| Some((time, number(value)?))).collect::<Vec<_>>())
    };
    let largest = |name: &str| values(name)?.into_iter().map(|(_, number)| number).reduce(f64::max);
    let allocation_rate = values(names::ALLOCATED).and_then(|values| {
        let (first, last) = (values.first()?, values.last()?);
        (last.0 > first.0).then(|| (last.1 - first.1) / seconds(last.0 - first.0))
    });
    RunRow {
        program: who(&run.program),
        from: seconds(from),
        to: seconds(run.end),
        largest_heap: largest(names::HEAP),
        largest_live: largest(names::LIVE),
        largest_rss: largest(names::RSS),
        allocation_rate,
    }
}

fn worry(Warning { name, subject, since, sentence, advice }: Warning) -> WarningRow {
    WarningRow { name, subject, since: seconds(since), sentence, advice }
}

/// A log line with its time.
pub fn line((time, text): (u64, &str)) -> Line {
    Line { time: seconds(time), text: text.to_owned() }
}

/// The values of all observers that are known at a moment.
pub fn observers(database: &Database, at: u64) -> Vec<Observer> {
    let known = database.series().filter(|series| database.is_known(series, at));
    known.map(|series| observer(database, series, at)).collect()
}

fn observer(database: &Database, series: &Series, at: u64) -> Observer {
    let declaration = &series.declaration;
    let now = series.at(at).map(|(_, value)| value);
    let (state, value) = match now {
        None => ("unknown", ObserverValue::Nothing),
        Some(Value::Failed(why)) => ("failed", ObserverValue::Text(why.clone())),
        Some(Value::Collected) => ("collected", ObserverValue::Nothing),
        Some(Value::Killed) => ("killed", ObserverValue::Nothing),
        Some(value) => {
            let share = rate(database, series, "nanos", at).map(|nanos| nanos / 1e9);
            ("observed", said(value, share))
        }
    };
    Observer {
        name: declaration.name.clone(),
        title: full_name(series),
        kind: show_kind(declaration.kind),
        labels: declaration.labels.iter().cloned().collect(),
        unit: unit_name(declaration.unit),
        period_ms: declaration.period_ms,
        changes: series.values().take_while(|(time, _)| *time <= at).count(),
        state,
        value,
        text: now.map_or("not known yet".to_owned(), |now| show_value(now, declaration.unit)),
    }
}

/// The name of a unit, if there is one.
pub fn unit_name(unit: Unit) -> Option<&'static str> {
    match unit {
        Unit::None => None,
        Unit::Bytes => Some("bytes"),
        Unit::Nanos => Some("nanoseconds"),
        Unit::Percent => Some("percent"),
    }
}

/// The name of an observer's kind.
pub fn show_kind(kind: ObserverKind) -> &'static str {
    match kind {
        ObserverKind::Point => "point",
        ObserverKind::Time => "time",
        ObserverKind::Int => "int",
        ObserverKind::Float => "float",
        ObserverKind::Bool => "bool",
        ObserverKind::Text => "text",
        ObserverKind::Tag => "tag",
        ObserverKind::Tree => "tree",
        ObserverKind::Table => "table",
        ObserverKind::Counter => "counter",
        ObserverKind::Gauge => "gauge",
        ObserverKind::Histogram => "histogram",
        ObserverKind::Span => "span",
        ObserverKind::Sites => "sites",
    }
}

/// A value as plain data; for a stopwatch with its recent share of the time.
fn said(value: &Value, share: Option<f64>) -> ObserverValue {
    match value {
        Value::Count(count) => ObserverValue::Count(*count),
        Value::Elapsed { nanos, runs, running } => {
            let share = share.filter(|share| share.is_finite());
            ObserverValue::Elapsed {
                seconds: seconds(*nanos),
                runs: *runs,
                running: *running,
                share,
            }
        }
        Value::Int(number) => ObserverValue::Int(*number),
        Value::Float(number) => ObserverValue::Float(*number),
        Value::Bool(truth) => ObserverValue::Truth(*truth),
        Value::Text(text) | Value::Failed(text) => ObserverValue::Text(text.clone()),
        Value::Tag { count, bytes } => ObserverValue::Tag { count: *count, bytes: *bytes },
        Value::Tree(tree) => {
            let node = |node: &Node| TreeNode {
                label: node.label.clone(),
                children: node.children.clone(),
            };
            ObserverValue::Tree { nodes: tree.nodes.iter().map(node).collect() }
        }
        Value::Table(table) => ObserverValue::Table {
            buckets: table.buckets,
            bindings: table.bindings,
            empty: table.empty,
            fill: table.fill(),
            longest: table.longest,
        },
        Value::Histogram(histogram) => ObserverValue::Histogram(distribution(histogram)),
        Value::Span { open, durations } => {
            ObserverValue::Span { open: *open, durations: distribution(durations) }
        }
        Value::Sites(sites) => {
            let row = |site: &Site| SiteRow {
                name: site.name.clone(),
                bytes_per_second: site.rate,
                live_bytes: site.live,
                samples: site.samples,
            };
            ObserverValue::Sites(sites.iter().map(row).collect())
        }
        Value::Collected | Value::Killed => ObserverValue::Nothing,
    }
}

/// The numbers of a histogram that people look at.
pub fn distribution(histogram: &Histogram) -> Distribution {
    Distribution {
        count: histogram.count(),
        sum: histogram.sum(),
        min: histogram.min(),
        max: histogram.max(),
        p50: histogram.percentile(50.0),
        p90: histogram.percentile(90.0),
        p99: histogram.percentile(99.0),
        p999: histogram.percentile(99.9),
    }
}

#[cfg(test)]
mod tests {
    use bactrian_live::{Declaration, Event, Limits, ObserverId, Stamp};

    use super::*;

    /// A program that was restarted, in a container where every process has id 1.
    #[test]
    fn runs_are_listed_side_by_side() {
        let mut database = Database::new(Limits::default());
        for (run, heap) in [("boot/1", 100), ("boot/2", 300)] {
            database.add(Event::Hello(Program { pid: 1, run: run.into(), ..Program::default() }));
            for (id, name) in [(1, names::HEAP), (2, names::ALLOCATED)] {
                database.add(Event::Declare(Declaration {
                    id: ObserverId(id),
                    kind: ObserverKind::Gauge,
                    name: name.into(),
                    labels: Vec::new(),
                    unit: Unit::Bytes,
                    period_ms: 1000,
                }));
            }
            for second in 1..=4 {
                database.add(Event::Tick(Stamp { at: second * 1_000_000_000, cpu: 0 }));
                database.add(Event::Update(ObserverId(1), Value::Int(heap - second as i64)));
                database.add(Event::Update(ObserverId(2), Value::Count(second * heap as u64)));
            }
        }
        let runs = about(&database, database.last()).runs;
        let told: Vec<_> = runs
            .iter()
            .map(|run| (run.from, run.to, run.largest_heap, run.allocation_rate, run.largest_rss))
            .collect();
        assert_eq!(
            told,
            [(1.0, 4.0, Some(99.0), Some(100.0), None), (4.0, 8.0, Some(299.0), Some(300.0), None)]
        );
    }
}
