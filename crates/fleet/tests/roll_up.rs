//! A roll-up that is killed at each of its steps: no row is ever there twice, and the next roll-up completes it.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bactrian_fleet::roll_up::{Packer, Retention, RolledUp, roll_up};
use bactrian_fleet::{Run, Store};

const HOUR: u64 = 3600;
/// 2026-11-18, 14:00 UTC.
const BEGIN: u64 = 1_795_010_400;

/// A store in memory: a folder waits for the disk after each of thousands of steps.
#[derive(Default)]
struct Memory(Mutex<BTreeMap<String, Vec<u8>>>);

impl Store for Memory {
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.0.lock().expect("no panic").insert(name.to_owned(), bytes.to_owned());
        Ok(())
    }

    fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        let missing = || io::ErrorKind::NotFound.into();
        self.0.lock().expect("no panic").get(name).cloned().ok_or_else(missing)
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        let files = self.0.lock().expect("no panic");
        let is_in =
            |name: &&String| name.strip_prefix(folder).is_some_and(|it| it.starts_with('/'));
        Ok(files.keys().filter(is_in).cloned().collect())
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.0.lock().expect("no panic").remove(name);
        Ok(())
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.put(to, &self.get(from)?)?;
        self.remove(from)
    }
}

/// A store that fails from some step on, as if the process that uses it had been killed there.
struct Mortal<'s> {
    store: &'s Memory,
    steps: AtomicUsize,
}

impl Mortal<'_> {
    fn step(&self) -> io::Result<()> {
        let left =
            self.steps.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1));
        left.map(drop).map_err(|_| io::Error::other("killed"))
    }
}

impl Store for Mortal<'_> {
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.step()?;
        self.store.put(name, bytes)
    }

    fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        self.store.get(name)
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        self.store.names(folder)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.step()?;
        self.store.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.step()?;
        self.store.rename(from, to)
    }
}

/// Here each line of a file is a row; tests of the engines cover Parquet files.
struct Lines<'s>(&'s dyn Store, Cell<usize>);

impl Packer for Lines<'_> {
    fn pack(&mut self, names: &[String], _: &str) -> io::Result<Vec<u8>> {
        self.1.set(self.1.get() + 1);
        let mut lines = Vec::new();
        names.iter().try_for_each(|name| self.0.get(name).map(|bytes| lines.extend(bytes)))?;
        Ok(lines)
    }
}

fn run_of(host: &str) -> Run {
    Run { host: host.to_owned(), pid: 7, start: (BEGIN - HOUR) * 1_000_000 }
}

/// Two machines, three hours of two minutes each.
fn filled(store: &Memory) -> Vec<String> {
    let mut rows = Vec::new();
    for host in ["a", "b"] {
        for minute in (0..3).flat_map(|hour| (0..2).map(move |minute| hour * 60 + minute)) {
            let (minute, row) = (BEGIN / 60 + minute, format!("{host} {minute}"));
            let run = run_of(host);
            store
                .put(&run.samples(minute, minute * 10), format!("{row}\n").as_bytes())
                .expect("room");
            store.put(&run.stacks("build", minute), format!("{row}\n").as_bytes()).expect("room");
            store.put(&run.runtime(minute), format!("{row}\n").as_bytes()).expect("room");
            rows.push(row);
        }
    }
    rows.sort_unstable();
    rows
}

