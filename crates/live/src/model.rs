//! What is said about a program, and what can be asked of it.

use crate::Histogram;

/// What is observed. Unique in a program's life and never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObserverId(pub u32);

/// What sort of thing is observed; each has its own values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// How often the program came by: [`Value::Count`].
    Point,
    /// A stopwatch: [`Value::Elapsed`].
    Time,
    /// A whole number of the program: [`Value::Int`].
    Int,
    /// A number of the program: [`Value::Float`].
    Float,
    /// A truth value of the program: [`Value::Bool`].
    Bool,
    /// A text of the program: [`Value::Text`].
    Text,
    /// Marked values that are still alive: [`Value::Tag`].
    Tag,
    /// A tree or graph: [`Value::Tree`].
    Tree,
    /// A hash table: [`Value::Table`].
    Table,
    /// What only grows: [`Value::Count`].
    Counter,
    /// What goes up and down: [`Value::Float`] or [`Value::Int`].
    Gauge,
    /// How numbers are distributed, such as latencies: [`Value::Histogram`].
    Histogram,
    /// Pieces of work that begin and end: [`Value::Span`].
    Span,
    /// Places of allocation: [`Value::Sites`].
    Sites,
}

/// What numbers of an observer mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Unit {
    /// They are what they are.
    #[default]
    None,
    /// Bytes.
    Bytes,
    /// Nanoseconds.
    Nanos,
    /// Hundredths.
    Percent,
}

/// An observer is there from now on. Said again with the same number: something about it has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    /// Its number.
    pub id: ObserverId,
    /// Its sort.
    pub kind: Kind,
    /// Its name, for people. Need not be unique.
    pub name: String,
    /// What tells it apart from others of its name.
    pub labels: Vec<(String, String)>,
    /// What its numbers mean.
    pub unit: Unit,
    /// Milliseconds between values; 0: it was stopped by a client.
    pub period_ms: u32,
}

/// What an observer says at a moment.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number that only grows.
    Count(u64),
    /// A stopwatch.
    Elapsed {
        /// Nanoseconds that it ran, all together.
        nanos: u64,
        /// How often it was stopped.
        runs: u64,
        /// Whether it runs now.
        running: bool,
    },
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A text.
    Text(String),
    /// Marked values that are alive.
    Tag {
        /// How many, if that is observed.
        count: Option<u64>,
        /// How many bytes they hold, shared ones once, if that is observed.
        bytes: Option<u64>,
    },
    /// A tree or graph.
    Tree(Tree),
    /// A hash table.
    Table(Table),
    /// A distribution, since the start.
    Histogram(Histogram),
    /// Pieces of work.
    Span {
        /// How many have begun and not ended.
        open: u64,
        /// How long those took that have ended.
        durations: Histogram,
    },
    /// Places of allocation, the busiest first.
    Sites(Vec<Site>),
    /// It could not be evaluated, and this is why. It may come back.
    Failed(String),
    /// What was observed is not alive any more. Final.
    Collected,
    /// The program observes it no more. Final.
    Killed,
}

/// A tree, or a graph with sharing and cycles. Its root is the first node; without nodes it is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tree {
    /// All nodes.
    pub nodes: Vec<Node>,
}

/// A node of a [`Tree`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// What is written on it.
    pub label: String,
    /// Positions of its children among the nodes.
    pub children: Vec<u32>,
}

/// A hash table, from its own statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// How many buckets it has.
    pub buckets: u64,
    /// How many bindings are in them.
    pub bindings: u64,
    /// How many buckets have none.
    pub empty: u64,
    /// How many bindings are in the fullest.
    pub longest: u64,
}

impl Table {
    /// Which part of the buckets is in use.
    pub fn fill(&self) -> f64 {
        if self.buckets == 0 { 0.0 } else { 1.0 - self.empty as f64 / self.buckets as f64 }
    }
}

/// A place of allocation.
#[derive(Clone, Debug, PartialEq)]
pub struct Site {
    /// Function, file and line.
    pub name: String,
    /// Bytes per second that it allocates now.
    pub rate: f64,
    /// Bytes from there that are alive now.
    pub live: f64,
    /// On how many samples that rests.
    pub samples: u64,
}

/// A moment in a program's life, on two clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stamp {
    /// Nanoseconds since the program's start, on the wall.
    pub at: u64,
    /// Nanoseconds that all its threads computed.
    pub cpu: u64,
}

/// A line of the program's log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogLine {
    /// When: nanoseconds since the program's start.
    pub at: u64,
    /// What.
    pub text: String,
}

/// Who is observed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// How it was called.
    pub name: String,
    /// Its process, if that is known.
    pub pid: u32,
    /// When it started: microseconds since 1970; 0: not known.
    pub started: u64,
    /// What tells this run of it from others, whose process may have the same number; empty: not known. See
    /// [`place::run_of`](crate::place::run_of).
    pub run: String,
    /// The language and its version, for people.
    pub runtime: String,
    /// Whether it listens to [`Control`]s.
    pub controls: bool,
}

impl Program {
    /// Whether both are one run of one program. Programs that do not say which run they are, are told apart by their processes; those
    /// that do not even say that, by nothing: each is another one.
    pub fn is_same_run(&self, other: &Program) -> bool {
        let says_run = !self.run.is_empty() && !other.run.is_empty();
        self.pid == other.pid && if says_run { self.run == other.run } else { self.pid != 0 }
    }
}

/// What there was no room for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dropped {
    /// Moments that this client has not seen, because it was slow.
    pub ticks: u64,
    /// Lines of the log that this client has not seen.
    pub lines: u64,
}

/// One thing that came from a program.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// Who it is. The first; said again if another program takes its place.
    Hello(Program),
    /// There is something to observe.
    Declare(Declaration),
    /// What follows is of this moment.
    Tick(Stamp),
    /// A value. What is not said again has not changed.
    Update(ObserverId, Value),
    /// A line of the log.
    Log(LogLine),
    /// The program asks whoever watches to stop here and look.
    Marker(String),
    /// What this client has lost so far.
    Dropped(Dropped),
    /// What became of a [`Control`].
    Answer {
        /// Its number.
        request: u32,
        /// What was done, or why not.
        result: Result<String, String>,
    },
    /// The program has ended, or whoever observed it has; and why.
    End(String),
}

/// A wish of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// A number that its answer repeats.
    pub request: u32,
    /// What is wished.
    pub action: Action,
}

/// What a client may wish.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// So many milliseconds between values of an observer.
    SetPeriod(ObserverId, u32),
    /// No more values of an observer.
    Stop(ObserverId),
    /// Values again, as often as before.
    Resume(ObserverId),
    /// A snapshot of the heap, of this name.
    Snapshot(String),
    /// Start or stop sampling allocations.
    Sampling(bool),
    /// A marker, for all who watch.
    Mark(String),
}

impl Value {
    /// Whether nothing can come after it.
    pub fn is_final(&self) -> bool {
        matches!(self, Value::Collected | Value::Killed)
    }

    /// Its numbers, each with what it is called; for charts and other programs. The first is the one that
    /// says most; its name is empty if it is the only one.
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

    /// About how many bytes it takes to keep.
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
