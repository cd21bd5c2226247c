//! Where live numbers come from: a program that is watched, or a recording of one.

use bactrian_live::Database;

/// How it stands with where live numbers come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveState {
    /// They are coming.
    Live,
    /// None are coming, and why; it is tried again.
    Lost(String),
    /// They are from a file.
    Replay,
    /// No more will come.
    Over,
}

/// A program that is watched, or a recording of one.
pub trait LiveSource: Send + Sync {
    /// Calls `see` with what is known now; does nothing once watching has ended.
    fn look(&self, see: &mut dyn FnMut(&LiveNow<'_>));
}

/// What is known of a program.
pub struct LiveNow<'a> {
    /// What came from it.
    pub database: &'a Database,
    /// How it stands with where that comes from.
    pub state: &'a LiveState,
    /// Whether no more will come: the program has ended, or all of the recording is read.
    pub is_over: bool,
    /// Sentences for people, the last one last.
    pub notices: &'a [String],
}
