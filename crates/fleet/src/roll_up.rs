//! Keeps a store small: the minutes of an hour become one file, hours and days are summed up, and old files are removed.
//!
//! Replacing files takes five steps:
//! 1. The new file is written aside ([`PACKING`]),
//! 2. then a list of the files that it replaces.
//! 3. Those are removed.
//! 4. The new file is moved to its place.
//! 5. The list is removed.
//!
//! A roll-up that finds a list completes steps 3 to 5. So rows are missing for a moment, or after a crash until the next
//! roll-up, but they are never there twice.

use std::collections::BTreeMap;
use std::io;

use crate::layout::{date_and_hour, minute_file};
use crate::store::Store;

/// The folder of files that wait for their place.
const PACKING: &str = "packing";
/// The name of a packed file in its folder.
const PACKED: &str = "packed";
const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;

/// Writes the answer to a query about some files of a store as a file.
pub trait Packer {
    /// Answers a query about these files. In the query, `files` is a table of all their rows.
    ///
    /// # Errors
    /// If one of them cannot be read.
    fn pack(&mut self, names: &[String], sql: &str) -> io::Result<Vec<u8>>;
}

/// How long data is kept, in seconds.
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
    /// A week, a quarter of a year, two years.
    fn default() -> Retention {
        Retention { minutes: 7 * DAY, hours: 92 * DAY, days: 731 * DAY }
    }
}

/// What a roll-up did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RolledUp {
    /// Files that were replaced by packed ones.
    pub packed: usize,
    /// Hours and days that were summed up.
    pub sums: usize,
    /// Old files that were removed.
    pub removed: usize,
}

/// A table of minutes, and its sums. Each is a folder of the store.
struct Series {
    minutes: &'static str,
    hours: &'static str,
    days: &'static str,
    /// All rows, in the order in which neighbours are most similar.
    sorted: &'static str,
    /// The query that sums up rows over this many seconds.
    summed: fn(u64) -> String,
    /// Whether the last file of a run must stay, because its name says how much of the trace was shipped.
    keeps_last: bool,
}

const SAMPLES: Series = Series {
    minutes: "samples",
    hours: "hours",
    days: "days",
    sorted: "select * from files order by service, stack_id, host, time",
    summed: summed_samples,
    keeps_last: true,
};

const RUNTIME: Series = Series {
    minutes: "runtime",
    hours: "runtime_hours",
    days: "runtime_days",
    sorted: "select * from files order by service, host, pid, start, time",
    summed: summed_runtime,
    keeps_last: false,
};

const SORTED_STACKS: &str = "select stack_id, min(build_id) as build_id, min(leaf) as leaf, min(file) as file, min(line) as line,
  min(frames) as frames from files group by stack_id order by frames";

/// The query that sums up rows over a longer time: allocations are added, live memory is that at the end.
fn summed_samples(seconds: u64) -> String {
    format!(
        "select min(time - time % {seconds}) as time, service, version, host, pid, start, build_id, ocaml, labels, stack_id, rate,
  sum(blocks) as blocks, sum(samples) as samples, sum(promoted) as promoted,
  sum(case when time = last then live_blocks else 0 end) as live_blocks, sum(case when time = last then live else 0 end) as live
from (select host, pid, start, max(time) as last from files group by host, pid, start) as ends join files using (host, pid, start)
group by service, version, host, pid, start, build_id, ocaml, labels, stack_id, rate
order by service, stack_id, host"
    )
}

/// The same for the runtime's counters: sizes are those of the last minute in which they are known. Medians cannot be summed up.
fn summed_runtime(seconds: u64) -> String {
    format!(
        "select min(time - time % {seconds}) as time, service, version, host, pid, start, build_id, ocaml, labels,
  max(case when time = last then heap end) as heap, max(case when time = last then live end) as live,
  max(case when time = last then free end) as free, max(case when time = last then rss end) as rss,
  sum(seconds) as seconds, sum(minor_collections) as minor_collections, sum(major_collections) as major_collections,
  sum(compactions) as compactions, sum(allocated_words) as allocated_words, sum(promoted_words) as promoted_words,
  sum(pauses) as pauses, sum(pause_seconds) as pause_seconds, cast(null as double) as pause_median,
  max(pause_max) as pause_max, max(trace) as trace
from (select host, pid, start, max(case when rss is not null then time end) as last from files group by host, pid, start) as ends
  join files using (host, pid, start)
group by service, version, host, pid, start, build_id, ocaml, labels
order by service, host, pid, start"
    )
}

