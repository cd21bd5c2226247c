//! Ring buffers: memory that a recorder shares with a keeper, so that neither loses anything when the other
//! is killed.
//!
//! The keeper, which is part of `record`, owns a directory in a memory file system. It contains a board
//! ([`board`]), through which recorded processes and the keeper find each other, and one file per ring
//! buffer. A process that records takes the free ring ([`FREE`](board::FREE)) and writes what would go into its
//! trace into it, as a stream of bytes. The keeper takes the bytes out at the other end and writes each to
//! the file at its offset in the stream. Beside the stream are copies of the packets that are still being
//! filled; from these the keeper completes the trace of a process that was killed.
//!
//! Each word has a single writer, except those that are taken by compare-and-exchange. If the keeper leaves
//! or its heartbeat stops, the process writes the contents of its ring to the file itself, and continues that
//! way. If both do it, they write the same bytes to the same offsets.
//!
//! It is not a file format: reader and writer come from the same build, which the magic number checks.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// The value of the first word of a board and of a ring; it changes with the layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"BACTRNG5");

/// The board: its file, and offsets of its fields in words.
pub mod board {
    /// Its name in the directory.
    pub const NAME: &str = "board";
    /// The size of the file in bytes.
    pub const BYTES: usize = 4096;
    /// [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// One more than the number of a free ring; 0 if there is none now. It is taken by its
    /// [`OWNER`](super::word::OWNER).
    pub const FREE: usize = 1;
    /// The heartbeat: counts up as long as the keeper lives.
    pub const HEART: usize = 2;
    /// Nonzero when the keeper has left.
    pub const LEFT: usize = 3;
    /// Counts up to make the keeper look at all rings soon: a process waits for an answer.
    pub const CALLS: usize = 4;
}

/// The longest interval between heartbeats, in milliseconds, unless the machine is overloaded.
pub const BEAT: u64 = 50;
/// The interval at which the keeper looks for calls, in milliseconds. After a second without any it looks less often.
pub const TICK: u64 = 2;
/// If the heartbeat has stopped for this many microseconds, the keeper is dead.
pub const DEAD_AFTER: u64 = 1_000_000;

/// The file that identifies a process's PID namespace.
pub const NAMESPACE_OF_SELF: &core::ffi::CStr = c"/proc/self/ns/pid";

/// The name of a ring's file in the directory.
pub fn name(number: u64) -> String {
    format!("ring.{number}")
}

/// Offsets of the fields at the beginning of a ring, in words.
pub mod word {
    /// [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// The process that writes here, as an [`owner`](super::owner); 0 until there is one. A process takes the
    /// ring by setting it: at any moment, a ring is free or its owner is known.
    pub const OWNER: usize = 1;
    /// The number of bytes put into the stream so far.
    pub const HEAD: usize = 2;
    /// The number of bytes taken out so far, written by the keeper.
    pub const TAIL: usize = 3;
    /// How many notes were written. There are two places; the parity of the count says which holds the last.
    pub const NOTES: usize = 4;
    /// The offset of the note in the trace: 0 until it is known, and [`NO_TRACE`](super::NO_TRACE) if nothing is
    /// recorded, or the recorder writes the trace itself.
    pub const NOTE_AT: usize = 5;
    /// The length of the trace's name, written by the keeper; 0 until it is known.
    pub const NAME: usize = 6;
    /// One more than the number of seccomp filters that the owner had when it took the ring; 0 if unknown.
    pub const FILTERS: usize = 7;
    /// Nonzero when the keeper has seen that the owner has another filter.
    pub const FILTERED: usize = 8;
    /// How many questions the owner has asked. Each asks whether it has new filters, and to write everything that
    /// it has put into the stream.
    pub const ASKED: usize = 9;
    /// How many of these questions the keeper has answered.
    pub const ANSWERED: usize = 10;
    /// Nonzero when the keeper no longer looks at this ring because its owner has ended. Children of the
    /// owner may still have it mapped.
    pub const LEFT: usize = 11;
}

/// As the offset of the note: the keeper has no trace to write.
pub const NO_TRACE: u64 = u64::MAX;

/// What is written as the [`OWNER`](word::OWNER) of a ring: a process, by its id in its own PID namespace, and
/// the inode of that namespace, which is 0 if unknown. Such inodes have 32 bits.
pub const fn owner(process: u32, namespace: u64) -> u64 {
    namespace << 32 | process as u64
}

