//! Packets as bytes: split, changed, made up.

use std::ops::Range;

use bactrian_trace::Index;

/// Offsets of fields in a packet header, up to version 2.
pub const SIZE: usize = 4;
pub const VERSION: usize = 28;
pub const PID: usize = 30;
pub const HEADER: usize = 66;

/// Splits a sound trace into packets, the trace-info packet first.
pub fn split(bytes: &[u8]) -> Vec<Vec<u8>> {
    let index = Index::skim(bytes).expect("a readable trace");
    let starts = index.packets().iter().map(|packet| packet.offset);
    let ends = starts.clone().chain([bytes.len()]);
    [0].into_iter().chain(starts).zip(ends).map(|(start, end)| bytes[start..end].to_vec()).collect()
}

/// Replaces the bytes at `at`.
pub fn patch(packet: &mut [u8], at: usize, field: &[u8]) {
    packet[at..at + field.len()].copy_from_slice(field);
}

/// Sets the size in a packet's header.
pub fn set_size(packet: &mut [u8], bytes: usize) {
    patch(packet, SIZE, &(bytes as u32).wrapping_mul(8).to_le_bytes());
}

/// The time of everything made up here, in microseconds since the epoch.
const TIME: u64 = 1_700_000_000_000_000;

/// Puts a header before `body`.
pub fn packet(version: u16, domain: u16, ids: Range<u64>, body: &[u8]) -> Vec<u8> {
    let mut packet = Vec::new();
    packet.extend(0xC1FC_1FC1u32.to_le_bytes());
    packet.extend([0; 4]);
    packet.extend([TIME.to_le_bytes(), TIME.to_le_bytes()].concat());
    packet.extend([0; 4]);
    packet.extend(version.to_le_bytes());
    packet.extend(7u64.to_le_bytes());
    if version >= 3 {
        packet.extend(domain.to_le_bytes());
    }
    // No cache check.
    packet.extend([0xFF, 0xFF, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    packet.extend([ids.start.to_le_bytes(), ids.end.to_le_bytes()].concat());
    packet.extend(body);
    let size = packet.len();
    set_size(&mut packet, size);
    packet
}

/// The first word of an event.
pub fn event(code: u8) -> [u8; 4] {
    (u32::from(code) << 25 | TIME as u32 & 0x1FF_FFFF).to_le_bytes()
}

/// A trace-info packet.
pub fn info(version: u16) -> Vec<u8> {
    let mut body = event(0).to_vec();
    body.extend(1e-3f64.to_bits().to_le_bytes());
    body.extend(b"\x40program\0host\0params\0");
    body.extend(7u64.to_le_bytes());
    body.extend(b"context\0");
    packet(version, 0, 0..0, &body)
}

/// The start of a location event with this many records.
pub fn location(code: u64, records: u8) -> Vec<u8> {
    [&event(1)[..], &code.to_le_bytes(), &[records]].concat()
}

/// The fixed part of a location record, with its move-to-front codes.
pub fn record(file: u64, function: u64) -> [u8; 6] {
    let [a, b, c, d, e, f, ..] =
        (12 | 2 << 20 | 9 << 28 | file << 38 | function << 43).to_le_bytes();
    [a, b, c, d, e, f]
}
