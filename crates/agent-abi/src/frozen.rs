//! What a frozen copy tells its walker: which program it is a copy of, what is wanted, and where the runtime says its
//! roots are.
//!
//! The copy writes it ([`Writer`]) without memory of its own into a file that exists in memory only; the walker reads it
//! ([`Frozen::read`]). Descriptors of a walker: [`MEMORY`], [`MAPS`] and [`TOLD`].
//!
//! Layout, little endian: [`MAGIC`]; the facts in the order of [`Facts`]; then items until [`END`]. A text is its
//! length and its bytes. The reader takes any bytes; what was cut is told, not an error, as long as the
//! facts are there.

use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

/// The walker's descriptor of the copy's memory.
pub const MEMORY: i32 = 3;
/// The walker's descriptor of the list of the copy's mappings.
pub const MAPS: i32 = 4;
/// The walker's descriptor of what the copy tells.
pub const TOLD: i32 = 5;
/// The signal (SIGUSR1) by which the walker tells its copy that it needs some of its memory no more. [`TOLD`] then holds
/// which: a [`list_of`] addresses. The copy gives that back. It must not be killed itself: the walker would become
/// a child of whoever adopts orphans, which may be the program.
pub const RELEASE: i32 = 10;
/// Bytes of one range of addresses in a [`list_of`] them.
pub const RANGE: usize = 16;
/// The hidden command of the walker.
pub const COMMAND: &str = "walk-frozen";

const MAGIC: [u8; 8] = *b"BacFroz1";

/// Ranges of addresses, as the walker writes them.
pub fn list_of(ranges: &[Range<u64>]) -> Vec<u8> {
    ranges.iter().flat_map(|range| [range.start, range.end]).flat_map(u64::to_le_bytes).collect()
}

/// One range of a [`list_of`] them, as the copy reads it.
pub fn range_of(bytes: [u8; RANGE]) -> Range<u64> {
    let bytes = u128::from_le_bytes(bytes);
    bytes as u64..(bytes >> 64) as u64
}

/// Why a snapshot is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A major collection has ended.
    Major,
    /// Its time has come.
    Every,
    /// A signal came.
    Signal,
    /// The program ends.
    Exit,
    /// The heap has grown past its last peak.
    Peak,
    /// The program asked for it.
    Call,
}

impl Reason {
    const ALL: [Reason; 6] =
        [Reason::Major, Reason::Every, Reason::Signal, Reason::Exit, Reason::Peak, Reason::Call];

    /// As one word.
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

/// Snapshots of this process that were not taken, by what was in the way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// There were enough frozen copies.
    pub copies: u64,
    /// There was not enough memory.
    pub memory: u64,
    /// There was not enough room on the disk.
    pub disk: u64,
    /// The kernel allowed no further process.
    pub process: u64,
}

/// What is known of a frozen copy, but for its roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts<'a> {
    /// Process id of the program.
    pub program: u32,
    /// Process id of the copy.
    pub copy: u32,
    /// Snapshots of the program are counted from 1.
    pub number: u64,
    /// Its number in the ledger, where several processes may write.
    pub key: u64,
    /// Why it is taken.
    pub reason: Reason,
    /// Bytes of each string to keep.
    pub strings: u32,
    /// Microseconds since 1970.
    pub time: u64,
    /// Microseconds since the program started.
    pub elapsed: u64,
    /// How long the program stood still, in nanoseconds; 0 if it is not known.
    pub pause: u64,
    /// Snapshots that were not taken so far.
    pub skipped: Skipped,
    /// Bytes that the files may come to; none: as long as there is room.
    pub disk_limit: Option<u64>,
    /// What the thread that was copied has its own variables counted from.
    pub thread_pointer: u64,
    /// What the program calls this snapshot.
    pub name: Option<&'a [u8]>,
    /// The file to write, absolute. It is not there yet, but may be when it is written.
    pub heap: &'a [u8],
    /// The trace that is being recorded, absolute, with all in it that was sampled so far.
    pub trace: Option<&'a [u8]>,
    /// The ledger to write to.
    pub ledger: Option<&'a [u8]>,
    /// Where the program was started, absolute: relative paths are from there.
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
    /// `caml_do_roots`, with all that it is made of.
    All,
}

impl List {
    const ALL: [List; 5] = [List::Final, List::Memprof, List::Threads, List::Global, List::All];
}

/// A root that the runtime has reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Where the value is kept.
    pub slot: u64,
    /// The value.
    pub value: u64,
}

