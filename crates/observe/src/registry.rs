//! All observers of a program.
//!
//! The program declares and publishes; the server's thread reads. Frequent operations do not come here: they
//! count in cells ([`crate::cells`]), whose addresses the observers hold.

use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bactrian_live::{Declaration, ObserverId, ObserverKind, Value};

use crate::cells::{CountCell, HistogramCell, SpanCell, TimeCell};
use crate::name::Name;
use crate::process;

/// The number of ended observers that are kept for later clients.
const DEAD_REMEMBERED: usize = 1000;

/// Where an observer's values come from.
pub(crate) enum Source {
    Count(&'static CountCell),
    /// The cell holds the bits of a floating-point number.
    Float(&'static CountCell),
    Time(&'static TimeCell),
    Histogram(&'static HistogramCell),
    Span(&'static SpanCell),
    /// A cell in another language, with the function that reads it.
    Read(Box<dyn Fn() -> Value + Send + Sync>),
    /// The last published value that the server has not taken yet.
    Published(Mutex<Option<Value>>),
    /// Likewise, but the program publishes only when asked by its evaluator.
    Asked(Mutex<Option<Value>>),
    /// Likewise, but the value comes from a closure that a thread of ours calls.
    Closure {
        call: Mutex<Closure>,
        fresh: Mutex<Option<Value>>,
    },
}

/// A closure of the program.
pub(crate) struct Closure {
    pub closure: Box<dyn FnMut() -> Value + Send>,
    /// The number of panics since the last successful call.
    pub failures: u32,
}

/// Something that is observed.
pub(crate) struct Observer {
    pub declaration: Declaration,
    pub source: Source,
    /// The period that the program or a client requested, in milliseconds; 0 for the server's own period.
    period_ms: AtomicU32,
    /// Set while a client has stopped it.
    stopped: AtomicBool,
    /// It was asked and has not answered yet.
    outstanding: AtomicBool,
    /// What evaluating its last value cost, in nanoseconds.
    cost: AtomicU64,
    end: AtomicU8,
}

const ALIVE: u8 = 0;
const COLLECTED: u8 = 1;
const KILLED: u8 = 2;

impl Observer {
    pub fn id(&self) -> ObserverId {
        self.declaration.id
    }

    /// Its current value; None if there is nothing new.
    pub fn take(&self) -> Option<Value> {
        match &self.source {
            Source::Count(cell) => Some(Value::Count(cell.get())),
            Source::Float(cell) => Some(Value::Float(f64::from_bits(cell.get()))),
            Source::Time(cell) => Some(cell.read()),
            Source::Histogram(cell) => Some(Value::Histogram(cell.read())),
            Source::Span(cell) => Some(cell.read()),
            Source::Read(read) => Some(read()),
            Source::Published(fresh) | Source::Asked(fresh) | Source::Closure { fresh, .. } => {
                lock(fresh).take()
            }
        }
    }

    /// Publishes the answer to a request.
    pub fn publish(&self, value: Value) {
        self.show(value);
        self.outstanding.store(false, Ordering::Release);
    }

    /// Sets a value to show while the answer is still outstanding.
    pub fn show(&self, value: Value) {
        match &self.source {
            Source::Published(fresh) | Source::Asked(fresh) | Source::Closure { fresh, .. } => {
                *lock(fresh) = Some(value);
            }
            // Cells are written directly.
            _ => {}
        }
    }

    /// Whether the program counts in memory that can be read at any time.
    pub fn is_cell(&self) -> bool {
        !matches!(self.source, Source::Published(_) | Source::Asked(_) | Source::Closure { .. })
    }

    /// How it ended; None while it is alive.
    pub fn ended(&self) -> Option<Value> {
        match self.end.load(Ordering::Acquire) {
            ALIVE => None,
            COLLECTED => Some(Value::Collected),
            _ => Some(Value::Killed),
        }
    }

    fn end(&self, how: u8) {
        // Only the first end counts.
        let _ = self.end.compare_exchange(ALIVE, how, Ordering::AcqRel, Ordering::Relaxed);
        // Drops what the closure captured. A closure that is running at the moment keeps its captures.
        if let Source::Closure { call, .. } = &self.source
            && let Ok(mut call) = call.try_lock()
        {
            let held = std::mem::replace(&mut call.closure, Box::new(|| Value::Killed));
            drop(call);
            drop(held);
        }
    }

    /// Marks it as asked. Returns false if an earlier request is still unanswered.
    pub fn ask(&self) -> bool {
        !self.outstanding.swap(true, Ordering::AcqRel)
    }

    pub fn is_outstanding(&self) -> bool {
        self.outstanding.load(Ordering::Acquire)
    }

    pub fn period_ms(&self) -> u32 {
        self.period_ms.load(Ordering::Relaxed)
    }

    pub fn set_period(&self, milliseconds: u32) {
        self.period_ms.store(milliseconds, Ordering::Relaxed);
    }

    pub fn cost(&self) -> u64 {
        self.cost.load(Ordering::Relaxed)
    }

    pub fn set_cost(&self, nanos: u64) {
        self.cost.store(nanos, Ordering::Relaxed);
    }

    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub fn set_stopped(&self, stopped: bool) {
        self.stopped.store(stopped, Ordering::Relaxed);
    }
}

impl fmt::Debug for Observer {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.declaration.fmt(to)
    }
}

/// All observers of a server.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    last_id: u32,
    observers: Vec<Arc<Observer>>,
    /// Ended observers are removed at this size, even without clients.
    next_cleaning: usize,
}

impl Registry {
    /// Adds an observer. In the child of a fork nothing is added; the caller gets a handle all the same.
    pub fn add(&self, kind: ObserverKind, name: Name, source: Source) -> Handle {
        let Name { name, labels, unit, period_ms } = name;
        let declare = |id| {
            Arc::new(Observer {
                declaration: Declaration {
                    id: ObserverId(id),
                    kind,
                    name,
                    labels,
                    unit,
                    period_ms,
                },
                source,
                period_ms: AtomicU32::new(period_ms),
                stopped: AtomicBool::new(false),
                outstanding: AtomicBool::new(false),
                cost: AtomicU64::new(0),
                end: AtomicU8::new(ALIVE),
            })
        };
        if process::is_child() {
            return Handle { observer: declare(0) };
        }
        let mut inner = lock(&self.inner);
        let Some(id) = inner.last_id.checked_add(1) else { return Handle { observer: declare(0) } };
        inner.last_id = id;
        if inner.observers.len() >= inner.next_cleaning {
            inner.forget_dead();
            inner.next_cleaning = 4 * DEAD_REMEMBERED + 2 * inner.observers.len();
        }
        let observer = declare(id);
        inner.observers.push(Arc::clone(&observer));
        Handle { observer }
    }

    /// Observers added after `last`, the oldest first.
    pub fn since(&self, last: ObserverId) -> Vec<Arc<Observer>> {
        let inner = lock(&self.inner);
        let from = inner.observers.partition_point(|observer| observer.id() <= last);
        inner.observers[from..].to_vec()
    }

    /// The live observer of this kind and name; the newest if there are several.
    pub fn find(&self, kind: ObserverKind, name: &Name) -> Option<Handle> {
        if process::is_child() {
            return None;
        }
        let inner = lock(&self.inner);
        let same = |observer: &&Arc<Observer>| {
            let declaration = &observer.declaration;
            declaration.kind == kind
                && declaration.name == name.name
                && declaration.labels == name.labels
                && observer.ended().is_none()
        };
        let found = inner.observers.iter().rev().find(same);
        found.map(|observer| Handle { observer: Arc::clone(observer) })
    }

    /// Removes the oldest ended observers if there are many, so that a program that keeps creating observers
    /// does not fill its memory with ended ones.
    pub fn forget_dead(&self) {
        lock(&self.inner).forget_dead();
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        lock(&self.inner).observers.len()
    }
}

impl Inner {
    fn forget_dead(&mut self) {
        let dead = self.observers.iter().filter(|observer| observer.ended().is_some()).count();
        let mut surplus = dead.saturating_sub(DEAD_REMEMBERED);
        if surplus == 0 {
            return;
        }
        self.observers.retain(|observer| {
            let forget = surplus > 0 && observer.ended().is_some();
            surplus -= usize::from(forget);
            !forget
        });
    }
}

/// The program's handle to an observer. Dropping it does not end the observer; [`Handle::kill`] does.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(crate) observer: Arc<Observer>,
}

impl Handle {
    /// Its id.
    pub fn id(&self) -> ObserverId {
        self.observer.id()
    }

    /// Publishes a value, unless the observer counts in a cell. Of several values between two ticks, the last
    /// is shown.
    pub fn publish(&self, value: Value) {
        if !process::is_child() {
            self.observer.publish(value);
        }
    }

    /// Stops observing it; clients still see its last value.
    pub fn kill(&self) {
        self.observer.end(KILLED);
    }

    /// Marks the observed value as collected.
    pub fn collected(&self) {
        self.observer.end(COLLECTED);
    }

    /// Whether a client has stopped its evaluation.
    pub fn is_stopped(&self) -> bool {
        self.observer.is_stopped()
    }

    /// Sets the milliseconds between values; 0 means the server's period.
    pub fn set_period(&self, milliseconds: u32) {
        self.observer.set_period(milliseconds);
    }

    /// Reports what evaluating the last value cost, in nanoseconds. The period is lengthened so that
    /// evaluation takes at most a twentieth of the time.
    pub fn set_cost(&self, nanos: u64) {
        self.observer.set_cost(nanos);
    }

    /// Whether it was asked and has not answered yet.
    pub fn is_outstanding(&self) -> bool {
        self.observer.is_outstanding()
    }

    /// The cell of a point, counter or gauge. Its address never changes.
    pub fn count_cell(&self) -> Option<&'static CountCell> {
        match self.observer.source {
            Source::Count(cell) | Source::Float(cell) => Some(cell),
            _ => None,
        }
    }

    /// The cell of a stopwatch.
    pub fn time_cell(&self) -> Option<&'static TimeCell> {
        match self.observer.source {
            Source::Time(cell) => Some(cell),
            _ => None,
        }
    }

