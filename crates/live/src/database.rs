//! What came from a program, by time: what is known of any moment in a window that is bounded twice, by time and by
//! memory.
//!
//! Whoever shows a moment asks [`Series::at`] for it: the latest value that came until then. So it does not matter to a
//! view whether it follows the program or looks back. A value that says the same as the one before takes no room.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use crate::{Declaration, Dropped, Event, ObserverId, Program, Stamp, Timemap, Value};

/// How far back a database goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// In time.
    pub window: Duration,
    /// In bytes, about.
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { window: Duration::from_secs(15 * 60), memory: 256 << 20 }
    }
}

/// One run of a program, by the times of the database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Who it was.
    pub program: Program,
    /// Where its own times begin.
    pub begin: u64,
    /// The last moment at which anything came from it.
    pub end: u64,
}

/// The values of one observer.
#[derive(Clone, Debug)]
pub struct Series {
    /// What is observed, as it was last said.
    pub declaration: Declaration,
    values: Timemap<Value>,
    /// When another program took the place of the one it belongs to.
    replaced: Option<u64>,
}

impl Series {
    /// Whether its program had given way to another one by then: what it said last is not news any more.
    pub fn is_past(&self, time: u64) -> bool {
        self.replaced.is_some_and(|replaced| time > replaced)
    }

    /// What it said last, at this moment or before, and when.
    pub fn at(&self, time: u64) -> Option<(u64, &Value)> {
        self.values.find(time)
    }

    /// What it says now.
    pub fn latest(&self) -> Option<&Value> {
        self.values.last().map(|(_, value)| value)
    }

    /// Every change after one moment and up to another, in order.
    pub fn between(
        &self,
        after: u64,
        up_to: u64,
    ) -> impl DoubleEndedIterator<Item = (u64, &Value)> {
        self.values.between(after, up_to)
    }

    /// Every change in the window, in order.
    pub fn values(&self) -> impl DoubleEndedIterator<Item = (u64, &Value)> {
        self.values.iter()
    }
}

/// Everything in the window.
#[derive(Clone, Debug)]
pub struct Database {
    limits: Limits,
    program: Program,
    /// Those that were there before, the oldest first.
    earlier: Vec<Run>,
    series: Vec<Series>,
    /// Which of them an observer of the present program is.
    places: HashMap<ObserverId, usize>,
    /// Processor time at each moment.
    cpu: Timemap<u64>,
    log: Timemap<String>,
    markers: Timemap<String>,
    dropped: Dropped,
    ended: Option<(u64, String)>,
    /// What is added to a program's times: programs that follow one another stand one after another.
    offset: u64,
    now: u64,
    /// When the first moment was.
    start: Option<u64>,
    weight: usize,
    forgotten: u64,
}

/// What a thing takes beside its own bytes.
const ENTRY: usize = size_of::<u64>();
/// Runs that are remembered.
const MOST_RUNS: usize = 1000;
/// If memory is short, so much of the window is given up at a time.
const GIVEN_UP: u64 = 8;

impl Database {
    /// With nothing in it.
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

