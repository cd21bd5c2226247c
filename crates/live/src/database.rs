//! The history of a program, by time, within a window that is bounded by both duration and memory.
//!
//! A view that shows a moment asks [`Series::at`] for the latest value at or before it. So a view works the
//! same whether it follows the program or looks back. A value equal to its predecessor takes no memory.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use crate::{Declaration, Dropped, Event, ObserverId, Program, Stamp, Timemap, Value};

/// Bounds of a database's window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest duration.
    pub window: Duration,
    /// The largest size, in bytes (approximate).
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { window: Duration::from_secs(15 * 60), memory: 256 << 20 }
    }
}

/// One run of a program, in the database's time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The program.
    pub program: Program,
    /// The database time at which the program's own clock is 0.
    pub begin: u64,
    /// The database time of the last event from the program.
    pub end: u64,
}

/// The values of one observer.
#[derive(Clone, Debug)]
pub struct Series {
    /// The latest declaration of the observer.
    pub declaration: Declaration,
    values: Timemap<Value>,
    /// When another program replaced the one that this observer belongs to.
    replaced: Option<u64>,
}

impl Series {
    /// Whether the observer's program had been replaced before `time`; its last value is then out of date.
    pub fn is_past(&self, time: u64) -> bool {
        self.replaced.is_some_and(|replaced| time > replaced)
    }

    /// The latest value at or before `time`, with the time at which it came.
    pub fn at(&self, time: u64) -> Option<(u64, &Value)> {
        self.values.find(time)
    }

    /// The newest value.
    pub fn latest(&self) -> Option<&Value> {
        self.values.last().map(|(_, value)| value)
    }

    /// All changes later than `after`, up to and including `up_to`, in order.
    pub fn between(
        &self,
        after: u64,
        up_to: u64,
    ) -> impl DoubleEndedIterator<Item = (u64, &Value)> {
        self.values.between(after, up_to)
    }

    /// All changes in the window, in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = (u64, &Value)> {
        self.values.iter()
    }
}

/// All that is known within the window.
#[derive(Clone, Debug)]
pub struct Database {
    limits: Limits,
    program: Program,
    /// Earlier runs, the oldest first.
    earlier: Vec<Run>,
    series: Vec<Series>,
    /// The index in `series` of each observer of the present program.
    places: HashMap<ObserverId, usize>,
    /// Processor time at each moment.
    cpu: Timemap<u64>,
    log: Timemap<String>,
    markers: Timemap<String>,
    dropped: Dropped,
    ended: Option<(u64, String)>,
    /// Added to the program's own times, so that consecutive programs follow one another in the database's
    /// time.
    offset: u64,
    now: u64,
    /// The first moment.
    start: Option<u64>,
    weight: usize,
    forgotten: u64,
}

/// What an entry takes in addition to its own bytes.
const ENTRY: usize = size_of::<u64>();
/// The number of runs that are remembered.
const MOST_RUNS: usize = 1000;
/// When memory is short, this fraction of the window (one in so many) is dropped at a time.
const GIVEN_UP: u64 = 8;

impl Database {
    /// An empty database.
    pub fn new(limits: Limits) -> Database {
        Database {
            limits,
            program: Program::default(),
            earlier: Vec::new(),
            series: Vec::new(),
            places: HashMap::new(),
            cpu: Timemap::default(),
            log: Timemap::default(),
            markers: Timemap::default(),
            dropped: Dropped::default(),
            ended: None,
            offset: 0,
            now: 0,
            start: None,
            weight: 0,
            forgotten: 0,
        }
    }

    /// Adds the next event.
    pub fn add(&mut self, event: Event) {
        match event {
            Event::Hello(program) => self.hello(program),
            Event::Declare(declaration) => self.declare(declaration),
            Event::Tick(stamp) => self.tick(stamp),
            Event::Update(id, value) => self.update(id, value),
            Event::Log(line) => {
                self.weight += ENTRY + size_of::<String>() + line.text.len();
                // Lines older than the window's start are history that a program sends to a new client.
                self.log.add(self.offset.saturating_add(line.at), line.text);
            }
            Event::Marker(text) => {
                self.weight += ENTRY + size_of::<String>() + text.len();
                self.markers.add(self.now, text);
            }
            Event::Dropped(dropped) => self.dropped = dropped,
            Event::Answer { .. } => {}
            Event::End(reason) => self.ended = Some((self.now, reason)),
        }
    }

