//! The data model: what a program reports, and what clients can request from it.

use crate::Histogram;

/// Identifies an observer. Unique within a program's life and never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObserverId(pub u32);

/// The kind of an observer, which determines its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObserverKind {
    /// Counts how often the program passes a point: [`Value::Count`].
    Point,
    /// A stopwatch: [`Value::Elapsed`].
    Time,
    /// An integer of the program: [`Value::Int`].
    Int,
    /// A floating-point number of the program: [`Value::Float`].
    Float,
    /// A boolean of the program: [`Value::Bool`].
    Bool,
    /// A string of the program: [`Value::Text`].
    Text,
    /// Tagged values that are still alive: [`Value::Tag`].
    Tag,
    /// A tree or graph: [`Value::Tree`].
    Tree,
    /// A hash table: [`Value::Table`].
    Table,
    /// A counter, which only grows: [`Value::Count`].
    Counter,
    /// A gauge, which goes up and down: [`Value::Float`] or [`Value::Int`].
    Gauge,
    /// A distribution, of latencies for example: [`Value::Histogram`].
    Histogram,
    /// Operations that begin and end: [`Value::Span`].
    Span,
    /// Allocation sites: [`Value::Sites`].
    Sites,
}

/// The unit of an observer's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    /// No unit.
    #[default]
    None,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanos,
    /// Percent, 0 to 100.
    Percent,
}

/// Announces an observer. Another declaration with the same id changes the observer's properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// The observer's id.
    pub id: ObserverId,
    /// The kind of its values.
    pub kind: ObserverKind,
    /// Its name, for people. Not necessarily unique.
    pub name: String,
    /// Labels that distinguish it from other observers of the same name.
    pub labels: Vec<(String, String)>,
    /// The unit of its numbers.
    pub unit: Unit,
    /// Milliseconds between values; 0 if a client stopped it.
    pub period_ms: u32,
}

/// The value of an observer at a moment.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A counter's value, since the start.
    Count(u64),
    /// A stopwatch.
    Elapsed {
        /// Nanoseconds that it ran in total.
        nanos: u64,
        /// How often it was stopped.
        runs: u64,
        /// Whether it is running.
        running: bool,
    },
    /// An integer.
    Int(i64),
    /// A floating-point number.
    Float(f64),
    /// A boolean.
    Bool(bool),
    /// A string.
    Text(String),
    /// Tagged values that are alive.
    Tag {
        /// Their number; None if it is not observed.
        count: Option<u64>,
        /// Bytes reachable from them, shared blocks counted once; None if not observed.
        bytes: Option<u64>,
    },
    /// A tree or graph.
    Tree(Tree),
    /// A hash table.
    Table(Table),
    /// A distribution since the start.
    Histogram(Histogram),
    /// Operations.
    Span {
        /// The number of operations that have begun and not ended.
        open: u64,
        /// The durations of those that have ended.
        durations: Histogram,
    },
    /// Allocation sites, the busiest first.
    Sites(Vec<Site>),
    /// The value could not be evaluated, with the reason. Later values may follow.
    Failed(String),
    /// The observed value was collected. Final.
    Collected,
    /// The program removed the observer. Final.
    Killed,
}

/// A tree, or a graph with sharing and cycles. The first node is the root; without nodes it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// All nodes, the root first.
    pub nodes: Vec<Node>,
}

/// A node of a [`Tree`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// Its label, for people.
    pub label: String,
    /// Indices of its children in [`Tree::nodes`].
    pub children: Vec<u32>,
}

/// Statistics of a hash table, as the table reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The number of buckets.
    pub buckets: u64,
    /// The number of bindings.
    pub bindings: u64,
    /// The number of empty buckets.
    pub empty: u64,
    /// The number of bindings in the fullest bucket.
    pub longest: u64,
}

impl Table {
    /// The fraction of buckets that are in use, from 0 to 1.
    pub fn fill(&self) -> f64 {
        if self.buckets == 0 { 0.0 } else { 1.0 - self.empty as f64 / self.buckets as f64 }
    }
}

/// An allocation site.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Function, file and line.
    pub name: String,
    /// The current allocation rate, in bytes per second.
    pub rate: f64,
    /// Live bytes that were allocated here.
    pub live: f64,
    /// The number of samples behind these estimates.
    pub samples: u64,
}

/// A moment in a program's life, on two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Wall-clock time since the program's start, in nanoseconds.
    pub at: u64,
    /// Processor time of all its threads, in nanoseconds.
    pub cpu: u64,
}

/// A line of the program's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// Nanoseconds since the program's start.
    pub at: u64,
    /// The text of the line.
    pub text: String,
}

/// The observed program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The name it was started with.
    pub name: String,
    /// Its process id; 0 if not known.
    pub pid: u32,
    /// When it started, in microseconds since 1970; 0 if not known.
    pub started: u64,
    /// Distinguishes this run from other runs whose process id may be the same; empty if not known. See
    /// [`place::run_of`](crate::place::run_of).
    pub run: String,
    /// The language and its version, for people.
    pub runtime: String,
    /// Whether it accepts [`Control`]s.
    pub controls: bool,
}

