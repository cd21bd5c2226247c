//! How the agent gets control: before the program starts, when its runtime is ready, when it forks, and when
//! it exits.
//!
//! The dynamic linker calls `init` before the program starts. A native OCaml program, of OCaml 4 or 5, calls
//! `readlink` for its own name after its runtime is initialised and before any OCaml code runs, on the main
//! thread. We interpose libc's function, so that is where we start. In a program that is already running, the
//! runtime calls us through its hooks (`attached`).

mod attached;
mod behind;
mod environment;
mod forks;
mod hooks;
mod interpreter_start;
mod rights;
mod rings;

use alloc::ffi::CString;
use alloc::format;
use core::sync::atomic::{AtomicBool, Ordering};

use bactrian_agent_abi::{Children, Settings, Snapshots, variable};
use bactrian_agent_os::sys::{self, Fd, absolute};
use bactrian_agent_os::{birthmark, loaded, process, stacks};
use bactrian_trace::State;

use crate::keeper::board;
use crate::keeper::ring::Ring;
use crate::record::recording::{self, Recording};
use crate::record::{collect, guard, page, rate, session, switch, tracker};
use crate::runtime::agent::{self, Agent};
use crate::runtime::program::{Program, Sampler};
use crate::runtime::{blocking, bytecode};
use crate::snapshot::{self, BesideRecording};

#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = init;
#[used]
#[unsafe(link_section = ".fini_array")]
static FINI: extern "C" fn() = fini;

extern "C" fn init() {
    stacks::guard();
    // SAFETY: there is one thread. After a panic nothing is prepared.
    unsafe { stacks::run(prepare) };
}

/// Reads the settings and examines the program.
fn prepare() {
    hooks::look();
    environment::look();
    environment::restore_inheritance();
    if loaded::is_before("bactrian_agent") {
        // Another agent is loaded before this one; one is enough.
        return;
    }
    // A process that was started by a process with snapshots finds the path under another name.
    let is_heir = environment::get(variable::HEAP).is_none();
    let is_ward = is_heir && environment::get(variable::WARD).is_some();
    let get = |name: &str| match name {
        variable::HEAP if is_ward => environment::get(variable::WARD),
        variable::HEAP if is_heir => environment::get(variable::HEIR),
        _ => environment::get(name),
    };
    let settings = match Settings::read(get) {
        Ok(Some(settings)) => settings,
        Ok(None) => return,
        Err(bad) => return complain("not recording", &format!("{bad}")),
    };
    let runtime_params = environment::get("OCAMLRUNPARAM").unwrap_or_default().into();
    let hides_events = environment::get(variable::EVENTS).is_some();
    let [_, rings, _] = variable::RUNTIME_EVENTS;
    let rings = environment::get(rings).filter(|_| hides_events);
    let rings = rings.and_then(|path| CString::new(absolute(path)).ok());
    if settings.children == Children::Ignore {
        environment::forget_us();
    }
    // Not an OCaml program, or of an unknown version: there is nothing to do in this process.
    let Some(program) = Program::find() else {
        if hides_events && settings.children == Children::Ignore {
            environment::remove(&variable::RUNTIME_EVENTS);
        }
        return;
    };
    let trace = settings.trace.as_deref().map(absolute);
    let snapshots = settings.snapshots.map(|snapshots| Snapshots {
        heap: absolute(&snapshots.heap),
        ledger: snapshots.ledger.as_deref().map(absolute),
        walker: absolute(&snapshots.walker),
        ..snapshots
    });
    let page = settings.page.as_deref().map(absolute);
    let keeper = settings.keeper.as_deref().map(absolute);
    if let Some(folder) = &keeper {
        board::find(folder);
    }
    birthmark::set();
    let settings = Settings { trace, snapshots, page, keeper, ..settings };
    environment::rename(variable::HEAP, variable::HEIR);
    let is_bytecode = program.interpreter().is_some();
    let bytecode = if is_bytecode { bytecode::file() } else { None };
    agent::prepare(Agent {
        program,
        settings,
        is_heir,
        is_ward,
        bytecode,
        hides_events,
        rings,
        runtime_params,
        came_late: false,
    });
    if is_bytecode {
        interpreter_start::expect();
    }
}

