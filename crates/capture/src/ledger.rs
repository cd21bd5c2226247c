//! What becomes of the snapshots of a run: a private file to which the agent, its frozen copies and their
//! walkers append lines, and the account that is made from it in the end.
//!
//! The program may end while snapshots are still being written. [`Ledger::wait`] waits until each of them is
//! done or has failed, as long as a process is working on it: there is no other time limit, because a large
//! heap takes its time.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_agent_abi::frozen;
use bactrian_agent_abi::ledger::{Limit, Line, SnapshotId};
use rustix::process::{WaitId, WaitIdOptions, waitid};

use crate::process_stat::ProcessStat;
use crate::temporary::TemporaryFolder;

/// How often the ledger is read.
const PERIOD: Duration = Duration::from_millis(10);
/// How long a frozen copy may take to start its walker. It lists roots, which takes milliseconds.
const START: Duration = Duration::from_secs(30);

/// How long a child of ours is assumed to be a frozen copy that has not recorded itself yet: on a busy
/// machine the program may have ended before the copy that it made at its exit has run at all.
const UNHEARD: Duration = Duration::from_secs(1);

/// Why a snapshot failed if its writer has recorded no reason.
const KILLED: &str = "its writer was killed, or could not be started";

/// A file for lines about snapshots. It is removed when this is dropped.
#[derive(Debug)]
pub struct Ledger {
    _folder: TemporaryFolder,
    path: PathBuf,
}

/// A snapshot that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its file.
    pub path: PathBuf,
    /// The number of blocks in it.
    pub blocks: u64,
    /// The total words of these blocks.
    pub words: u64,
    /// The number of things that could not be read.
    pub gaps: u64,
}

/// What became of the snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The snapshots that were written.
    pub written: Vec<Written>,
    /// The snapshots that failed: their numbers, and the reasons.
    pub failed: Vec<(u64, String)>,
    /// The numbers of skipped snapshots, by limit.
    pub skipped: Vec<(Limit, u64)>,
    /// The longest pause of the program.
    pub longest_pause: Option<Duration>,
    /// Snapshots that are neither done nor failed.
    unfinished: Vec<Unfinished>,
}

/// A snapshot that a process is, or was, working on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Unfinished {
    id: SnapshotId,
    walker: Option<u32>,
    /// How much of it is done, in percent.
    percent: u8,
}

impl Ledger {
    /// Creates an empty ledger.
    ///
    /// # Errors
    /// If there is no room for it among temporary files.
    pub fn new() -> io::Result<Ledger> {
        let folder = TemporaryFolder::new("ledger")?;
        let path = folder.file("ledger");
        fs::write(&path, "")?;
        Ok(Ledger { _folder: folder, path })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The account of what it contains now.
    pub fn account(&self) -> Account {
        // If somebody has removed the file, its contents are gone.
        let bytes = fs::read(self.path()).unwrap_or_default();
        Account::of(&String::from_utf8_lossy(&bytes))
    }

    /// Waits for the snapshots that are being written, until `goes_on`, which is called repeatedly, returns
    /// false. It is passed the number of unfinished snapshots, and the fraction of the work on them that is
    /// done, from 0 to 1. Snapshots that no process works on any more have failed.
    pub fn wait(&self, mut goes_on: impl FnMut(usize, f64) -> bool) -> Account {
        let start = Instant::now();
        loop {
            let account = self.account();
            let is_new = start.elapsed() < START;
            let at_work = account.unfinished.iter().filter(|one| one.is_at_work(is_new)).count();
            if at_work == 0 && start.elapsed() < UNHEARD && has_child() {
                thread::sleep(PERIOD);
                continue;
            }
            if at_work == 0 || !goes_on(at_work, account.progress()) {
                // One may have been finished between reading the ledger and looking for its process.
                return self.account().closed();
            }
            thread::sleep(PERIOD);
        }
    }
}

impl Account {
    fn of(text: &str) -> Account {
        let mut account = Account::default();
        let mut skipped: BTreeMap<&str, (Limit, u64)> = BTreeMap::new();
        // A line without its newline is still being written.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        for line in whole.lines().filter_map(Line::parse) {
            match line {
                Line::Begun(id) => {
                    if account.find(id).is_some() {
                        // The process that had this id is gone, and has left no word.
                        account.fail(id, KILLED);
                    }
                    account.unfinished.push(Unfinished { id, walker: None, percent: 0 });
                }
                Line::Walker(id, walker) => {
                    if let Some(one) = account.find(id) {
                        one.walker = Some(walker);
                    }
                }
                Line::Pause(_, nanoseconds) => {
                    let pause = Duration::from_nanos(nanoseconds);
                    account.longest_pause = account.longest_pause.max(Some(pause));
                }
                Line::Progress(id, percent) => {
                    if let Some(one) = account.find(id) {
                        one.percent = percent.min(100);
                    }
                }
                Line::Done { id, path, blocks, words, gaps } => {
                    account.finish(id);
                    let path = OsString::from_vec(path).into();
                    account.written.push(Written { path, blocks, words, gaps });
                }
                Line::Failed(id, reason) => account.fail(id, &reason),
                Line::Skipped(limit) => skipped.entry(limit.name()).or_insert((limit, 0)).1 += 1,
            }
        }
        account.skipped = skipped.into_values().collect();
        account
    }

