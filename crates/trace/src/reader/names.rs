//! Decoding of locations.
//!
//! File names are coded by their place in a list of the 31 most recently used, and each file has such a
//! list of its function names; code 31 means that the name itself follows. Reader and writer move names
//! to the front alike. The lists hold over packets, so one misread record spoils the names after it.
//!
//! That happens in real files: memtrace up to 0.2.3 lets columns past 1023 spill into the two low bits
//! of the file code. So when locations get out of step in a packet, the packet is read again, trying
//! for each record the codes that can have been meant, until one reading reaches the end exactly. If
//! none does, what the lists hold is unknown, and is said to be lost rather than guessed.

use crate::frames::{Frames, Location, Names};
use crate::losses::Losses;
use crate::model::NameId;
use crate::packet::{code, event_word};
use crate::wire::{Cursor, Fault, Parse};

use super::repair::repair;

/// Places in a move-to-front list; also the code for "the name follows".
const LIST: usize = 31;

/// A move-to-front list.
#[derive(Clone, Copy, Debug)]
struct Recent<T> {
    items: [T; LIST],
    len: usize,
}

impl<T: Copy> Recent<T> {
    fn filled(item: T, len: usize) -> Recent<T> {
        Recent { items: [item; LIST], len }
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
    functions: Recent<NameId>,
}

#[derive(Clone, Debug)]
pub(super) struct NameDecoder {
    files: Recent<File>,
}

impl NameDecoder {
    pub fn new() -> NameDecoder {
        let none = File { name: NameId::LOST, functions: Recent::filled(NameId::LOST, 0) };
        NameDecoder { files: Recent::filled(none, 0) }
    }

    /// What the lists hold is no longer known; their order can still be followed.
    pub fn forget(&mut self) {
        let lost = File { name: NameId::LOST, functions: Recent::filled(NameId::LOST, LIST) };
        self.files = Recent::filled(lost, LIST);
    }

    /// Reads the location events at the cursor, up to the first event of another kind or the end.
    ///
    /// `whole` says that the slice ends where the packet ends, so that a repair has an end to aim at.
    pub fn read(
        &mut self,
        cursor: &mut Cursor<'_>,
        whole: bool,
        frames: &mut Frames,
        losses: &mut Losses,
    ) -> Parse<()> {
        let start = *cursor;
        let before = self.clone();
        let Err(fault) = self.read_plainly(cursor, frames) else { return Ok(()) };
        if whole {
            let failed_at = *cursor;
            *cursor = start;
            if let Some(changed) = repair(&before, self, cursor, frames) {
                losses.names_repaired += changed;
                return Ok(());
            }
            *cursor = failed_at;
        }
        self.forget();
        Err(fault)
    }

    fn read_plainly(&mut self, cursor: &mut Cursor<'_>, frames: &mut Frames) -> Parse<()> {
        let mut locations = Vec::new();
        while !cursor.at_end() {
            let mut event = *cursor;
            if event_word(&mut event)?.0 != code::LOCATION {
                break;
            }
            let code = event.u64()?;
            locations.clear();
            for _ in 0..event.u8()? {
                let record = Record::read(&mut event)?;
                let names = frames.names_mut();
                locations.push(self.location(&record, record.file_code, &mut event, names)?);
            }
            let frame = frames.intern(code);
            frames.announce(frame, &locations);
            *cursor = event;
        }
        Ok(())
    }

    /// Reads the names of a record and moves them to the front.
    pub(super) fn location<'a>(
        &mut self,
        record: &Record,
        file_code: usize,
        cursor: &mut Cursor<'a>,
        names: &mut impl TakeName<'a>,
    ) -> Parse<Location> {
        if file_code == LIST {
            let name = names.take(cursor.string()?)?;
            // Version 1 writers let a new file inherit the list of the one it pushes out. Later ones
            // start an empty list and never refer to what was inherited.
            let functions = match self.files.len {
                LIST => self.files.items[LIST - 1].functions,
                _ => Recent::filled(NameId::LOST, 0),
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
        Ok(Location {
            file: file.name,
            function: file.functions.items[0],
            line: record.line,
            start_char: record.start_char,
            end_char: record.end_char,
        })
    }

    /// Replaces names that the lists hold.
    pub(super) fn rename(&mut self, new: impl Fn(NameId) -> NameId) {
        for file in &mut self.files.items {
            file.name = new(file.name);
            file.functions.items.iter_mut().for_each(|name| *name = new(*name));
        }
    }
}

/// Where names go that are met for the first time.
pub(super) trait TakeName<'a> {
    fn take(&mut self, text: &'a [u8]) -> Parse<NameId>;
}

impl<'a> TakeName<'a> for Names {
    fn take(&mut self, text: &'a [u8]) -> Parse<NameId> {
        Ok(self.intern(text))
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
