//! What a frozen copy reports to its walker: which program it is a copy of, which snapshot to take, and which roots the
//! runtime reports.
//!
//! The copy writes it ([`Writer`]), without allocating, into a file that exists in memory only; the walker
//! reads it ([`Frozen::read`]). The walker inherits the descriptors [`MEMORY`], [`MAPS`] and [`TOLD`].
//!
//! Layout, little endian: [`MAGIC`]; the facts in the order of [`Facts`]; then items until [`END`]. A text is
//! its length followed by its bytes. The reader accepts any bytes; truncation is reported, but not an error,
//! as long as the facts are complete.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// The walker's descriptor of the copy's memory.
pub const MEMORY: i32 = 3;
/// The walker's descriptor of the copy's mappings.
pub const MAPS: i32 = 4;
/// The walker's descriptor of this file.
pub const TOLD: i32 = 5;
/// The signal (SIGUSR1) by which the walker tells its copy that it no longer needs some of its memory.
/// [`TOLD`] then holds the ranges: a [`list_of`] addresses. The copy releases them. The copy itself must not
/// be killed: the walker would become a child of the process that adopts orphans, which may be the program.
pub const RELEASE: i32 = 10;
/// Bytes of one address range in a [`list_of`].
pub const RANGE: usize = 16;
/// The hidden command that runs the walker.
pub const COMMAND: &str = "walk-frozen";

const MAGIC: [u8; 8] = *b"BacFroz1";

/// The path at which a snapshot file is written before it is complete. Whoever finds that its walker was killed
/// removes it.
pub fn unfinished(path: &[u8]) -> Vec<u8> {
    let name = path.iter().rposition(|&byte| byte == b'/').map_or(0, |slash| slash + 1);
    let (folder, name) = path.split_at(name);
    [folder, b".", name, b".unfinished"].concat()
}

/// Encodes address ranges, for the copy to read.
pub fn list_of(ranges: &[Range<u64>]) -> Vec<u8> {
    ranges.iter().flat_map(|range| [range.start, range.end]).flat_map(u64::to_le_bytes).collect()
}

/// Decodes one range of a [`list_of`].
pub fn range_of(bytes: [u8; RANGE]) -> Range<u64> {
    let bytes = u128::from_le_bytes(bytes);
    bytes as u64..(bytes >> 64) as u64
}

/// Why a snapshot is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A major collection has ended.
    Major,
    /// The interval has passed.
    Every,
    /// The signal arrived.
    Signal,
    /// The program exits.
    Exit,
    /// The heap has grown past its last peak.
    Peak,
    /// The program asked for it.
    Call,
}

impl Reason {
    const ALL: [Reason; 6] =
        [Reason::Major, Reason::Every, Reason::Signal, Reason::Exit, Reason::Peak, Reason::Call];

    /// Its name, one word.
    pub fn name(self) -> &'static str {
        match self {
            Reason::Major => "major",
            Reason::Every => "every",
            Reason::Signal => "signal",
            Reason::Exit => "exit",
            Reason::Peak => "peak",
            Reason::Call => "call",
        }
    }
}

/// Counts of snapshots of this process that were skipped, by cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// The maximal number of frozen copies existed.
    pub copies: u64,
    /// There was not enough memory.
    pub memory: u64,
    /// There was not enough disk space.
    pub disk: u64,
    /// The kernel did not allow another process.
    pub process: u64,
}

/// Everything known about a frozen copy except its roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts<'a> {
    /// Process id of the program.
    pub program: u32,
    /// Process id of the copy.
    pub copy: u32,
    /// The number of the snapshot in this program, counted from 1.
    pub number: u64,
    /// Its number in the ledger, which several processes may share.
    pub key: u64,
    /// Why it is taken.
    pub reason: Reason,
    /// The number of bytes to keep of each string.
    pub strings: u32,
    /// Microseconds since 1970.
    pub time: u64,
    /// Microseconds since the program started.
    pub elapsed: u64,
    /// How long the program was paused, in nanoseconds; 0 if unknown.
    pub pause: u64,
    /// Snapshots that were skipped so far.
    pub skipped: Skipped,
    /// Bytes that all files together may take; if None, as long as there is disk space.
    pub disk_limit: Option<u64>,
    /// The thread pointer (FS base) of the thread that was copied.
    pub thread_pointer: u64,
    /// The name that the program gave this snapshot.
    pub name: Option<&'a [u8]>,
    /// The absolute path of the file to write. It does not exist yet, but may by the time it is written.
    pub heap: &'a [u8],
    /// The absolute path of the trace that is being recorded, which contains everything sampled so far.
    pub trace: Option<&'a [u8]>,
    /// The ledger to write to.
    pub ledger: Option<&'a [u8]>,
    /// The absolute directory in which the program was started; relative paths refer to it.
    pub directory: Option<&'a [u8]>,
}