    fn hello(&mut self, program: Program) {
        if self.start.is_some() && !program.is_same_run(&self.program) {
            // Observer ids are unique only within a program. The series of the previous program stay as they
            // were.
            self.places.clear();
            for series in &mut self.series {
                series.replaced.get_or_insert(self.now);
            }
            let begin = self.offset;
            self.earlier.push(Run { program: self.program.clone(), begin, end: self.now });
            self.earlier.drain(..self.earlier.len().saturating_sub(MOST_RUNS));
            self.offset = self.now;
        }
        self.ended = None;
        self.program = program;
    }

    fn declare(&mut self, declaration: Declaration) {
        match self.places.get(&declaration.id) {
            Some(place) => self.series[*place].declaration = declaration,
            None => {
                self.places.insert(declaration.id, self.series.len());
                self.weight += size_of::<Series>() + declaration.name.len();
                let values = Timemap::default();
                self.series.push(Series { declaration, values, replaced: None });
            }
        }
    }

    fn tick(&mut self, stamp: Stamp) {
        self.now = self.offset.saturating_add(stamp.at).max(self.now);
        self.start.get_or_insert(self.now);
        self.cpu.add(self.now, stamp.cpu);
        self.weight += 2 * ENTRY;
        let window = u64::try_from(self.limits.window.as_nanos()).unwrap_or(u64::MAX);
        // Forgetting visits every series, so it is not done at every tick.
        let due = self.first() < self.now.saturating_sub(window.saturating_add(window / GIVEN_UP));
        if due {
            self.forget_before(self.now.saturating_sub(window));
        }
        while self.weight > self.limits.memory && self.first() < self.now {
            let part = ((self.now - self.first()) / GIVEN_UP).max(1);
            self.forget_before(self.first() + part);
        }
    }

    fn update(&mut self, id: ObserverId, value: Value) {
        // A value of an undeclared observer belongs to a kind that this version does not know.
        let Some(series) = self.places.get(&id).map(|place| &mut self.series[*place]) else {
            return;
        };
        if series.latest() != Some(&value) {
            self.weight += ENTRY + value.weight();
            series.values.add(self.now, value);
        }
    }

    fn forget_before(&mut self, time: u64) {
        let texts = |text: String| ENTRY + size_of::<String>() + text.len();
        let mut gone = 2 * ENTRY * self.cpu.remove_before(time).count();
        let (mut things, mut freed) = (0, 0);
        for series in &mut self.series {
            for value in series.values.remove_before(time) {
                freed += ENTRY + value.weight();
                things += 1;
            }
        }
        gone += freed;
        gone += self.log.remove_before(time).map(texts).sum::<usize>();
        gone += self.markers.remove_before(time).map(texts).sum::<usize>();
        self.weight = self.weight.saturating_sub(gone);
        self.forgotten += things;
        self.start = Some(time);
    }

