//! The ledger: a log of what becomes of each snapshot, written by the agent, the frozen copy and the walker
//! as it happens.
//!
//! It is a text file that nobody truncates. Each line is appended by a single write, so that writers need not
//! know about each other. Several processes may write to one ledger. The snapshots of the first have the numbers
//! of their files; those of other processes have their process id times 2^32 added. These numbers need not be
//! unique: programs that a shell starts do not know about each other, and a process may execute another program.
//! So every line about a snapshot names its frozen copy, too.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::str::{self, FromStr};

/// Which snapshot a line is about. Snapshots that are being written at the same time have different ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SnapshotId {
    /// Its number in the ledger.
    pub number: u64,
    /// The process id of its frozen copy.
    pub copy: u32,
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.number, self.copy)
    }
}

/// A line of the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// A snapshot has begun.
    Begun(SnapshotId),
    /// The frozen copy has started a walker, which has this process id.
    Walker(SnapshotId, u32),
    /// How long the program was paused for it, in nanoseconds.
    Pause(SnapshotId, u64),
    /// How much of it is done, in percent.
    Progress(SnapshotId, u8),
    /// The snapshot is complete.
    Done {
        /// Which one.
        id: SnapshotId,
        /// The path of its file.
        path: Vec<u8>,
        /// The number of blocks in it.
        blocks: u64,
        /// The total words of these blocks.
        words: u64,
        /// The number of things that could not be read.
        gaps: u64,
    },
    /// The snapshot failed, for this reason.
    Failed(SnapshotId, String),
    /// No snapshot was taken, because of a limit.
    Skipped(Limit),
}

/// Why a snapshot was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The maximal number of frozen copies exists.
    Copies,
    /// The keeper did not answer in time whether the program may be copied.
    Busy,
    /// Another copy would exceed the memory that was allowed.
    Memory,
    /// The machine has not enough memory for another copy.
    NoMemory,
    /// The files have reached the allowed size.
    Disk,
    /// The disk is full.
    NoDisk,
    /// The kernel does not allow another process.
    Process,
    /// The copy could become a child of the program that started this one: that program adopts orphans.
    Adopted,
    /// The program has seccomp filters that are not known to allow copying.
    Filtered,
    /// The kernel cannot make copies that are hidden from the program, or a filter refuses it.
    Kernel,
}

impl Limit {
    const ALL: [Limit; 10] = [
        Limit::Copies,
        Limit::Busy,
        Limit::Memory,
        Limit::NoMemory,
        Limit::Disk,
        Limit::NoDisk,
        Limit::Process,
        Limit::Adopted,
        Limit::Filtered,
        Limit::Kernel,
    ];

    /// Its name in the ledger.
    pub fn name(self) -> &'static str {
        match self {
            Limit::Copies => "copies",
            Limit::Busy => "busy",
            Limit::Memory => "memory",
            Limit::NoMemory => "no-memory",
            Limit::Disk => "disk",
            Limit::NoDisk => "no-disk",
            Limit::Process => "process",
            Limit::Adopted => "adopted",
            Limit::Filtered => "filtered",
            Limit::Kernel => "kernel",
        }
    }
}

impl fmt::Display for Line {
    /// The line without its newline. A path is escaped as by `escape_ascii`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Line::Begun(id) => write!(f, "begun {id}"),
            Line::Walker(id, process) => write!(f, "walker {id} {process}"),
            Line::Pause(id, nanoseconds) => write!(f, "pause {id} {nanoseconds}"),
            Line::Progress(id, percent) => write!(f, "progress {id} {percent}"),
            Line::Done { id, path, blocks, words, gaps } => {
                write!(f, "done {id} {blocks} {words} {gaps} {}", path.escape_ascii())
            }
            Line::Failed(id, message) => {
                write!(f, "failed {id} {}", message.replace(['\n', '\r'], " "))
            }
            Line::Skipped(limit) => write!(f, "skipped {}", limit.name()),
        }
    }
}

impl Line {
    /// The line with its newline, to be appended by a single write.
    pub fn text(&self) -> String {
        format!("{self}\n")
    }

    /// Parses a line without its newline; None if it is not a ledger line.
    pub fn parse(line: &str) -> Option<Line> {
        let (kind, rest) = line.split_once(' ')?;
        if kind == "skipped" {
            let limit = Limit::ALL.into_iter().find(|limit| limit.name() == rest)?;
            return Some(Line::Skipped(limit));
        }
        let (number, rest) = rest.split_once(' ')?;
        let (copy, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        let id = SnapshotId { number: number.parse().ok()?, copy: copy.parse().ok()? };
        match kind {
            "begun" => rest.is_empty().then_some(Line::Begun(id)),
            "walker" => Some(Line::Walker(id, rest.parse().ok()?)),
            "pause" => Some(Line::Pause(id, rest.parse().ok()?)),
            "progress" => Some(Line::Progress(id, rest.parse().ok()?)),
            "failed" => Some(Line::Failed(id, rest.to_string())),
            "done" => {
                let mut parts = rest.splitn(4, ' ');
                let mut count = || parts.next().and_then(|n| u64::from_str(n).ok());
                let (blocks, words, gaps) = (count()?, count()?, count()?);
                Some(Line::Done { id, path: unescape(parts.next()?)?, blocks, words, gaps })
            }
            _ => None,
        }
    }
}

/// The inverse of `escape_ascii`.
fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let (&kind, after) = rest.split_first()?;
        rest = after;
        bytes.push(match kind {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'x' => {
                let (digits, after) = rest.split_at_checked(2)?;
                rest = after;
                u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?
            }
            other => other,
        });
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ledger_lines_are_read_back_as_written() {
        let path = b"/a b/\xFF\\\n\"'.heap".to_vec();
        let id = SnapshotId { number: u64::MAX, copy: 4711 };
        for line in [
            Line::Begun(id),
            Line::Walker(id, 4712),
            Line::Pause(id, 5),
            Line::Progress(id, 100),
            Line::Done { id, path, blocks: 3, words: 4, gaps: 5 },
            Line::Failed(id, "no space left on device".into()),
        ]
        .into_iter()
        .chain(Limit::ALL.map(Line::Skipped))
        {
            let text = line.text();
            assert_eq!(text.matches('\n').count(), 1);
            assert_eq!(Line::parse(text.trim_end_matches('\n')), Some(line));
        }
    }

    #[test]
    fn invalid_ledger_lines_are_refused() {
        for text in
            ["", "begun", "begun 1", "begun x 1", "begun 1 2 3", "done 1 2 3 4 5", "skipped all"]
        {
            assert_eq!(Line::parse(text), None, "{text}");
        }
        for path in [r"\", r"\x", r"\x1", r"\xzz"] {
            assert_eq!(Line::parse(&format!("done 1 2 3 4 5 {path}")), None, "{path}");
        }
    }
}
