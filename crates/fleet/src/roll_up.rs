//! How a store is kept small: the minutes of an hour become one file, an hour one minute, a day one hour, and what is old goes.
//!
//! A file takes the place of others in four steps. It is written where nobody looks ([`PACKING`]), then a list of what it replaces
//! beside it; those are removed, it gets its place, and the list goes. Whoever finds a list finishes what it says: so rows are
//! missing for a moment, and after a crash until the next roll-up, but never there twice.

use std::collections::BTreeMap;
use std::io;

use crate::layout::{date_and_hour, minute_file};
use crate::store::Store;

/// Where files wait for their place.
const PACKING: &str = "packing";
/// The name of a file that stands for many, in its folder.
const PACKED: &str = "packed";
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// Answers a query about some files of a store with a file of a table.
pub trait Packer {
    /// The rows of these files, as the query has them: `files` in it are their rows.
    ///
    /// # Errors
    /// If one of them cannot be read.
    fn pack(&mut self, names: &[String], sql: &str) -> io::Result<Vec<u8>>;
}

/// What is kept for how long, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Minutes.
    pub minutes: u64,
    /// Hours.
    pub hours: u64,
    /// Days.
    pub days: u64,
}

impl Default for Retention {
    /// A week, a quarter, two years.
    fn default() -> Retention {
        Retention { minutes: 7 * DAY, hours: 92 * DAY, days: 731 * DAY }
    }
}

/// What became of a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RolledUp {
    /// Files that were replaced by others.
    pub packed: usize,
    /// Hours and days that were summed up.
    pub sums: usize,
    /// Files that were too old.
    pub removed: usize,
}

/// In which order rows are most alike.
const SORTED: &str = "select * from files order by service, stack_id, host, time";
const SORTED_STACKS: &str = "select stack_id, min(build_id) as build_id, min(leaf) as leaf, min(file) as file, min(line) as line,
  min(frames) as frames from files group by stack_id order by frames";

/// A longer time as one minute: what was allocated is added up, what is alive is what was alive in the end.
fn summed(seconds: u64) -> String {
    format!(
        "select min(time - time % {seconds}) as time, service, version, host, pid, start, build_id, ocaml, labels, stack_id, rate,
  sum(blocks) as blocks, sum(samples) as samples, sum(promoted) as promoted,
  sum(case when time = last then live_blocks else 0 end) as live_blocks, sum(case when time = last then live else 0 end) as live
from (select host, pid, start, max(time) as last from files group by host, pid, start) as ends join files using (host, pid, start)
group by service, version, host, pid, start, build_id, ocaml, labels, stack_id, rate
order by service, stack_id, host"
    )
}

/// Packs, sums up and removes, at a time in seconds since 1970. What is younger than two hours may still get company.
///
/// # Errors
/// If the store cannot be read or written, or a file in it is damaged: what was done until then is done.
pub fn roll_up(
    store: &dyn Store,
    packer: &mut dyn Packer,
    keep: Retention,
    now: u64,
) -> io::Result<RolledUp> {
    let mut done = RolledUp::default();
    finish(store)?;
    let names = store.names("samples")?;
    let mut last: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (run, minute, end) in names.iter().filter_map(|name| minute_file(name)) {
        let known = last.entry(run).or_default();
        *known = (*known).max((minute, end));
    }
    // The last file of a run says up to where its trace is told, and stays.
    let is_last = |name: &str| {
        minute_file(name).is_some_and(|(run, minute, end)| last.get(run) == Some(&(minute, end)))
    };
    let newest = hour_folder(now.saturating_sub(2 * HOUR));
    for (folder, names) in by_folder(&names) {
        if folder >= newest.as_str() {
            continue;
        }
        let lasts = names.iter().filter(|name| is_last(name)).count();
        let is_news = names.iter().any(|name| minute_file(name).is_some() && !is_last(name));
        let hours = folder.replacen("samples/", "hours/", 1);
        // What is last stays loose: how many there are says whether one has come.
        let sum = format!("{hours}/sum.{lasts}.parquet");
        let sums = store.names(&hours)?;
        if is_news || sums != [sum.as_str()] {
            let rows = packer.pack(&names, &summed(HOUR))?;
            store.remove(&day_of(&hours))?;
            sums.iter().try_for_each(|old| store.remove(old))?;
            store.put(&sum, &rows)?;
            done.sums += 1;
        }
        if is_news {
            let replaced: Vec<String> = names.into_iter().filter(|name| !is_last(name)).collect();
            done.packed += replace(store, packer, folder, &replaced, SORTED)?;
        }
    }
    for (folder, names) in by_folder(&store.names("stacks")?) {
        if names.len() > 1 {
            done.packed += replace(store, packer, folder, &names, SORTED_STACKS)?;
        }
    }
    done.sums += sum_days(store, packer, now)?;
    for (table, seconds) in [("samples", keep.minutes), ("hours", keep.hours), ("days", keep.days)]
    {
        let oldest = format!("{table}/date={}", date_and_hour(now.saturating_sub(seconds)).0);
        for name in store.names(table)? {
            if name < oldest {
                store.remove(&name)?;
                done.removed += 1;
            }
        }
    }
    Ok(done)
}

