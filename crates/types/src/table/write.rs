//! Writing tables. The helper in OCaml writes those of programs; this is for tests and for merging tables.

use super::model::Table;
use super::wire::{Record, Sink};
use super::{MAGIC, VERSION};

impl Table {
    /// Encodes the table as the bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut sink = Sink::default();
        sink.varint(VERSION);
        self.compiler.put(&mut sink);
        self.units.put(&mut sink);
        self.types.put(&mut sink);
        self.declarations.put(&mut sink);
        self.extensions.put(&mut sink);
        self.layouts.put(&mut sink);
        self.sites.put(&mut sink);
        self.variables.put(&mut sink);
        self.functions.put(&mut sink);
        self.failures.put(&mut sink);
        let body = sink.bytes;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&crc32fast::hash(&body).to_le_bytes());
        bytes.extend_from_slice(&body);
        bytes
    }
}
