//! Converts a trace of version 3 to version 2 if a single domain did everything: only packet headers differ.
//!
//! A recorder cannot know at the start whether a program will have several domains, and older readers know
//! version 2 only. So traces of OCaml 5 are recorded as version 3 and converted to version 2 afterwards if
//! possible.

use std::io::{self, Write};

use crate::model::DomainId;
use crate::packet::Header;

/// Writes a trace of version 3 as version 2. Returns false and writes nothing if it is not of version 3, if it
/// contains packets of domains other than the first, or if it is damaged.
///
/// # Errors
/// If `out` does not take the bytes.
pub fn write_single_domain(bytes: &[u8], mut out: impl Write) -> io::Result<bool> {
    if !is_single_domain(bytes) {
        return Ok(false);
    }
    let mut rest = bytes;
    let mut packet = Vec::new();
    while let Ok(mut header) = Header::parse(rest) {
        let (whole, behind) = rest.split_at(header.size as usize);
        let body = &whole[Header::len(header.version)..];
        header.version = 2;
        header.size = (Header::len(2) + body.len()) as u64;
        packet.clear();
        header.emit(&mut packet);
        packet.extend_from_slice(body);
        out.write_all(&packet)?;
        rest = behind;
    }
    out.flush()?;
    Ok(true)
}

fn is_single_domain(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    let mut next_id = 0;
    while !rest.is_empty() {
        let Ok(header) = Header::parse(rest) else { return false };
        let whole = rest.get(header.size as usize..);
        let expected = header.version == 3 && header.domain == DomainId(0);
        let (Some(behind), true) = (whole, expected && header.id_begin == next_id) else {
            return false;
        };
        next_id = header.id_end;
        rest = behind;
    }
    true
}
