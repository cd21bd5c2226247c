//! Lines of the ledger, written without allocating.

use core::ffi::CStr;
use core::fmt::{self, Write};

use bactrian_agent_abi::ledger::{Line, SnapshotId};
use bactrian_agent_os::{process, sys};

/// A line, at most 256 bytes.
pub struct Text {
    bytes: [u8; 256],
    length: usize,
}

impl Text {
    pub fn new(arguments: fmt::Arguments<'_>) -> Text {
        let mut text = Text { bytes: [0; 256], length: 0 };
        if text.write_fmt(arguments).is_err() {
            // What does not fit is cut off, but not the end of the line.
            text.bytes[text.length - 1] = b'\n';
        }
        text
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = &mut self.bytes[self.length..];
        let length = text.len().min(room.len());
        room[..length].copy_from_slice(&text.as_bytes()[..length]);
        self.length += length;
        if length < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// The ledger line that says that a snapshot failed.
pub fn failure(id: SnapshotId, why: fmt::Arguments<'_>) -> Text {
    Text::new(format_args!("failed {id} {why}\n"))
}

/// Appends a line, if there is a ledger.
pub fn add(ledger: Option<&CStr>, line: &Line) {
    append(ledger, &Text::new(format_args!("{line}\n")));
}

/// Records that a snapshot failed.
pub fn failed(ledger: Option<&CStr>, id: SnapshotId, why: fmt::Arguments<'_>) {
    append(ledger, &failure(id, why));
}

fn append(ledger: Option<&CStr>, line: &Text) {
    // If it cannot be opened there is nobody to tell.
    if let Some(Ok(fd)) = ledger.map(process::open_to_append) {
        let _ = sys::write(fd, line.bytes());
        sys::close(fd);
    }
}
