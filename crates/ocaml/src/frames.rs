//! Frame tables of native code: what the compiler records for each return address.
//!
//! A table is a count followed by that many descriptors. A descriptor consists of the return address (64 bits),
//! frame size and flags (16), number of live values (16), and the location of each (16: an even number counts
//! bytes from the stack pointer; an odd one, halved, words of the saved registers). With flag 2 there follow a
//! count byte and one byte for each allocation. With flag 1 there follows, aligned to 4 bytes, the location of
//! the debug information (32, relative to that field), once or for each allocation. Descriptors are aligned to
//! 8 bytes. A frame size of 0xffff is not a size and has no flags: it marks the end of an OCaml stack chunk,
//! which C called. This holds from 4.11 to 5.3.
//!
//! Debug information is two words of 32 bits. Bit 0: another record follows, for the function that this one was
//! inlined into. Bits 2 to 25: the location of the names, relative to this word. The rest is lines and columns,
//! packed in different ways (see [`LocationLayout`]).

use alloc::string::String;
use alloc::vec::Vec;

use crate::runtime::LocationLayout;

/// Byte offsets of the parts that every descriptor has, and the meaning of its flags.
pub mod layout {
    /// The return address.
    pub const RETURN_ADDRESS: usize = 0;
    /// Frame size and flags.
    pub const DATA: usize = 8;
    /// The number of live values.
    pub const LIVE_COUNT: usize = 10;
    /// Live values, 2 bytes each.
    pub const LIVE: usize = 12;
    /// The alignment of debug information and allocations in bytes.
    pub const ALIGNMENT: usize = 4;
    /// Flag: there is debug information.
    pub const HAS_DEBUG_INFO: u16 = 1;
    /// Flag: allocations are listed.
    pub const HAS_ALLOCATIONS: u16 = 2;
    /// In place of size and flags: a chunk of OCaml stack ends here.
    pub const RETURNS_TO_C: u16 = 0xffff;

    /// The size of a frame, from size and flags; None at the end of a stack chunk.
    #[inline]
    pub const fn frame_size(data: u16) -> Option<u16> {
        match data {
            RETURNS_TO_C => None,
            data => Some(data & !(HAS_DEBUG_INFO | HAS_ALLOCATIONS)),
        }
    }
}

use layout::{HAS_ALLOCATIONS, HAS_DEBUG_INFO, RETURNS_TO_C};

/// The maximum length of a descriptor: 65,535 live values, 255 allocations with debug information.
pub const LONGEST_DESCRIPTOR: usize = 12 + 2 * 0xffff + 256 + 4 + 4 * 256 + 8;
/// The maximum depth of inlining that is followed.
const MOST_INLINED: usize = 100;
/// Longer names are cut.
const LONGEST_NAME: usize = 1024;

/// What the compiler records for one return address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// The return address.
    pub return_address: u64,
    /// The size of the frame in bytes; None where C called OCaml.
    pub frame_size: Option<u16>,
    /// Locations of live values.
    pub live: Vec<Live>,
    /// The sizes in words of the allocations that may happen here.
    pub allocations: Vec<u16>,
    /// The address of the debug information that the runtime would use.
    pub debug_info: Option<u64>,
}

/// The location of a live value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Live {
    /// On the stack, this many bytes above the stack pointer.
    Stack(u16),
    /// In a register, given as a word of the saved registers.
    Register(u16),
}

impl Descriptor {
    /// Parses the descriptor at the beginning of `bytes`, whose address is `address`; also returns its length
    /// in bytes. None if the bytes end before it does.
    pub fn read(bytes: &[u8], address: u64) -> Option<(Descriptor, usize)> {
        let return_address = u64::from_le_bytes(*bytes.first_chunk()?);
        let data = half(bytes, layout::DATA)?;
        let mut end = layout::LIVE;
        if data == RETURNS_TO_C {
            // The count of live values means nothing here.
            let none = Descriptor {
                return_address,
                frame_size: None,
                live: Vec::new(),
                allocations: Vec::new(),
                debug_info: None,
            };
            return Some((none, 16));
        }
        let count = usize::from(half(bytes, layout::LIVE_COUNT)?);
        let live = bytes.get(end..end + 2 * count)?.as_chunks::<2>().0.iter().map(|&offset| {
            match u16::from_le_bytes(offset) {
                register if register & 1 != 0 => Live::Register(register >> 1),
                offset => Live::Stack(offset),
            }
        });
        let live = live.collect();
        end += 2 * count;
        let mut allocations = Vec::new();
        let mut places = 1;
        if data & HAS_ALLOCATIONS != 0 {
            places = usize::from(*bytes.get(end)?);
            let lengths = bytes.get(end + 1..end + 1 + places)?;
            allocations.extend(lengths.iter().map(|&length| u16::from(length) + 1));
            end += 1 + places;
        }
        let mut debug_info = None;
        if data & HAS_DEBUG_INFO != 0 {
            end = end.next_multiple_of(layout::ALIGNMENT);
            for at in (end..).step_by(4).take(places) {
                let offset = word32(bytes, at)?;
                if offset != 0 && debug_info.is_none() {
                    debug_info = address.checked_add(at as u64 + u64::from(offset));
                }
            }
            end += 4 * places;
        }
        let frame_size = layout::frame_size(data);
        let found = Descriptor { return_address, frame_size, live, allocations, debug_info };
        Some((found, end.next_multiple_of(8)))
    }
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn word32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// A source location.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FrameLocation {
    /// The file, as it was passed to the compiler.
    pub file: String,
    /// The function, with its modules.
    pub function: String,
    /// The line, from 1.
    pub line: u32,
    /// The first column and the column after the last. If these are on different lines, the last one counts
    /// from the beginning of the first line.
    pub characters: (u32, u32),
}

