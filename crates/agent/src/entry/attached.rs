//! Starting in a program that runs already (`bactrian record PID`).
//!
//! We were written into its memory from outside, while it stood still; the dynamic linker does not know of us, and none of
//! libc's functions come by us. The runtime calls us by two hooks of its own, at moments when a collection could begin or a
//! system call has ended. The first such call prepares the recording, and each domain starts its sampler at the first one of
//! its own. When the recording is over, callbacks are not answered any more, and each sampler is stopped where it shows itself
//! (`guard`). We stay mapped: the heap of OCaml 5 goes on pointing to closures of ours.

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

/// What whoever put us here looks at.
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

/// The hooks that were there before ours.
static POLL: AtomicUsize = AtomicUsize::new(0);
static LEAVE: AtomicUsize = AtomicUsize::new(0);
static SPAWN: AtomicUsize = AtomicUsize::new(0);

/// For which recording each domain has started its sampler, or tried to.
static TRIED: [AtomicU64; DOMAINS] = [const { AtomicU64::new(0) }; DOMAINS];

/// A slice of a major collection begins (OCaml 4), or the domain was asked to look what there is to do (OCaml 5).
extern "C" fn poll() {
    let is_slice = |agent: &Agent| matches!(agent.program.runtime.polling, Polling::ToEnd { .. });
    if agent::prepared().is_some_and(is_slice) {
        page::begins(Pause::Slice);
    }
    let busy = Busy::begin();
    if let Some(here) = wanted() {
        // What the runtime was asked for is done: its own hook does not take note of it (OCaml 5).
        if let Polling::ToHighest { interrupt, .. } = here.agent.program.runtime.polling {
            set(here.agent, interrupt, 0);
        }
        start(here);
    }
    drop(busy);
    call(&POLL);
}

/// A system call has ended, and the thread may run OCaml again.
extern "C" fn leave_blocking_section() {
    call(&LEAVE);
    let _busy = Busy::begin();
    if let Some(here) = wanted() {
        start_soon(here);
    }
}

/// A domain begins (OCaml 5). What it inherits may be what another recording has left.
extern "C" fn domain_begins() -> usize {
    // Before 5.5 it answers nothing, and neither is our answer read.
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

/// Starts the sampler of this domain where that is possible at once.
fn start_soon(here: Here) {
    let agent = here.agent;
    match agent.program.runtime.polling {
        Polling::ToEnd { .. } => start(here),
        // A sampler of OCaml 5 allocates when it starts, for which this is not the moment.
        Polling::ToHighest { limit, pending, interrupt } => {
            set(agent, interrupt, 1);
            set(agent, pending, 1);
            set(agent, limit, usize::MAX);
        }
    }
}

/// While this lives, whoever put us here does not go.
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

/// Calls the hook that was there before ours, if there was one: what it answers, if it answers.
fn call(previous: &AtomicUsize) -> Option<usize> {
    let previous = previous.load(Ordering::Acquire);
    (previous != 0).then(|| {
        // SAFETY: the hook that was there. One that answers nothing leaves something where the answer would be.
        let previous: extern "C" fn() -> usize = unsafe { loaded::function(previous) };
        previous()
    })
}

/// Sets a word of the state of this thread's domain.
fn set(agent: &Agent, at: usize, word: usize) {
    let state = agent.program.state();
    if !state.is_null() {
        // SAFETY: a word of the domain state by the table of runtimes; the runtime itself sets it from other threads.
        unsafe { &*state.add(at).cast::<AtomicUsize>() }.store(word, Ordering::SeqCst);
    }
}

/// The domain of this thread, unless its sampler was started already. The first thread that asks prepares the recording.
fn wanted() -> Option<Here> {
    static AT_WORK: AtomicBool = AtomicBool::new(false);
    let control = &bactrian_control;
    let asked = control.asked.load(Ordering::Acquire);
    let seen = control.seen.load(Ordering::Acquire);
    if asked == 0 || sys::micros(Clock::Monotonic).saturating_sub(seen) > GONE_AFTER {
        return None;
    }
    if control.prepared.load(Ordering::Acquire) != asked {
        while AT_WORK.swap(true, Ordering::AcqRel) {
            // Another domain is at it, for some microseconds.
            core::hint::spin_loop();
        }
        if control.prepared.load(Ordering::Acquire) != asked {
            let trouble = prepare(asked).err();
            control.started.store(0, Ordering::Release);
            control.trouble.store(trouble.map_or(0, |trouble| trouble as u64), Ordering::Release);
            control.prepared.store(asked, Ordering::Release);
        }
        AT_WORK.store(false, Ordering::Release);
    }
    if control.trouble.load(Ordering::Acquire) != 0 {
        return None;
    }
    Here::find().filter(|here| TRIED[here.domain].load(Ordering::Acquire) != asked)
}

/// Starts the sampler of this domain.
fn start(here: Here) {
    let agent = here.agent;
    // Looked for when the recording was made.
    let Some(sampler) = &agent.program.sampler else { return };
    let control = &bactrian_control;
    let asked = control.asked.load(Ordering::Acquire);
    TRIED[here.domain].store(asked, Ordering::Release);
    let (rate, depth) = (agent.settings.rate, agent.settings.depth as usize);
    // SAFETY: the runtime is initialised; it is the same each time.
    let prepared = unsafe { tracker::prepare(&agent.program, asked, rate, depth) };
    let has_started = match agent.program.runtime.polling {
        // That of the recording before has not shown itself since: it goes on.
        Polling::ToEnd { .. } if here.is_on() => true,
        // SAFETY: nothing is allocated.
        Polling::ToEnd { .. } => unsafe { samplers::start(here, prepared) },
        // The domain that has spawned this one has started it.
        Polling::ToHighest { .. } if here.is_on_with(prepared[2]) => true,
        // SAFETY: the runtime may collect here, and no callback is under way.
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

/// Makes the recording that was asked for. From then on callbacks are answered.
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
        // Our own way of collecting stacks replaces a function of the runtime, which some thread may be in.
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

/// One of the settings.
fn setting(name: &str) -> Option<&'static [u8]> {
    let settings = &raw const bactrian_control.settings;
    // SAFETY: they are written while all threads stand still and none is in here.
    let settings: &'static [u8; SETTINGS] = unsafe { &*settings.cast() };
    let mut all = settings.split(|byte| *byte == 0);
    all.find_map(|text| text.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
}
