//! A small language server that shows numbers beside lines of source files, as inlay hints, code lenses and hovers. The caller
//! decides what the numbers are, by implementing [`Annotations`].
//!
//! It speaks the Language Server Protocol 3.17 over two streams ([`wire`]) and answers requests one after the other ([`server`]).
//! Guarantees: any message is answered or ignored as the protocol demands, and none causes a panic; memory is bounded by the
//! longest message, [`wire::MOST_BYTES`]. Everything else that language servers do is left out. Documents are read from disk, as
//! the compiler reads them, not from the editor.

pub mod server;
pub mod wire;

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use server::Server;
use wire::{Received, WireError};

/// Numbers beside a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineNote {
    /// The line, from 0 as the protocol counts.
    pub line: u32,
    /// The end of the line, in UTF-16 code units.
    pub end: u32,
    /// The text after the line.
    pub hint: String,
    /// The text shown when the pointer rests on the hint.
    pub tooltip: String,
    /// The text above the line, if the numbers are large enough.
    pub lens: Option<String>,
}

/// Provides the texts about lines.
pub trait Annotations {
    /// The folders that the editor has open.
    fn set_folders(&mut self, folders: Vec<PathBuf>);
    /// The notes of a file, in the order of its lines.
    ///
    /// # Errors
    /// A message for users that says why there are none.
    fn notes(&mut self, file: &Path) -> Result<Vec<LineNote>, String>;
    /// More about a line, from 0, as Markdown; none if there is nothing to say.
    ///
    /// # Errors
    /// As [`Annotations::notes`].
    fn hover(&mut self, file: &Path, line: u32) -> Result<Option<String>, String>;
}

/// How a client left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// As the protocol wants it: `shutdown`, then `exit`.
    Orderly,
    /// Without `shutdown`, or by closing the stream.
    Abruptly,
}

/// Answers messages until the client leaves.
///
/// # Errors
/// The streams fail, or the client sends what is not the protocol's framing, after which nothing can be understood.
pub fn serve(
    input: &mut impl BufRead,
    output: &mut impl Write,
    annotations: &mut dyn Annotations,
) -> Result<Ended, WireError> {
    let mut server = Server::new(annotations);
    loop {
        let answers = match wire::read(input)? {
            None => return Ok(Ended::Abruptly),
            Some(Received::Message(body)) => server.handle(&body),
            Some(Received::TooLong(bytes)) => vec![server::too_long(bytes)],
        };
        for answer in answers {
            wire::write(output, &answer)?;
        }
        if let Some(ended) = server.ended() {
            return Ok(ended);
        }
    }
}
