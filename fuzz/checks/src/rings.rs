//! The promises of the reader of runtime_events, checked on arbitrary bytes.

use bactrian_capture::live::events::Events;
use bactrian_ocaml::Version;

/// Reads `bytes` as a file of ring buffers, twice, and checks what must hold for any input.
pub fn check(bytes: &[u8]) {
    let words = bytes.len() as u64 / 8;
    for from_start in [false, true] {
        let file = Box::new(bytes.to_vec());
        let Ok(mut events) = Events::open(file, Version::new(5, 3), from_start) else { return };
        let seen = events.poll().expect("it does not change").clone();
        assert!(seen.events <= words && seen.words <= words);
        assert!(seen.pauses.count() <= seen.events);
        assert!(seen.lost_events() <= seen.lost_words);
        // There is nothing new, and nothing is seen twice.
        assert_eq!(events.poll().expect("it does not change"), &seen);
    }
}
