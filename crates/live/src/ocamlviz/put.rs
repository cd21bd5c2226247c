//! Encodes messages so that the original clients survive them.

use std::fmt;

use super::{Message, Uid, VizValue};

/// The longest frame that the original clients accept, including its length field: the size of their buffer.
/// A longer one stops them for good.
pub const MAX_FRAME: usize = 65_536;

/// The message would freeze an original client: it must be shortened or omitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong;

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("too long for a client of Ocamlviz")
    }
}

impl std::error::Error for TooLong {}

/// Appends a message, preceded by its length.
///
/// # Errors
/// If the message is too long; then nothing is appended.
pub fn put(bytes: &mut Vec<u8>, message: &Message) -> Result<(), TooLong> {
    let start = bytes.len();
    bytes.extend_from_slice(&[0; 4]);
    let put = put_body(bytes, message);
    let length = bytes.len() - start;
    if put.is_err() || length > MAX_FRAME {
        bytes.truncate(start);
        return Err(TooLong);
    }
    bytes[start..start + 4].copy_from_slice(&(length as u32 - 4).to_le_bytes());
    Ok(())
}

fn put_body(body: &mut Vec<u8>, message: &Message) -> Result<(), TooLong> {
    match message {
        Message::Declare(uid, kind, name) => {
            body.push(0);
            put_uid(body, *uid);
            body.push(*kind as u8);
            put_text(body, name);
        }
        Message::Send(uid, value) => {
            body.push(1);
            put_uid(body, *uid);
            put_value(body, value)?;
        }
        Message::Bind(uids) => {
            body.push(2);
            put_length(body, uids.len())?;
            uids.iter().for_each(|uid| put_uid(body, *uid));
        }
    }
    Ok(())
}

fn put_value(body: &mut Vec<u8>, value: &VizValue) -> Result<(), TooLong> {
    match value {
        VizValue::Int(number) => put_int(body, *number),
        VizValue::Float(number) => {
            body.push(2);
            body.extend_from_slice(&number.to_le_bytes());
        }
        VizValue::String(text) => {
            body.push(3);
            put_text(body, text);
        }
        VizValue::Bool(truth) => body.extend([4, (*truth).into()]),
        VizValue::Int64(number) => {
            body.push(5);
            body.extend_from_slice(&number.to_le_bytes());
        }
        VizValue::Collected => body.push(6),
        VizValue::Killed => body.push(7),
        VizValue::Tree(nodes) => {
            body.push(8);
            put_length(body, nodes.len())?;
            for (label, children) in nodes {
                put_text(body, label);
                put_length(body, children.len())?;
                children.iter().for_each(|child| body.extend_from_slice(&child.to_le_bytes()));
            }
        }
        VizValue::Hashtable(numbers) => {
            body.push(9);
            numbers.iter().for_each(|number| put_int(body, *number));
        }
        VizValue::Log(lines) => {
            body.push(10);
            put_length(body, lines.len())?;
            for (time, line) in lines {
                body.extend_from_slice(&time.to_le_bytes());
                put_text(body, line);
            }
        }
    }
    Ok(())
}

fn put_int(body: &mut Vec<u8>, number: i64) {
    body.push(1);
    body.extend_from_slice(&number.to_le_bytes());
}

fn put_uid(body: &mut Vec<u8>, uid: Uid) {
    body.extend_from_slice(&uid.0.to_le_bytes());
}

fn put_length(body: &mut Vec<u8>, length: usize) -> Result<(), TooLong> {
    let length = u16::try_from(length).map_err(|_| TooLong)?;
    body.extend_from_slice(&length.to_le_bytes());
    Ok(())
}

fn put_text(body: &mut Vec<u8>, text: &str) {
    // A longer text makes the frame too long anyway.
    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
    body.extend_from_slice(&length.to_le_bytes());
    body.extend_from_slice(text.as_bytes());
}