/// Sums up days that are over.
fn sum_days(store: &dyn Store, packer: &mut dyn Packer, now: u64) -> io::Result<usize> {
    let today = format!("hours/date={}", date_and_hour(now.saturating_sub(2 * HOUR)).0);
    let mut days: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in store.names("hours")? {
        if let Some((day, _)) = name.split_once("/hour=")
            && day < today.as_str()
        {
            days.entry(day.to_owned()).or_default().push(name);
        }
    }
    let sums_of_days = store.names("days")?;
    let mut sums = 0;
    for (day, names) in days {
        let to = day_of(&day);
        if !sums_of_days.contains(&to) {
            store.put(&to, &packer.pack(&names, &summed(DAY))?)?;
            sums += 1;
        }
    }
    Ok(sums)
}

/// The sum of the day of some hours.
fn day_of(hours: &str) -> String {
    let day = hours.split("/hour=").next().unwrap_or(hours);
    format!("{}/sum.parquet", day.replacen("hours/", "days/", 1))
}

fn hour_folder(seconds: u64) -> String {
    let (date, hour) = date_and_hour(seconds);
    format!("samples/date={date}/hour={hour:02}")
}

fn by_folder(names: &[String]) -> BTreeMap<&str, Vec<String>> {
    let mut folders: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for name in names {
        if let Some((folder, _)) = name.rsplit_once('/') {
            folders.entry(folder).or_default().push(name.clone());
        }
    }
    folders
}

/// Puts one file into the place of others.
fn replace(
    store: &dyn Store,
    packer: &mut dyn Packer,
    folder: &str,
    names: &[String],
    sql: &str,
) -> io::Result<usize> {
    let bytes = packer.pack(names, sql)?;
    let waiting = format!("{PACKING}/{}", folder.replace('/', "+"));
    store.put(&format!("{waiting}.parquet"), &bytes)?;
    // Another name than those that it replaces: it may be one of them.
    let mut place = 0;
    let to = loop {
        let to = format!("{folder}/{PACKED}.{place}.parquet");
        if !names.contains(&to) {
            break to;
        }
        place += 1;
    };
    let list = format!("{to}\n{}\n", names.join("\n"));
    store.put(&format!("{waiting}.list"), list.as_bytes())?;
    finish(store)?;
    Ok(names.len())
}

/// Finishes what was begun.
fn finish(store: &dyn Store) -> io::Result<()> {
    for list in store.names(PACKING)?.iter().filter(|name| name.ends_with(".list")) {
        let text = store.get(list)?;
        let text = String::from_utf8_lossy(&text);
        let Some((to, replaced)) = text.split_once('\n') else { continue };
        let waiting = list.replace(".list", ".parquet");
        let is_waiting = store.names(PACKING)?.contains(&waiting);
        // Otherwise it has its place already.
        if is_waiting {
            for name in replaced.lines() {
                store.remove(name)?;
            }
            store.rename(&waiting, to)?;
        }
        store.remove(list)?;
    }
    Ok(())
}