/// Packs, sums up and removes, at a time in seconds since 1970. Hours younger than two hours are left alone, since late files may
/// arrive.
///
/// # Errors
/// If the store cannot be read or written, or a file in it is damaged. What was done before stays done.
pub fn roll_up(
    store: &dyn Store,
    packer: &mut dyn Packer,
    keep: Retention,
    now: u64,
) -> io::Result<RolledUp> {
    let mut done = RolledUp::default();
    finish(store)?;
    for series in [&SAMPLES, &RUNTIME] {
        pack_hours(series, store, packer, now, &mut done)?;
    }
    for (folder, names) in by_folder(&store.names("stacks")?) {
        if names.len() > 1 {
            done.packed += replace(store, packer, folder, &names, SORTED_STACKS)?;
        }
    }
    let mut kept = vec![("heaps", keep.days)];
    for series in [&SAMPLES, &RUNTIME] {
        done.sums += sum_days(series, store, packer, now)?;
        let Series { minutes, hours, days, .. } = series;
        kept.extend([(*minutes, keep.minutes), (*hours, keep.hours), (*days, keep.days)]);
    }
    for (table, seconds) in kept {
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

/// Packs and sums up hours that have ended.
fn pack_hours(
    series: &Series,
    store: &dyn Store,
    packer: &mut dyn Packer,
    now: u64,
    done: &mut RolledUp,
) -> io::Result<()> {
    let names = store.names(series.minutes)?;
    let mut last: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for (run, minute, end) in names.iter().filter_map(|name| minute_file(name)) {
        let known = last.entry(run).or_default();
        *known = (*known).max((minute, end));
    }
    let is_last = |name: &str| {
        let found = minute_file(name).filter(|_| series.keeps_last);
        found.is_some_and(|(run, minute, end)| last.get(run) == Some(&(minute, end)))
    };
    let (newest, _) = hour_folders(series, now.saturating_sub(2 * HOUR));
    for (folder, names) in by_folder(&names) {
        if folder >= newest.as_str() {
            continue;
        }
        let lasts = names.iter().filter(|name| is_last(name)).count();
        let is_news = names.iter().any(|name| !is_packed(name) && !is_last(name));
        let hours = folder.replacen(series.minutes, series.hours, 1);
        // The last files of runs are never packed. Their number is in the name of the sum, so that a new one is noticed.
        let sum = format!("{hours}/sum.{lasts}.parquet");
        let sums = store.names(&hours)?;
        if is_news || sums != [sum.as_str()] {
            let rows = packer.pack(&names, &(series.summed)(HOUR))?;
            store.remove(&day_of(series, &hours))?;
            sums.iter().try_for_each(|old| store.remove(old))?;
            store.put(&sum, &rows)?;
            done.sums += 1;
        }
        if is_news {
            let replaced: Vec<String> = names.into_iter().filter(|name| !is_last(name)).collect();
            done.packed += replace(store, packer, folder, &replaced, series.sorted)?;
        }
    }
    Ok(())
}

/// Whether a file is a packed one.
fn is_packed(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    let number = file.strip_prefix(PACKED).and_then(|rest| rest.strip_prefix('.'));
    let number = number.and_then(|rest| rest.strip_suffix(".parquet"));
    number.is_some_and(|number| number.parse::<u64>().is_ok())
}

/// Sums up days that have ended.
fn sum_days(
    series: &Series,
    store: &dyn Store,
    packer: &mut dyn Packer,
    now: u64,
) -> io::Result<usize> {
    let (_, today) = hour_folders(series, now.saturating_sub(2 * HOUR));
    let mut days: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for name in store.names(series.hours)? {
        if let Some((day, _)) = name.split_once("/hour=")
            && day < today.as_str()
        {
            days.entry(day.to_owned()).or_default().push(name);
        }
    }
    let sums_of_days = store.names(series.days)?;
    let mut sums = 0;
    for (day, names) in days {
        let to = day_of(series, &day);
        if !sums_of_days.contains(&to) {
            store.put(&to, &packer.pack(&names, &(series.summed)(DAY))?)?;
            sums += 1;
        }
    }
    Ok(sums)
}

/// The name of the file with the sums of a day, by the folder of the day or of one of its hours.
fn day_of(series: &Series, hours: &str) -> String {
    let day = hours.split("/hour=").next().unwrap_or(hours);
    format!("{}/sum.parquet", day.replacen(series.hours, series.days, 1))
}

/// The folder of an hour's minutes, and that of its day's hours.
fn hour_folders(series: &Series, seconds: u64) -> (String, String) {
    let (date, hour) = date_and_hour(seconds);
    let Series { minutes, hours, .. } = series;
    (format!("{minutes}/date={date}/hour={hour:02}"), format!("{hours}/date={date}"))
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

/// Replaces files by one.
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
    // An earlier packed file may be among those that it replaces, so it needs another name.
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

/// Completes a replacement.
fn finish(store: &dyn Store) -> io::Result<()> {
    for list in store.names(PACKING)?.iter().filter(|name| name.ends_with(".list")) {
        let text = store.get(list)?;
        let text = String::from_utf8_lossy(&text);
        let Some((to, replaced)) = text.split_once('\n') else { continue };
        let waiting = list.replace(".list", ".parquet");
        let is_waiting = store.names(PACKING)?.contains(&waiting);
        // If it is not waiting, it is in its place already.
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
