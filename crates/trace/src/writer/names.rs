//! Encoding of locations, the counterpart of the reader's decoding.

use alloc::boxed::Box;
use alloc::vec::Vec;

use crate::packet::{code, put_event_word};
use crate::wire::Put;

use super::SourceLocation;

const LIST: usize = 31;
/// The maximum size of a location event in bytes; longer ones are replaced by [`UNKNOWN`].
pub(super) const MAX_LOCATION: usize = 4096;

const UNKNOWN: SourceLocation<'static> =
    SourceLocation { file: b"<unknown>", function: b"??", line: 1, start_char: 1, end_char: 1 };

#[derive(Clone, Debug, Default)]
pub(super) struct NameEncoder {
    files: Vec<File>,
}

#[derive(Clone, Debug)]
struct File {
    name: Box<[u8]>,
    functions: Vec<Box<[u8]>>,
}

/// Moves the item found by `is` to the front, or inserts `new` there; returns the code to write.
fn to_front<T>(list: &mut Vec<T>, is: impl Fn(&T) -> bool, new: impl FnOnce() -> T) -> usize {
    match list.iter().position(is) {
        Some(place) => {
            list[..=place].rotate_right(1);
            place
        }
        None => {
            list.truncate(LIST - 1);
            list.insert(0, new());
            LIST
        }
    }
}

impl NameEncoder {
    /// Writes a location event.
    pub fn encode(
        &mut self,
        frame: u64,
        locations: &[SourceLocation<'_>],
        time: u64,
        out: &mut Vec<u8>,
    ) {
        let worst = |l: &SourceLocation<'_>| 6 + l.file.len() + 1 + l.function.len() + 1;
        let size = 9 + locations.iter().map(worst).sum::<usize>();
        let locations = match u8::try_from(locations.len()) {
            Ok(_) if size <= MAX_LOCATION => locations,
            _ => &[UNKNOWN],
        };
        put_event_word(out, code::LOCATION, time);
        out.put_u64(frame);
        out.put_u8(locations.len() as u8);
        for location in locations {
            self.record(location, out);
        }
    }

    fn record(&mut self, location: &SourceLocation<'_>, out: &mut Vec<u8>) {
        let SourceLocation { file, function, .. } = *location;
        let file_code = to_front(
            &mut self.files,
            |known| *known.name == *file,
            || File { name: file.into(), functions: Vec::new() },
        );
        let functions = &mut self.files[0].functions;
        let function_code = to_front(functions, |known| **known == *function, || function.into());
        let word = u64::from(location.line.min(0xF_FFFF))
            | u64::from(location.start_char.min(0xFF)) << 20
            | u64::from(location.end_char.min(0x3FF)) << 28
            | (file_code as u64) << 38
            | (function_code as u64) << 43;
        out.put_u32(word as u32);
        out.put_u16((word >> 32) as u16);
        if file_code == LIST {
            out.put_string(file);
        }
        if function_code == LIST {
            out.put_string(function);
        }
    }
}
