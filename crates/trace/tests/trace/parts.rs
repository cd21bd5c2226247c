//! Parts of a trace, read independently, give what a sequential read without stacks gives.

use bactrian_trace::{Frames, Index, Losses, Parts, Reader, Stacks};
use proptest::prelude::*;

use crate::events::{Seen, rest};
use crate::scripts;

/// The events of all parts of `packets` packets each, and the losses of each part; None if the trace has no
/// parts.
fn in_parts(bytes: &[u8], packets: usize) -> Option<(Vec<Seen>, Vec<Losses>)> {
    let index = Index::skim(bytes).expect("a readable trace");
    let parts = Parts::of(bytes, &index)?;
    let (mut events, mut losses) = (Vec::new(), Vec::new());
    for first in (0..parts.packets()).step_by(packets) {
        let part = first..parts.packets().min(first + packets);
        losses.push(parts.read(part, |event| events.push(Seen::new(&event, &Frames::default()))));
    }
    Some((events, losses))
}

fn from_front_to_back(bytes: &[u8]) -> (Vec<Seen>, Losses) {
    let index = Index::skim(bytes).expect("a readable trace");
    let mut reader = Reader::new(bytes, &index, Stacks::Skip);
    (rest(&mut reader), reader.losses())
}

proptest! {
    #[test]
    fn parts_have_the_events_of_the_trace(
        (version, steps) in scripts::programs(),
        packets in 1..6usize,
    ) {
        let bytes = scripts::write(version, &steps, 30).bytes;
        let (events, losses) = from_front_to_back(&bytes);
        let read = in_parts(&bytes, packets);
        let index = Index::skim(&bytes).expect("a readable trace");
        // Parts exist wherever they are promised.
        prop_assert!(read.is_some() || index.domains().len() != 1 || !losses.is_clean());
        if let Some((seen, lost)) = read {
            let is_in_order = seen.is_sorted_by_key(|seen| seen.time);
            if is_in_order && lost.iter().all(Losses::is_clean) {
                prop_assert!(losses.is_clean());
                prop_assert_eq!(seen, events);
            } else {
                prop_assert!(!losses.is_clean(), "nothing is odd but where something was lost");
            }
        }
    }

    #[test]
    fn damaged_parts_report_losses(at in 0.0..1.0f64, byte: u8, packets in 1..6usize) {
        let mut bytes = scripts::small(2).bytes;
        let at = (bytes.len() as f64 * at) as usize;
        bytes[at] = byte;
        if Index::skim(&bytes).is_err() {
            return Ok(());
        }
        let Some((seen, lost)) = in_parts(&bytes, packets) else { return Ok(()) };
        if lost.iter().all(Losses::is_clean) && seen.is_sorted_by_key(|seen| seen.time) {
            let (events, losses) = from_front_to_back(&bytes);
            prop_assert!(losses.is_clean());
            prop_assert_eq!(seen, events);
        }
    }
}
