//! Starting in a program that is already running (`bactrian record PID`).
//!
//! A tracer has written us into its memory while it was stopped. The dynamic linker does not know of us, and
//! none of libc's functions go through us. The runtime calls us through two of its hooks, at moments when a
//! collection could begin or a system call has returned. The first such call prepares the recording, and each
//! domain starts its sampler at its own first call. When the recording is over, callbacks are ignored, and
//! each sampler is stopped when it next calls us (`guard`). We stay mapped: the heap of OCaml 5 keeps
//! pointers to our closures.

use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, AtomicUsize, Ordering};

use bactrian_agent_abi::control::{Control, GONE_AFTER, Hook, SETTINGS, Trouble};
use bactrian_agent_abi::page::Pause;
use bactrian_agent_abi::{Children, Settings, StackSource, token};
use bactrian_agent_os::sys::{self, Clock};
use bactrian_agent_os::{birthmark, loaded, stacks};
use bactrian_ocaml::Polling;
use bactrian_ocaml::value::UNIT;

use super::{before_blocking, forks};
use crate::keeper::board;
use crate::record::recording::Recording;
use crate::record::samplers::{self, Here};
use crate::record::{doors, guard, page, rate, session, tracker};
use crate::runtime::agent::{self, Agent};
use crate::runtime::blocking;
use crate::runtime::program::{DOMAINS, Program};

/// The control block that the injector reads and writes.
#[unsafe(no_mangle)]
pub static bactrian_control: Control = Control {
    asked: AtomicU64::new(0),
    seen: AtomicU64::new(0),
    recorder: AtomicU64::new(0),
    prepared: AtomicU64::new(0),
    trouble: AtomicU64::new(0),
    started: AtomicU64::new(0),
    busy: AtomicU64::new(0),
    lock: session::LOCK,
    running: session::RUNNING_WORD,
    poll: Hook { ours: poll, previous: &POLL },
    leave: Hook { ours: leave_blocking_section, previous: &LEAVE },
    spawn: Hook { ours: domain_begins, previous: &SPAWN },
    enter: blocking::HOOK,
    pauses: page::HOOKS,
    gates: guard::GATES,
    settings: [const { AtomicU8::new(0) }; SETTINGS],
};

/// The previous values of our hooks.
static POLL: AtomicUsize = AtomicUsize::new(0);
static LEAVE: AtomicUsize = AtomicUsize::new(0);
static SPAWN: AtomicUsize = AtomicUsize::new(0);

/// The recording for which each domain has started its sampler, or tried to.
static TRIED: [AtomicU64; DOMAINS] = [const { AtomicU64::new(0) }; DOMAINS];

/// Called when a slice of a major collection begins (OCaml 4), or when the domain was interrupted to look for
/// work (OCaml 5).
extern "C" fn poll() {
    let is_slice = |agent: &Agent| matches!(agent.program.runtime.polling, Polling::ToEnd { .. });
    if agent::prepared().is_some_and(is_slice) {
        page::begins(Pause::Slice);
    }
    let busy = Busy::begin();
    if let Some(here) = wanted() {
        // The interrupt is served: clear it, since the runtime's own hook does not (OCaml 5).
        if let Polling::ToHighest { interrupt, .. } = here.agent.program.runtime.polling {
            set(here.agent, interrupt, 0);
        }
        start(here);
    }
    drop(busy);
    call(&POLL);
}

/// Called when a system call has returned and the thread may run OCaml again.
extern "C" fn leave_blocking_section() {
    call(&LEAVE);
    let _busy = Busy::begin();
    if let Some(here) = wanted() {
        start_soon(here);
    }
}

/// Called when a domain begins (OCaml 5). It may inherit the sampler of an earlier recording.
extern "C" fn domain_begins() -> usize {
    // Before 5.5 the hook returns nothing, and our return value is not read.
    let answer = call(&SPAWN).unwrap_or(UNIT);
    let _busy = Busy::begin();
    if let Some(here) = Here::find() {
        TRIED[here.domain].store(0, Ordering::Release);
    }
    if let Some(here) = wanted() {
        start_soon(here);
    }
    answer
}

/// Starts this domain's sampler, now if possible, otherwise soon.
fn start_soon(here: Here) {
    let agent = here.agent;
    match agent.program.runtime.polling {
        Polling::ToEnd { .. } => start(here),
        // In OCaml 5, starting a sampler allocates, which is not allowed here: request an interrupt.
        Polling::ToHighest { limit, pending, interrupt } => {
            set(agent, interrupt, 1);
            set(agent, pending, 1);
            set(agent, limit, usize::MAX);
        }
    }
}

/// While a value of this type exists, the injector does not leave.
struct Busy;