/// The source locations in the debug information at `address`, innermost first: a function, the one it was
/// inlined into, and so on. `memory` fills a buffer with the contents of an address, or returns false if it
/// cannot.
pub fn locations(
    address: u64,
    layout: LocationLayout,
    memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
) -> Vec<FrameLocation> {
    let mut found = Vec::new();
    let mut at = address;
    for _ in 0..MOST_INLINED {
        let mut words = [0; 8];
        if !memory(at, &mut words) {
            break;
        }
        let [first, second] = [0, 4].map(|at| word32(&words, at).unwrap_or_default());
        let Some(location) = location(at, first, second, layout, memory) else { break };
        found.push(location);
        let Some(next) = at.checked_add(8).filter(|_| first & 1 != 0) else { break };
        at = next;
    }
    found
}

fn location(
    at: u64,
    first: u32,
    second: u32,
    layout: LocationLayout,
    memory: &mut dyn FnMut(u64, &mut [u8]) -> bool,
) -> Option<FrameLocation> {
    let names = at.checked_add(u64::from(first & 0x3ff_fffc))?;
    let mut record = [0; 12];
    let is_apart = layout == LocationLayout::TwoLines && second >> 31 != 0;
    // The names follow at once, or after the numbers that did not fit into the two words.
    let names_at = if is_apart { 12 } else { 4 };
    if !memory(names, record.get_mut(..names_at)?) {
        return None;
    }
    let file_offset = i64::from(word32(&record, 0)? as i32);
    let (line, characters) = match layout {
        LocationLayout::OneLine => {
            (second >> 12, ((second >> 4) & 0xff, (second & 0xf) << 6 | first >> 26))
        }
        LocationLayout::TwoLines if is_apart => {
            let start = u32::from(half(&record, 4)?);
            ((second >> 12) & 0x7_ffff, (start, word32(&record, 8)?))
        }
        LocationLayout::TwoLines => {
            let last = (second >> 3) & 0x7f;
            let lines_between = (second & 7) << 6 | first >> 26;
            (second >> 19, ((second >> 10) & 0x3f, last + lines_between))
        }
    };
    Some(FrameLocation {
        file: text(names.checked_add_signed(file_offset)?, memory)?,
        function: text(names.checked_add(names_at as u64)?, memory)?,
        line,
        characters,
    })
}

