//! Framing: headers, an empty line, and as many bytes of JSON as `Content-Length` says.

use std::fmt;
use std::io::{self, BufRead, Read, Write};

use serde_json::Value;

/// The maximum length of a message. Editors send whole documents; 16 MB are more than any has.
pub const MOST_BYTES: u64 = 16 << 20;
/// The maximum length of all headers together.
const MOST_HEADER_BYTES: u64 = 4096;

/// Something that the client sent.
#[derive(Debug, PartialEq, Eq)]
pub enum Received {
    /// The bytes of a message.
    Message(Vec<u8>),
    /// A message of this many bytes, which was skipped.
    TooLong(u64),
}

/// Why nothing more can be read.
#[derive(Debug)]
pub enum WireError {
    /// The stream failed.
    Io(io::Error),
    /// Something else instead of a header.
    Header(String),
    /// The stream ended within a message.
    Cut,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireError::Io(error) => write!(f, "the connection to the editor failed: {error}"),
            WireError::Header(what) => write!(
                f,
                "this is not the Language Server Protocol: {what}. This command is meant to be started by an editor"
            ),
            WireError::Cut => {
                f.write_str("the editor closed the connection in the middle of a message")
            }
        }
    }
}

impl std::error::Error for WireError {}

impl From<io::Error> for WireError {
    fn from(error: io::Error) -> WireError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => WireError::Cut,
            _ => WireError::Io(error),
        }
    }
}

/// Reads the next message; none at the end of the stream.
///
/// # Errors
/// See [`WireError`].
pub fn read(input: &mut impl BufRead) -> Result<Option<Received>, WireError> {
    let Some(bytes) = read_headers(input)? else { return Ok(None) };
    if bytes > MOST_BYTES {
        let skipped = io::copy(&mut input.by_ref().take(bytes), &mut io::sink())?;
        return if skipped == bytes {
            Ok(Some(Received::TooLong(bytes)))
        } else {
            Err(WireError::Cut)
        };
    }
    // The buffer grows as bytes arrive, so that a large Content-Length alone takes no memory.
    let mut body = Vec::new();
    let read = input.by_ref().take(bytes).read_to_end(&mut body)?;
    if read as u64 == bytes { Ok(Some(Received::Message(body))) } else { Err(WireError::Cut) }
}

/// The length of the message after the headers.
fn read_headers(input: &mut impl BufRead) -> Result<Option<u64>, WireError> {
    let mut limited = input.by_ref().take(MOST_HEADER_BYTES);
    let mut length = None;
    let mut is_first = true;
    loop {
        let mut line = Vec::new();
        limited.read_until(b'\n', &mut line)?;
        if line.is_empty() && is_first {
            return Ok(None);
        }
        is_first = false;
        if line.pop() != Some(b'\n') {
            let is_long = limited.limit() == 0;
            let what = format!("headers of more than {MOST_HEADER_BYTES} bytes");
            return Err(if is_long { WireError::Header(what) } else { WireError::Cut });
        }
        let text = String::from_utf8_lossy(&line);
        let text = text.trim_end_matches('\r');
        if text.is_empty() {
            let missing = || WireError::Header("a message without Content-Length".to_owned());
            return length.map(Some).ok_or_else(missing);
        }
        let strange = || WireError::Header(format!("{text:.60?} instead of a header"));
        let (name, value) = text.split_once(':').ok_or_else(strange)?;
        if name.eq_ignore_ascii_case("content-length") {
            length = Some(value.trim().parse().map_err(|_| strange())?);
        }
    }
}

/// Writes a message.
///
/// # Errors
/// If the stream fails.
pub fn write(output: &mut impl Write, message: &Value) -> io::Result<()> {
    let body = message.to_string();
    write!(output, "Content-Length: {}\r\n\r\n{body}", body.len())?;
    output.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(mut bytes: &[u8]) -> Vec<Result<Received, String>> {
        let mut all = Vec::new();
        loop {
            match read(&mut bytes) {
                Ok(None) => return all,
                Ok(Some(received)) => all.push(Ok(received)),
                Err(error) => {
                    all.push(Err(error.to_string()));
                    return all;
                }
            }
        }
    }

    #[test]
    fn messages_are_read_one_after_the_other() {
        let mut bytes = Vec::new();
        write(&mut bytes, &serde_json::json!({ "a": 1 })).expect("memory can be written");
        bytes.extend(b"content-length: 2\nContent-Type: x\n\n[]");
        let message = |text: &str| Ok(Received::Message(text.into()));
        assert_eq!(read_all(&bytes), [message("{\"a\":1}"), message("[]")]);
    }

    #[test]
    fn malformed_messages_are_refused() {
        let long = format!("X: {}\r\n\r\n", "y".repeat(5000));
        for (bytes, why) in [
            ("GET / HTTP/1.1\r\n\r\n", "instead of a header"),
            ("Content-Length: -1\r\n\r\n", "instead of a header"),
            ("Content-Type: x\r\n\r\n{}", "without Content-Length"),
            ("Content-Length: 10\r\n\r\n{}", "in the middle"),
            ("Content-Length: 1", "in the middle"),
            ("Content-Length: 99999999999\r\n\r\n{}", "in the middle"),
            (&long, "more than 4096"),
        ] {
            let all = read_all(bytes.as_bytes());
            assert!(matches!(&all[..], [Err(said)] if said.contains(why)), "{bytes}: {all:?}");
        }
    }

    #[test]
    fn a_message_that_is_too_long_is_skipped() {
        let mut bytes = format!("Content-Length: {}\r\n\r\n", MOST_BYTES + 1).into_bytes();
        bytes.resize(bytes.len() + MOST_BYTES as usize + 1, b' ');
        bytes.extend(b"Content-Length: 2\r\n\r\n{}");
        let expected =
            [Ok(Received::TooLong(MOST_BYTES + 1)), Ok(Received::Message(b"{}".to_vec()))];
        assert_eq!(read_all(&bytes), expected);
    }
}
