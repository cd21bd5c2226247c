//! Decoding of locations.
//!
//! A file name is coded by its position in a list of the 31 most recently used files, and each file has such a
//! list of its function names; code 31 means that the name itself follows. Reader and writer move names to the
//! front alike. The lists persist across packets, so one misread record spoils the names after it.
//!
//! This happens in real files: memtrace up to 0.2.3 lets columns past 1023 spill into the two low bits of the
//! file code. A trace in which locations get out of step was garbled that way. In such a trace, a packet that
//! cannot be read, or in which functions appear in files that cannot be theirs, is read again: for each record
//! the possible original codes are tried until one reading reaches the packet's end exactly with consistent
//! names. If there is none, the contents of the lists are unknown and reported as lost rather than guessed.

use crate::frames::{Frames, Names, TraceLocation};
use crate::losses::Losses;
use crate::model::NameId;
use crate::packet::{code, event_word};
use crate::wire::{Cursor, Fault, Parse};

use super::repair::repair;

/// The length of a move-to-front list; also the code for "the name follows".
const LIST: usize = 31;

/// A move-to-front list.
#[derive(Clone, Copy, Debug)]
struct MoveToFront<T> {
    items: [T; LIST],
    len: usize,
}

impl<T: Copy> MoveToFront<T> {
    fn filled(item: T, len: usize) -> MoveToFront<T> {
        MoveToFront { items: [item; LIST], len }
    }

    fn use_again(&mut self, place: usize) -> Parse<()> {
        if place >= self.len {
            return Err(Fault::NameCode);
        }
        self.items[..=place].rotate_right(1);
        Ok(())
    }

    fn insert(&mut self, item: T) {
        self.len = (self.len + 1).min(LIST);
        self.items[..self.len].rotate_right(1);
        self.items[0] = item;
    }
}

#[derive(Clone, Copy, Debug)]
struct File {
    name: NameId,
    functions: MoveToFront<NameId>,
}

#[derive(Clone, Debug)]
pub(super) struct NameDecoder {
    files: MoveToFront<File>,
    /// Whether the writer garbled records of this stream.
    garbled: bool,
}

impl NameDecoder {
    pub fn new() -> NameDecoder {
        let none = File { name: NameId::LOST, functions: MoveToFront::filled(NameId::LOST, 0) };
        NameDecoder { files: MoveToFront::filled(none, 0), garbled: false }
    }

    /// A decoder for a stream with these complete packets of locations. It repairs packets if they cannot all
    /// be read as they stand; if they can, odd names are left alone.
    pub fn for_packets<'a>(packets: impl Iterator<Item = Cursor<'a>>) -> NameDecoder {
        let mut decoder = NameDecoder::new();
        let faults = packets.map(|mut packet| decoder.read_plainly(&mut packet, &mut Unheard).1);
        let garbled = faults.flatten().next().is_some();
        NameDecoder { garbled, ..NameDecoder::new() }
    }

    /// Whether the writer garbled records.
    pub fn is_garbled(&self) -> bool {
        self.garbled
    }

    /// Marks the contents of the lists as unknown; their order can still be followed.
    pub fn forget(&mut self) {
        let lost = File { name: NameId::LOST, functions: MoveToFront::filled(NameId::LOST, LIST) };
        self.files = MoveToFront::filled(lost, LIST);
    }

    /// Reads the location events at the cursor, up to the first event of another kind or the end.
    ///
    /// `whole` says that the slice ends where the packet ends, so that a repair knows where to arrive.
    pub fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        whole: bool,
        frames: &mut Frames,
        losses: &mut Losses,
    ) -> Parse<()> {
        let start = *cursor;
        let before = self.garbled.then(|| self.clone());
        let (plain, fault) = self.read_plainly(cursor, frames.names_mut());
        if let Some(before) =
            before.filter(|_| whole && (fault.is_some() || plain.is_doubtful(frames)))
        {
            // A reading in which all names are consistent is best. If there is none, and the packet cannot be
            // read as it stands, any reading that ends in the right place is better than nothing.
            let mut ways = if fault.is_some() { &[true, false][..] } else { &[true] }.iter();
            if let Some(repaired) = ways.find_map(|&all| repair(&before, start, all, frames)) {
                *cursor = repaired.cursor;
                *self = repaired.decoder;
                losses.names_repaired += repaired.records_changed;
                repaired.reading.announce(frames);
                return Ok(());
            }
        }
        plain.announce(frames);
        match fault {
            None => Ok(()),
            Some(fault) => {
                self.forget();
                Err(fault)
            }
        }
    }

    /// Takes the records as they stand. The cursor ends behind the last event that could be read.
    fn read_plainly<'a>(
        &mut self,
        cursor: &mut Cursor<'a>,
        names: &mut impl TakeName<'a>,
    ) -> (Reading, Option<Fault>) {
        let mut reading = Reading::default();
        let fault = loop {
            let mut event = *cursor;
            let whole = reading.locations.len();
            match self.read_event(&mut event, names, &mut reading) {
                Ok(true) => *cursor = event,
                Ok(false) => break None,
                Err(fault) => {
                    reading.locations.truncate(whole);
                    break Some(fault);
                }
            }
        };
        (reading, fault)
    }

    /// Reads one event; false if there is none, or one of another kind.
    fn read_event<'a>(
        &mut self,
        event: &mut Cursor<'a>,
        names: &mut impl TakeName<'a>,
        reading: &mut Reading,
    ) -> Parse<bool> {
        if event.at_end() || event_word(event)?.0 != code::LOCATION {
            return Ok(false);
        }
        let start = reading.locations.len();
        let code = event.u64()?;
        for _ in 0..event.u8()? {
            let record = Record::read(event)?;
            reading.locations.push(self.location(&record, record.file_code, event, names)?);
        }
        reading.events.push((code, start));
        Ok(true)
    }

    /// Reads the names of a record and moves them to the front.
    pub(super) fn location<'a>(
        &mut self,
        record: &Record,
        file_code: usize,
        cursor: &mut Cursor<'a>,
        names: &mut impl TakeName<'a>,
    ) -> Parse<TraceLocation> {
        if file_code == LIST {
            let name = names.take(cursor.string()?)?;
            // Writers of version 1 let a new file inherit the list of the file it evicts. Later writers start
            // with an empty list and never refer to what was inherited.
            let functions = match self.files.len {
                LIST => self.files.items[LIST - 1].functions,
                _ => MoveToFront::filled(NameId::LOST, 0),
            };
            self.files.insert(File { name, functions });
        } else {
            self.files.use_again(file_code)?;
        }
        let file = &mut self.files.items[0];
        if record.function_code == LIST {
            file.functions.insert(names.take(cursor.string()?)?);
        } else {
            file.functions.use_again(record.function_code)?;
        }
        Ok(TraceLocation {
            file: file.name,
            function: file.functions.items[0],
            line: record.line,
            start_char: record.start_char,
            end_char: record.end_char,
        })
    }

    /// Replaces names in the lists.
    pub(super) fn rename(&mut self, new: impl Fn(NameId) -> NameId) {
        for file in &mut self.files.items {
            file.name = new(file.name);
            file.functions.items.iter_mut().for_each(|name| *name = new(*name));
        }
    }
}