/// The string at an address.
fn text(address: u64, memory: &mut dyn FnMut(u64, &mut [u8]) -> bool) -> Option<String> {
    const PIECE: usize = 32;
    let mut bytes = Vec::new();
    let mut at = address;
    while bytes.len() < LONGEST_NAME {
        let mut piece = [0; PIECE];
        // Up to an aligned end, so that nothing is read that the string may not reach.
        let length = PIECE - (at % PIECE as u64) as usize;
        let piece = piece.get_mut(..length)?;
        if !memory(at, piece) {
            return None;
        }
        let end = piece.iter().position(|&byte| byte == 0);
        bytes.extend_from_slice(piece.get(..end.unwrap_or(length))?);
        if end.is_some() {
            break;
        }
        at = at.checked_add(length as u64)?;
    }
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::vec;

    const ADDRESS: u64 = 0x1000;
    const FLAGS: u16 = HAS_DEBUG_INFO | HAS_ALLOCATIONS;

    /// A descriptor's bytes: data, live values, allocations, debug offsets.
    fn bytes(data: u16, live: &[u16], allocations: &[u8], debug: &[u32]) -> Vec<u8> {
        let mut bytes = 0x4321_u64.to_le_bytes().to_vec();
        bytes.extend(data.to_le_bytes());
        bytes.extend((live.len() as u16).to_le_bytes());
        bytes.extend(live.iter().flat_map(|slot| slot.to_le_bytes()));
        if data != RETURNS_TO_C && data & HAS_ALLOCATIONS != 0 {
            bytes.push(allocations.len() as u8);
            bytes.extend(allocations);
        }
        if data != RETURNS_TO_C && data & HAS_DEBUG_INFO != 0 {
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes.extend(debug.iter().flat_map(|offset| offset.to_le_bytes()));
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        bytes
    }

    #[test]
    fn descriptors_are_read_whole_or_not_at_all() {
        let plain = bytes(48, &[8, 7, 16], &[], &[]);
        let allocating = bytes(32 | FLAGS, &[0], &[1, 2, 255], &[0, 64, 32]);
        let (found, length) = Descriptor::read(&plain, ADDRESS).expect("whole");
        assert_eq!(length, plain.len());
        assert_eq!(found.return_address, 0x4321);
        assert_eq!(found.frame_size, Some(48));
        assert_eq!(found.live, [Live::Stack(8), Live::Register(3), Live::Stack(16)]);
        assert_eq!(found.debug_info, None);
        let (found, length) = Descriptor::read(&allocating, ADDRESS).expect("whole");
        assert_eq!(length, allocating.len());
        assert_eq!(found.frame_size, Some(32));
        assert_eq!(found.allocations, [2, 3, 256]);
        // The first allocation has none, so that of the second is returned: its offset is at 24.
        assert_eq!(found.debug_info, Some(ADDRESS + 24 + 64));
        // Without the padding.
        for (whole, content) in [(plain, 18), (allocating, 32)] {
            for end in 0..content {
                assert_eq!(Descriptor::read(&whole[..end], ADDRESS), None, "{end}");
            }
        }
    }

    #[test]
    fn the_end_of_a_stack_chunk_has_no_flags() {
        let end = bytes(RETURNS_TO_C, &[], &[], &[]);
        let (found, length) = Descriptor::read(&end, ADDRESS).expect("whole");
        assert_eq!((found.frame_size, length), (None, end.len()));
        assert!(found.live.is_empty());
    }

    fn tell(memory: &[u8], layout: LocationLayout) -> Vec<FrameLocation> {
        locations(ADDRESS, layout, &mut |address, buffer| {
            let at = (address - ADDRESS) as usize;
            // Beyond the end there is more memory, of zeros.
            let padded = [memory, &[0; 64]].concat();
            let Some(bytes) = padded.get(at..at + buffer.len()) else { return false };
            buffer.copy_from_slice(bytes);
            true
        })
    }

    #[test]
    fn debug_information_of_both_layouts_is_read() {
        // One inlined into another; names at 16.
        let mut memory = vec![];
        let old = |next: u32, offset: u32, line: u32, from: u32, to: u32| {
            [next | offset | (to & 0x3f) << 26, line << 12 | from << 4 | to >> 6]
        };
        for word in [old(1, 16, 42, 7, 100), old(0, 8, 43, 1, 2)].concat() {
            memory.extend(word.to_le_bytes());
        }
        memory.extend(8_i32.to_le_bytes());
        memory.extend(b"A.f\0a.ml\0");
        let told = tell(&memory, LocationLayout::OneLine);
        let expected = |line, characters| FrameLocation {
            file: "a.ml".into(),
            function: "A.f".into(),
            line,
            characters,
        };
        assert_eq!(told, [expected(42, (7, 100)), expected(43, (1, 2))]);

        let mut memory = vec![];
        // Packed: line 12, from 3, to 9, and the end 5 further on because of line breaks.
        let second: u32 = 12 << 19 | 3 << 10 | 9 << 3;
        memory.extend((8_u32 | 5 << 26).to_le_bytes());
        memory.extend(second.to_le_bytes());
        memory.extend(8_i32.to_le_bytes());
        memory.extend(b"A.f\0a.ml\0");
        assert_eq!(tell(&memory, LocationLayout::TwoLines), [expected(12, (3, 14))]);

        let mut memory = vec![];
        memory.extend(8_u32.to_le_bytes());
        memory.extend((1 << 31 | 70_000_u32 << 12).to_le_bytes());
        memory.extend(16_i32.to_le_bytes());
        memory.extend([200_u16, 300].iter().flat_map(|n| n.to_le_bytes()));
        memory.extend(1000_u32.to_le_bytes());
        memory.extend(b"A.f\0a.ml\0");
        assert_eq!(tell(&memory, LocationLayout::TwoLines), [expected(70_000, (200, 1000))]);
    }

    #[test]
    fn any_debug_information_is_survived() {
        for layout in [LocationLayout::OneLine, LocationLayout::TwoLines] {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                tell(&[byte; 200], layout);
            }
            assert!(locations(u64::MAX - 3, layout, &mut |_, _| true).len() <= MOST_INLINED);
            assert!(locations(8, layout, &mut |_, _| false).is_empty());
        }
    }
}
