//! Reading from the middle gives the events of a full read from there on.

use bactrian_trace::{Checkpoints, Index, Micros};
use proptest::prelude::*;

use crate::events::{Seen, read, rest};
use crate::scripts;

proptest! {
    #[test]
    fn a_window_has_the_events_of_a_full_read_from_its_checkpoint_on(
        (version, steps) in scripts::programs(),
        bytes_apart in 1..3_000usize,
        windows in prop::collection::vec(0.0..1.1, 1..6),
    ) {
        let bytes = scripts::write(version, &steps, 30).bytes;
        let whole = read(&bytes);
        let index = Index::skim(&bytes).expect("a readable trace");
        let checkpoints = Checkpoints::build(&bytes, &index, bytes_apart);
        prop_assert!(checkpoints.count() <= 1 + bytes.len() / bytes_apart);
        for window in windows {
            let from = Micros((index.duration().0 as f64 * window) as u64);
            let mut reader = checkpoints.reader_from(&bytes, &index, from);
            let events = rest(&mut reader);
            prop_assert!(whole.events.ends_with(&events));
            let left_out = &whole.events[..whole.events.len() - events.len()];
            prop_assert!(left_out.iter().all(|seen| seen.time < from));
            prop_assert_eq!(reader.losses(), whole.losses.clone());
        }
    }

    #[test]
    fn checkpoint_at_each_event_reads_nothing_twice(steps in scripts::steps(1)) {
        let bytes = scripts::write(2, &steps, 30).bytes;
        let index = Index::skim(&bytes).expect("a readable trace");
        let checkpoints = Checkpoints::build(&bytes, &index, 1);
        let whole = read(&bytes).events;
        for Seen { time, .. } in &whole {
            let events = rest(&mut checkpoints.reader_from(&bytes, &index, *time));
            let first = whole.partition_point(|seen| seen.time < *time);
            prop_assert_eq!(&events[..], &whole[first..]);
        }
    }
}