    /// The fraction of the work on unfinished snapshots that is done.
    fn progress(&self) -> f64 {
        let percents: f64 = self.unfinished.iter().map(|one| f64::from(one.percent)).sum();
        percents / 100.0 / (self.unfinished.len() as f64).max(1.0)
    }

    /// The total number of skipped snapshots.
    pub fn all_skipped(&self) -> u64 {
        self.skipped.iter().map(|(_, count)| count).sum()
    }

    fn find(&mut self, id: SnapshotId) -> Option<&mut Unfinished> {
        self.unfinished.iter_mut().find(|one| one.id == id)
    }

    fn finish(&mut self, id: SnapshotId) {
        self.unfinished.retain(|one| one.id != id);
    }

    fn fail(&mut self, id: SnapshotId, reason: &str) {
        self.finish(id);
        self.failed.push((id.number, reason.to_owned()));
    }

    /// Counts unfinished snapshots as failed.
    fn closed(mut self) -> Account {
        for one in std::mem::take(&mut self.unfinished) {
            let reason = if one.is_at_work(true) { "it is still being written" } else { KILLED };
            self.fail(one.id, reason);
        }
        self
    }
}

impl Unfinished {
    /// Whether a process is working on it; a copy that has not started a walker is trusted only while
    /// `is_new`.
    fn is_at_work(self, is_new: bool) -> bool {
        match self.walker {
            Some(walker) => is_walker(walker),
            None => is_new && is_alive(self.id.copy),
        }
    }
}

/// Whether we have a running child, and no child that has ended and was not reaped.
fn has_child() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, options), Ok(None))
}

/// Whether a process exists and has not ended. If it is older than this process, it is not the one that was
/// meant: in a PID namespace of its own, a program knows its copies by other ids than we do.
fn is_alive(process: u32) -> bool {
    let Some(stat) = ProcessStat::of(&process.to_string()) else { return false };
    let our_start = ProcessStat::of("self").map_or(0, |stat| stat.start);
    !stat.has_ended() && stat.start >= our_start
}

