//! The header of marshalled data: how long it is. Small data has numbers of 32 bits there, big data of 64.

use alloc::format;

use super::reader::{Cursor, marshalled};
use crate::error::Error;

const SMALL: u32 = 0x8495_a6be;
const BIG: u32 = 0x8495_a6bf;
const COMPRESSED: u32 = 0x8495_a6bd;

/// Reads a header and tells how many bytes of data follow it.
pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<u64, Error> {
    let at = cursor.at();
    match u32::from_be_bytes(cursor.array()?) {
        SMALL => {
            let length = u32::from_be_bytes(cursor.array()?);
            // Number of blocks, and words they take with 32 and with 64 bits.
            cursor.skip(12)?;
            Ok(length.into())
        }
        BIG => {
            cursor.skip(4)?;
            let length = u64::from_be_bytes(cursor.array()?);
            // Number of blocks, and words they take.
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