/// The process and the namespace of an [`owner`]; None if there is none.
pub const fn process_and_namespace(owner: u64) -> Option<(u32, u64)> {
    match owner as u32 {
        0 => None,
        process => Some((process, owner >> 32)),
    }
}

/// The byte offset of the two notes.
pub const NOTES: usize = 512;
/// Room for each note, in bytes.
pub const NOTE: usize = 512;
/// The byte offset of the trace's name.
pub const NAME: usize = 2048;
/// Room for the name, in bytes.
pub const NAME_ROOM: usize = 4096;
/// The byte offset of the stream.
pub const STREAM: usize = 8192;
/// The capacity of the stream in bytes; a power of two.
pub const ROOM: usize = 1 << 20;

/// The number of domains whose unfinished packets are shared; those of other domains are flushed every
/// second.
pub const MAKINGS: usize = 8;
/// The maximal size of a packet in bytes.
pub const PACKET: usize = 32 << 10;

/// A domain's unfinished packets: a header, a packet of events, and a packet of locations. Offsets in words.
pub mod making {
    /// Bytes of the header, before the packets.
    pub const HEAD: usize = 4096;
    /// Bytes of events in the lower half, the number of allocations in the upper half: a single word, so that
    /// both are of the same moment. 0 if there are no events.
    pub const EVENTS: usize = 0;
    /// The time of the last event.
    pub const TIME_END: usize = 1;
    /// Bytes of locations.
    pub const LOCATIONS: usize = 2;
    /// Nonzero if the packets have been put into the stream, which then ends at this offset: they count only
    /// if the published stream does not reach that far.
    pub const PUT: usize = 3;
    /// The size of all of it in bytes.
    pub const BYTES: usize = HEAD + 2 * super::PACKET;
}

/// The byte offset of the unfinished packets of a domain.
pub const fn making_at(place: usize) -> usize {
    STREAM + ROOM + place * making::BYTES
}

/// The size of a ring's file in bytes.
pub const BYTES: usize = making_at(MAKINGS);

/// Candidate names for the trace of a process, best first: the path itself, with the process id before its
/// extension, with the id and a number. So neither children nor a program after exec overwrite an existing
/// trace. The first candidate belongs to the program: a forked child may need a file before the program's own
/// exists, and never takes that name.
pub fn names(path: &[u8], process: u32, is_child: bool) -> impl Iterator<Item = Vec<u8>> {
    const ATTEMPTS: u32 = 1000;
    let name_start = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let dot = path[name_start..].iter().rposition(|&byte| byte == b'.').filter(|&at| at > 0);
    let (stem, extension) = path.split_at(dot.map_or(path.len(), |at| name_start + at));
    (u32::from(is_child)..ATTEMPTS).map(move |attempt| {
        let middle = match attempt {
            0 => String::new(),
            1 => format!(".{process}"),
            _ => format!(".{process}.{attempt}"),
        };
        [stem, middle.as_bytes(), extension].concat()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_the_extension() {
        let all = |path: &str| -> Vec<String> {
            let names = names(path.as_bytes(), 7, false).take(3);
            names.map(|name| String::from_utf8(name).expect("text")).collect()
        };
        assert_eq!(all("a.b/run.ctf"), ["a.b/run.ctf", "a.b/run.7.ctf", "a.b/run.7.2.ctf"]);
        assert_eq!(all("a.b/run"), ["a.b/run", "a.b/run.7", "a.b/run.7.2"]);
        assert_eq!(all("/.hidden"), ["/.hidden", "/.hidden.7", "/.hidden.7.2"]);
    }

    #[test]
    fn an_owner_is_a_process_of_a_namespace() {
        assert_eq!(process_and_namespace(owner(7, 0xF000_0001)), Some((7, 0xF000_0001)));
        assert_eq!(process_and_namespace(owner(u32::MAX, 0)), Some((u32::MAX, 0)));
        assert_eq!(process_and_namespace(0), None);
    }

    #[test]
    fn a_child_never_takes_the_programs_name() {
        let first = names(b"run.ctf", 7, true).next();
        assert_eq!(first.as_deref(), Some(&b"run.7.ctf"[..]));
    }
}
