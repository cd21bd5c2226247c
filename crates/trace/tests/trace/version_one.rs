//! Version 1 differs from version 2 in the contents of the first packet.

use bactrian_trace::{Index, TraceInfo};

use crate::events::read;
use crate::packets::{self, VERSION, patch, set_size};
use crate::scripts;

/// What a writer of version 1 would have written.
fn downgrade(bytes: &[u8], context: &[u8]) -> Vec<u8> {
    let mut packets = packets::split(bytes);
    let first = &mut packets[0];
    let size = first.len() - (context.len() + 1);
    first.truncate(size);
    set_size(first, size);
    packets.iter_mut().for_each(|packet| patch(packet, VERSION, &1u16.to_le_bytes()));
    packets.concat()
}

#[test]
fn version_1_reads_like_version_2_without_the_context() {
    let info = scripts::info(2);
    let new = scripts::small(2).bytes;
    let old = downgrade(&new, &info.context);
    let expected = TraceInfo { version: 1, context: Vec::new(), ..info };
    assert_eq!(*Index::skim(&old).expect("a readable trace").info(), expected);
    let (old, new) = (read(&old), read(&new));
    assert_eq!(old.events, new.events);
    assert!(old.losses.is_clean(), "{:?}", old.losses);
    for frame in old.frames.ids() {
        assert_eq!(old.places(frame), new.places(frame));
    }
}
