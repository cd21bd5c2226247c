//! What the runtime's sampler calls: a tracker of five OCaml closures in static memory.
//!
//! The runtime's sampler (Gc.Memprof) wants OCaml functions; ours continue in C (`static_blocks`).
//!
//! Nothing here allocates in the OCaml heap. `Some token`, the result that keeps a block tracked, is a static
//! block per domain: the runtime reads it before anything else can happen in that domain.

use core::sync::atomic::Ordering;

use bactrian_ocaml::value::{UNIT, header_tag, header_words, integer, is_block, tag};
use bactrian_trace::{DomainId, Source};

use super::closures;
use super::collect;
use super::recording::{Recording, Sample, Token, Verdict};
use super::static_blocks::{Block, C_CALL, door};
use super::{guard, samplers, session};
use crate::runtime::agent::Agent;
use crate::runtime::blocking;
use crate::runtime::program::{DOMAINS, Program, ProgramCode, Sampler};

static RATE: Block<2> = Block::new(tag::DOUBLE);
static TRACKER: Block<6> = Block::new(0);
static CLOSURES: [Block<3>; 4] = [const { Block::new(tag::CLOSURE) }; 4];
/// The last closure of a tracker differs between recordings, so that the sampler of an earlier recording is
/// recognised. (There are 64 of them, used in turn: a sampler that has outlived that many recordings, in a
/// domain that never ran, goes on at its old rate.)
static LAST_CLOSURES: [Block<3>; 64] = [const { Block::new(tag::CLOSURE) }; 64];
static SOME: [Block<2>; DOMAINS] = [const { Block::new(0) }; DOMAINS];

door!(alloc_minor_door, alloc_minor);
door!(alloc_major_door, alloc_major);
door!(promote_door, promote);
door!(dealloc_door, dealloc);

/// Starts the sampler.
///
/// # Safety
/// The runtime is initialised, no sampler is running, and this is a thread that may call into OCaml.
pub unsafe fn start(program: &Program, sampler: &Sampler, rate: f64, depth: usize) {
    // SAFETY: by the caller.
    let [rate, depth, tracker] = unsafe { prepare(program, 0, rate, depth) };
    (sampler.start)(rate, depth, tracker);
}

/// Prepares the arguments with which the sampler of a recording is started, and returns them.
///
/// # Safety
/// The runtime is initialised. Repeated calls pass the same arguments, except rate and depth.
pub unsafe fn prepare(program: &Program, recording: u64, rate: f64, depth: usize) -> [usize; 3] {
    let codes = match &program.code {
        ProgramCode::Native { c_call } => {
            C_CALL.store(*c_call, Ordering::Relaxed);
            let doors = [alloc_minor_door, alloc_major_door, promote_door];
            let [minor, major, promote] = doors.map(|door| door as *const () as usize);
            let dealloc = dealloc_door as *const () as usize;
            [minor, major, promote, dealloc, dealloc]
        }
        ProgramCode::Bytecode(interpreter) => {
            let callbacks: [unsafe extern "C" fn(usize) -> usize; 5] = [
                alloc_minor_primitive,
                alloc_major_primitive,
                promote_primitive,
                dealloc_primitive,
                dealloc_primitive,
            ];
            let callbacks = callbacks.map(|callback| callback as *const () as usize);
            // SAFETY: by the caller.
            unsafe { closures::make(interpreter, callbacks) }
        }
    };
    let last = &LAST_CLOSURES[recording as usize % LAST_CLOSURES.len()];
    for (at, (closure, code)) in CLOSURES.iter().chain([last]).zip(codes).enumerate() {
        closure.set_function(code);
        TRACKER.set(at, closure.value());
    }
    samplers::are_known_by(CLOSURES[0].value());
    RATE.set(0, rate.to_bits() as usize);
    [RATE.value(), integer(depth), TRACKER.value()]
}

macro_rules! primitive {
    ($name:ident, $callback:ident) => {
        /// A callback as the interpreter calls it, without the domain state.
        ///
        /// # Safety
        /// Called by the interpreter.
        unsafe extern "C" fn $name(argument: usize) -> usize {
            let Some(agent) = session::running() else { return UNIT };
            // SAFETY: by the caller.
            unsafe { $callback(argument as _, agent.program.state()) }
        }
    };
}

