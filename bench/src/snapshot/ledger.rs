//! The fates of snapshots, as the agent and the walkers write them to the ledger.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use bactrian_agent_abi::ledger::Line;

/// A timeout that no snapshot reaches.
const TOO_LONG: Duration = Duration::from_secs(300);

pub struct Ledger {
    pub path: PathBuf,
}

/// A snapshot that was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Written {
    pub number: u64,
    pub blocks: u64,
    pub heap_bytes: u64,
    pub file_bytes: u64,
}

/// The contents of a ledger.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    pub written: Vec<Written>,
    pub pauses: Vec<Duration>,
    pub skipped: u64,
    pub failed: Vec<String>,
    pub begun: usize,
}

impl Ledger {
    /// Creates an empty one and removes the snapshots of the previous one.
    pub fn new(folder: &Path) -> Result<Ledger, String> {
        let context = |error| format!("{}: {error}", folder.display());
        fs::create_dir_all(folder).map_err(context)?;
        for entry in fs::read_dir(folder).map_err(context)?.flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|extension| extension == "heap") {
                fs::remove_file(path).map_err(context)?;
            }
        }
        let path = folder.join("ledger");
        fs::write(&path, "").map_err(context)?;
        Ok(Ledger { path })
    }

    pub fn account(&self) -> Account {
        let text = fs::read_to_string(&self.path).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        Account::of(whole)
    }

    /// Waits until `count` snapshots have ended; without a number, all that were begun.
    pub fn wait(&self, count: Option<usize>) -> Result<Account, String> {
        let start = Instant::now();
        loop {
            let account = self.account();
            let ended = account.written.len() + account.failed.len();
            if ended >= count.unwrap_or(account.begun) {
                return Ok(account);
            }
            if start.elapsed() > TOO_LONG {
                return Err(format!("snapshots do not come to an end: {account:?}"));
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Account {
    fn of(text: &str) -> Account {
        let mut account = Account::default();
        for line in text.lines().filter_map(Line::parse) {
            match line {
                Line::Begun(..) => account.begun += 1,
                Line::Pause(_, nanoseconds) => {
                    account.pauses.push(Duration::from_nanos(nanoseconds));
                }
                Line::Done { id, path, blocks, words, .. } => {
                    let path = String::from_utf8_lossy(&path).into_owned();
                    let file_bytes = fs::metadata(path).map_or(0, |metadata| metadata.len());
                    account.written.push(Written {
                        number: id.number,
                        blocks,
                        heap_bytes: words * 8,
                        file_bytes,
                    });
                }
                Line::Failed(_, reason) => account.failed.push(reason),
                Line::Skipped(_) => account.skipped += 1,
                _ => {}
            }
        }
        account
    }

    /// Returns an error if any snapshot failed.
    pub fn all_well(self) -> Result<Account, String> {
        match self.failed.first() {
            None => Ok(self),
            Some(reason) => Err(format!("a snapshot failed: {reason}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledger_lines_add_up() {
        let account = Account::of(
            "begun 1 10\npause 1 10 2000\nskipped copies\ndone 1 10 5 20 0 /nowhere\nbegun 2 11\n\
             failed 2 11 why",
        );
        let written = Written { number: 1, blocks: 5, heap_bytes: 160, file_bytes: 0 };
        let expected = Account {
            written: vec![written],
            pauses: vec![Duration::from_micros(2)],
            skipped: 1,
            failed: vec!["why".to_owned()],
            begun: 2,
        };
        assert_eq!(account, expected);
        assert!(account.all_well().is_err());
    }
}