impl Busy {
    fn begin() -> Busy {
        bactrian_control.busy.fetch_add(1, Ordering::AcqRel);
        Busy
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        bactrian_control.busy.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Calls the hook that was there before ours, if there was one; returns its result, if it has one.
fn call(previous: &AtomicUsize) -> Option<usize> {
    let previous = previous.load(Ordering::Acquire);
    (previous != 0).then(|| {
        // SAFETY: the previous hook. If it returns nothing, the return register holds an arbitrary value.
        let previous: extern "C" fn() -> usize = unsafe { loaded::function(previous) };
        previous()
    })
}

/// Sets a word in the state of this thread's domain.
fn set(agent: &Agent, at: usize, word: usize) {
    let state = agent.program.state();
    if !state.is_null() {
        // SAFETY: a word of the domain state, by the table of runtimes; the runtime itself sets it from other
        // threads.
        unsafe { &*state.add(at).cast::<AtomicUsize>() }.store(word, Ordering::SeqCst);
    }
}

/// This thread's domain, unless it has already tried to start its sampler. The first thread that gets here
/// prepares the recording.
fn wanted() -> Option<Here> {
    let control = &bactrian_control;
    let asked = control.asked.load(Ordering::Acquire);
    let seen = control.seen.load(Ordering::Acquire);
    if asked == 0 || sys::micros(Clock::Monotonic).saturating_sub(seen) > GONE_AFTER {
        return None;
    }
    if control.prepared.load(Ordering::Acquire) != asked {
        while forks::PREPARES.swap(true, Ordering::AcqRel) {
            // Another domain is preparing it, which takes some microseconds.
            core::hint::spin_loop();
        }
        if control.prepared.load(Ordering::Acquire) != asked {
            let trouble = prepare(asked).err();
            control.started.store(0, Ordering::Release);
            control.trouble.store(trouble.map_or(0, |trouble| trouble as u64), Ordering::Release);
            control.prepared.store(asked, Ordering::Release);
        }
        forks::PREPARES.store(false, Ordering::Release);
    }
    if control.trouble.load(Ordering::Acquire) != 0 {
        return None;
    }
    Here::find().filter(|here| TRIED[here.domain].load(Ordering::Acquire) != asked)
}

/// Starts this domain's sampler.
fn start(here: Here) {
    let agent = here.agent;
    // `begin` has checked that there is one.
    let Some(sampler) = &agent.program.sampler else { return };
    let control = &bactrian_control;
    let asked = control.asked.load(Ordering::Acquire);
    TRIED[here.domain].store(asked, Ordering::Release);
    let (rate, depth) = (agent.settings.rate, agent.settings.depth as usize);
    // SAFETY: the runtime is initialised; the arguments are the same each time.
    let prepared = unsafe { tracker::prepare(&agent.program, asked, rate, depth) };
    let has_started = match agent.program.runtime.polling {
        // The sampler of the previous recording has not called us since that ended: it continues.
        Polling::ToEnd { .. } if here.is_on() => true,
        // SAFETY: OCaml 4 allocates nothing here.
        Polling::ToEnd { .. } => unsafe { samplers::start(here, prepared) },
        // This domain inherited the sampler from the domain that spawned it.
        Polling::ToHighest { .. } if here.is_on_with(prepared[2]) => true,
        // SAFETY: the runtime may collect here, and no callback is running.
        Polling::ToHighest { .. } => unsafe {
            if here.is_on() {
                samplers::stop(here);
            }
            samplers::start(here, prepared)
        },
    };
    if has_started {
        doors::close(sampler, || control.asked.load(Ordering::Acquire) != 0);
        control.started.fetch_add(1, Ordering::AcqRel);
        blocking::stay(&agent.program);
    } else if control.started.load(Ordering::Acquire) == 0 {
        session::turn_off();
        control.trouble.store(Trouble::ProgramSamples as u64, Ordering::Release);
    }
}

/// Creates the recording that was asked for. From then on callbacks are recorded.
fn prepare(asked: u64) -> Result<(), Trouble> {
    static IS_FIRST: AtomicBool = AtomicBool::new(true);
    stacks::guard();
    let mut trouble = Some(Trouble::Runtime);
    session::begin_anew(|| {
        let begun = begin(asked);
        trouble = begun.as_ref().err().copied();
        begun.ok()
    });
    if let Some(trouble) = trouble {
        return Err(trouble);
    }
    if IS_FIRST.swap(false, Ordering::AcqRel) {
        forks::follow();
        // SAFETY: once.
        unsafe {
            blocking::set_work(blocking::Work { before: before_blocking, after: || () });
        }
    }
    Ok(())
}

fn begin(asked: u64) -> Result<Recording, Trouble> {
    let mut settings = Settings::read(setting).ok().flatten().ok_or(Trouble::Settings)?;
    let program = Program::find().filter(|program| program.sampler.is_some());
    let program = program.ok_or(Trouble::Runtime)?;
    if let (Polling::ToEnd { .. }, Some(on)) = (program.runtime.polling, samplers::parameters()) {
        (settings.rate, settings.depth) = on;
    }
    if let Some(folder) = &settings.keeper {
        board::find(folder);
    }
    birthmark::set();
    agent::prepare(Agent {
        program,
        // Our own stack collection would patch a function of the runtime while some thread may be inside it.
        settings: Settings {
            stacks: StackSource::Runtime,
            children: Children::Ignore,
            snapshots: None,
            falls: false,
            ..settings
        },
        is_heir: false,
        is_ward: false,
        bytecode: None,
        hides_events: false,
        rings: None,
        runtime_params: setting("OCAMLRUNPARAM").unwrap_or_default().into(),
        came_late: true,
    });
    let agent = agent::prepared().ok_or(Trouble::Runtime)?;
    page::start_late(agent);
    rate::set(agent.settings.rate);
    let trace = agent.settings.trace.as_deref().ok_or(Trouble::Settings)?;
    let mut recording = Recording::new(agent, trace, asked % token::RECORDINGS);
    recording.create().map_err(|_| Trouble::Trace)?;
    Ok(recording)
}

/// The value of one of the settings.
fn setting(name: &str) -> Option<&'static [u8]> {
    let settings = &raw const bactrian_control.settings;
    // SAFETY: the settings are written while all threads are stopped and none is in here.
    let settings: &'static [u8; SETTINGS] = unsafe { &*settings.cast() };
    let mut all = settings.split(|byte| *byte == 0);
    all.find_map(|text| text.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}
