//! The values of observers at each tick, and their previous values.

use std::sync::Arc;
use std::time::Duration;

use bactrian_live::{Declaration, Node, ObserverId, Stamp, Tree, Value};

use super::Shared;
use super::closures::Closures;
use crate::clock;
use crate::name::cut;
use crate::registry::{Observer, Source};

/// The shortest period that clients or the program can set.
const SHORTEST_PERIOD_MS: u32 = 10;
/// An observer may take at most one part in this many of the time: its period grows with its cost.
pub(super) const LARGEST_SHARE: u64 = 20;
/// How long a tick waits for the program's closures. Slower ones are in the next tick.
const LONGEST_WAIT: Duration = Duration::from_millis(5);
/// Likewise, when the program itself waits for all values to be shown.
const LONGEST_WANTED: Duration = Duration::from_millis(100);
/// Ended observers beyond this number are removed.
const DEAD_REMEMBERED: usize = 1000;

const LONGEST_TEXT: usize = 64 << 10;
const MOST_NODES: usize = 10_000;
const LONGEST_LABEL: usize = 200;
const MOST_EDGES: usize = 100_000;
const MOST_SITES: usize = 1000;

/// An observer, as clients know it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub observer: Arc<Observer>,
    /// The period in its last declaration.
    declared_ms: u32,
    /// Its last value, other than an end.
    pub last: Option<Value>,
    /// How it ended.
    pub end: Option<Value>,
    /// When its next value is due, in nanoseconds of [`clock`].
    due: u64,
    /// `last` is new in this tick.
    pub is_new: bool,
    /// `end` is new in this tick.
    pub has_just_ended: bool,
    /// The declaration is new in this tick.
    pub is_declared: bool,
    /// It was declared in an earlier tick.
    pub was_declared: bool,
}

impl Entry {
    /// Its declaration for clients.
    pub fn declaration(&self) -> Declaration {
        Declaration { period_ms: self.declared_ms, ..self.observer.declaration.clone() }
    }

    fn period_ms(&self, default: u32) -> u32 {
        if self.observer.is_stopped() {
            return 0;
        }
        let wished = match self.observer.period_ms() {
            0 => default,
            wished => wished.max(SHORTEST_PERIOD_MS),
        };
        let affordable = self.observer.cost() * LARGEST_SHARE / 1_000_000;
        // In powers of two, so that not every change of the cost causes a new declaration.
        let affordable =
            if affordable > u64::from(wished) { affordable.next_power_of_two() } else { 0 };
        wished.max(affordable.min(3_600_000) as u32)
    }
}

/// Why a tick happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tick {
    /// The period is over: read the observers that are due.
    Due,
    /// The program wants all current values to be shown, and waits.
    Wanted,
    /// The program ends: nothing is asked any more.
    Last,
}

/// All observers and their state.
pub(crate) struct Sampler {
    pub entries: Vec<Entry>,
    pub stamp: Stamp,
    closures: Closures,
    newest: ObserverId,
    default_ms: u32,
}

impl Sampler {
    pub fn new(period: Duration) -> Sampler {
        Sampler {
            entries: Vec::new(),
            stamp: Stamp::default(),
            closures: Closures::default(),
            newest: ObserverId(0),
            default_ms: u32::try_from(period.as_millis()).unwrap_or(u32::MAX).max(1),
        }
    }

    /// The time to the next tick: the shortest period of all observers.
    pub fn period(&self) -> Duration {
        let periods =
            self.entries.iter().filter(|entry| entry.end.is_none() && entry.declared_ms > 0);
        let shortest = periods.map(|entry| entry.declared_ms).min().unwrap_or(self.default_ms);
        Duration::from_millis(shortest.min(self.default_ms).into())
    }

    pub fn find(&self, id: ObserverId) -> Option<&Entry> {
        let found = self.entries.binary_search_by_key(&id, |entry| entry.observer.id());
        found.ok().map(|at| &self.entries[at])
    }