/// A function of the runtime that reports roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum List {
    /// `caml_final_do_roots`.
    Final,
    /// `caml_memprof_do_roots`, `caml_memprof_scan_roots`.
    Memprof,
    /// `caml_scan_roots_hook`.
    Threads,
    /// `caml_scan_global_roots`, where `caml_do_roots` does not call it.
    Global,
    /// `caml_do_roots`, with everything that it calls.
    All,
}

impl List {
    const ALL: [List; 5] = [List::Final, List::Memprof, List::Threads, List::Global, List::All];
}

/// A root as the runtime has reported it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The address where the value is kept.
    pub slot: u64,
    /// The value.
    pub value: u64,
}

/// What one function has reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Which function.
    pub list: List,
    /// For which domain: an index into [`Frozen::domains`]; 0 if the function does not take one.
    pub domain: u32,
    /// The roots, in the order in which they were reported.
    pub slots: Vec<Slot>,
    /// Whether the function has returned.
    pub whole: bool,
}

/// Everything that a frozen copy reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frozen<'a> {
    /// The facts about the copy.
    pub facts: Facts<'a>,
    /// Addresses of the states of all domains; the domain that took the snapshot comes first.
    pub domains: Vec<u64>,
    /// The reported roots. A list that is missing could not be asked for.
    pub lists: Vec<Listed>,
    /// Whether nothing is missing at the end.
    pub whole: bool,
}

const DOMAIN: u8 = b'D';
const LIST: u8 = b'L';
const SLOT: u8 = b'S';
const WHOLE: u8 = b'W';
const END: u8 = b'.';

/// Bytes that are not the output of a frozen copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadFrozen {
    /// The offset of the error in bytes.
    pub offset: usize,
    /// What is wrong.
    pub reason: &'static str,
}

impl fmt::Display for BadFrozen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the frozen copy's report is damaged at byte {}: {}", self.offset, self.reason)
    }
}

impl core::error::Error for BadFrozen {}

impl Frozen<'_> {
    /// Reads what a copy has written.
    ///
    /// # Errors
    /// If the facts are incomplete, or the bytes are something else.
    pub fn read(bytes: &[u8]) -> Result<Frozen<'_>, BadFrozen> {
        let mut input = Input { bytes, at: 0 };
        if input.take(MAGIC.len())? != MAGIC {
            return Err(BadFrozen { offset: 0, reason: "not the report of a frozen copy" });
        }
        let facts = input.facts()?;
        let mut frozen = Frozen { facts, domains: Vec::new(), lists: Vec::new(), whole: false };
        while frozen.item(&mut input)? {}
        Ok(frozen)
    }

    /// What a function has reported about a domain.
    pub fn list(&self, list: List, domain: u32) -> Option<&Listed> {
        self.lists.iter().find(|listed| (listed.list, listed.domain) == (list, domain))
    }

    /// Reads one item; returns false if there are no more.
    fn item(&mut self, input: &mut Input<'_>) -> Result<bool, BadFrozen> {
        let start = input.at;
        let bad = |reason| BadFrozen { offset: start, reason };
        let Ok(kind) = input.byte() else { return Ok(false) };
        // An item that is cut off in the middle is dropped.
        match kind {
            END => {
                self.whole = true;
                return Ok(false);
            }
            DOMAIN => {
                let Ok(state) = input.word() else { return Ok(false) };
                self.domains.push(state);
            }
            LIST => {
                let (Ok(list), Ok(domain)) = (input.byte(), input.half()) else { return Ok(false) };
                let list = List::ALL.get(usize::from(list)).ok_or(bad("an unknown list"))?;
                self.lists.push(Listed { list: *list, domain, slots: Vec::new(), whole: false });
            }
            SLOT => {
                let (Ok(slot), Ok(value)) = (input.word(), input.word()) else { return Ok(false) };
                let list = self.lists.last_mut().ok_or(bad("a root outside of a list"))?;
                list.slots.push(Slot { slot, value });
            }
            WHOLE => {
                let list = self.lists.last_mut().ok_or(bad("an end without a list"))?;
                list.whole = true;
            }
            _ => return Err(bad("an unknown item")),
        }
        Ok(true)
    }
}

