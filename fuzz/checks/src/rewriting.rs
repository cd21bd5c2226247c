//! Read, write, read: the second reading gives the same as the first.
//!
//! The input may be damaged, but the first reading yields a sound sequence of events, which the writer must
//! preserve. By design it does not preserve the ids of objects (they are mapped), `common_prefix` (the writer
//! finds more), events of objects that were never allocated, and locations too long for the format.

use std::collections::HashMap;

use bactrian_trace::{
    DomainId, Event, Frames, Index, Micros, NewAlloc, ObjectId, Reader, Source, SourceLocation,
    Stacks, TraceInfo, WRITES, Words, Writer,
};

/// Stacks are cut to this depth. The writer cuts stacks of more than 4,096 bytes, and a frame takes at most
/// ten.
const MAX_DEPTH: usize = 300;
/// A location event longer than this is written as an unknown location.
const MAX_LOCATION: usize = 4096;

/// An owned event. Objects are numbered in order of allocation.
#[derive(Clone, Debug, PartialEq)]
struct Owned {
    time: Micros,
    domain: DomainId,
    what: What,
}

#[derive(Clone, Debug, PartialEq)]
enum What {
    Alloc { length: Words, samples: u64, source: Source, stack: Vec<u64> },
    Promote(usize),
    Collect(usize),
}

/// An owned location: file, function, line and columns.
type Place = (Vec<u8>, Vec<u8>, u32, u32, u32);

/// Reads `bytes`, writes the result in each version that can represent it, and compares.
pub fn check(bytes: &[u8]) {
    let Ok(index) = Index::skim(bytes) else { return };
    let (events, frames) = read(bytes, &index);
    let single = events.iter().all(|event| event.domain == DomainId(0));
    for version in WRITES {
        if version >= 3 || single {
            let info = TraceInfo { version, ..index.info().clone() };
            compare(&info, &events, &frames);
        }
    }
}

fn compare(info: &TraceInfo, events: &[Owned], frames: &Frames) {
    let written = write(info, events, frames);
    let index = Index::skim(&written).expect("what was written can be read");
    assert_eq!(index.info(), info);
    let mut reader = Reader::new(&written, &index, Stacks::Skip);
    while reader.next().is_some() {}
    assert!(reader.losses().is_clean(), "losses: {:?}", reader.losses());
    let (again, frames_again) = read(&written, &index);
    assert_eq!(again.len(), events.len());
    for (at, (before, after)) in events.iter().zip(&again).enumerate() {
        assert_eq!(before, after, "event {at}");
        let What::Alloc { stack, .. } = &before.what else { continue };
        // Empty cache slots contain code 0, so it may be written without ever being announced.
        for &code in stack.iter().filter(|&&code| code != 0) {
            assert_eq!(writable(places(frames, code)), places(&frames_again, code));
        }
    }
}

/// The events of a trace that refer to objects it allocates, and its frames.
fn read(bytes: &[u8], index: &Index) -> (Vec<Owned>, Frames) {
    let mut reader = Reader::new(bytes, index, Stacks::Decode);
    let mut events = Vec::new();
    let mut objects: HashMap<ObjectId, usize> = HashMap::new();
    let mut allocated = 0;
    while let Some((event, frames)) = reader.next_with_frames() {
        let (time, domain, what) = match event {
            Event::Alloc(alloc) => {
                objects.insert(alloc.id, allocated);
                allocated += 1;
                let (length, samples, source) = (alloc.length, alloc.samples, alloc.source);
                let codes = alloc.stack.iter().take(MAX_DEPTH).map(|&frame| frames.code(frame));
                let what = What::Alloc { length, samples, source, stack: codes.collect() };
                (alloc.time, alloc.domain, what)
            }
            Event::Promote { time, domain, id } => match objects.get(&id) {
                Some(&object) => (time, domain, What::Promote(object)),
                None => continue,
            },
            Event::Collect { time, domain, id } => match objects.get(&id) {
                Some(&object) => (time, domain, What::Collect(object)),
                None => continue,
            },
        };
        events.push(Owned { time, domain, what });
    }
    (events, reader.frames().clone())
}

fn write(info: &TraceInfo, events: &[Owned], frames: &Frames) -> Vec<u8> {
    const TO_MEMORY: &str = "memory takes all that is written";
    let mut writer = Writer::new(Vec::new(), info.clone()).expect(TO_MEMORY);
    let mut ids = Vec::new();
    for &Owned { time, domain, ref what } in events {
        match *what {
            What::Alloc { length, samples, source, ref stack } => {
                let new = NewAlloc { time, domain, length, samples, source, stack };
                ids.push(writer.alloc(&new, frames).expect(TO_MEMORY));
            }
            What::Promote(object) => {
                writer.promote(time, domain, ids[object]).expect(TO_MEMORY);
            }
            What::Collect(object) => {
                writer.collect(time, domain, ids[object]).expect(TO_MEMORY);
            }
        }
    }
    writer.finish().expect(TO_MEMORY)
}

fn places(frames: &Frames, code: u64) -> Vec<Place> {
    use bactrian_trace::Locate;
    let mut places = Vec::new();
    frames.locate(code, &mut |locations| {
        places.extend(locations.iter().map(|&location| {
            let SourceLocation { file, function, line, start_char, end_char } = location;
            (file.to_vec(), function.to_vec(), line, start_char, end_char)
        }));
    });
    places
}

/// Locations as the writer writes them: those too long for an event become a single unknown location.
fn writable(places: Vec<Place>) -> Vec<Place> {
    let names = |(file, function, ..): &Place| file.len() + function.len();
    let size = 9 + places.iter().map(|place| 6 + names(place) + 2).sum::<usize>();
    if size > MAX_LOCATION {
        vec![(b"<unknown>".to_vec(), b"??".to_vec(), 1, 1, 1)]
    } else {
        places
    }
}
