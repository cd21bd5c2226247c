//! Damaged traces: what remains is read, what is lost is counted.

use bactrian_trace::{Index, Losses, Micros, Stacks};

use crate::events::{Seen, read, read_with};
use crate::packets::{self, HEADER, PID, VERSION, patch, set_size};
use crate::samples::fixture;
use crate::scripts::{self, Step};

/// The part of an account that says what is missing.
fn missing(losses: &Losses) -> Losses {
    Losses {
        packets_damaged: losses.packets_damaged,
        packets_foreign: losses.packets_foreign,
        gaps: losses.gaps,
        bytes_unread: losses.bytes_unread,
        bytes_missing: losses.bytes_missing,
        allocations: losses.allocations,
        ..Losses::default()
    }
}

#[test]
fn a_trace_cut_anywhere_yields_what_is_before_the_cut() {
    for version in [2, 3] {
        let written = scripts::small(version);
        let whole = Index::skim(&written.bytes).expect("a readable trace");
        let info_size = whole.packets()[0].offset;
        for cut in 0..info_size {
            assert!(Index::skim(&written.bytes[..cut]).is_err(), "cut at {cut}");
        }
        for cut in info_size..written.bytes.len() {
            let bytes = &written.bytes[..cut];
            let index = Index::skim(bytes).expect("the info packet is whole");
            let reading = read(bytes);
            assert!(written.events.starts_with(&reading.events), "cut at {cut}");
            let accounted = reading.allocations() + reading.losses.allocations;
            assert_eq!(accounted, index.allocations(), "cut at {cut}");
            let kept: usize = index.packets().iter().map(|packet| packet.bytes()).sum();
            let unread = index.losses().bytes_unread as usize;
            assert_eq!(info_size + kept + unread, cut, "every byte is in a packet or unread");
            let at_a_boundary = whole.packets().iter().any(|packet| packet.offset == cut);
            assert_eq!(reading.losses.is_clean(), at_a_boundary, "cut at {cut}");
            assert_eq!(read_with(bytes, Stacks::Skip).events, reading.bare_events());
        }
    }
}

#[test]
fn any_byte_may_be_wrong() {
    let sound = fixture("every_word_v2.ctf");
    for at in (0..sound.len()).step_by(7) {
        let mut bytes = sound.to_vec();
        bytes[at] ^= [0x01, 0x80, 0xFF][at % 3];
        let Ok(index) = Index::skim(&bytes) else {
            assert!(at < index_of_second_packet(&sound), "byte {at} is past the info packet");
            continue;
        };
        let reading = read(&bytes);
        assert!(reading.events.len() <= bytes.len() / 5, "byte {at}");
        assert!(reading.events.is_sorted_by_key(|seen| seen.time), "byte {at}");
        assert!(reading.losses.bytes_unread <= bytes.len() as u64, "byte {at}");
        let accounted = reading.allocations() + reading.losses.allocations;
        assert!(accounted >= index.allocations(), "byte {at}");
    }
}

fn index_of_second_packet(bytes: &[u8]) -> usize {
    Index::skim(bytes).expect("a readable trace").packets()[0].offset
}

/// The packet that is damaged.
#[derive(Clone, Copy)]
struct Victim {
    bytes: u64,
    allocations: u64,
}

/// Damage done to one packet, and the losses that must be reported.
struct Case {
    what: &'static str,
    damage: fn(&mut Vec<Vec<u8>>, usize),
    account: fn(Victim) -> Losses,
    /// Whether the victim's events can still be read.
    readable: bool,
}

/// A whole packet is missing.
fn gone(victim: Victim) -> Losses {
    Losses { gaps: 1, allocations: victim.allocations, ..Losses::default() }
}

fn gone_and_unread(victim: Victim) -> Losses {
    Losses { bytes_unread: victim.bytes, ..gone(victim) }
}

/// More bytes than any file has.
const HUGE: usize = 0x1FFF_FFFF;