/// Input that is read from the front.
struct Input<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Input<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], BadFrozen> {
        let taken = self.at.checked_add(length).and_then(|end| self.bytes.get(self.at..end));
        let taken =
            taken.ok_or(BadFrozen { offset: self.at, reason: "the end comes too early" })?;
        self.at += length;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BadFrozen> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8, BadFrozen> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn half(&mut self) -> Result<u32, BadFrozen> {
        self.array().map(u32::from_le_bytes)
    }

    fn word(&mut self) -> Result<u64, BadFrozen> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Result<&'a [u8], BadFrozen> {
        let length = self.half()?;
        self.take(length as usize)
    }

    fn option<T>(
        &mut self,
        some: impl FnOnce(&mut Self) -> Result<T, BadFrozen>,
    ) -> Result<Option<T>, BadFrozen> {
        let offset = self.at;
        match self.byte()? {
            0 => Ok(None),
            1 => some(self).map(Some),
            _ => Err(BadFrozen { offset, reason: "an option that is neither 0 nor 1" }),
        }
    }

    fn facts(&mut self) -> Result<Facts<'a>, BadFrozen> {
        Ok(Facts {
            program: self.half()?,
            copy: self.half()?,
            number: self.word()?,
            key: self.word()?,
            reason: {
                let offset = self.at;
                let reason = Reason::ALL.get(usize::from(self.byte()?));
                *reason.ok_or(BadFrozen { offset, reason: "an unknown reason" })?
            },
            strings: self.half()?,
            time: self.word()?,
            elapsed: self.word()?,
            pause: self.word()?,
            skipped: Skipped {
                copies: self.word()?,
                memory: self.word()?,
                disk: self.word()?,
                process: self.word()?,
            },
            disk_limit: self.option(Input::word)?,
            thread_pointer: self.word()?,
            name: self.option(Input::text)?,
            heap: self.text()?,
            trace: self.option(Input::text)?,
            ledger: self.option(Input::text)?,
            directory: self.option(Input::text)?,
        })
    }
}

/// Writes the report of a frozen copy, through a given buffer.
pub struct Writer<'a, F: FnMut(&[u8])> {
    buffer: &'a mut [u8],
    used: usize,
    put: F,
}

