//! What must hold for any bytes that are read as a snapshot, and a way past checksums. The fuzz target uses
//! this, too.

use bactrian_snapshot::*;

/// Reads everything readable, and checks what must hold for any input.
pub fn exercise(bytes: Vec<u8>) -> Option<Losses> {
    let length = bytes.len() as u64;
    let snapshot = Snapshot::from_bytes(bytes).ok()?;
    assert!(snapshot.blocks() <= 2_000 * length, "{} blocks", snapshot.blocks());
    let losses = snapshot.verify(&mut |_| {});
    for index in 0..snapshot.groups().len() {
        let Ok(group) = snapshot.group(index) else { continue };
        for equal in group.equals().unwrap_or_default() {
            assert!(equal.first < equal.block);
        }
        let Ok(fields) = group.fields() else { continue };
        for edge in fields.edges().map_while(Result::ok) {
            assert!(u64::from(edge.to.block.0) < snapshot.blocks());
        }
        assert!(fields.iter().filter(Result::is_err).count() <= 1);
        let first = group.blocks()[0];
        assert!(snapshot.find(first.address).is_ok());
    }
    Some(losses)
}

/// Corrects all checksums that can be found.
pub fn mend(bytes: &mut [u8]) {
    if bytes.len() < 64 {
        return;
    }
    let sum = crc32fast::hash(&bytes[..28]);
    bytes[28..32].copy_from_slice(&sum.to_le_bytes());
    let mut at = 32;
    while at + 36 <= bytes.len() {
        if &bytes[at..at + 4] != b"SECT" {
            at += 1;
            continue;
        }
        let stored = u64::from_le_bytes(bytes[at + 20..at + 28].try_into().expect("eight bytes"));
        let start = at + 36;
        let end = start.saturating_add(stored.min(1 << 40) as usize);
        if let Some(contents) = bytes.get(start..end) {
            let sum = crc32fast::hash(contents);
            bytes[at + 28..at + 32].copy_from_slice(&sum.to_le_bytes());
        }
        let sum = crc32fast::hash(&bytes[at..at + 32]);
        bytes[at + 32..at + 36].copy_from_slice(&sum.to_le_bytes());
        at = start;
    }
    let trailer = bytes.len() - 28;
    let sum = crc32fast::hash(&bytes[trailer..trailer + 16]);
    bytes[trailer + 16..trailer + 20].copy_from_slice(&sum.to_le_bytes());
}