primitive!(alloc_minor_primitive, alloc_minor);
primitive!(alloc_major_primitive, alloc_major);
primitive!(promote_primitive, promote);
primitive!(dealloc_primitive, dealloc);

/// An allocation record: `{ n_samples; size; source; callstack }`.
type Allocation = [usize; 4];

/// # Safety
/// Called by the runtime.
unsafe extern "C" fn alloc_minor(record: *const Allocation, state: *const usize) -> usize {
    // SAFETY: the runtime's arguments.
    unsafe { alloc(record, state, Source::Minor) }
}

/// # Safety
/// Called by the runtime.
unsafe extern "C" fn alloc_major(record: *const Allocation, state: *const usize) -> usize {
    // SAFETY: the runtime's arguments.
    unsafe { alloc(record, state, Source::Major) }
}

/// The source of memory outside the heap that a custom block owns.
const CUSTOM: usize = integer(2);

/// # Safety
/// The arguments are the runtime's: a record and a domain state.
unsafe fn alloc(record: *const Allocation, state: *const usize, heap: Source) -> usize {
    let Some(agent) = session::running() else {
        guard::recording_is_over();
        return UNIT;
    };
    // SAFETY: by the caller.
    let ([samples, size, source, callstack], domain) =
        unsafe { (*record, agent.program.domain(state)) };
    blocking::stay(&agent.program);
    if domain >= DOMAINS {
        session::with_recording(Recording::count_lost);
        return UNIT;
    }
    let source = if source == CUSTOM { Source::External } else { heap };
    // SAFETY: the callstack of the runtime's record.
    let slots = unsafe { frames(callstack, agent) };
    let verdict = session::with_recording(|recording| {
        let alloc = Sample {
            domain: DomainId(domain as u16),
            size: size >> 1,
            samples: samples >> 1,
            source,
        };
        let (stack, written) = collect::stack(domain, slots);
        let verdict = recording.alloc(&alloc, stack);
        if let (Verdict::Track(_), Some(written)) = (&verdict, written) {
            written.mark();
        }
        verdict
    });
    match verdict {
        Some(Verdict::Track(token)) => some(domain, token),
        Some(Verdict::Stop) => {
            // A tracker may stop its own sampler; the runtime allows for that.
            guard::stop_sampling();
            UNIT
        }
        Some(Verdict::Leave) => UNIT,
        None => {
            session::look_for_loss();
            UNIT
        }
    }
}

/// The slots of a callstack, empty if it is not one: OCaml 5.3 can hand out a callstack that the collector
/// has moved (ocaml#14287).
///
/// # Safety
/// `callstack` has once been a block.
unsafe fn frames<'a>(callstack: usize, agent: &Agent) -> &'a [usize] {
    if !is_block(callstack) || callstack == 0 {
        return &[];
    }
    let start = callstack as *const usize;
    // SAFETY: a block has its header before it, followed by its fields.
    unsafe {
        let header = *start.sub(1);
        let length = header_words(header);
        if header_tag(header) != 0 || length > agent.settings.depth as usize {
            return &[];
        }
        core::slice::from_raw_parts(start, length)
    }
}

/// # Safety
/// Called by the runtime.
unsafe extern "C" fn promote(token: usize, state: *const usize) -> usize {
    let Some(agent) = session::running() else { return UNIT };
    // SAFETY: the runtime's argument.
    let domain = unsafe { agent.program.domain(state) };
    if domain >= DOMAINS {
        return UNIT;
    }
    session::with_recording(|recording| recording.promote(DomainId(domain as u16), Token(token)));
    some(domain, Token(token))
}

/// # Safety
/// Called by the runtime.
unsafe extern "C" fn dealloc(token: usize, state: *const usize) -> usize {
    let Some(agent) = session::running() else { return UNIT };
    // SAFETY: the runtime's argument.
    let domain = unsafe { agent.program.domain(state) };
    let (domain, token) = (DomainId(domain.min(DOMAINS - 1) as u16), Token(token));
    // There are as many of these calls as of allocations.
    if !session::briefly(|recording| recording.collect_briefly(domain, token)) {
        session::with_recording(|recording| recording.collect(domain, token));
    }
    UNIT
}

/// `Some token`.
fn some(domain: usize, token: Token) -> usize {
    SOME[domain].set(0, token.0);
    SOME[domain].value()
}
