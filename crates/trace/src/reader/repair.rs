//! Search for the reading of a packet of locations that its writer garbled.
//!
//! A column past 1023 was OR-ed into the two low bits of the record's file code, so the code that was
//! meant is the one that is there, or that with some of its low bits cleared. A wrong choice shows soon:
//! each event repeats the packet's time, and the last one must end with the packet. The search takes
//! codes as they are first and goes back to the latest choice when it fails.

use crate::frames::{Frames, Location};
use crate::packet::{code, event_word};
use crate::wire::{Cursor, Fault, Parse};

use super::names::{NameDecoder, Record};

/// Steps before the search gives up. A packet that memtrace writes holds fewer than 5,000 records.
const BUDGET: usize = 20_000;

/// Reads the events at `cursor`, all of them locations, from the state `before`. On success `after` is
/// the state at the end and the result tells how many records were read otherwise than written.
pub(super) fn repair(
    before: &NameDecoder,
    after: &mut NameDecoder,
    cursor: &mut Cursor<'_>,
    frames: &mut Frames,
) -> Option<u64> {
    let (_, time) = event_word(&mut cursor.clone()).ok()?;
    let mut search = Search {
        frames,
        time,
        state: State { cursor: *cursor, names: before.clone(), records_left: 0 },
        events: Vec::new(),
        locations: Vec::new(),
        choices: Vec::new(),
    };
    search.run()?;
    *cursor = search.state.cursor;
    *after = search.state.names;
    let ends =
        search.events.iter().skip(1).map(|&(_, start)| start).chain([search.locations.len()]);
    for (&(code, start), end) in search.events.iter().zip(ends) {
        let frame = search.frames.intern(code);
        search.frames.announce(frame, &search.locations[start..end]);
    }
    Some(search.choices.iter().filter(|choice| choice.cleared > 0).count() as u64)
}

/// Where the search stands in the packet.
#[derive(Clone)]
struct State<'a> {
    cursor: Cursor<'a>,
    names: NameDecoder,
    /// Records still to come in the present event.
    records_left: u8,
}

/// A record that can be read in several ways, and what to go back to.
struct Choice<'a> {
    before: State<'a>,
    events: usize,
    locations: usize,
    /// The low bits of the file code taken as not meant, at present.
    cleared: usize,
}

struct Search<'a, 'f> {
    frames: &'f mut Frames,
    /// The time field that all events of the packet carry.
    time: u32,
    state: State<'a>,
    /// Code of each event so far, and where its locations start.
    events: Vec<(u64, usize)>,
    locations: Vec<Location>,
    choices: Vec<Choice<'a>>,
}

impl Search<'_, '_> {
    fn run(&mut self) -> Option<()> {
        for _ in 0..BUDGET {
            match self.step() {
                Ok(true) => return Some(()),
                Ok(false) => {}
                Err(_) => self.go_back()?,
            }
        }
        None
    }

    /// Reads one event header or one record; true at the end.
    fn step(&mut self) -> Parse<bool> {
        if self.state.records_left > 0 {
            let before = self.state.clone();
            let record = Record::read(&mut self.state.cursor)?;
            if record.file_code & 3 != 0 {
                let (events, locations) = (self.events.len(), self.locations.len());
                self.choices.push(Choice { before, events, locations, cleared: 0 });
            }
            self.take(&record, record.file_code)?;
            return Ok(false);
        }
        if self.state.cursor.at_end() {
            return Ok(true);
        }
        if event_word(&mut self.state.cursor)? != (code::LOCATION, self.time) {
            return Err(Fault::NotALocation);
        }
        self.events.push((self.state.cursor.u64()?, self.locations.len()));
        self.state.records_left = self.state.cursor.u8()?;
        Ok(false)
    }

    fn take(&mut self, record: &Record, file_code: usize) -> Parse<()> {
        let State { cursor, names, records_left } = &mut self.state;
        let location = names.location(record, file_code, cursor, self.frames)?;
        let plausible = |text: &[u8]| !text.iter().any(|b| b.is_ascii_control());
        let table = self.frames.names();
        if !plausible(table.bytes(location.file)) || !plausible(table.bytes(location.function)) {
            return Err(Fault::NameCode);
        }
        self.locations.push(location);
        *records_left -= 1;
        Ok(())
    }

    /// Takes the next way of reading the latest record that has one.
    fn go_back(&mut self) -> Option<()> {
        loop {
            let choice = self.choices.last_mut()?;
            self.state = choice.before.clone();
            self.events.truncate(choice.events);
            self.locations.truncate(choice.locations);
            let record = Record::read(&mut self.state.cursor).ok()?;
            let mut cleared = choice.cleared + 1;
            while cleared < 4 && record.file_code & cleared != cleared {
                cleared += 1;
            }
            if cleared == 4 {
                self.choices.pop();
                continue;
            }
            choice.cleared = cleared;
            if self.take(&record, record.file_code & !cleared).is_ok() {
                return Some(());
            }
        }
    }
}
