//! How an agent that was injected into a running program (`bactrian record PID`) receives its instructions, and
//! how it reports the outcome.
//!
//! Such an agent gets control through function pointers of the runtime ([`Hook`]). The injector sets them
//! while all threads are stopped, and requests a recording by [`Control::asked`]. Each domain starts its
//! sampler when the runtime calls one of the hooks.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize};

/// The first word of the page before the agent's own, by which a program that was recorded before is
/// recognised.
pub const MAGIC: u64 = u64::from_le_bytes(*b"bactrian");
/// The symbol of the agent's [`Control`].
pub const SYMBOL: &str = "bactrian_control";
/// Room for the settings, in bytes.
pub const SETTINGS: usize = 16 << 10;

/// A function pointer of the runtime that leads to the agent.
#[repr(C)]
#[derive(Debug)]
pub struct Hook<Answer = ()> {
    /// The agent's function.
    pub ours: extern "C" fn() -> Answer,
    /// Its previous value; 0 if it was null.
    pub previous: &'static AtomicUsize,
}

/// A function of the program whose calls are redirected to the agent while it samples: `Gc.Memprof.start`,
/// for example.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Gate {
    /// The agent's replacement.
    pub ours: unsafe extern "C" fn() -> usize,
    /// The word that holds the address of the patched function, with the bit [`HELD`] if callers spin at its
    /// door until it is patched.
    pub patched: &'static AtomicUsize,
}

/// The number of gates.
pub const GATES: usize = 3;
/// A bit that is clear in the address of any function, since functions are aligned.
pub const HELD: usize = 1;
/// The door: a jump to itself, at the first instruction of a function.
pub const DOOR: [u8; 2] = [0xEB, 0xFE];

/// How many bytes of a function a patch replaces.
pub const JUMP_LENGTH: usize = JUMP.len() + 8;
/// `jmp [rip + 0]`, followed by the target address.
pub const JUMP: [u8; 6] = [0xFF, 0x25, 0, 0, 0, 0];

/// The runtime's hooks around pauses. The last is also the one by which OCaml 4 polls.
pub const PAUSE_HOOKS: [&str; 4] = [
    "caml_minor_gc_begin_hook",
    "caml_minor_gc_end_hook",
    "caml_major_slice_end_hook",
    "caml_major_slice_begin_hook",
];

/// If the recorder was last seen this many microseconds ago, it has been killed, and no sampler is started.
pub const GONE_AFTER: u64 = 1_000_000;

/// The memory that the agent and the recorder share.
#[repr(C)]
#[derive(Debug)]
pub struct Control {
    /// The number of the requested recording; recordings are numbered from 1.
    pub asked: AtomicU64,
    /// When the recorder was last seen, in microseconds of the monotonic clock.
    pub seen: AtomicU64,
    /// The process id of the recorder.
    pub recorder: AtomicU64,
    /// The number of the last recording that the agent has prepared.
    pub prepared: AtomicU64,
    /// Why it could not be prepared, as a [`Trouble`]; 0 if it could.
    pub trouble: AtomicU64,
    /// How many domains have started their sampler for it.
    pub started: AtomicU64,
    /// How many threads are in one of our hooks and about to start a sampler, or to leave.
    pub busy: AtomicU64,
    /// The state of the recording's lock: 0 while no thread works on the recording.
    pub lock: &'static AtomicU64,
    /// Whether callbacks of the sampler are recorded.
    pub running: &'static AtomicBool,
    /// OCaml 4: `caml_major_slice_begin_hook`. OCaml 5: `caml_domain_external_interrupt_hook`.
    pub poll: Hook,
    /// `caml_leave_blocking_section_hook`.
    pub leave: Hook,
    /// `caml_domain_initialize_hook` of OCaml 5, `caml_domain_initialize_hook_exn` since 5.5, which returns
    /// whether it failed.
    pub spawn: Hook<usize>,
    /// `caml_enter_blocking_section_hook`, which the agent sets itself.
    pub enter: Hook,
    /// The hooks that measure pauses, if requested: see [`PAUSE_HOOKS`].
    pub pauses: [Hook; PAUSE_HOOKS.len()],
    /// `caml_memprof_start`, `caml_memprof_stop`, and `caml_memprof_is_sampling` where it exists.
    pub gates: [Gate; GATES],
    /// The settings, encoded like an environment: each `NAME=VALUE` followed by NUL. They are written from
    /// outside, so the compiler must not take them for constants.
    pub settings: [AtomicU8; SETTINGS],
}

/// Why a recording was not started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub enum Trouble {
    /// The settings are invalid.
    Settings = 1,
    /// The agent did not find the runtime.
    Runtime = 2,
    /// The trace cannot be created.
    Trace = 3,
    /// The program uses the sampler itself.
    ProgramSamples = 4,
}

impl Trouble {
    /// Decodes [`Control::trouble`].
    pub fn of(word: u64) -> Option<Trouble> {
        use Trouble::{ProgramSamples, Runtime, Settings, Trace};
        [Settings, Runtime, Trace, ProgramSamples].into_iter().find(|it| *it as u64 == word)
    }
}
