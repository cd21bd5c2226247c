//! The account of what is missing from a snapshot because its file is cut or damaged.
//!
//! Parts of the *program* that could not be read when the snapshot was taken are another matter: see
//! [`Tables::gaps`](crate::Tables::gaps).

use crate::error::SnapshotError;

/// The maximum number of incidents kept; further ones are only counted.
const MOST_INCIDENTS: usize = 20;

/// What is missing or damaged in a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Losses {
    /// The file has no end: it was cut, or its end is damaged.
    pub is_cut: bool,
    /// The number of groups known to be unreadable.
    pub groups: u64,
    /// The number of blocks in them, or after the cut.
    pub blocks: u64,
    /// The number of tables that are missing or damaged.
    pub tables: u64,
    /// The number of references to table entries or blocks that do not exist.
    pub entries: u64,
    /// The number of bytes at the end of the file that could not be decoded.
    pub bytes_unread: u64,
    /// The number of all incidents.
    pub incident_count: u64,
    /// The first incidents.
    pub incidents: Vec<Incident>,
}

/// A place where something was wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incident {
    /// Its byte offset in the file.
    pub offset: u64,
    /// What was wrong.
    pub what: String,
}

impl Losses {
    /// Whether nothing is missing.
    pub fn is_clean(&self) -> bool {
        *self == Losses::default()
    }

    /// Records an incident.
    pub fn note(&mut self, offset: u64, what: impl Into<String>) {
        self.incident_count += 1;
        if self.incidents.len() < MOST_INCIDENTS {
            self.incidents.push(Incident { offset, what: what.into() });
        }
    }

    /// Records that a group of `blocks` blocks could not be read.
    pub fn note_group(&mut self, error: &SnapshotError, blocks: u32) {
        self.groups += 1;
        self.blocks += u64::from(blocks);
        self.note_error(error);
    }

    pub(crate) fn note_error(&mut self, error: &SnapshotError) {
        match error {
            SnapshotError::Damaged { offset, reason } => self.note(*offset, reason),
            other => self.note(0, other.to_string()),
        }
    }

    /// The losses as sentences, one for each kind of loss.
    pub fn sentences(&self) -> Vec<String> {
        let number =
            |count: u64, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
        let mut sentences = Vec::new();
        if self.is_cut {
            sentences.push(
                "the file has no end: it was truncated, or its end is \
                damaged"
                    .to_owned(),
            );
        }
        if self.groups > 0 || self.blocks > 0 {
            let blocks = number(self.blocks, "block");
            sentences.push(match (self.blocks, self.groups) {
                (_, 0) => format!("{blocks} missing"),
                // The blocks are there, but something about them is not.
                (0, groups) => format!("{} unreadable in part", number(groups, "group")),
                (_, groups) => format!("{blocks} missing, {} unreadable", number(groups, "group")),
            });
        }
        if self.tables > 0 {
            sentences.push(format!("{} missing or damaged", number(self.tables, "table")));
        }
        if self.entries > 0 {
            let lead = if self.entries == 1 { "leads" } else { "lead" };
            let references = number(self.entries, "reference");
            sentences.push(format!("{references} {lead} to what is not there"));
        }
        if self.bytes_unread > 0 {
            let bytes = number(self.bytes_unread, "byte");
            sentences.push(format!("{bytes} at the end could not be read"));
        }
        if sentences.is_empty()
            && let Some(first) = self.incidents.first()
        {
            sentences.push(first.what.clone());
        }
        sentences
    }
}
