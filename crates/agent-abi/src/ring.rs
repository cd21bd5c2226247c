//! Rings: memory that a recorder shares with a keeper, so that neither loses anything when the other is killed.
//!
//! The keeper, which is `record` itself, owns a folder in memory. In it is a board ([`board`]), by which all recorded
//! processes hear of it, and files of one ring each. A process that records takes a ring that is free ([`FREE`]
//! (board::FREE)) and writes into it what would go into its trace, as a stream of bytes: the keeper takes them out at the other
//! end and writes them to the file, each at the place that it has in the stream. Beside the stream are copies of the packets
//! that are in the making, from which the keeper completes the trace of a process that was killed.
//!
//! Each word has one writer, but for those that are taken by exchange. If the keeper leaves, or its heart stops, the process
//! writes what is in its ring to the file by itself, and goes on so: both write the same bytes to the same places.
//!
//! It is not a format: reader and writer are of one build, which its magic number checks.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// What the first word of a board and of a ring is; it changes with the layout.
pub const MAGIC: u64 = u64::from_le_bytes(*b"BACTRNG4");

/// The board: its file, its words.
pub mod board {
    /// Its name in the folder.
    pub const NAME: &str = "board";
    /// Bytes of the file.
    pub const BYTES: usize = 4096;
    /// [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// The number of a ring that is free, and one more; 0 if there is none now. Taken by exchange.
    pub const FREE: usize = 1;
    /// Counts up as long as the keeper lives.
    pub const HEART: usize = 2;
    /// Not 0 when the keeper has left.
    pub const LEFT: usize = 3;
    /// Counts up when the keeper is to look at all rings soon: somebody waits for an answer.
    pub const CALLS: usize = 4;
}

/// The heart beats at least so often, in milliseconds, unless the machine has no time for it.
pub const BEAT: u64 = 50;
/// The keeper looks so often, in milliseconds, whether somebody calls.
pub const TICK: u64 = 2;
/// Without a beat for so long, in microseconds, the keeper is dead.
pub const DEAD_AFTER: u64 = 1_000_000;

/// By which a process knows its PID namespace.
pub const NAMESPACE_OF_SELF: &core::ffi::CStr = c"/proc/self/ns/pid";

/// The file of a ring in the folder.
pub fn name(number: u64) -> String {
    format!("ring.{number}")
}

/// Where things are at the beginning of a ring, in words.
pub mod word {
    /// [`MAGIC`](super::MAGIC).
    pub const MAGIC: usize = 0;
    /// The process that writes here, by its own number for itself; 0 until there is one.
    pub const OWNER: usize = 1;
    /// Bytes that were put into the stream.
    pub const HEAD: usize = 2;
    /// Bytes that were taken out, by the keeper.
    pub const TAIL: usize = 3;
    /// How many notes were written: the last is the one with the number, odd or even.
    pub const NOTES: usize = 4;
    /// Where the note is in the trace.
    pub const NOTE_AT: usize = 5;
    /// Bytes of the name of the trace, by the keeper; 0 until it is known.
    pub const NAME: usize = 6;
    /// The inode of the owner's PID namespace, in which its number counts; 0 if it cannot tell.
    pub const NAMESPACE: usize = 7;
    /// How many seccomp filters the owner had when it took the ring, and one more; 0 if it cannot tell.
    pub const FILTERS: usize = 8;
    /// Not 0 when the keeper has seen that the owner has got another filter.
    pub const FILTERED: usize = 9;
    /// How often the owner has asked: for its filters, and for what it has put to be written.
    pub const ASKED: usize = 10;
    /// How many of these questions are answered, by the keeper.
    pub const ANSWERED: usize = 11;
    /// Not 0 when the keeper does not look here any more, because the owner has ended. Its children may still have it mapped.
    pub const LEFT: usize = 12;
}

/// Where the two notes are, in bytes, and room for each.
pub const NOTES: usize = 512;
/// Room for a note.
pub const NOTE: usize = 512;
/// Where the name of the trace is.
pub const NAME: usize = 2048;
/// Room for it.
pub const NAME_ROOM: usize = 4096;
/// Where the stream is.
pub const STREAM: usize = 8192;
/// Bytes of it that are there at once; a power of two.
pub const ROOM: usize = 1 << 20;

/// Domains whose packets in the making are shared; others have theirs written every second.
pub const MAKINGS: usize = 8;
/// Bytes of a packet, at most.
pub const PACKET: usize = 32 << 10;

/// A place for what a domain has in the making: words, a packet of events, a packet of locations.
pub mod making {
    /// Bytes before the packets.
    pub const HEAD: usize = 4096;
    /// Bytes of the events in the lower half, how many are allocations in the upper: one word, so that both are of the same
    /// moment. 0 if there is nothing.
    pub const EVENTS: usize = 0;
    /// When the last event was.
    pub const TIME_END: usize = 1;
    /// Bytes of the locations.
    pub const LOCATIONS: usize = 2;
    /// Not 0 if the packets are in the stream, before this place: then they count only if the stream did not come so far.
    pub const PUT: usize = 3;
    /// Bytes of all of it.
    pub const BYTES: usize = HEAD + 2 * super::PACKET;
}

/// Where the place of a domain is.
pub const fn making_at(place: usize) -> usize {
    STREAM + ROOM + place * making::BYTES
}

/// Bytes of the file of a ring.
pub const BYTES: usize = making_at(MAKINGS);

/// Names for the trace of a process, best first: the path itself, with the process id before its extension, with the id and
/// a number. So neither children nor a program after exec overwrite what is there. The first is the program's: a forked child may need a
/// file before the program's own is there, and does not take its name.
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
    fn a_child_never_takes_the_programs_name() {
        let first = names(b"run.ctf", 7, true).next();
        assert_eq!(first.as_deref(), Some(&b"run.7.ctf"[..]));
    }
}