impl Program {
    /// Whether both are the same run of the same program. Programs that do not report their run are compared
    /// by process id. Those that report neither never compare equal.
    pub fn is_same_run(&self, other: &Program) -> bool {
        let says_run = !self.run.is_empty() && !other.run.is_empty();
        self.pid == other.pid && if says_run { self.run == other.run } else { self.pid != 0 }
    }
}

/// What a client missed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Ticks that were not sent to this client because it was slow.
    pub ticks: u64,
    /// Log lines that were not sent to this client.
    pub lines: u64,
}

/// One message from a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Identifies the program. The first event; sent again if another program takes its place.
    Hello(Program),
    /// Announces or changes an observer.
    Declare(Declaration),
    /// The moment to which the following events belong.
    Tick(Stamp),
    /// A new value. Values that are not repeated have not changed.
    Update(ObserverId, Value),
    /// A log line.
    Log(LogLine),
    /// The program asks observers to stop here and look.
    Marker(String),
    /// What this client has missed so far.
    Dropped(Dropped),
    /// The result of a [`Control`].
    Answer {
        /// The request's number.
        request: u32,
        /// What was done, or why not.
        result: Result<String, String>,
    },
    /// The program has ended, or the observation of it has, with the reason.
    End(String),
}

/// A request from a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// The request's number, which the answer repeats.
    pub request: u32,
    /// The requested action.
    pub action: Action,
}

/// Actions that a client can request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Change the period of an observer, in milliseconds.
    SetPeriod(ObserverId, u32),
    /// Stop sending values of an observer.
    Stop(ObserverId),
    /// Resume sending values, with the same period as before.
    Resume(ObserverId),
    /// Take a heap snapshot under this name.
    Snapshot(String),
    /// Start or stop sampling of allocations.
    Sampling(bool),
    /// Set a marker that all clients see.
    Mark(String),
}

impl Value {
    /// Whether no value can follow it.
    pub fn is_final(&self) -> bool {
        matches!(self, Value::Collected | Value::Killed)
    }

    /// Its numbers with their names, for charts and for other programs. The most significant comes first; the
    /// name is empty if there is only one.
    pub fn numbers(&self) -> Vec<(&'static str, f64)> {
        match self {
            Value::Count(count) => vec![("", *count as f64)],
            Value::Elapsed { nanos, runs, .. } => {
                vec![("nanos", *nanos as f64), ("runs", *runs as f64)]
            }
            Value::Int(number) => vec![("", *number as f64)],
            Value::Float(number) => vec![("", *number)],
            Value::Bool(truth) => vec![("", f64::from(u8::from(*truth)))],
            Value::Tag { count, bytes } => {
                let count = count.map(|count| ("count", count as f64));
                count.into_iter().chain(bytes.map(|bytes| ("bytes", bytes as f64))).collect()
            }
            Value::Tree(tree) => vec![("nodes", tree.nodes.len() as f64)],
            Value::Table(table) => vec![
                ("bindings", table.bindings as f64),
                ("buckets", table.buckets as f64),
                ("empty", table.empty as f64),
                ("fill", table.fill()),
                ("longest", table.longest as f64),
            ],
            Value::Histogram(histogram) => distribution(histogram),
            Value::Span { open, durations } => {
                let mut numbers = distribution(durations);
                numbers.push(("open", *open as f64));
                numbers
            }
            Value::Sites(sites) => vec![("sites", sites.len() as f64)],
            Value::Text(_) | Value::Failed(_) | Value::Collected | Value::Killed => Vec::new(),
        }
    }

    /// The approximate memory that it takes, in bytes.
    pub fn weight(&self) -> usize {
        let inner = match self {
            Value::Text(text) | Value::Failed(text) => text.len(),
            Value::Tree(tree) => tree.nodes.iter().map(Node::weight).sum(),
            Value::Histogram(histogram) | Value::Span { durations: histogram, .. } => {
                histogram.weight()
            }
            Value::Sites(sites) => {
                sites.iter().map(|site| size_of::<Site>() + site.name.len()).sum()
            }
            _ => 0,
        };
        size_of::<Value>() + inner
    }
}

impl Node {
    fn weight(&self) -> usize {
        size_of::<Node>() + self.label.len() + 4 * self.children.len()
    }
}

fn distribution(histogram: &Histogram) -> Vec<(&'static str, f64)> {
    let percentile = |part| histogram.percentile(part) as f64;
    vec![
        ("p50", percentile(50.0)),
        ("p90", percentile(90.0)),
        ("p99", percentile(99.0)),
        ("max", histogram.max() as f64),
        ("count", histogram.count() as f64),
        ("sum", histogram.sum() as f64),
    ]
}
