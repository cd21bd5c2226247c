//! The header of a file.

use super::{Cursor, Record};
use crate::error::{Result, SnapshotError};
use crate::model::Columns;

/// The first bytes of every snapshot. The first is not a letter, so that no text begins like this; the last
/// ones reveal conversions of line ends.
pub(crate) const MAGIC: &[u8; 8] = b"\x89HEAP\r\n\n";

/// The header at the beginning of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileHeader {
    pub columns: Columns,
    /// The number of blocks in the complete file.
    pub blocks: u32,
}

impl FileHeader {
    pub const LENGTH: usize = 32;

    pub fn to_bytes(self) -> [u8; FileHeader::LENGTH] {
        let mut bytes = [0; FileHeader::LENGTH];
        bytes[0..8].copy_from_slice(MAGIC);
        bytes[8..12].copy_from_slice(&crate::VERSION.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.blocks.to_le_bytes());
        let mut columns = Vec::new();
        self.columns.put(&mut columns);
        bytes[16..16 + columns.len()].copy_from_slice(&columns);
        let sum = crc32fast::hash(&bytes[..28]);
        bytes[28..32].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// Reads the beginning of a file.
    pub fn read(bytes: &[u8]) -> Result<FileHeader> {
        let not = |offset, reason: &str| SnapshotError::NotASnapshot {
            offset,
            reason: reason.to_owned(),
        };
        if bytes.is_empty() {
            return Err(not(0, "it is empty"));
        }
        if bytes.get(..MAGIC.len()).unwrap_or(bytes) != &MAGIC[..MAGIC.len().min(bytes.len())] {
            return Err(not(0, "it does not begin as one"));
        }
        let short = |_| not(bytes.len() as u64, "it ends inside its header");
        let mut cursor = Cursor::new(bytes);
        cursor.array::<8>().map_err(short)?;
        let version = cursor.u32().map_err(short)?;
        if version != crate::VERSION {
            return Err(SnapshotError::Version(version));
        }
        let blocks = cursor.u32().map_err(short)?;
        let mut columns = Cursor::new(cursor.take(12).map_err(short)?);
        let sum = cursor.u32().map_err(short)?;
        if sum != crc32fast::hash(&bytes[..28]) {
            return Err(not(28, "the checksum of its header is wrong"));
        }
        let columns = Columns::get(&mut columns).map_err(|fault| not(16, fault.0))?;
        Ok(FileHeader { columns, blocks })
    }
}
