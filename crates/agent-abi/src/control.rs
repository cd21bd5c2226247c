//! How an agent is told what to do that was put into a program that ran already (`bactrian record PID`), and how it tells
//! what became of it.
//!
//! Such an agent gets control by variables of the runtime that hold functions to call ([`Hook`]): whoever put it there
//! sets them while all threads stand still, and says by [`Control::asked`] that a recording is wanted. Each domain starts its
//! sampler when the runtime calls one of them.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, AtomicUsize};

/// The first word of a page before the agent's own: so it is known in a program that had one before.
pub const MAGIC: u64 = u64::from_le_bytes(*b"bactrian");
/// The name of the agent's [`Control`] among its symbols.
pub const SYMBOL: &str = "bactrian_control";
/// Room for settings.
pub const SETTINGS: usize = 16 << 10;

/// A hook of ours.
#[repr(C)]
#[derive(Debug)]
pub struct Hook<Answer = ()> {
    /// Our function.
    pub ours: extern "C" fn() -> Answer,
    /// What was there before; 0 for nothing.
    pub previous: &'static AtomicUsize,
}

/// A function of the program that is led to us while we sample: `Gc.Memprof.start`, for example.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// Where its calls come to us.
    pub ours: unsafe extern "C" fn() -> usize,
    /// The word that says which function is patched, with [`HELD`] if callers wait at its door until it is patched.
    pub patched: &'static AtomicUsize,
}

/// How many there are.
pub const GATES: usize = 3;
/// Functions are aligned: this bit is none of an address.
pub const HELD: usize = 1;
/// A jump to itself, at the first instruction of a function.
pub const DOOR: [u8; 2] = [0xEB, 0xFE];

/// How many bytes of a function are replaced by a jump.
pub const JUMP_LENGTH: usize = JUMP.len() + 8;
/// `jmp [rip + 0]`, behind which the address stands.
pub const JUMP: [u8; 6] = [0xFF, 0x25, 0, 0, 0, 0];

/// Variables of the runtime that hold functions to call around pauses. The last is the one by which OCaml 4 polls, too.
pub const PAUSE_HOOKS: [&str; 4] = [
    "caml_minor_gc_begin_hook",
    "caml_minor_gc_end_hook",
    "caml_major_slice_end_hook",
    "caml_major_slice_begin_hook",
];

/// So long, in microseconds, after whoever put us here was last seen, no sampler is started: it was killed.
pub const GONE_AFTER: u64 = 1_000_000;

/// What both look at.
#[repr(C)]
#[derive(Debug)]
pub struct Control {
    /// The number of the recording that is wanted; each has its own, from 1 on.
    pub asked: AtomicU64,
    /// When whoever asked was last there: microseconds of the monotonic clock.
    pub seen: AtomicU64,
    /// The process that asked.
    pub recorder: AtomicU64,
    /// The number of the last recording that was prepared.
    pub prepared: AtomicU64,
    /// Why it could not be, as a [`Trouble`]; 0 if it could.
    pub trouble: AtomicU64,
    /// How many domains have started their sampler for it.
    pub started: AtomicU64,
    /// How many threads are in a hook of ours, and about to start a sampler or to leave it.
    pub busy: AtomicU64,
    /// 0 while no thread works on the recording.
    pub lock: &'static AtomicU32,
    /// Whether callbacks are answered.
    pub running: &'static AtomicBool,
    /// OCaml 4: `caml_major_slice_begin_hook`. OCaml 5: `caml_domain_external_interrupt_hook`.
    pub poll: Hook,
    /// `caml_leave_blocking_section_hook`.
    pub leave: Hook,
    /// `caml_domain_initialize_hook` of OCaml 5, `caml_domain_initialize_hook_exn` since 5.5, which answers whether it failed.
    pub spawn: Hook<usize>,
    /// `caml_enter_blocking_section_hook`, which the agent sets itself.
    pub enter: Hook,
    /// If pauses are to be measured: see [`PAUSE_HOOKS`].
    pub pauses: [Hook; PAUSE_HOOKS.len()],
    /// `caml_memprof_start`, `caml_memprof_stop`, and `caml_memprof_is_sampling` where there is one.
    pub gates: [Gate; GATES],
    /// Settings as in an environment: each `NAME=VALUE` and NUL. They are written from outside, so nobody may take them for
    /// constant.
    pub settings: [AtomicU8; SETTINGS],
}

/// Why a recording was not begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Trouble {
    /// The settings make no sense to the agent.
    Settings = 1,
    /// It does not find the runtime.
    Runtime = 2,
    /// The trace cannot be created.
    Trace = 3,
    /// The program uses the sampler itself.
    ProgramSamples = 4,
}

impl Trouble {
    /// As it stands in [`Control::trouble`].
    pub fn of(word: u64) -> Option<Trouble> {
        use Trouble::{ProgramSamples, Runtime, Settings, Trace};
        [Settings, Runtime, Trace, ProgramSamples].into_iter().find(|it| *it as u64 == word)
    }
}