/// What one function reported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Which function.
    pub list: List,
    /// For which domain: a place in [`Frozen::domains`]. 0 if it is not asked about one.
    pub domain: u32,
    /// The roots, in its order.
    pub slots: Vec<Slot>,
    /// The function came to its end.
    pub whole: bool,
}

/// All that a frozen copy tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frozen<'a> {
    /// The copy.
    pub facts: Facts<'a>,
    /// Addresses of domain states: of all domains, the one that took the snapshot first.
    pub domains: Vec<u64>,
    /// Roots. A function that is not there could not be called.
    pub lists: Vec<Listed>,
    /// Nothing is missing behind.
    pub whole: bool,
}

const DOMAIN: u8 = b'D';
const LIST: u8 = b'L';
const SLOT: u8 = b'S';
const WHOLE: u8 = b'W';
const END: u8 = b'.';

/// Bytes that are not what a frozen copy tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BadFrozen {
    /// Where.
    pub offset: usize,
    /// What is wrong.
    pub reason: &'static str,
}

impl fmt::Display for BadFrozen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "what the frozen copy tells is damaged at byte {}: {}", self.offset, self.reason)
    }
}

impl core::error::Error for BadFrozen {}

impl Frozen<'_> {
    /// Reads what a copy has told.
    ///
    /// # Errors
    /// If the facts are not there, or something else is.
    pub fn read(bytes: &[u8]) -> Result<Frozen<'_>, BadFrozen> {
        let mut input = Input { bytes, at: 0 };
        if input.take(MAGIC.len())? != MAGIC {
            return Err(BadFrozen { offset: 0, reason: "not what a frozen copy tells" });
        }
        let facts = input.facts()?;
        let mut frozen = Frozen { facts, domains: Vec::new(), lists: Vec::new(), whole: false };
        while frozen.item(&mut input)? {}
        Ok(frozen)
    }

    /// What a function reported about a domain.
    pub fn list(&self, list: List, domain: u32) -> Option<&Listed> {
        self.lists.iter().find(|listed| (listed.list, listed.domain) == (list, domain))
    }

    /// Reads one item; false if there are no more.
    fn item(&mut self, input: &mut Input<'_>) -> Result<bool, BadFrozen> {
        let start = input.at;
        let bad = |reason| BadFrozen { offset: start, reason };
        let Ok(kind) = input.byte() else { return Ok(false) };
        // What is cut in the middle of an item is cut before it.
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
                let list = self.lists.last_mut().ok_or(bad("the end of no list"))?;
                list.whole = true;
            }
            _ => return Err(bad("an unknown item")),
        }
        Ok(true)
    }
}

/// Bytes that are read from the front.
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
            _ => Err(BadFrozen { offset, reason: "neither there nor not there" }),
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

/// Writes what a frozen copy tells, through a buffer that is given.
pub struct Writer<'a, F: FnMut(&[u8])> {
    buffer: &'a mut [u8],
    used: usize,
    put: F,
}

impl<'a, F: FnMut(&[u8])> Writer<'a, F> {
    /// Begins with the facts. What is in the buffer when it is full goes to `put`.
    pub fn new(buffer: &'a mut [u8], put: F, facts: &Facts<'_>) -> Writer<'a, F> {
        let mut writer = Writer { buffer, used: 0, put };
        writer.bytes(&MAGIC);
        writer.facts(facts);
        writer
    }

    /// A domain's state.
    pub fn domain(&mut self, state: u64) {
        self.bytes(&[DOMAIN]);
        self.word(state);
    }

    /// A function is about to be called.
    pub fn list(&mut self, list: List, domain: u32) {
        self.bytes(&[LIST, list as u8]);
        self.half(domain);
    }

    /// It reports a root.
    pub fn slot(&mut self, slot: Slot) {
        self.bytes(&[SLOT]);
        self.word(slot.slot);
        self.word(slot.value);
    }

    /// It has come to its end.
    pub fn list_is_whole(&mut self) {
        self.bytes(&[WHOLE]);
    }

    /// That is all.
    pub fn end(&mut self) {
        self.bytes(&[END]);
        self.flush();
    }

    /// Hands on what is in the buffer.
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
                // A buffer of nothing holds nothing.
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
    fn what_is_told_is_heard() {
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
    fn what_is_cut_is_told() {
        let bytes = written(64);
        let mut readable = 0;
        for length in 0..bytes.len() {
            if let Ok(frozen) = Frozen::read(&bytes[..length]) {
                assert!(!frozen.whole);
                readable += 1;
            }
        }
        // All that is cut behind the facts.
        assert!(readable > 60, "{readable}");
    }

    #[test]
    fn damage_is_an_error_at_most() {
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