    /// The cell of a histogram.
    pub fn histogram_cell(&self) -> Option<&'static HistogramCell> {
        match self.observer.source {
            Source::Histogram(cell) => Some(cell),
            _ => None,
        }
    }

    /// The cell of a span.
    pub fn span_cell(&self) -> Option<&'static SpanCell> {
        match self.observer.source {
            Source::Span(cell) => Some(cell),
            _ => None,
        }
    }
}

/// Where a new observer's values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The program counts in a cell: points, counters, gauges, stopwatches, histograms and spans. Other kinds
    /// are published.
    Cell,
    /// The program publishes values whenever it likes.
    Published,
    /// The program publishes a value when its evaluator asks.
    Asked,
}

impl Origin {
    pub(crate) fn source(self, kind: ObserverKind) -> Source {
        match (self, kind) {
            (Origin::Asked, _) => Source::Asked(Mutex::new(None)),
            (Origin::Cell, ObserverKind::Point | ObserverKind::Counter) => {
                Source::Count(CountCell::leak())
            }
            (Origin::Cell, ObserverKind::Gauge) => Source::Float(CountCell::leak()),
            (Origin::Cell, ObserverKind::Time) => Source::Time(TimeCell::leak()),
            (Origin::Cell, ObserverKind::Histogram) => Source::Histogram(HistogramCell::leak()),
            (Origin::Cell, ObserverKind::Span) => Source::Span(SpanCell::leak()),
            (Origin::Cell | Origin::Published, _) => Source::Published(Mutex::new(None)),
        }
    }
}

