//! The names of files in a store: Parquet files in folders by date and hour, as engines expect them.
//!
//! ```text
//! samples/date=2026-11-18/hour=14/HOST.PID.START.MINUTE.END.parquet
//! stacks/build=BUILD/HOST.PID.START.MINUTE.parquet
//! runtime/date=2026-11-18/hour=14/HOST.PID.START.MINUTE.parquet
//! heaps/date=2026-11-18/hour=14/HOST.PID.TIME.parquet
//! ```
//!
//! The name of a file of samples says up to which stable position (`Follower::stable_position`) the trace was read. This is the only state: one file is one step,
//! and nothing else could disagree with it. The row of the runtime's counters follows the samples of its minute, so that it is
//! never there twice; if `ship` is killed in between, it is missing.

use std::io;

use crate::store::Store;

/// A run of a program on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The machine.
    pub host: String,
    /// The process.
    pub pid: u64,
    /// Its start, in microseconds since 1970.
    pub start: u64,
}

impl Run {
    /// The prefix of all its file names.
    fn prefix(&self) -> String {
        format!("{}.{}.{}.", plain(&self.host), self.pid, self.start)
    }

    /// The file of a minute's samples, read up to this position of the trace.
    pub fn samples(&self, minute: u64, end: u64) -> String {
        format!("{}/{}{minute}.{end}.parquet", folder_of("samples", minute * 60), self.prefix())
    }

    /// The file of stacks that first occur in a minute. If that minute is shipped again, it is replaced.
    pub fn stacks(&self, build_id: &str, minute: u64) -> String {
        format!("stacks/build={}/{}{minute}.parquet", plain(build_id), self.prefix())
    }

    /// The file of a minute's runtime counters.
    pub fn runtime(&self, minute: u64) -> String {
        format!("{}/{}{minute}.parquet", folder_of("runtime", minute * 60), self.prefix())
    }

    /// Its last minute in a store, and the position up to which its trace was read.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn last_in(&self, store: &dyn Store) -> io::Result<Option<(u64, u64)>> {
        // No file of it is older than its start.
        let (first, _) = date_and_hour(self.start / 1_000_000);
        let mut last = None;
        for name in store.names("samples")? {
            if name.as_str() >= format!("samples/date={first}").as_str() {
                last = last.max(self.told(&name));
            }
        }
        Ok(last)
    }

    fn told(&self, name: &str) -> Option<(u64, u64)> {
        let (run, minute, end) = minute_file(name)?;
        (format!("{run}.") == self.prefix()).then_some((minute, end))
    }
}

/// The file of the summary of a snapshot, by the microseconds since 1970 at which it was taken.
pub fn heap_summary(host: &str, pid: u32, taken: u64) -> String {
    format!("{}/{}.{pid}.{taken}.parquet", folder_of("heaps", taken / 1_000_000), plain(host))
}

/// The folder of the rows of a table, by their time in seconds since 1970.
fn folder_of(table: &str, seconds: u64) -> String {
    let (date, hour) = date_and_hour(seconds);
    format!("{table}/date={date}/hour={hour:02}")
}

/// The parts of the name of a minute's file: the run, the minute, and the position in the trace.
pub fn minute_file(name: &str) -> Option<(&str, u64, u64)> {
    let (_, file) = name.rsplit_once('/')?;
    let mut parts = file.strip_suffix(".parquet")?.rsplitn(3, '.');
    let (end, minute, run) = (parts.next()?, parts.next()?, parts.next()?);
    Some((run, minute.parse().ok()?, end.parse().ok()?))
}

/// A name that is safe as part of a path.
fn plain(name: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
    let text: String = name.chars().take(100).map(safe).collect();
    if text.is_empty() { "_".to_owned() } else { text }
}

/// The date of a second since 1970, in UTC, as `2026-11-18`, and its hour.
pub fn date_and_hour(seconds: u64) -> (String, u64) {
    let (days, hour) = (seconds / 86_400, seconds / 3600 % 24);
    // Years begin in March, so that the leap day is the last one.
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (format!("{:04}-{month:02}-{day:02}", year + era * 400 + later), hour)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, ("1970-01-01", 0)),
            (951_782_400, ("2000-02-29", 0)),
            (1_709_251_199, ("2024-02-29", 23)),
            (1_709_251_200, ("2024-03-01", 0)),
            (1_795_046_400, ("2026-11-19", 0)),
        ] {
            let (date, hour) = date_and_hour(seconds);
            assert_eq!((date.as_str(), hour), expected);
        }
    }

    #[test]
    fn file_name_has_run_minute_and_offset() {
        let run = Run { host: "web/../1".to_owned(), pid: 7, start: 99 };
        let name = run.samples(29_000_000, 1234);
        assert_eq!(run.told(&name), Some((29_000_000, 1234)));
        assert_eq!(Run { pid: 8, ..run.clone() }.told(&name), None);
        assert!(name.split('/').all(|part| part != ".."));
    }
}
