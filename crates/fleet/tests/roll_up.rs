//! A roll-up that is ended at every step it takes: nothing is there twice at any time, and the next one has everything again.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use bactrian_fleet::roll_up::{Packer, Retention, RolledUp, roll_up};
use bactrian_fleet::{Folder, Run, Store};

const HOUR: u64 = 3600;
/// 2026-11-18, 14:00 UTC.
const BEGIN: u64 = 1_795_010_400;

/// A store that fails from some step on, as if whoever asks it had been killed there.
struct Mortal {
    folder: Folder,
    steps: AtomicUsize,
}

impl Mortal {
    fn step(&self) -> io::Result<()> {
        let left =
            self.steps.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |it| it.checked_sub(1));
        left.map(drop).map_err(|_| io::Error::other("killed"))
    }
}

impl Store for Mortal {
    fn put(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.step()?;
        self.folder.put(name, bytes)
    }

    fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        self.folder.get(name)
    }

    fn names(&self, folder: &str) -> io::Result<Vec<String>> {
        self.folder.names(folder)
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        self.step()?;
        self.folder.remove(name)
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        self.step()?;
        self.folder.rename(from, to)
    }
}

/// Here a file has a row in each line; what engines make of Parquet files is tested with them.
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
fn filled(folder: &Folder) -> Vec<String> {
    let mut rows = Vec::new();
    for host in ["a", "b"] {
        for minute in (0..3).flat_map(|hour| (0..2).map(move |minute| hour * 60 + minute)) {
            let (minute, row) = (BEGIN / 60 + minute, format!("{host} {minute}"));
            let run = run_of(host);
            folder
                .put(&run.samples(minute, minute * 10), format!("{row}\n").as_bytes())
                .expect("room");
            folder.put(&run.stacks("build", minute), format!("{row}\n").as_bytes()).expect("room");
            folder.put(&run.runtime(minute), format!("{row}\n").as_bytes()).expect("room");
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
        let place = tempfile::tempdir().expect("room");
        let folder = Folder::new(place.path());
        let rows = filled(&folder);
        let mortal = Mortal { folder: folder.clone(), steps: steps.into() };
        was_killed = rolled_up(&mortal, now).is_err();
        for table in ["samples", "hours", "stacks", "runtime", "runtime_hours"] {
            let there = rows_in(&folder, table);
            let mut once = there.clone();
            once.dedup();
            assert_eq!(there, once, "{table} after {steps} steps");
        }
        rolled_up(&folder, now).expect("nobody kills it");
        for table in ["samples", "hours", "stacks", "runtime", "runtime_hours"] {
            assert_eq!(rows_in(&folder, table), rows, "{table} after {steps} steps and again");
        }
        assert_eq!(folder.names("packing").expect("a store"), [""; 0]);
        // Whoever ships goes on where it was.
        for host in ["a", "b"] {
            let last = BEGIN / 60 + 121;
            let told = run_of(host).last_in(&folder).expect("a store");
            assert_eq!(told, Some((last, last * 10)));
        }
        assert_eq!(
            rolled_up(&folder, now).expect("a store"),
            RolledUp::default(),
            "once is enough"
        );
        if !was_killed {
            break;
        }
    }
    assert!(!was_killed);
}

#[test]
fn files_are_packed_and_late_ones_are_kept() {
    let place = tempfile::tempdir().expect("room");
    let folder = Folder::new(place.path());
    let mut rows = filled(&folder);
    let done = rolled_up(&folder, BEGIN + 6 * HOUR).expect("a store");
    assert_eq!((done.packed, done.sums), (10 + 12 + 12, 3 + 3));
    // Three hours, and the last file of each machine.
    assert_eq!(folder.names("samples").expect("a store").len(), 3 + 2);
    assert_eq!(folder.names("stacks").expect("a store").len(), 1);
    // Of what the runtime counted nothing has to stay.
    assert_eq!(folder.names("runtime").expect("a store").len(), 3);
    let counted = rows.clone();
    // A machine that was away tells of the second hour, and nothing after that.
    let late = BEGIN / 60 + 70;
    let run = run_of("c");
    folder.put(&run.samples(late, 1), format!("c {late}\n").as_bytes()).expect("room");
    rows.push(format!("c {late}"));
    assert_eq!(rolled_up(&folder, BEGIN + 6 * HOUR).expect("a store").sums, 1);
    assert_eq!(rows_in(&folder, "hours"), rows);
    assert_eq!(rows_in(&folder, "samples"), rows);
    // The next day there is a sum of the day; much later, nothing else.
    assert_eq!(rolled_up(&folder, BEGIN + 24 * HOUR).expect("a store").sums, 2);
    assert_eq!(rows_in(&folder, "days"), rows);
    assert_eq!(rows_in(&folder, "runtime_days"), counted);
    rolled_up(&folder, BEGIN + 24 * 30 * HOUR).expect("a store");
    let counts: BTreeMap<&str, usize> =
        ["samples", "hours", "days"].map(|table| (table, rows_in(&folder, table).len())).into();
    assert_eq!(counts, [("samples", 0), ("hours", rows.len()), ("days", rows.len())].into());
    rolled_up(&folder, BEGIN + 24 * 400 * HOUR).expect("a store");
    assert_eq!((rows_in(&folder, "hours").len(), rows_in(&folder, "days")), (0, rows));
}

#[test]
fn recent_hours_are_left_alone() {
    let place = tempfile::tempdir().expect("room");
    let folder = Folder::new(place.path());
    filled(&folder);
    let before = folder.names("samples").expect("a store");
    // Only the first hour is over for two hours.
    rolled_up(&folder, BEGIN + 3 * HOUR).expect("a store");
    let after = folder.names("samples").expect("a store");
    let later = |name: &&String| !name.contains("hour=14");
    assert!(before.iter().filter(later).eq(after.iter().filter(later)));
    assert_eq!(after.len(), 8 + 1);
}