/// Whether a process is one of our walkers, rather than another that has got its id later.
fn is_walker(process: u32) -> bool {
    let words = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let command = frozen::COMMAND.as_bytes();
    // While a process becomes a walker, its command line is empty for a moment: its copy continues as soon as
    // the old memory is released, which is before the kernel has loaded the new program.
    let is_ours = words.is_empty() || words.split(|byte| *byte == 0).any(|word| word == command);
    is_alive(process) && is_ours
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn write(ledger: &Ledger, lines: &str) {
        fs::write(ledger.path(), format!("{lines}\n")).expect("room");
    }

    #[test]
    fn progress_averages_over_unfinished_snapshots() {
        let account = |text: &str| Account::of(text).progress();
        let two =
            "begun 1 100\nwalker 1 100 101\nbegun 2 102\nprogress 1 100 40\nprogress 1 100 60\n";
        assert_eq!(account(two), 0.3);
        assert_eq!(account(&format!("{two}done 1 100 7 20 2 /x\nprogress 2 102 250\n")), 1.0);
        assert_eq!(account(""), 0.0);
    }

    #[test]
    fn an_account_adds_up() {
        let account = Account::of(
            "begun 1 100\nwalker 1 100 101\npause 1 100 5000\nskipped copies\nbegun 2 102\n\
             pause 2 102 4000\nnonsense\ndone 1 100 7 20 2 /x\\x20y.1.heap\nskipped disk\nskipped copies\n\
             failed 2 102 no room\ndone 3 ",
        );
        let written = Written { path: "/x y.1.heap".into(), blocks: 7, words: 20, gaps: 2 };
        assert_eq!(account.written, [written]);
        assert_eq!(account.failed, [(2, "no room".to_owned())]);
        assert_eq!(account.skipped, [(Limit::Copies, 2), (Limit::Disk, 1)]);
        assert_eq!(account.all_skipped(), 3);
        assert_eq!(account.longest_pause, Some(Duration::from_micros(5)));
        assert_eq!(account.unfinished, []);
    }

    #[test]
    fn snapshots_with_equal_numbers_are_told_apart_by_their_copies() {
        let two = "begun 1 100\nwalker 1 100 101\nbegun 1 200\nwalker 1 200 201\n";
        // Whichever of them is done, the other goes on, with its own walker.
        for (done, left) in [((100, "/a"), (200, 201)), ((200, "/b"), (100, 101))] {
            let account = Account::of(&format!(
                "{two}progress 1 {} 40\ndone 1 {} 7 20 0 {}\n",
                left.0, done.0, done.1
            ));
            let id = SnapshotId { number: 1, copy: left.0 };
            let left = Unfinished { id, walker: Some(left.1), percent: 40 };
            assert_eq!(account.unfinished, [left]);
            assert_eq!(account.written.len(), 1);
        }
    }

    #[test]
    fn a_snapshot_whose_process_id_was_reused_has_failed() {
        let account =
            Account::of("begun 1 100\nwalker 1 100 101\nbegun 1 100\ndone 1 100 7 20 0 /x\n");
        assert_eq!(account.failed, [(1, KILLED.to_owned())]);
        assert_eq!((account.written.len(), &account.unfinished[..]), (1, &[][..]));
    }

    #[test]
    fn a_snapshot_without_a_live_process_has_failed() {
        let mut ended = Command::new("true").spawn().expect("a process");
        ended.wait().expect("its end");
        let ledger = Ledger::new().expect("a ledger");
        write(&ledger, &format!("begun 4 {}", ended.id()));
        let account = ledger.wait(|_, _| panic!("there is nobody to wait for"));
        assert_eq!(
            account.failed,
            [(4, "its writer was killed, or could not be started".to_owned())]
        );
    }

    #[test]
    fn a_live_copy_is_waited_for_until_the_caller_gives_up() {
        let ledger = Ledger::new().expect("a ledger");
        write(&ledger, &format!("begun 4 {}", std::process::id()));
        let mut asked = 0;
        let account = ledger.wait(|missing, _| {
            assert_eq!(missing, 1);
            asked += 1;
            asked < 3
        });
        assert_eq!(asked, 3);
        assert_eq!(account.failed, [(4, "it is still being written".to_owned())]);
    }

    #[test]
    fn a_copy_that_has_not_run_yet_is_waited_for() {
        let ledger = Ledger::new().expect("a ledger");
        let mut late = Command::new("sh");
        late.args([
            "-c",
            "sleep 0.2; echo begun 1 $$ >> \"$0\"; sleep 0.2; echo failed 1 $$ x >> \"$0\"",
        ]);
        let mut late = late.arg(ledger.path()).spawn().expect("a process");
        let account = ledger.wait(|_, _| true);
        late.wait().expect("its end");
        assert_eq!(account.failed, [(1, "x".to_owned())]);
    }

    #[test]
    fn a_process_that_is_older_than_its_program_is_not_waited_for() {
        let ledger = Ledger::new().expect("a ledger");
        // As in a PID namespace of its own: for us these ids are the first process and a kernel thread.
        write(&ledger, "begun 1 1\nbegun 2 1\nwalker 2 1 2");
        assert_eq!(ledger.wait(|_, _| panic!("nobody")).failed.len(), 2);
    }

    #[test]
    fn a_process_that_is_not_a_walker_is_not_waited_for() {
        let ledger = Ledger::new().expect("a ledger");
        write(&ledger, &format!("begun 1 1\nwalker 1 1 {}", std::process::id()));
        assert_eq!(ledger.wait(|_, _| panic!("nobody")).failed.len(), 1);
    }
}