const CASES: &[Case] = &[
    Case { what: "no damage", damage: |_, _| {}, account: |_| Losses::default(), readable: true },
    Case {
        what: "a packet is missing",
        damage: |packets, at| drop(packets.remove(at)),
        account: gone,
        readable: false,
    },
    Case {
        what: "junk between packets",
        damage: |packets, at| packets.insert(at, b"junk".repeat(25)),
        account: |_| Losses { bytes_unread: 100, ..Losses::default() },
        readable: true,
    },
    Case {
        what: "a packet says it is huge",
        damage: |packets, at| set_size(&mut packets[at], HUGE),
        account: |victim| Losses {
            packets_damaged: 1,
            bytes_missing: HUGE as u64 - victim.bytes,
            ..Losses::default()
        },
        readable: true,
    },
    Case {
        what: "a packet says it is a header only",
        damage: |packets, at| set_size(&mut packets[at], HEADER),
        account: |victim| Losses {
            bytes_unread: victim.bytes - HEADER as u64,
            allocations: victim.allocations,
            ..Losses::default()
        },
        readable: false,
    },
    Case {
        what: "a packet says it is less than a header",
        damage: |packets, at| set_size(&mut packets[at], HEADER - 1),
        account: gone_and_unread,
        readable: false,
    },
    Case {
        what: "a packet is of another process",
        damage: |packets, at| patch(&mut packets[at], PID, &8u64.to_le_bytes()),
        account: |victim| Losses { packets_foreign: 1, ..gone(victim) },
        readable: false,
    },
    Case {
        what: "a forked child wrote a packet too",
        damage: |packets, at| {
            packets.insert(at + 1, packets[at].clone());
            patch(&mut packets[at + 1], PID, &8u64.to_le_bytes());
        },
        account: |_| Losses { packets_foreign: 1, ..Losses::default() },
        readable: true,
    },
    Case {
        what: "a packet has another version that is known",
        damage: |packets, at| patch(&mut packets[at], VERSION, &3u16.to_le_bytes()),
        account: gone_and_unread,
        readable: false,
    },
    Case {
        what: "a packet has a version that is not known",
        damage: |packets, at| patch(&mut packets[at], VERSION, &9u16.to_le_bytes()),
        account: gone_and_unread,
        readable: false,
    },
    Case {
        what: "a packet has lost its header",
        damage: |packets, at| drop(packets[at].drain(..HEADER)),
        account: |victim| Losses { bytes_unread: victim.bytes - HEADER as u64, ..gone(victim) },
        readable: false,
    },
    Case {
        what: "stray bytes at the end",
        damage: |packets, _| packets.push(vec![0xC1; 20]),
        account: |_| Losses { bytes_unread: 20, ..Losses::default() },
        readable: true,
    },
];

/// The indices of packets with events, in a trace that was split into packets.
fn packets_of_events(index: &Index) -> Vec<usize> {
    let places = (1..).zip(index.packets()).filter(|(_, packet)| packet.allocations() > 0);
    places.map(|(place, _)| place).collect()
}

#[test]
fn damage_to_a_packet_costs_that_packet_and_is_accounted_for() {
    let sound = scripts::small(2).bytes;
    let index = Index::skim(&sound).expect("a readable trace");
    let whole = read(&sound);
    let place = packets_of_events(&index)[3];
    let packet = &index.packets()[place - 1];
    let times = packet.times(index.info());
    let of_victim = |seen: &Seen| times.start < seen.time && seen.time <= times.end;
    let victim = Victim { bytes: packet.bytes() as u64, allocations: packet.allocations() };
    for Case { what, damage, account, readable } in CASES {
        let mut packets = packets::split(&sound);
        damage(&mut packets, place);
        let reading = read(&packets.concat());
        let expected = whole.bare_events().into_iter().filter(|seen| *readable || !of_victim(seen));
        assert_eq!(reading.bare_events(), expected.collect::<Vec<_>>(), "{what}");
        assert_eq!(missing(&reading.losses), account(victim), "{what}");
        if *readable {
            assert_eq!(reading.events, whole.events, "{what}");
        }
    }
}

#[test]
fn stacks_that_share_frames_with_one_before_a_gap_are_doubtful() {
    let sound = scripts::small(2).bytes;
    let index = Index::skim(&sound).expect("a readable trace");
    for place in packets_of_events(&index).into_iter().skip(1) {
        let mut packets = packets::split(&sound);
        packets.insert(place, b"junk".to_vec());
        assert!(read(&packets.concat()).losses.stacks_doubtful > 0, "junk before packet {place}");
    }
}

#[test]
fn event_times_stand_still_when_the_clock_is_set_back() {
    for (at, back) in [
        (70, 1),
        (70, 1_000),
        (65, 5_000_000),
        (149, 5_000_000),
        (70, 15_000_000),
        (19, 5_000_000),
        (149, 1),
    ] {
        let with_pause = |after: i64| {
            let mut steps = scripts::small_program();
            steps[0].after = 20_000_000;
            steps[at] = Step { after, ..steps[at].clone() };
            scripts::write(2, &steps, 20)
        };
        let reading = read(&with_pause(-back).bytes);
        assert_eq!(reading.events, with_pause(0).events, "{back} before event {at}");
        assert_eq!(reading.losses.clock_steps, 1);
        assert_eq!(reading.losses.clock_shift, Micros(back as u64));
    }
}

#[test]
fn a_lost_packet_of_names_is_reported() {
    let mut packets = packets::split(&scripts::small(2).bytes);
    // The first packet after the trace info has the names of what the second allocates.
    packets.remove(1);
    let losses = read(&packets.concat()).losses;
    assert!(losses.names_lost > 0 && !losses.is_clean(), "{losses:?}");
}

#[test]
fn packets_out_of_order_are_read_without_losses() {
    let sound = scripts::small(2).bytes;
    let index = Index::skim(&sound).expect("a readable trace");
    let places = packets_of_events(&index);
    let mut packets = packets::split(&sound);
    packets.swap(places[3], places[4]);
    let reading = read(&packets.concat());
    assert_eq!(reading.allocations(), index.allocations());
    assert_eq!(reading.losses.allocations, 0);
}
