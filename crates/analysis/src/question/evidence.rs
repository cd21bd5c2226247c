//! Where questions find the files that they are about.

use std::path::Path;
use std::sync::Arc;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::{QuestionError, Rows};
use crate::TraceQuestions;
use crate::heap::{Heap, HeapSums};
use crate::live::source::LiveSource;

/// Open files, in the order in which they were named.
pub trait Evidence: Sync {
    /// The path of a file, as it was given.
    ///
    /// # Errors
    /// If there is no such file.
    fn path(&self, file: FileNumber) -> Result<&Path, QuestionError>;

    /// The options that a command needs beside the path, such as the type table of a snapshot.
    fn options(&self, file: FileNumber) -> &[String];

    /// A trace.
    ///
    /// # Errors
    /// If there is no such file, or it is not a trace.
    fn trace(&self, file: FileNumber) -> Result<Arc<TraceQuestions>, QuestionError>;

    /// A heap snapshot; waits until it is open.
    ///
    /// # Errors
    /// If there is no such file, it is not a snapshot, or it cannot be read.
    fn heap(&self, file: FileNumber) -> Result<Arc<Heap>, QuestionError>;

    /// What a series needs of a heap snapshot, which need not stay open for it.
    ///
    /// # Errors
    /// If there is no such file, it is not a snapshot, or it cannot be read.
    fn sums(&self, file: FileNumber) -> Result<Arc<HeapSums>, QuestionError>;

    /// An observed program, or a recording of one.
    ///
    /// # Errors
    /// If there is no such file, or it is neither.
    fn live(&self, file: FileNumber) -> Result<&dyn LiveSource, QuestionError>;

    /// The facts in a file's headers, which are available at once for a file of any size.
    ///
    /// # Errors
    /// If there is no such file, or it has no header.
    fn info(&self, file: FileNumber) -> Result<FileInfo, QuestionError>;

    /// All heap snapshots.
    fn snapshots(&self) -> Vec<FileNumber>;

    /// The most rows in any answer.
    fn most_rows(&self) -> usize {
        usize::MAX
    }
}

impl dyn Evidence + '_ {
    /// A requested number of rows (0 for all), limited to [`Evidence::most_rows`].
    pub(crate) fn at_most(&self, number: usize) -> usize {
        match (number, self.most_rows()) {
            (0, usize::MAX) => 0,
            (0, most) => most,
            (number, most) => number.min(most),
        }
    }

    /// Keeps the requested rows, and returns how many match the search.
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

/// Description of a file.
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
    /// Of a trace.
    Trace(bactrian_trace::Losses),
    /// Of a heap snapshot.
    Snapshot(bactrian_snapshot::Losses),
}

impl EvidenceLosses {
    /// The losses in sentences; empty if nothing was lost.
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

    /// The offset of the first damage in the file, and a description.
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