/// The contents of a run of location events.
#[derive(Default)]
pub(super) struct Reading {
    /// Code of each event, and the index where its locations start.
    pub events: Vec<(u64, usize)>,
    pub locations: Vec<TraceLocation>,
}

impl Reading {
    /// Whether a function is in a file that cannot be its own, going by their names.
    fn is_doubtful(&self, frames: &Frames) -> bool {
        let text = |name| frames.names().bytes(name);
        self.locations.iter().any(|location| !cohere(text(location.file), text(location.function)))
    }

    fn announce(&self, frames: &mut Frames) {
        let starts = self.events.iter().map(|&(_, start)| start);
        let ends = starts.skip(1).chain([self.locations.len()]);
        for (&(code, start), end) in self.events.iter().zip(ends) {
            let frame = frames.intern(code);
            frames.announce(frame, &self.locations[start..end]);
        }
    }
}

/// Whether a function can be in a file, going by their names: `Lib__Foo.bar` is in `foo.ml`.
pub(super) fn cohere(file: &[u8], function: &[u8]) -> bool {
    let until_dot = |text: &[u8]| text.iter().position(|&b| b == b'.').unwrap_or(text.len());
    let unit = &function[..until_dot(function)];
    let unit = unit.windows(2).rposition(|pair| pair == b"__").map_or(unit, |at| &unit[at + 2..]);
    let base = file.iter().rposition(|&b| b == b'/').map_or(file, |slash| &file[slash + 1..]);
    let stem = &base[..until_dot(base)];
    // Names without information go with everything: `??`, or `<standard.mly>` of menhir.
    unit.eq_ignore_ascii_case(stem)
        || file.starts_with(b"<")
        || !unit.iter().any(u8::is_ascii_alphabetic)
}

/// Where new names go.
pub(super) trait TakeName<'a> {
    fn take(&mut self, text: &'a [u8]) -> Parse<NameId>;
}

impl<'a> TakeName<'a> for Names {
    fn take(&mut self, text: &'a [u8]) -> Parse<NameId> {
        Ok(self.intern(text))
    }
}

/// Discards names, to find out whether they can be read.
struct Unheard;

impl<'a> TakeName<'a> for Unheard {
    fn take(&mut self, _text: &'a [u8]) -> Parse<NameId> {
        Ok(NameId::LOST)
    }
}

/// The fixed part of a location: 48 bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Record {
    line: u32,
    start_char: u16,
    end_char: u16,
    pub(super) file_code: usize,
    function_code: usize,
}

impl Record {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Parse<Record> {
        let low = u64::from(cursor.u32()?);
        let word = low | u64::from(cursor.u16()?) << 32;
        let field = |at: u32, bits: u32| word >> at & ((1 << bits) - 1);
        Ok(Record {
            line: field(0, 20) as u32,
            start_char: field(20, 8) as u16,
            end_char: field(28, 10) as u16,
            file_code: field(38, 5) as usize,
            function_code: field(43, 5) as usize,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_matched_with_files_by_name() {
        let table: &[(&str, &str, bool)] = &[
            ("list.ml", "Stdlib__List.map", true),
            ("list.ml", "Stdlib__list.map", true),
            ("src/foo.pp.ml", "Lib__Foo.Make.(fun)", true),
            ("camlinternalFormat.ml", "CamlinternalFormat.make_padding.(fun)", true),
            ("stdlib.ml", "Stdlib.(^)", true),
            ("bin/main.ml", "Dune__exe__Main", true),
            ("stdlib.ml", "Dune__exe__Main.f", false),
            ("bin/main.ml", "Stdlib__List.map", false),
            ("<unknown>", "??", true),
            ("<standard.mly>", "Parser.Tables.semantic_action.(fun)", true),
            ("", "", true),
        ];
        for &(file, function, expected) in table {
            assert_eq!(cohere(file.as_bytes(), function.as_bytes()), expected, "{file} {function}");
        }
    }
}
