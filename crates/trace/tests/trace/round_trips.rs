//! Written traces read back as they were written.

use bactrian_trace::Stacks;
use proptest::prelude::*;

use crate::events::{read, read_by_visits, read_with};
use crate::scripts::{self, Act, Step, write, write_until_killed};

/// Ends no packet early.
const NEVER: usize = usize::MAX;

proptest! {
    #[test]
    fn events_and_names_round_trip_in_order_of_time(
        (version, steps) in scripts::programs(),
        flush_every in prop_oneof![Just(NEVER), 1..60usize],
    ) {
        let written = write(version, &steps, flush_every);
        let reading = read(&written.bytes);
        prop_assert_eq!(&reading.events, &written.events);
        prop_assert!(reading.losses.is_clean(), "{:?}", reading.losses);
        prop_assert_eq!(reading.losses.stacks_cut_by_recorder, 0);
        for frame in reading.frames.ids().skip(1) {
            prop_assert!(reading.frames.is_announced(frame));
            prop_assert_eq!(reading.places(frame), scripts::places(reading.frames.code(frame)));
        }
    }

    #[test]
    fn surviving_sink_has_every_event_of_a_killed_program(
        (version, steps) in scripts::programs(),
        flush_every in prop_oneof![Just(NEVER), 1..60usize],
    ) {
        let written = write_until_killed(version, &steps, flush_every);
        let reading = read(&written.bytes);
        prop_assert_eq!(&reading.events, &written.events);
        prop_assert!(reading.losses.is_clean(), "{:?}", reading.losses);
        for frame in reading.frames.ids().skip(1) {
            prop_assert_eq!(reading.places(frame), scripts::places(reading.frames.code(frame)));
        }
    }

    #[test]
    fn every_way_of_reading_gives_the_same_events((version, steps) in scripts::programs()) {
        let bytes = write(version, &steps, NEVER).bytes;
        let reading = read(&bytes);
        prop_assert_eq!(&read_by_visits(&bytes), &reading.events);
        prop_assert_eq!(read_with(&bytes, Stacks::Skip).events, reading.bare_events());
    }
}

#[test]
fn version_3_gives_a_domain_new_ids_when_its_chunk_is_used_up() {
    let alloc = |domain| Step {
        after: 1,
        domain,
        act: Act::Alloc {
            length: 1,
            samples: 1,
            source: bactrian_trace::Source::Minor,
            stack: vec![scripts::code(1)],
        },
    };
    let steps: Vec<_> = (0..45_000).map(|n| alloc(n % 2)).collect();
    let written = write(3, &steps, NEVER);
    let reading = read(&written.bytes);
    assert!(reading.events == written.events);
    assert!(reading.losses.is_clean(), "{:?}", reading.losses);
    let largest = reading.events.iter().map(|seen| seen.id.0).max();
    assert_eq!(largest, Some(52_499), "domain 1 ends with a half of the sixth chunk");
}