    /// Runs one tick.
    pub fn tick(&mut self, shared: &Shared, tick: Tick) {
        clock::compare();
        self.entries.iter_mut().for_each(|entry| {
            (entry.is_new, entry.has_just_ended, entry.is_declared) = (false, false, false);
            entry.was_declared = true;
        });
        self.forget_dead(shared);
        self.add_new(shared);
        let now = clock::now();
        self.ask(shared, tick, now);
        self.stamp = Stamp { at: clock::now(), cpu: clock::cpu() };
        let default_ms = self.default_ms;
        for entry in self.entries.iter_mut().filter(|entry| entry.end.is_none()) {
            let period_ms = entry.period_ms(default_ms);
            if period_ms != entry.declared_ms {
                entry.declared_ms = period_ms;
                entry.is_declared = true;
            }
            let end = entry.observer.ended();
            let is_cell = entry.observer.is_cell();
            // Answers are taken whenever they arrive. A period of 0 means that a client has stopped the
            // observer.
            let is_taken = match tick {
                Tick::Due => !is_cell || (period_ms > 0 && now >= entry.due),
                Tick::Wanted => period_ms > 0,
                Tick::Last => true,
            };
            if is_taken || end.is_some() {
                let value = entry.observer.take().map(bounded);
                if let Some(value) = value.filter(|value| !is_same(entry.last.as_ref(), value)) {
                    entry.last = Some(value);
                    entry.is_new = true;
                }
            }
            if now >= entry.due {
                // Half a period of tolerance: a tick that comes slightly early counts.
                entry.due = now + u64::from(period_ms) * 1_000_000
                    - u64::from(default_ms.min(period_ms)) * 500_000;
            }
            entry.has_just_ended = end.is_some();
            entry.end = end;
        }
    }

    fn add_new(&mut self, shared: &Shared) {
        for observer in shared.registry.since(self.newest) {
            self.newest = observer.id();
            self.entries.push(Entry {
                observer,
                // Not a valid period, so that the first tick declares it.
                declared_ms: u32::MAX,
                last: None,
                end: None,
                due: 0,
                is_new: false,
                has_just_ended: false,
                is_declared: true,
                was_declared: false,
            });
        }
    }

    fn forget_dead(&mut self, shared: &Shared) {
        let dead = self.entries.iter().filter(|entry| entry.end.is_some()).count();
        let mut surplus = dead.saturating_sub(DEAD_REMEMBERED);
        if surplus > 0 {
            self.entries.retain(|entry| {
                let forget = surplus > 0 && entry.end.is_some();
                surplus -= usize::from(forget);
                !forget
            });
        }
        shared.registry.forget_dead();
    }

    /// Asks the observers that are due and have to be asked.
    fn ask(&mut self, shared: &Shared, tick: Tick, now: u64) {
        if tick == Tick::Last {
            return;
        }
        let mut asked = Vec::new();
        let due = self.entries.iter().filter(|entry| {
            entry.end.is_none()
                && (now >= entry.due || tick == Tick::Wanted)
                && !entry.observer.is_stopped()
                && !entry.observer.is_cell()
        });
        for entry in due {
            match &entry.observer.source {
                // The program is waiting for this tick, so it cannot answer.
                Source::Asked(_) if tick == Tick::Wanted => {}
                Source::Asked(_) if entry.observer.ask() => asked.push(entry.observer.id()),
                Source::Closure { .. } if entry.observer.ask() => {
                    self.closures.ask(&entry.observer)
                }
                _ => {}
            }
        }
        if tick == Tick::Due {
            shared.evaluate(&asked);
        }
        self.closures.wait(if tick == Tick::Wanted { LONGEST_WANTED } else { LONGEST_WAIT });
    }
}

/// Whether a value is the same as the last one.
fn is_same(last: Option<&Value>, value: &Value) -> bool {
    match (last, value) {
        // NaN is not equal to itself, but repeating it is no news.
        (Some(Value::Float(last)), Value::Float(now)) => last.to_bits() == now.to_bits(),
        (last, value) => last == Some(value),
    }
}

/// The value, cut to a size that can be shown.
fn bounded(value: Value) -> Value {
    match value {
        Value::Text(text) if text.len() > LONGEST_TEXT => Value::Text(cut(&text, LONGEST_TEXT)),
        Value::Failed(text) => Value::Failed(cut(&text, 1000)),
        Value::Tree(tree) => Value::Tree(bounded_tree(tree)),
        Value::Sites(mut sites) => {
            sites.truncate(MOST_SITES);
            sites.iter_mut().for_each(|site| site.name = cut(&site.name, LONGEST_LABEL));
            Value::Sites(sites)
        }
        value => value,
    }
}

