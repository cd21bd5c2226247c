//! The contents of a trace as types: units, ids, events, facts about the run.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::recorder::Recorder;

/// A number of microseconds: a duration, or a moment counted from the start of the trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Micros(pub u64);

impl Micros {
    /// The greatest value.
    pub const MAX: Micros = Micros(u64::MAX);

    /// In seconds, for people and for plots.
    pub fn seconds(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// The time from `earlier` to `self`; zero if `earlier` is later.
    pub fn since(self, earlier: Micros) -> Micros {
        Micros(self.0.saturating_sub(earlier.0))
    }
}

/// A number of OCaml words, without block headers unless said otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Words(pub u64);

/// The identity of a sampled block, unique within a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId(pub u64);

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:010x}", self.0)
    }
}

/// An OCaml 5 domain; 0 in traces of versions 1 and 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DomainId(pub u16);

/// Where a block was allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Source {
    /// The minor heap; the block may be promoted later.
    Minor,
    /// Directly in the major heap (large blocks, `input_value`, ...).
    Major,
    /// Outside the OCaml heap, reported by the program (bigarrays, buffers).
    External,
}

impl Source {
    /// The byte that stands for it in the file.
    pub(crate) fn code(self) -> u8 {
        match self {
            Source::Minor => 0,
            Source::Major => 1,
            Source::External => 2,
        }
    }

    /// The inverse of [`Source::code`].
    #[cfg(feature = "std")]
    pub(crate) fn from_code(code: u8) -> Option<Source> {
        match code {
            0 => Some(Source::Minor),
            1 => Some(Source::Major),
            2 => Some(Source::External),
            _ => None,
        }
    }

    /// `minor`, `major` or `external`.
    pub fn name(self) -> &'static str {
        match self {
            Source::Minor => "minor",
            Source::Major => "major",
            Source::External => "external",
        }
    }
}

/// A physical frame: one code address, numbered in order of first appearance.
///
/// [`Frames`](crate::Frames) gives its code and its source locations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FrameId(pub(crate) u32);

impl FrameId {
    /// Its index in arrays with one element per frame.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A file or function name, numbered in order of first appearance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NameId(pub(crate) u32);

impl NameId {
    /// Its index in arrays with one element per name.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// A sampled allocation. `stack` is borrowed from the reader and valid until the next event.
#[derive(Clone, Copy, Debug)]
pub struct Alloc<'a> {
    /// When it happened, counted from the start of the trace.
    pub time: Micros,
    /// The domain that allocated.
    pub domain: DomainId,
    /// The block's identity, to which later promotions and collections refer.
    pub id: ObjectId,
    /// The block's size without its header.
    pub length: Words,
    /// How many of the block's words (header included) were sampled; at least 1 in a sound trace.
    pub samples: u64,
    /// Where the block was allocated.
    pub source: Source,
    /// How many outermost frames are the same as in this domain's previous allocation.
    pub common_prefix: usize,
    /// The call stack, outermost frame first; empty if the reader was told to skip stacks.
    pub stack: &'a [FrameId],
}

/// Something that happened to a sampled block.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// The block was allocated.
    Alloc(Alloc<'a>),
    /// The block moved from the minor to the major heap.
    Promote {
        /// When it happened, counted from the start of the trace.
        time: Micros,
        /// The domain whose stream contains the event.
        domain: DomainId,
        /// The block.
        id: ObjectId,
    },
    /// The block was found unreachable and freed.
    Collect {
        /// When it happened, counted from the start of the trace.
        time: Micros,
        /// The domain whose stream contains the event.
        domain: DomainId,
        /// The block.
        id: ObjectId,
    },
}

impl Event<'_> {
    /// When it happened, counted from the start of the trace.
    pub fn time(&self) -> Micros {
        match *self {
            Event::Alloc(Alloc { time, .. })
            | Event::Promote { time, .. }
            | Event::Collect { time, .. } => time,
        }
    }
}

/// High bits that no address has: codes of bytecode frames have them, and a number in the low bits.
const BYTECODE: u64 = 0x00BC_0000_0000_0000;

/// The only frame of an allocation on whose stack there is no OCaml function. Bactrian's recorder writes it,
/// because readers of memtrace traces assume that every stack has a frame.
pub const NO_FRAMES: u64 = BYTECODE | 1 << 32;

/// The code that stands for a bytecode instruction at `place`, counted in instruction words (4 bytes) from the
/// start of the program's code. Bactrian's recorder writes such codes; memtrace writes addresses.
pub fn bytecode_code(place: u64) -> u64 {
    BYTECODE | (place & 0xFFFF_FFFF)
}

/// The bytecode position that a code stands for; None if the code is an address.
pub fn instruction(code: u64) -> Option<u64> {
    (code >> 32 == BYTECODE >> 32).then_some(code & 0xFFFF_FFFF)
}

/// A bound on halvings that no recorder reaches.
const MOST_HALVED: u64 = 60;

/// Facts about the run, from the first packet. Strings are as written: bytes, usually UTF-8.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceInfo {
    /// Format version: 1, 2 or 3.
    pub version: u16,
    /// The probability with which each allocated word was sampled, per word.
    pub sample_rate: f64,
    /// Bits per word: 32 or 64.
    pub word_bits: u8,
    /// Path of the program.
    pub executable: Vec<u8>,
    /// Host name of the machine.
    pub host: Vec<u8>,
    /// Settings of the runtime in the style of OCAMLRUNPARAM.
    pub runtime_params: Vec<u8>,
    /// Process id of the writer.
    pub pid: u64,
    /// What the program said about this run; empty if nothing, and always in version 1.
    pub context: Vec<u8>,
    /// Start of the trace in microseconds since the Unix epoch.
    pub start: u64,
}

impl TraceInfo {
    /// Bytes per word of the traced program.
    pub fn word_bytes(&self) -> u64 {
        u64::from(self.word_bits / 8)
    }

    /// How often the sampling rate was halved during the recording. Sample counts are in units of the initial
    /// rate.
    pub fn halved(&self) -> u64 {
        Recorder::parse(&self.context).map_or(0, |recorder| recorder.halved.min(MOST_HALVED))
    }

    /// The maximum number of samples, at the initial rate, that one sample stands for.
    pub fn heaviest_sample(&self) -> f64 {
        (1_u64 << self.halved()) as f64
    }

    /// A string field as text, invalid UTF-8 replaced.
    pub fn text(field: &[u8]) -> Cow<'_, str> {
        String::from_utf8_lossy(field)
    }
}
