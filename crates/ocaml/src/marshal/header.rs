//! The header of marshalled data: its length. Small data has 32-bit numbers there, big data 64-bit ones.

use alloc::format;

use super::reader::{Cursor, marshalled};
use crate::error::OcamlError;

const SMALL: u32 = 0x8495_a6be;
const BIG: u32 = 0x8495_a6bf;
const COMPRESSED: u32 = 0x8495_a6bd;

/// Reads a header and returns how many bytes of data follow it.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<u64, OcamlError> {
    let at = cursor.at();
    match u32::from_be_bytes(cursor.array()?) {
        SMALL => {
            let length = u32::from_be_bytes(cursor.array()?);
            // The number of blocks, and their sizes in words on 32 and on 64 bits.
            cursor.skip(12)?;
            Ok(length.into())
        }
        BIG => {
            cursor.skip(4)?;
            let length = u64::from_be_bytes(cursor.array()?);
            // The number of blocks, and their size in words.
            cursor.skip(16)?;
            Ok(length)
        }
        COMPRESSED => Err(marshalled(
            at,
            "it is compressed with zstd (OCaml 5.1 and later), which is not read",
        )),
        other => Err(marshalled(at, format!("it begins with {other:08x}"))),
    }
}