/// Locks, ignoring poisoning: the data behind these locks is consistent at every moment.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry(count: usize) -> (Registry, Vec<Handle>) {
        let registry = Registry::default();
        let add = |number: usize| {
            let name = Name::new(format!("observer {number}"));
            registry.add(ObserverKind::Point, name, Origin::Cell.source(ObserverKind::Point))
        };
        let handles = (0..count).map(add).collect();
        (registry, handles)
    }

    #[test]
    fn ids_are_never_reused() {
        let (registry, handles) = registry(DEAD_REMEMBERED + 10);
        handles.iter().for_each(Handle::kill);
        registry.forget_dead();
        assert_eq!(registry.len(), DEAD_REMEMBERED);
        let last = handles[handles.len() - 1].id();
        let next =
            registry.add(ObserverKind::Int, "next".into(), Origin::Cell.source(ObserverKind::Int));
        assert_eq!(next.id(), ObserverId(last.0 + 1));
        assert_eq!(registry.since(last).len(), 1);
        assert_eq!(registry.since(ObserverId(0))[0].id(), handles[10].id());
    }

    #[test]
    fn ended_observers_are_removed_without_clients() {
        let registry = Registry::default();
        for _ in 0..20 * DEAD_REMEMBERED {
            registry
                .add(ObserverKind::Int, "n".into(), Origin::Published.source(ObserverKind::Int))
                .kill();
        }
        assert!(registry.len() <= 8 * DEAD_REMEMBERED, "{}", registry.len());
    }

    #[test]
    fn killed_closure_drops_its_captures() {
        let held = Arc::new(());
        let holds = Arc::clone(&held);
        let closure = Box::new(move || Value::Count(Arc::strong_count(&holds) as u64));
        let call = Mutex::new(Closure { closure, failures: 0 });
        let source = Source::Closure { call, fresh: Mutex::new(None) };
        let handle = Registry::default().add(ObserverKind::Int, "n".into(), source);
        assert_eq!(Arc::strong_count(&held), 2);
        handle.kill();
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn the_first_end_counts() {
        let (_, handles) = registry(1);
        handles[0].collected();
        handles[0].kill();
        assert_eq!(handles[0].observer.ended(), Some(Value::Collected));
    }

    #[test]
    fn outstanding_observer_is_not_asked_again() {
        let registry = Registry::default();
        let asked = registry.add(
            ObserverKind::Int,
            "asked".into(),
            Origin::Asked.source(ObserverKind::Int),
        );
        assert!(asked.observer.ask());
        assert!(!asked.observer.ask());
        asked.publish(Value::Int(3));
        assert!(!asked.is_outstanding());
        assert_eq!(asked.observer.take(), Some(Value::Int(3)));
        assert_eq!(asked.observer.take(), None);
        assert!(asked.observer.ask());
    }

    #[test]
    fn lookup_by_name_finds_live_observers() {
        let (registry, handles) = registry(2);
        let name = Name::new("observer 1");
        assert_eq!(
            registry.find(ObserverKind::Point, &name).map(|found| found.id()),
            Some(handles[1].id())
        );
        assert!(registry.find(ObserverKind::Time, &name).is_none());
        handles[1].kill();
        assert!(registry.find(ObserverKind::Point, &name).is_none());
    }
}