    /// Takes in what came next.
    pub fn add(&mut self, event: Event) {
        match event {
            Event::Hello(program) => self.hello(program),
            Event::Declare(declaration) => self.declare(declaration),
            Event::Tick(stamp) => self.tick(stamp),
            Event::Update(id, value) => self.update(id, value),
            Event::Log(line) => {
                self.weight += ENTRY + size_of::<String>() + line.text.len();
                // Lines from before the window's start are history that was sent to a new client.
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
            // What its observers are called is its own affair: those of the last program are kept as they were.
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
        // Forgetting looks at every series, so it is done now and then.
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
        // A value of something that was never declared is of a kind that is not known here.
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

    /// Who is observed.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// Which runs there were, the present one last; one that has left the window is not told.
    pub fn runs(&self) -> impl DoubleEndedIterator<Item = Run> {
        let present = Run { program: self.program.clone(), begin: self.offset, end: self.now };
        let first = self.first();
        let earlier = self.earlier.iter().filter(move |run| run.end > first).cloned();
        earlier.chain([present])
    }

    /// All observers, in the order in which they were declared.
    pub fn series(&self) -> impl ExactSizeIterator<Item = &Series> {
        self.series.iter()
    }

    /// The observer of this number, of the present program.
    pub fn get(&self, id: ObserverId) -> Option<&Series> {
        self.places.get(&id).map(|place| &self.series[*place])
    }

    /// The observer of this name, the latest if there are several.
    pub fn named(&self, name: &str) -> Option<&Series> {
        self.series.iter().rev().find(|series| series.declaration.name == name)
    }

    /// The observer of this name that had a value at a moment, of the program that ran then.
    pub fn named_at(&self, name: &str, time: u64) -> Option<&Series> {
        let is_it = |series: &&Series| {
            series.declaration.name == name && !series.is_past(time) && series.at(time).is_some()
        };
        self.series.iter().rev().find(is_it)
    }

    /// The first moment that is known.
    pub fn first(&self) -> u64 {
        self.start.unwrap_or(0)
    }

    /// Whether an observer is known of at a moment: not those of a program that had given way to another one by then; those
    /// that have said nothing yet only in the present.
    pub fn is_known(&self, series: &Series, at: u64) -> bool {
        !series.is_past(at) && (series.at(at).is_some() || at >= self.last())
    }

    /// The last moment that is known.
    pub fn last(&self) -> u64 {
        self.now
    }

    /// Processor time until a moment, in nanoseconds.
    pub fn cpu_at(&self, time: u64) -> Option<u64> {
        self.cpu.find(time).map(|(_, cpu)| *cpu)
    }

    /// The moments at which something came, the newest last.
    pub fn moments(&self) -> impl DoubleEndedIterator<Item = u64> {
        self.cpu.iter().map(|(time, _)| time)
    }

    /// Lines of the log, the newest last, with their times.
    pub fn log(&self) -> impl DoubleEndedIterator<Item = (u64, &str)> {
        self.log.iter().map(|(time, text)| (time, text.as_str()))
    }

    /// Lines of the log up to a moment.
    pub fn log_until(&self, up_to: u64) -> impl DoubleEndedIterator<Item = (u64, &str)> {
        self.log.until(up_to).map(|(time, text)| (time, text.as_str()))
    }

    /// The numbers of the lines that are known. A line keeps its number.
    pub fn log_numbers(&self) -> Range<u64> {
        self.log.numbers()
    }

    /// The line of a number, if it is known.
    pub fn log_line(&self, number: u64) -> Option<(u64, &str)> {
        self.log.numbered(number).map(|(time, text)| (time, text.as_str()))
    }

    /// The number of the first line that came after a moment, or will.
    pub fn log_number_after(&self, time: u64) -> u64 {
        self.log.number_after(time)
    }

    /// Where the program asked to stop and look.
    pub fn markers(&self) -> impl DoubleEndedIterator<Item = (u64, &str)> {
        self.markers.iter().map(|(time, text)| (time, text.as_str()))
    }

    /// What did not arrive.
    pub fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// When the program ended, and how, if it did.
    pub fn ended(&self) -> Option<(u64, &str)> {
        self.ended.as_ref().map(|(time, reason)| (*time, reason.as_str()))
    }

    /// How many values have left the window.
    pub fn forgotten(&self) -> u64 {
        self.forgotten
    }

    /// About how many bytes it takes.
    pub fn weight(&self) -> usize {
        self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Kind, LogLine, Unit};

    const SECOND: u64 = 1_000_000_000;

    fn declaration(id: u32, name: &str) -> Declaration {
        let (id, name) = (ObserverId(id), name.into());
        Declaration {
            id,
            kind: Kind::Int,
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
    fn any_moment_of_the_window_can_be_seen() {
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
    fn what_does_not_change_takes_no_room() {
        let mut database = filled(Limits::default(), 1);
        for second in 1..100 {
            database.add(tick(second));
            database.add(Event::Update(ObserverId(1), Value::Int(0)));
        }
        assert_eq!(database.named("a").map(|series| series.values().count()), Some(1));
    }

    /// In a container every program has the same number.
    #[test]
    fn a_program_that_was_started_again_is_another_run() {
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
    fn a_program_that_follows_another_comes_after_it() {
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
