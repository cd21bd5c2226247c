//! Small files made to cost much memory or time. The tests count what these would blow up.

use bactrian_trace::Index;

use crate::events::{What, read};
use crate::packets::{event, info, location, packet, record};

/// 31 files with one function each: all positions of version 2's move-to-front list are taken.
fn all_places_taken() -> Vec<u8> {
    let name = |n: u64| {
        let names = format!("f{n}\0g\0").into_bytes();
        [location(100 + n, 1), record(31, 31).to_vec(), names].concat()
    };
    packet(2, 0, 0..0, &(0..31).flat_map(name).collect::<Vec<_>>())
}

#[test]
fn domains_past_the_limit_are_left_out() {
    let domain = |domain: u16| {
        let id = u64::from(domain) * 10_000;
        packet(3, domain, id..id, &[])
    };
    let bytes = [info(3), (0..10_000).flat_map(domain).collect()].concat();
    let index = Index::skim(&bytes).expect("a readable trace");
    assert_eq!(index.domains().len(), 1024);
    assert_eq!(index.losses().bytes_unread, (10_000 - 1024) * 68);
    assert_eq!(read(&bytes).events, []);
}

#[test]
fn names_tried_in_a_failing_repair_are_not_kept() {
    let garbled = [location(0x1111, 255), record(31, 0).repeat(255)].concat();
    let mut body = garbled.repeat(64);
    body.extend([&b"A".repeat(100_000)[..], b"\0"].concat());
    let reading = read(&[info(2), all_places_taken(), packet(2, 0, 0..0, &body)].concat());
    assert!(reading.frames.names().len() < 100, "{} names", reading.frames.names().len());
    assert_eq!(reading.losses.packets_damaged, 1);
}

#[test]
fn packets_that_cannot_be_repaired_are_given_up_one_by_one() {
    let ambiguous = [location(5, 11), record(3, 0).repeat(10)].concat();
    let packets = packet(2, 0, 0..0, &ambiguous).repeat(500);
    let reading = read(&[info(2), all_places_taken(), packets].concat());
    assert_eq!(reading.losses.packets_damaged, 500);
    assert_eq!(reading.losses.bytes_unread, 500 * ambiguous.len() as u64);
    assert!(reading.frames.len() < 100 && reading.frames.names().len() < 100);
}

#[test]
fn stack_depth_is_bounded() {
    // Each allocation keeps the first `n * FRAMES` frames and adds as many and a few more.
    const FRAMES: u32 = 65_000;
    let codewords = [&[3, 0][..], &9u64.to_le_bytes(), &[2, 0, 255].repeat(254)].concat();
    let alloc = |n: u32| {
        let prefix = (n * FRAMES).to_le_bytes();
        [&event(101)[..], &[254], &prefix, &[255], &codewords].concat()
    };
    let body: Vec<_> = (0..40).flat_map(alloc).collect();
    let reading = read(&[info(2), packet(2, 0, 0..40, &body)].concat());
    let depths = reading.events.iter().map(|seen| match &seen.what {
        What::Alloc { stack, .. } => stack.len(),
        _ => 0,
    });
    let deepest = depths.max();
    assert!(deepest > Some(1_000_000) && deepest <= Some(1 << 20), "{deepest:?}");
    assert!(reading.losses.stacks_too_deep > 0);
}
