//! Where questions find what they are about.

use std::path::Path;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::{QuestionError, Rows};
use crate::TraceQuestions;
use crate::heap::{Heap, HeapSums};
use crate::live::source::LiveSource;

/// Files that somebody has opened, in the order in which they were named.
pub trait Evidence: Sync {
    /// Where one is, as it was named.
    ///
    /// # Errors
    /// There is no such file.
    fn path(&self, file: FileNumber) -> Result<&Path, QuestionError>;

    /// Words that a command needs beside the path: which types a snapshot has.
    fn options(&self, file: FileNumber) -> &[String];

    /// A trace.
    ///
    /// # Errors
    /// There is no such file, or it is no trace.
    fn trace(&self, file: FileNumber) -> Result<Arc<TraceQuestions>, QuestionError>;

    /// A heap snapshot, as soon as it is open.
    ///
    /// # Errors
    /// There is no such file, it is no snapshot, or it cannot be read.
    fn heap(&self, file: FileNumber) -> Result<Arc<Heap>, QuestionError>;

    /// What a series needs of a heap snapshot, which need not stay open for it.
    ///
    /// # Errors
    /// There is no such file, it is no snapshot, or it cannot be read.
    fn sums(&self, file: FileNumber) -> Result<Arc<HeapSums>, QuestionError>;

    /// A program that is watched, or a recording of one.
    ///
    /// # Errors
    /// There is no such file, or it is no such thing.
    fn live(&self, file: FileNumber) -> Result<&dyn LiveSource, QuestionError>;

    /// What a file's headers say: at once, however large it is.
    ///
    /// # Errors
    /// There is no such file, or it has no header.
    fn info(&self, file: FileNumber) -> Result<FileInfo, QuestionError>;

    /// All heap snapshots.
    fn snapshots(&self) -> Vec<FileNumber>;

    /// No answer has more rows: whoever asks has no room for them.
    fn most_rows(&self) -> usize {
        usize::MAX
    }
}

impl dyn Evidence + '_ {
    /// So many rows, 0 for all, as far as there may be so many.
    pub(crate) fn at_most(&self, number: usize) -> usize {
        match (number, self.most_rows()) {
            (0, usize::MAX) => 0,
            (0, most) => most,
            (number, most) => number.min(most),
        }
    }

    /// Keeps the rows that are wanted; tells how many there are that fit the search.
    pub(crate) fn cut<T>(
        &self,
        window: &Rows,
        rows: &mut Vec<T>,
        name: impl Fn(&T) -> String,
    ) -> usize {
        let window = Rows { number: self.at_most(window.number), ..window.clone() };
        window.cut(rows, name)
    }
}

/// What a file is.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum FileInfo {
    /// A trace.
    Trace(Box<crate::Info>),
    /// A heap snapshot.
    Snapshot(Box<crate::heap::Info>),
}

/// The place of a file among those that were named, from 0. The command line takes paths instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileNumber(pub usize);

impl JsonSchema for FileNumber {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FileNumber".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 0, "x-file": true })
    }
}

/// What could not be read of a file.
#[derive(Clone, Debug)]
pub enum EvidenceLosses {
    /// A trace.
    Trace(bactrian_trace::Losses),
    /// A heap snapshot.
    Snapshot(bactrian_snapshot::Losses),
}

impl EvidenceLosses {
    /// In sentences; none if nothing was lost.
    pub fn sentences(&self) -> Vec<String> {
        match self {
            EvidenceLosses::Trace(losses) => losses.sentences(),
            EvidenceLosses::Snapshot(losses) => losses.sentences(),
        }
    }

    /// Whether nothing was lost.
    pub fn is_clean(&self) -> bool {
        match self {
            EvidenceLosses::Trace(losses) => losses.is_clean(),
            EvidenceLosses::Snapshot(losses) => losses.is_clean(),
        }
    }

    /// Where the first damage is in the file, and what it is.
    pub fn first(&self) -> Option<(u64, &str)> {
        match self {
            EvidenceLosses::Trace(losses) => {
                losses.incidents.first().map(|first| (first.offset, &*first.what))
            }
            EvidenceLosses::Snapshot(losses) => {
                losses.incidents.first().map(|first| (first.offset, &*first.what))
            }
        }
    }
}

impl From<bactrian_trace::Losses> for EvidenceLosses {
    fn from(losses: bactrian_trace::Losses) -> EvidenceLosses {
        EvidenceLosses::Trace(losses)
    }
}

impl From<bactrian_snapshot::Losses> for EvidenceLosses {
    fn from(losses: bactrian_snapshot::Losses) -> EvidenceLosses {
        EvidenceLosses::Snapshot(losses)
    }
}

impl Serialize for EvidenceLosses {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

impl EvidenceLosses {
    fn json(&self) -> Value {
        match self {
            EvidenceLosses::Trace(losses) => {
                let incidents = losses.incidents.iter();
                let incidents = incidents.map(|i| json!({ "offset": i.offset, "what": i.what }));
                json!({
                    "clean": losses.is_clean(),
                    "packets_damaged": losses.packets_damaged,
                    "packets_foreign": losses.packets_foreign,
                    "gaps": losses.gaps,
                    "bytes_unread": losses.bytes_unread,
                    "bytes_missing": losses.bytes_missing,
                    "allocations": losses.allocations,
                    "stacks_doubtful": losses.stacks_doubtful,
                    "stacks_too_deep": losses.stacks_too_deep,
                    "stacks_cut_by_recorder": losses.stacks_cut_by_recorder,
                    "cache_mismatches": losses.cache_mismatches,
                    "names_lost": losses.names_lost,
                    "names_repaired": losses.names_repaired,
                    "clock_steps": losses.clock_steps,
                    "clock_shift": losses.clock_shift.seconds(),
                    "incidents": incidents.collect::<Vec<_>>(),
                })
            }
            EvidenceLosses::Snapshot(losses) => {
                let incidents = losses.incidents.iter();
                let incidents = incidents.map(|i| json!({ "offset": i.offset, "what": i.what }));
                json!({
                    "clean": losses.is_clean(),
                    "cut": losses.is_cut,
                    "groups": losses.groups,
                    "blocks": losses.blocks,
                    "tables": losses.tables,
                    "references": losses.entries,
                    "bytes_unread": losses.bytes_unread,
                    "incidents": incidents.collect::<Vec<_>>(),
                })
            }
        }
    }
}
