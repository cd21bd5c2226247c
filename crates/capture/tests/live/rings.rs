//! Reading rings: their contents, losses, and invalid files.

use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::{Arc, Mutex};

use bactrian_capture::live::events::{Events, Seen};
use bactrian_capture::memory::Bytes;
use bactrian_ocaml::Version;

use crate::ring_file::{BEGIN, END, RING, RingFile};

const KNOWN: Version = Version::new(5, 3);

fn read(bytes: Vec<u8>, from_start: bool) -> Seen {
    let mut events = Events::open(Box::new(bytes), KNOWN, from_start).expect("a sound file");
    events.poll().expect("it does not change").clone()
}

#[test]
fn the_outermost_phases_are_pauses() {
    let file = RingFile::new().minor(0, 1000, 3000).minor(1, 1500, 1600).minor(0, 4000, 4100);
    let seen = read(file.bytes(), true);
    assert_eq!((seen.pauses.count(), seen.pauses.sum()), (3, 2000 + 100 + 100));
    assert_eq!((seen.pauses.min(), seen.pauses.max()), (100, 2000));
    assert_eq!((seen.phases[35], seen.phases[11].0), ((3, 2200), 3));
    assert_eq!(seen.counters[4], (300, 100));
    assert_eq!((seen.events, seen.lost_words, seen.long.len()), (15, 0, 0));
}

#[test]
fn overwritten_events_are_counted_and_no_pause_spans_them() {
    let mut file = RingFile::new().event(0, BEGIN, 35, 10, &[]);
    for at in 0..30 {
        file = file.minor(0, 1000 * at + 100, 1000 * at + 300);
    }
    // This ends a phase that began before the loss.
    file = file.event(0, END, 35, 1_000_000, &[]);
    let seen = read(file.bytes(), true);
    assert!(seen.lost_words > 0 && seen.lost_events() > 100, "{seen:?}");
    assert!(seen.pauses.count() >= 4, "{seen:?}");
    assert!(seen.pauses.max() <= 200, "{seen:?}");
    // A reader that comes later does not count what was lost before.
    assert_eq!(read(file.bytes(), false).lost_words, 0);
}

#[test]
fn phases_that_end_before_they_begin_are_not_pauses() {
    let file = RingFile::new().event(0, BEGIN, 6, 1000, &[]).event(0, END, 6, 900, &[]);
    assert_eq!(read(file.bytes(), true).pauses.count(), 0);
}

#[test]
fn waiting_for_a_condition_is_not_a_pause() {
    let file = RingFile::new().event(0, BEGIN, 42, 1000, &[]).event(0, END, 42, 9000, &[]);
    let seen = read(file.bytes(), true);
    assert_eq!((seen.pauses.count(), seen.phases[42]), (0, (1, 8000)));
}

/// A file that changes while it is read.
#[derive(Clone)]
struct Growing(Arc<Mutex<Vec<u8>>>);

impl Bytes for Growing {
    fn read(&self, at: u64, buffer: &mut [u8]) -> bool {
        self.0.lock().expect("one thread").read(at, buffer)
    }

    fn length(&self) -> u64 {
        self.0.lock().expect("one thread").length()
    }
}

#[test]
fn each_poll_reads_only_new_events() {
    let mut file = RingFile::new();
    let growing = Growing(Arc::new(Mutex::new(file.bytes())));
    let mut events = Events::open(Box::new(growing.clone()), KNOWN, true).expect("sound");
    for at in 0..100 {
        assert_eq!(events.poll().expect("it is there").pauses.count(), at);
        file = file.minor(at as usize % 2, 1000 * at, 1000 * at + 50);
        *growing.0.lock().expect("one thread") = file.bytes();
    }
    let seen = events.poll().expect("it is there").clone();
    assert_eq!((seen.pauses.count(), seen.pauses.max(), seen.lost_words), (100, 50, 0));
    // A phase that begins before one poll and ends after it.
    file = file.event(0, BEGIN, 35, 500_000, &[]);
    *growing.0.lock().expect("one thread") = file.bytes();
    events.poll().expect("it is there");
    file = file.event(0, END, 35, 2_500_000, &[]);
    *growing.0.lock().expect("one thread") = file.bytes();
    let seen = events.poll().expect("it is there");
    let long = seen.long.front().expect("a long one");
    assert_eq!((long.begin, long.nanos, long.phase), (500_000, 2_000_000, "stw_leader"));
    growing.0.lock().expect("one thread").truncate(100);
    assert!(events.poll().is_err_and(|why| why.contains("truncated")));
}

/// A file whose writer continues meanwhile: after a number of reads, the contents are replaced.
struct Overtaken {
    reads: Arc<AtomicU32>,
    before: Vec<u8>,
    after: Vec<u8>,
}