impl<'a, F: FnMut(&[u8])> Writer<'a, F> {
    /// Begins with the facts. Whenever the buffer is full, its contents go to `put`.
    pub fn new(buffer: &'a mut [u8], put: F, facts: &Facts<'_>) -> Writer<'a, F> {
        let mut writer = Writer { buffer, used: 0, put };
        writer.bytes(&MAGIC);
        writer.facts(facts);
        writer
    }

    /// Writes a domain's state.
    pub fn domain(&mut self, state: u64) {
        self.bytes(&[DOMAIN]);
        self.word(state);
    }

    /// Begins a list: a function is about to be called.
    pub fn list(&mut self, list: List, domain: u32) {
        self.bytes(&[LIST, list as u8]);
        self.half(domain);
    }

    /// The function reports a root.
    pub fn slot(&mut self, slot: Slot) {
        self.bytes(&[SLOT]);
        self.word(slot.slot);
        self.word(slot.value);
    }

    /// The function has returned.
    pub fn list_is_whole(&mut self) {
        self.bytes(&[WHOLE]);
    }

    /// Ends the output.
    pub fn end(&mut self) {
        self.bytes(&[END]);
        self.flush();
    }

    /// Flushes the buffer.
    fn flush(&mut self) {
        (self.put)(&self.buffer[..self.used]);
        self.used = 0;
    }

    fn bytes(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.used == self.buffer.len() {
                self.flush();
            }
            let room = &mut self.buffer[self.used..];
            if room.is_empty() {
                // A buffer without room drops everything.
                return;
            }
            let (now, later) = bytes.split_at(bytes.len().min(room.len()));
            room[..now.len()].copy_from_slice(now);
            self.used += now.len();
            bytes = later;
        }
    }

    fn half(&mut self, half: u32) {
        self.bytes(&half.to_le_bytes());
    }

    fn word(&mut self, word: u64) {
        self.bytes(&word.to_le_bytes());
    }

    fn text(&mut self, text: &[u8]) {
        let text = &text[..text.len().min(u32::MAX as usize)];
        self.half(text.len() as u32);
        self.bytes(text);
    }

    fn option<T>(&mut self, value: Option<T>, some: impl FnOnce(&mut Self, T)) {
        self.bytes(&[u8::from(value.is_some())]);
        if let Some(value) = value {
            some(self, value);
        }
    }

    fn facts(&mut self, facts: &Facts<'_>) {
        self.half(facts.program);
        self.half(facts.copy);
        self.word(facts.number);
        self.word(facts.key);
        self.bytes(&[facts.reason as u8]);
        self.half(facts.strings);
        let Skipped { copies, memory, disk, process } = facts.skipped;
        for word in [facts.time, facts.elapsed, facts.pause, copies, memory, disk, process] {
            self.word(word);
        }
        self.option(facts.disk_limit, Self::word);
        self.word(facts.thread_pointer);
        self.option(facts.name, Self::text);
        self.text(facts.heap);
        self.option(facts.trace, Self::text);
        self.option(facts.ledger, Self::text);
        self.option(facts.directory, Self::text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    const FACTS: Facts<'_> = Facts {
        program: 10,
        copy: 11,
        number: 3,
        key: 10 << 32 | 3,
        reason: Reason::Call,
        strings: 16,
        time: 1,
        elapsed: 2,
        pause: 3,
        skipped: Skipped { copies: 1, memory: 2, disk: 3, process: 4 },
        disk_limit: Some(1 << 40),
        thread_pointer: 0x7f00_0000,
        name: Some(b"after loading"),
        heap: b"/tmp/x.3.heap",
        trace: None,
        ledger: Some(b"/tmp/ledger"),
        directory: Some(b"/home"),
    };

    fn written(buffer: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut buffer = vec![0; buffer];
        let mut writer = Writer::new(&mut buffer, |part| bytes.extend_from_slice(part), &FACTS);
        writer.domain(0x1000);
        writer.domain(0x2000);
        writer.list(List::Final, 0);
        writer.list_is_whole();
        writer.list(List::All, 1);
        writer.slot(Slot { slot: 8, value: 16 });
        writer.slot(Slot { slot: 24, value: u64::MAX });
        writer.end();
        bytes
    }

    #[test]
    fn a_frozen_copys_facts_and_roots_are_read_back_as_written() {
        for buffer in [1, 7, 64, 4096] {
            let bytes = written(buffer);
            let frozen = Frozen::read(&bytes).expect("what was written");
            assert_eq!(frozen.facts, FACTS);
            assert_eq!(frozen.domains, [0x1000, 0x2000]);
            assert!(frozen.whole);
            let last = frozen.list(List::All, 1).expect("listed");
            assert!(!last.whole && frozen.list(List::All, 0).is_none());
            assert_eq!(last.slots[1], Slot { slot: 24, value: u64::MAX });
            assert!(frozen.list(List::Final, 0).is_some_and(|list| list.whole));
        }
    }

    #[test]
    fn truncation_behind_the_facts_is_reported() {
        let bytes = written(64);
        let mut readable = 0;
        for length in 0..bytes.len() {
            if let Ok(frozen) = Frozen::read(&bytes[..length]) {
                assert!(!frozen.whole);
                readable += 1;
            }
        }
        // Everything cut off after the facts.
        assert!(readable > 60, "{readable}");
    }

    #[test]
    fn damaged_bytes_never_panic() {
        let bytes = written(64);
        for at in 0..bytes.len() {
            for flip in [1, 0x80, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[at] ^= flip;
                let said = Frozen::read(&damaged);
                assert!(at >= MAGIC.len() || said.is_err());
            }
        }
    }
}