/// Reports what is not done, and why. Only before the program runs: then standard error is still that of its
/// starter.
fn complain(what: &str, why: &str) {
    let _ = sys::write(Fd(2), format!("bactrian: {what}: {why}\n").as_bytes());
}

/// The symbol by which a second agent in the same process is recognised.
#[unsafe(no_mangle)]
pub static bactrian_agent: u8 = 0;

fn runtime_may_be_ready() {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if let Some(agent) = agent::prepared()
        && agent.program.interpreter().is_none()
        && !agent.program.state().is_null()
        && !STARTED.swap(true, Ordering::Relaxed)
    {
        start(agent);
    }
}

/// Starts everything that was asked for. The runtime is initialised, and no OCaml code runs yet.
fn start(agent: &'static Agent) {
    forks::follow();
    // SAFETY: once, with one thread.
    unsafe {
        blocking::set_work(blocking::Work {
            before: before_blocking,
            after: snapshot::has_left_ocaml,
        })
    };
    if agent.hides_events {
        // The runtime has already read them.
        environment::remove(&variable::RUNTIME_EVENTS);
    }
    if !agent.is_recorded() {
        // SAFETY: there is one thread.
        unsafe { stacks::run(|| Ring::take_for_questions(agent.settings.keeper.as_deref())) };
    }
    // SAFETY: there is one thread. After a panic there is no page.
    unsafe { stacks::run(|| page::start(agent)) };
    if let (Some(trace), Some(sampler)) = (&agent.settings.trace, &agent.program.sampler) {
        start_recording(agent, sampler, trace);
    }
    if let Some(snapshots) = &agent.settings.snapshots {
        if process::adopts_orphans() {
            environment::rename(variable::HEIR, variable::WARD);
        }
        // SAFETY: there is one thread. After a panic no snapshots are taken.
        unsafe {
            stacks::run(|| {
                if let Err(why) = snapshot::start(agent, snapshots, BESIDE) {
                    complain("no snapshots", why);
                }
            });
        }
    }
}

/// What snapshots need of the recording.
const BESIDE: BesideRecording = BesideRecording {
    write_all: || session::with_recording(Recording::for_snapshot).flatten(),
    is_at_work: session::is_at_work,
};

/// The program leaves OCaml for a system call, which may take long and during which it may be killed.
fn before_blocking() {
    session::with_recording(Recording::before_waiting);
    snapshot::before_waiting();
}

/// Starts the recording and the sampler.
fn start_recording(agent: &'static Agent, sampler: &Sampler, trace: &'static [u8]) {
    // SAFETY: the runtime is initialised and no OCaml code runs yet. Callbacks are ignored until there is a
    // recording.
    unsafe {
        rate::begin(agent, sampler, |rate| tracker::start(&agent.program, sampler, rate, 1));
    }
    let mut recording = None;
    // SAFETY: the runtime is initialised and no OCaml code runs yet. No other thread uses our stack before
    // the recording begins; after a panic the parameters are those of the environment.
    unsafe {
        agent.program.with_parameters(|parameters| {
            stacks::run(|| {
                if let Some(parameters) = parameters {
                    recording::set_parameters(parameters);
                }
            });
        });
        stacks::run(|| {
            let mut new = Recording::new(agent, trace, 0);
            match new.create() {
                Ok(()) => recording = Some(new),
                Err(errno) => {
                    let path = trace.escape_ascii();
                    let why = format!("cannot create {path}: {}", errno.words());
                    complain("not recording", &why);
                }
            }
        });
    }
    let Some(recording) = recording else { return };
    session::begin(recording);
    guard::sampling_begins();
    if let Some(signal) = agent.settings.signal {
        switch::install(signal);
    }
    // SAFETY: the runtime is initialised and no OCaml code runs yet.
    unsafe {
        let depth = collect::take_over(agent);
        tracker::start(&agent.program, sampler, rate::now(), depth);
        if !guard::put_up(sampler) {
            guard::stop_sampling();
            session::with_recording(|recording| recording.end(State::SwitchedOff));
            return;
        }
    }
    blocking::stay(&agent.program);
}

extern "C" fn fini() {
    end(|recording| recording.end(State::Ended));
    rings::remove_ours();
}

/// The process is about to exit.
fn end(end_recording: impl FnOnce(&mut Recording)) {
    page::at_end();
    snapshot::at_end(false);
    session::with_recording(end_recording);
}
