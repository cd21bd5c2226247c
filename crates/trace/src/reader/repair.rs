//! Search for the original reading of a packet of locations that its writer garbled.
//!
//! A column past 1023 was OR-ed into the two low bits of the record's file code, so the intended code is either
//! the one in the file or that one with some of its low bits cleared. A wrong choice shows soon: each event
//! repeats the packet's time, the last event must end with the packet, and functions must be in files that
//! match their names. The search first takes codes as they stand and backtracks to the latest choice when it
//! fails.

use crate::frames::{Frames, Names};
use crate::model::NameId;
use crate::packet::{code, event_word};
use crate::wire::{Cursor, Fault, Parse};

use super::names::{NameDecoder, Reading, Record, TakeName, cohere};

/// Bounds the steps of the search: the limit is the packet's size in bytes, so that the work stays in
/// proportion, and never more than this. A packet that memtrace writes holds fewer than 5,000 records.
const MAX_STEPS: usize = 20_000;
/// Memtrace writes no location event longer than this, so no name is longer either.
const MAX_NAME: usize = 4096;
/// Set in the numbers of names that are only proposed.
const PROPOSED: u32 = 1 << 31;

/// A successful reading.
pub(super) struct Repaired<'a> {
    pub reading: Reading,
    /// Where it ends, and the decoder's state there.
    pub cursor: Cursor<'a>,
    pub decoder: NameDecoder,
    /// How many records were read differently from what is written.
    pub records_changed: u64,
}

/// Reads the events at `cursor`, all of them locations, from the state `before`. If `must_cohere` is set, the
/// name of every function must be consistent with its file.
pub(super) fn repair<'a>(
    before: &NameDecoder,
    cursor: Cursor<'a>,
    must_cohere: bool,
    frames: &mut Frames,
) -> Option<Repaired<'a>> {
    let (_, time) = event_word(&mut cursor.clone()).ok()?;
    let mut search = Search {
        time,
        names: must_cohere.then(|| frames.names()),
        state: State { cursor, names: before.clone(), records_left: 0 },
        reading: Reading::default(),
        proposed: Proposed::default(),
        choices: Vec::new(),
    };
    search.run(cursor.left().min(MAX_STEPS))?;
    let Search { state, mut reading, proposed, choices, .. } = search;
    let ids: Vec<_> = proposed.0.iter().map(|text| frames.names_mut().intern(text)).collect();
    let rename = |name: NameId| match name.0.checked_sub(PROPOSED) {
        Some(at) => ids[at as usize],
        None => name,
    };
    let mut decoder = state.names;
    decoder.rename(rename);
    for location in &mut reading.locations {
        location.file = rename(location.file);
        location.function = rename(location.function);
    }
    let changed = choices.iter().filter(|choice| choice.cleared > 0);
    Some(Repaired {
        reading,
        cursor: state.cursor,
        decoder,
        records_changed: changed.count() as u64,
    })
}

/// Names met in the search. They enter the trace's table only if the search succeeds.
#[derive(Default)]
struct Proposed<'a>(Vec<&'a [u8]>);

impl<'a> TakeName<'a> for Proposed<'a> {
    fn take(&mut self, text: &'a [u8]) -> Parse<NameId> {
        if text.len() > MAX_NAME || text.iter().any(|b| b.is_ascii_control()) {
            return Err(Fault::NameCode);
        }
        self.0.push(text);
        Ok(NameId(PROPOSED | (self.0.len() - 1) as u32))
    }
}

/// The position of the search in the packet.
#[derive(Clone)]
struct State<'a> {
    cursor: Cursor<'a>,
    names: NameDecoder,
    /// Records of the current event that are still to come.
    records_left: u8,
}

/// A record that can be read in several ways, and the state to backtrack to.
struct Choice<'a> {
    before: State<'a>,
    events: usize,
    locations: usize,
    proposed: usize,
    /// The low bits of the file code that are currently assumed to be spurious.
    cleared: usize,
}

struct Search<'a, 'n> {
    /// The time field that all events of the packet carry.
    time: u32,
    /// The names, if functions must be consistent with their files.
    names: Option<&'n Names>,
    state: State<'a>,
    reading: Reading,
    proposed: Proposed<'a>,
    choices: Vec<Choice<'a>>,
}

impl Search<'_, '_> {
    fn run(&mut self, steps: usize) -> Option<()> {
        for _ in 0..steps {
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
            let mut ahead = self.state.cursor;
            let record = Record::read(&mut ahead)?;
            if record.file_code & 3 != 0 {
                self.choices.push(Choice {
                    before: self.state.clone(),
                    events: self.reading.events.len(),
                    locations: self.reading.locations.len(),
                    proposed: self.proposed.0.len(),
                    cleared: 0,
                });
            }
            self.state.cursor = ahead;
            self.take(&record, record.file_code)?;
            return Ok(false);
        }
        if self.state.cursor.at_end() {
            return Ok(true);
        }
        if event_word(&mut self.state.cursor)? != (code::LOCATION, self.time) {
            return Err(Fault::NotALocation);
        }
        let start = self.reading.locations.len();
        self.reading.events.push((self.state.cursor.u64()?, start));
        self.state.records_left = self.state.cursor.u8()?;
        Ok(false)
    }

    fn take(&mut self, record: &Record, file_code: usize) -> Parse<()> {
        let State { cursor, names, records_left } = &mut self.state;
        let location = names.location(record, file_code, cursor, &mut self.proposed)?;
        *records_left -= 1;
        if let Some(names) = self.names {
            let text = |name: NameId| match name.0.checked_sub(PROPOSED) {
                Some(at) => self.proposed.0[at as usize],
                None => names.bytes(name),
            };
            if !cohere(text(location.file), text(location.function)) {
                return Err(Fault::NameCode);
            }
        }
        self.reading.locations.push(location);
        Ok(())
    }

    /// Takes the next reading of the latest record that has one left.
    fn go_back(&mut self) -> Option<()> {
        loop {
            let choice = self.choices.last_mut()?;
            self.state = choice.before.clone();
            self.reading.events.truncate(choice.events);
            self.reading.locations.truncate(choice.locations);
            self.proposed.0.truncate(choice.proposed);
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