fn rows_in(store: &dyn Store, table: &str) -> Vec<String> {
    let names = store.names(table).expect("a store");
    let mut rows: Vec<String> = names
        .iter()
        .flat_map(|name| {
            let text = String::from_utf8(store.get(name).expect("a file")).expect("text");
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    rows.sort_unstable();
    rows
}

fn rolled_up(store: &dyn Store, now: u64) -> io::Result<RolledUp> {
    roll_up(store, &mut Lines(store, Cell::default()), Retention::default(), now)
}

#[test]
fn roll_up_killed_at_any_step_duplicates_nothing_and_is_completed_next_time() {
    let now = BEGIN + 6 * HOUR;
    let mut was_killed = true;
    for steps in 0.. {
        let store = Memory::default();
        let rows = filled(&store);
        let mortal = Mortal { store: &store, steps: steps.into() };
        was_killed = rolled_up(&mortal, now).is_err();
        for table in ["samples", "hours", "stacks", "runtime", "runtime_hours"] {
            let there = rows_in(&store, table);
            let mut once = there.clone();
            once.dedup();
            assert_eq!(there, once, "{table} after {steps} steps");
        }
        rolled_up(&store, now).expect("nobody kills it");
        for table in ["samples", "hours", "stacks", "runtime", "runtime_hours"] {
            assert_eq!(rows_in(&store, table), rows, "{table} after {steps} steps and again");
        }
        assert_eq!(store.names("packing").expect("a store"), [""; 0]);
        // A new `ship` continues where the last one was.
        for host in ["a", "b"] {
            let last = BEGIN / 60 + 121;
            let told = run_of(host).last_in(&store).expect("a store");
            assert_eq!(told, Some((last, last * 10)));
        }
        assert_eq!(rolled_up(&store, now).expect("a store"), RolledUp::default(), "once is enough");
        if !was_killed {
            break;
        }
    }
    assert!(!was_killed);
}

#[test]
fn files_are_packed_and_late_ones_are_kept() {
    let store = Memory::default();
    let mut rows = filled(&store);
    let done = rolled_up(&store, BEGIN + 6 * HOUR).expect("a store");
    assert_eq!((done.packed, done.sums), (10 + 12 + 12, 3 + 3));
    // Three hours, and the last file of each machine.
    assert_eq!(store.names("samples").expect("a store").len(), 3 + 2);
    assert_eq!(store.names("stacks").expect("a store").len(), 1);
    // Files of the runtime's counters need not stay.
    assert_eq!(store.names("runtime").expect("a store").len(), 3);
    let counted = rows.clone();
    // A machine that was offline ships the second hour, and nothing after that.
    let late = BEGIN / 60 + 70;
    let run = run_of("c");
    store.put(&run.samples(late, 1), format!("c {late}\n").as_bytes()).expect("room");
    rows.push(format!("c {late}"));
    assert_eq!(rolled_up(&store, BEGIN + 6 * HOUR).expect("a store").sums, 1);
    assert_eq!(rows_in(&store, "hours"), rows);
    assert_eq!(rows_in(&store, "samples"), rows);
    // The next day there is a sum of the day; much later, nothing else.
    assert_eq!(rolled_up(&store, BEGIN + 24 * HOUR).expect("a store").sums, 2);
    assert_eq!(rows_in(&store, "days"), rows);
    assert_eq!(rows_in(&store, "runtime_days"), counted);
    rolled_up(&store, BEGIN + 24 * 30 * HOUR).expect("a store");
    let counts: BTreeMap<&str, usize> =
        ["samples", "hours", "days"].map(|table| (table, rows_in(&store, table).len())).into();
    assert_eq!(counts, [("samples", 0), ("hours", rows.len()), ("days", rows.len())].into());
    rolled_up(&store, BEGIN + 24 * 400 * HOUR).expect("a store");
    assert_eq!((rows_in(&store, "hours").len(), rows_in(&store, "days")), (0, rows));
}

#[test]
fn recent_hours_are_left_alone() {
    let store = Memory::default();
    filled(&store);
    let before = store.names("samples").expect("a store");
    // Only the first hour ended more than two hours ago.
    rolled_up(&store, BEGIN + 3 * HOUR).expect("a store");
    let after = store.names("samples").expect("a store");
    let later = |name: &&String| !name.contains("hour=14");
    assert!(before.iter().filter(later).eq(after.iter().filter(later)));
    assert_eq!(after.len(), 8 + 1);
}