impl Bytes for Overtaken {
    fn read(&self, at: u64, buffer: &mut [u8]) -> bool {
        let is_before =
            self.reads.fetch_update(SeqCst, SeqCst, |reads| reads.checked_sub(1)).is_ok();
        if is_before { &self.before } else { &self.after }.read(at, buffer)
    }

    fn length(&self) -> u64 {
        self.before.length()
    }
}

#[test]
fn an_overtaken_reader_continues_with_newer_events() {
    let mut file = RingFile::new();
    for at in 0..10 {
        file = file.minor(0, 1000 * at + 100, 1000 * at + 300);
    }
    let before = file.bytes();
    for at in 10..200 {
        file = file.minor(0, 1000 * at + 100, 1000 * at + 300);
    }
    let reads = Arc::new(AtomicU32::new(u32::MAX));
    let overtaken = Overtaken { reads: reads.clone(), before, after: file.bytes() };
    let mut events = Events::open(Box::new(overtaken), KNOWN, true).expect("sound");
    // The positions of the rings are read, and then the writer goes all the way around.
    reads.store(1, SeqCst);
    let seen = events.poll().expect("it is there");
    assert!(seen.lost_words > 0 && seen.pauses.count() >= 4, "{seen:?}");
    assert!(seen.pauses.max() <= 200, "{seen:?}");
}

#[test]
fn a_ring_with_an_impossible_tail_is_read_at_most_once_around() {
    let (before, after) = (RingFile::new().minor(0, 100, 300).bytes(), RingFile::new().bytes());
    let mut after = after;
    // Its head is beyond everything that was there, and its tail is impossible.
    after[64..80].copy_from_slice(&[1000_u64.to_le_bytes(), (u64::MAX - 5).to_le_bytes()].concat());
    let reads = Arc::new(AtomicU32::new(u32::MAX));
    let overtaken = Overtaken { reads: reads.clone(), before, after };
    let mut events = Events::open(Box::new(overtaken), KNOWN, true).expect("sound");
    reads.store(1, SeqCst);
    let seen = events.poll().expect("it is there");
    assert!(seen.lost_words > 1 << 60 && seen.pauses.count() == 0, "{seen:?}");
}

#[test]
fn invalid_ring_files_are_refused() {
    let sound = RingFile::new().minor(0, 1000, 3000).bytes();
    let refused = |bytes: Vec<u8>| Events::open(Box::new(bytes), KNOWN, true).err();
    assert!(refused(Vec::new()).is_some_and(|why| why.contains("shorter than its header")));
    assert!(refused(vec![0; 4096]).is_some_and(|why| why.contains("not begun")));
    for length in 64..sound.len() - 1 {
        assert!(refused(sound[..length].to_vec()).is_some(), "{length}");
    }
    for (word, value) in
        [(0, 2), (1, 0), (1, 5000), (2, 8), (3, 1), (4, 63), (5, u64::MAX), (6, u64::MAX - 7)]
    {
        let mut bytes = sound.clone();
        bytes[word * 8..word * 8 + 8].copy_from_slice(&value.to_le_bytes());
        assert!(refused(bytes).is_some(), "word {word} is {value}");
    }
    let other = Events::open(Box::new(sound), Version::new(5, 9), true);
    assert!(other.is_err_and(|why| why.contains("OCaml 5.9 is unknown")));
}

#[test]
fn reading_rings_of_garbage_terminates() {
    let sound = RingFile::new().minor(0, 1000, 3000).bytes();
    let data = 64 + 2 * 80;
    for garbage in [0, u64::MAX, 1 << 54, 1023 << 54, 3 << 54 | 3 << 49] {
        let mut bytes = sound.clone();
        bytes[data..data + RING * 8].as_chunks_mut::<8>().0.fill(garbage.to_le_bytes());
        // The tail claims that a huge amount was written.
        bytes[72..80].copy_from_slice(&u64::MAX.to_le_bytes());
        let seen = read(bytes, true);
        assert!(seen.events <= RING as u64 && seen.pauses.count() == 0);
    }
}

#[test]
fn a_wrong_byte_in_a_ring_file_never_panics() {
    let sound = (0..20).fold(RingFile::new(), |file, at| file.minor(0, 100 * at, 100 * at + 50));
    let sound = sound.minor(1, 7, 9).bytes();
    for at in 0..sound.len() {
        for flip in [0x01, 0x10, 0x80, 0xFF] {
            let mut bytes = sound.clone();
            bytes[at] ^= flip;
            let Ok(mut events) = Events::open(Box::new(bytes), KNOWN, true) else { continue };
            let seen = events.poll().expect("it does not change").clone();
            assert!(seen.events <= 2 * RING as u64, "byte {at}");
            assert_eq!(events.poll().expect("it does not change"), &seen, "byte {at}");
        }
    }
}