/// Limits a tree's nodes and edges. Children that do not exist are removed; nodes with omissions are marked.
fn bounded_tree(mut tree: Tree) -> Tree {
    tree.nodes.truncate(MOST_NODES);
    let count = tree.nodes.len() as u32;
    let mut edges = 0;
    for Node { label, children } in &mut tree.nodes {
        let before = children.len();
        children.retain(|child| *child < count);
        children.truncate(MOST_EDGES - edges);
        edges += children.len();
        if label.len() > LONGEST_LABEL {
            *label = cut(label, LONGEST_LABEL);
        }
        if children.len() < before {
            label.push('…');
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name::Name;
    use crate::registry::{Handle, Origin};
    use crate::settings::Settings;
    use bactrian_live::ObserverKind;

    fn shared() -> Shared {
        Shared::new(Settings::default(), None)
    }

    fn declare(
        shared: &Shared,
        kind: ObserverKind,
        name: impl Into<Name>,
        origin: Origin,
    ) -> Handle {
        shared.registry.add(kind, name.into(), origin.source(kind))
    }

    fn sampler() -> Sampler {
        Sampler::new(Duration::from_millis(100))
    }

    #[test]
    fn only_changed_values_are_new() {
        let shared = shared();
        let mut sampler = sampler();
        let point = declare(&shared, ObserverKind::Point, "p", Origin::Cell);
        let value = declare(&shared, ObserverKind::Float, "v", Origin::Published);
        sampler.tick(&shared, Tick::Due);
        let news = |sampler: &Sampler| -> Vec<bool> {
            sampler.entries.iter().map(|it| it.is_new).collect()
        };
        assert_eq!(news(&sampler), [true, false]);
        assert!(sampler.entries.iter().all(|entry| entry.is_declared));
        value.publish(Value::Float(f64::NAN));
        sampler.tick(&shared, Tick::Last);
        assert_eq!(news(&sampler), [false, true]);
        value.publish(Value::Float(f64::NAN));
        point.count_cell().expect("it counts").add(1);
        sampler.tick(&shared, Tick::Last);
        assert_eq!(news(&sampler), [true, false]);
        assert!(sampler.entries.iter().all(|entry| !entry.is_declared));
    }

    #[test]
    fn end_is_sent_once_with_the_last_value() {
        let shared = shared();
        let mut sampler = sampler();
        let point = declare(&shared, ObserverKind::Point, "p", Origin::Cell);
        sampler.tick(&shared, Tick::Due);
        point.count_cell().expect("it counts").add(7);
        point.kill();
        sampler.tick(&shared, Tick::Due);
        let entry = &sampler.entries[0];
        assert_eq!(
            (entry.last.as_ref(), entry.end.as_ref()),
            (Some(&Value::Count(7)), Some(&Value::Killed))
        );
        assert!(entry.is_new && entry.has_just_ended);
        sampler.tick(&shared, Tick::Due);
        assert!(!sampler.entries[0].is_new && !sampler.entries[0].has_just_ended);
    }

    #[test]
    fn expensive_observers_are_asked_rarely_and_stopped_ones_never() {
        let shared = shared();
        let mut sampler = sampler();
        let value = declare(&shared, ObserverKind::Int, "v", Origin::Asked);
        sampler.tick(&shared, Tick::Due);
        assert_eq!(sampler.entries[0].declaration().period_ms, 100);
        value.set_cost(10_000_000);
        sampler.tick(&shared, Tick::Due);
        assert_eq!(sampler.entries[0].declaration().period_ms, 256);
        assert!(sampler.entries[0].is_declared);
        value.observer.set_stopped(true);
        sampler.tick(&shared, Tick::Due);
        assert_eq!(sampler.entries[0].declaration().period_ms, 0);
        assert_eq!(sampler.period(), Duration::from_millis(100));
        // Not even when the program wants all values to be shown.
        value.publish(Value::Int(7));
        sampler.tick(&shared, Tick::Wanted);
        assert_eq!(sampler.entries[0].last, None);
        value.observer.set_stopped(false);
        value.set_cost(0);
        value.set_period(1);
        sampler.tick(&shared, Tick::Due);
        assert_eq!(sampler.period(), Duration::from_millis(SHORTEST_PERIOD_MS.into()));
    }

    #[test]
    fn values_are_cut_to_what_can_be_shown() {
        let text = bounded(Value::Text("x".repeat(1 << 20)));
        assert!(matches!(text, Value::Text(text) if text.len() <= LONGEST_TEXT));
        let node = Node { label: "n".into(), children: vec![0, 20_000, 1] };
        let tree = bounded(Value::Tree(Tree { nodes: vec![node; 20_000] }));
        let Value::Tree(tree) = tree else { panic!() };
        assert_eq!(tree.nodes.len(), MOST_NODES);
        assert_eq!(tree.nodes[0], Node { label: "n…".into(), children: vec![0, 1] });
    }
}