    /// The present program.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// All runs within the window, the present one last.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = Run> {
        let present = Run { program: self.program.clone(), begin: self.offset, end: self.now };
        let first = self.first();
        let earlier = self.earlier.iter().filter(move |run| run.end > first).cloned();
        earlier.chain([present])
    }

    /// All observers, in the order of their declaration.
    pub fn series(&self) -> impl ExactSizeIterator<Item = &Series> {
        self.series.iter()
    }

    /// The present program's observer with this id.
    pub fn get(&self, id: ObserverId) -> Option<&Series> {
        self.places.get(&id).map(|place| &self.series[*place])
    }

    /// The observer with this name; the latest if there are several.
    pub fn named(&self, name: &str) -> Option<&Series> {
        self.series.iter().rev().find(|series| series.declaration.name == name)
    }

    /// The observer with this name that had a value at `time`, of the program that ran then.
    pub fn named_at(&self, name: &str, time: u64) -> Option<&Series> {
        let is_it = |series: &&Series| {
            series.declaration.name == name && !series.is_past(time) && series.at(time).is_some()
        };
        self.series.iter().rev().find(is_it)
    }

    /// The first moment in the window.
    pub fn first(&self) -> u64 {
        self.start.unwrap_or(0)
    }

    /// Whether an observer is known at a moment. Observers of a program that had been replaced by then are
    /// not; those that have no value yet are known only at the present moment.
    pub fn is_known(&self, series: &Series, at: u64) -> bool {
        !series.is_past(at) && (series.at(at).is_some() || at >= self.last())
    }

    /// The last moment in the window.
    pub fn last(&self) -> u64 {
        self.now
    }

    /// Processor time used up to a moment, in nanoseconds.
    pub fn cpu_at(&self, time: u64) -> Option<u64> {
        self.cpu.find(time).map(|(_, cpu)| *cpu)
    }

    /// The moments at which ticks arrived, the newest last.
    pub fn moments(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.cpu.iter().map(|(time, _)| time)
    }

    /// Log lines with their times, the newest last.
    pub fn log(&self) -> impl DoubleEndedIterator<Item = (u64, &str)> {
        self.log.iter().map(|(time, text)| (time, text.as_str()))
    }

    /// Log lines up to and including a moment.
    pub fn log_until(&self, up_to: u64) -> impl DoubleEndedIterator<Item = (u64, &str)> {
        self.log.until(up_to).map(|(time, text)| (time, text.as_str()))
    }

    /// The range of line numbers in the window. The number of a line never changes.
    pub fn log_numbers(&self) -> Range<u64> {
        self.log.numbers()
    }

    /// The log line with this number, if it is in the window.
    pub fn log_line(&self, number: u64) -> Option<(u64, &str)> {
        self.log.numbered(number).map(|(time, text)| (time, text.as_str()))
    }

    /// The number of the first line that came, or will come, after `time`.
    pub fn log_number_after(&self, time: u64) -> u64 {
        self.log.number_after(time)
    }

    /// Markers that the program set, with their times.
    pub fn markers(&self) -> impl DoubleEndedIterator<Item = (u64, &str)> {
        self.markers.iter().map(|(time, text)| (time, text.as_str()))
    }

    /// What the program could not deliver.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// When the program ended, and how; None while it runs.
    pub fn ended(&self) -> Option<(u64, &str)> {
        self.ended.as_ref().map(|(time, reason)| (*time, reason.as_str()))
    }

    /// The number of values that have left the window.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// The approximate size, in bytes.
    pub fn weight(&self) -> usize {
        self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LogLine, ObserverKind, Unit};

    const SECOND: u64 = 1_000_000_000;

    fn declaration(id: u32, name: &str) -> Declaration {
        let (id, name) = (ObserverId(id), name.into());
        Declaration {
            id,
            kind: ObserverKind::Int,
            name,
            labels: Vec::new(),
            unit: Unit::None,
            period_ms: 100,
        }
    }

    fn program(pid: u32) -> Event {
        Event::Hello(Program { pid, ..Program::default() })
    }

    fn tick(seconds: u64) -> Event {
        Event::Tick(Stamp { at: seconds * SECOND, cpu: seconds })
    }

    fn filled(limits: Limits, seconds: u64) -> Database {
        let mut database = Database::new(limits);
        database.add(program(1));
        database.add(Event::Declare(declaration(1, "a")));
        for second in 0..seconds {
            database.add(tick(second));
            database.add(Event::Update(ObserverId(1), Value::Int(second as i64)));
            database.add(Event::Log(LogLine { at: second * SECOND, text: "line".into() }));
        }
        database
    }

    #[test]
    fn every_moment_in_the_window_can_be_queried() {
        let database = filled(Limits::default(), 100);
        let series = database.named("a").expect("declared");
        let at = |time| series.at(time).map(|(_, value)| value.clone());
        assert_eq!(at(41 * SECOND + 5), Some(Value::Int(41)));
        assert_eq!(database.cpu_at(41 * SECOND + 5), Some(41));
        assert_eq!((database.first(), database.last()), (0, 99 * SECOND));
    }

    #[test]
    fn the_window_is_bounded_in_time() {
        let limits = Limits { window: Duration::from_secs(10), ..Limits::default() };
        let database = filled(limits, 1000);
        let series = database.named("a").expect("declared");
        assert!(series.values().count() <= 13, "{}", series.values().count());
        assert!(database.log().count() <= 13);
        assert!(database.first() >= 987 * SECOND);
        assert_eq!(
            series
                .at(database.first())
                .map(|(_, value)| value.clone())
                .map(|value| value.numbers()),
            Some(vec![("", (database.first() / SECOND) as f64)])
        );
        assert!(database.forgotten() > 980);
    }

    #[test]
    fn the_window_is_bounded_in_memory() {
        let limits = Limits { memory: 20_000, ..Limits::default() };
        let database = filled(limits, 10_000);
        assert!(database.weight() <= 21_000, "{}", database.weight());
        assert!(database.first() > 9_000 * SECOND);
    }

    #[test]
    fn unchanged_values_take_no_memory() {
        let mut database = filled(Limits::default(), 1);
        for second in 1..100 {
            database.add(tick(second));
            database.add(Event::Update(ObserverId(1), Value::Int(0)));
        }
        assert_eq!(database.named("a").map(|series| series.values().count()), Some(1));
    }

    /// In a container every program has the same process id.
    #[test]
    fn restarted_program_is_another_run() {
        let run =
            |run: &str| Event::Hello(Program { pid: 1, run: run.into(), ..Program::default() });
        let mut database = Database::new(Limits::default());
        for (at, name) in ["boot/7", "boot/7", "boot/9"].into_iter().enumerate() {
            database.add(run(name));
            database.add(Event::Declare(declaration(1, "a")));
            for second in 0..10 {
                database.add(tick(10 * u64::from(at == 1) + second));
                database.add(Event::Update(ObserverId(1), Value::Int((100 * at) as i64)));
            }
        }
        let runs: Vec<_> =
            database.runs().map(|run| (run.program.run, run.begin, run.end)).collect();
        let expected = [("boot/7", 0, 19 * SECOND), ("boot/9", 19 * SECOND, 28 * SECOND)];
        assert_eq!(runs, expected.map(|(name, begin, end)| (name.to_owned(), begin, end)));
        assert_eq!(database.series().len(), 2, "each run has its own");
        let at =
            |time| database.named_at("a", time).and_then(|series| series.at(time)).map(|it| it.1);
        assert_eq!(
            (at(15 * SECOND), at(25 * SECOND)),
            (Some(&Value::Int(100)), Some(&Value::Int(200)))
        );
    }

    #[test]
    fn consecutive_programs_follow_one_another_in_time() {
        let mut database = filled(Limits::default(), 10);
        database.add(Event::End("gone".into()));
        assert_eq!(database.ended(), Some((9 * SECOND, "gone")));
        database.add(program(2));
        database.add(Event::Declare(declaration(1, "b")));
        database.add(tick(1));
        database.add(Event::Update(ObserverId(1), Value::Int(-1)));
        assert_eq!(database.ended(), None);
        assert_eq!(database.last(), 10 * SECOND);
        let last = |name| database.named(name).and_then(Series::latest).cloned();
        assert_eq!((last("a"), last("b")), (Some(Value::Int(9)), Some(Value::Int(-1))));
        assert!(database.named_at("a", 9 * SECOND).is_some());
        assert!(database.named_at("b", 9 * SECOND).is_none(), "it was not there yet");
        assert!(database.named_at("a", 10 * SECOND).is_none(), "its program is not there any more");
    }
}
