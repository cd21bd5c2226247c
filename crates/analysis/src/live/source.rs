//! Sources of live numbers: an observed program or a recording of one.

use bactrian_live::Database;

/// The state of a source of live numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LiveState {
    /// Numbers are arriving.
    Live,
    /// The connection was lost, with the reason; it is retried.
    Lost(String),
    /// The numbers are from a file.
    Replay,
    /// No more numbers will arrive.
    Over,
}

/// An observed program or a recording of one.
pub trait LiveSource: Send + Sync {
    /// Calls `see` with the current data; does nothing once observation has ended.
    fn look(&self, see: &mut dyn FnMut(&LiveNow<'_>));
}

/// The current data of a program.
pub struct LiveNow<'a> {
    /// What the program has sent.
    pub database: &'a Database,
    /// The state of the source.
    pub state: &'a LiveState,
    /// Whether no more will arrive: the program has ended, or the recording was read completely.
    pub is_over: bool,
    /// Notices for people, the newest last.
    pub notices: &'a [String],
}
