//! Recording a process that is already running and was not prepared for it.
//!
//! The process is stopped up to four times, mostly for less than a millisecond: to map memory for the agent; after the
//! agent has been written there ([`super::implant`]), to set the hooks of its runtime and to ask it to poll; once a
//! domain samples, to patch the functions with which the program would start a sampler of its own; and at the end, to
//! restore the hooks. No function is called from outside: the runtime itself calls the agent, at moments when a sampler
//! may be started. After the end the agent ignores callbacks. It stays mapped, and is used again by the next recording
//! of the process.
//!
//! Each time a thread of ours traces it, and ends: whatever has gone wrong, the kernel then detaches from all
//! its threads. The process that records may live on, as `live` does.
//!
//! If we are killed before the hooks are set, nothing has changed except the process's mappings. Afterwards
//! the agent notices within seconds that nobody takes its events, and stops.

use std::fs::{self, File};
use std::io;
use std::mem::offset_of;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use bactrian_agent_abi::Settings;
use bactrian_agent_abi::control::{
    Control, DOOR, GATES, GONE_AFTER, Gate, HELD, Hook, JUMP, JUMP_LENGTH, PAUSE_HOOKS, SETTINGS,
    Trouble,
};
use bactrian_ocaml::Polling;

use super::gadgets::Gadgets;
use super::guardian::{Change, Guardian};
use super::implant::Implant;
use super::linker_tables::{ERRNO, FORKS};
use super::net::Vectors;
use super::places::thread_offset;
use super::placing::{Made, Means, find_earlier, map, protect, sign};
use super::refusal::{Cause, Refusal, WITHOUT_TRACING};
use super::signals::DeferredSignals;
use super::sys::{self, Tid};
use super::tracee::Tracee;
use super::tracer::may_inject;
use crate::agent::AGENT;
use crate::doctor::cannot_start_late;
use crate::heap::target::{Files, Target};
use crate::keeper::Keeper;
use crate::memory::{Memory, ProcessMemory};
use crate::temporary::Owner;

const BREATH: Duration = Duration::from_millis(1);
/// How long threads may take to leave code or data that must not be changed under them.
const PATIENCE: Duration = Duration::from_secs(2);

/// A recording of a process that was already running. If it is dropped without [`LateRecording::end`], it
/// continues until the agent notices that nobody takes its events.
#[derive(Debug)]
pub struct LateRecording {
    pid: u32,
    memory: File,
    /// The address of the agent's [`Control`].
    control: u64,
    hooks: Vec<SetHook>,
    /// The addresses of `caml_memprof_start`, `caml_memprof_stop`, and `caml_memprof_is_sampling` where it
    /// exists.
    samplers: Vec<u64>,
    /// Opens the doors if we are killed before the sampler's functions are guarded.
    guardian: Guardian,
    keeper: Keeper,
    /// How long the process was stopped in total.
    pub pause: Duration,
    held: DeferredSignals,
}

/// A variable of the runtime that we have set, or that the agent may have set.
#[derive(Clone, Copy, Debug)]
struct SetHook {
    variable: u64,
    /// The address of the agent's [`Hook`].
    hook: u64,
}

/// The state of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordingState {
    /// No sampler has been started yet: the program has not come to a moment when one can be, because it is
    /// blocked.
    Waiting,
    /// This many domains are sampling.
    Sampling(u64),
    /// It could not be started.
    Trouble(Trouble),
    /// The process has ended.
    Gone,
}

impl LateRecording {
    /// Starts to record a process.
    ///
    /// # Errors
    /// If the kernel does not let us trace it, or it does not support this. It continues unharmed.
    pub fn begin(pid: u32, settings: &Settings) -> Result<LateRecording, Refusal> {
        on_a_thread(|| LateRecording::begin_here(pid, settings))
    }

    fn begin_here(pid: u32, settings: &Settings) -> Result<LateRecording, Refusal> {
        let held = DeferredSignals::begin();
        let memory = ProcessMemory::open(pid).map_err(|error| Refusal::opening(pid, &error))?;
        let target = Target::find(&memory, &Files::of_process(pid)).map_err(|unknown| {
            Refusal::new(Cause::Unknown, format!("process {pid}: {unknown}"), unknown.way_out())
        })?;
        let runtime = RuntimePlaces::of(&target, settings.page.is_some())?;
        is_possible(pid, &memory)?;
        let gadgets = Gadgets::find(&memory).ok_or_else(|| {
            let reason = "it contains no system call instruction that could make it map memory";
            Refusal::new(Cause::Unknown, reason, WITHOUT_TRACING)
        })?;
        let trace =
            settings.trace.as_deref().map(|path| PathBuf::from(std::ffi::OsStr::from_bytes(path)));
        let keeper = Keeper::of_running(trace, Owner::of_process(pid))
            .map_err(|error| Refusal::failed("creating shared memory for its events", &error))?;
        let settings = Settings {
            keeper: Some(keeper.folder().as_os_str().as_bytes().to_vec()),
            ..settings.clone()
        };
        let implant = Implant::read(AGENT).map_err(Refusal::late)?;
        let made = Made::of(&implant, &target)?;
        let means = Means { gadgets, vectors: Vectors::of_this_processor() };
        let mut tracee = Tracee::seize(pid, held.asked())?;
        tracee.stop()?;
        let known = find_earlier(&memory, &implant)?;
        let base = match known {
            Some(base) => {
                is_free(&tracee, base + implant.control)?;
                settle(&mut tracee, base + implant.control, &runtime.samplers)?;
                base
            }
            None => {
                let base = map(&mut tracee, &means, made.length())?;
                // The program does not know of this memory yet, so it may run while the agent is written.
                tracee.resume(true)?;
                let written = made.write(&tracee, base);
                tracee.stop()?;
                written?;
                protect(&mut tracee, &means, base, &implant)?;
                sign(&tracee, base, &implant)?;
                base
            }
        };
        let control = base + implant.control;
        let guardian = guardian_of(&tracee, &runtime.samplers)?;
        let hooks = arm(&mut tracee, control, &runtime, &settings)?;
        let memory = tracee.memory.try_clone();
        let memory = memory.map_err(|error| Refusal::failed("opening its memory", &error))?;
        tracee.detach();
        let pause = tracee.pause();
        let samplers = runtime.samplers;
        Ok(LateRecording { pid, memory, control, hooks, samplers, guardian, keeper, pause, held })
    }

    /// The state of the recording. To be called every few milliseconds: once a program samples, this guards
    /// it against using the sampler itself.
    ///
    /// # Errors
    /// If that requires stopping the process, and it cannot be stopped.
    pub fn look(&mut self) -> Result<RecordingState, Refusal> {
        be_seen(&self.memory, self.control);
        let state = self.state();
        if self.is_held() {
            match on_a_thread(|| self.guard()) {
                Err(refusal) if refusal.cause == Cause::Gone => return Ok(RecordingState::Gone),
                guarded => guarded?,
            }
        }
        Ok(state)
    }

    /// Whether callers of one of the sampler's functions spin until it is guarded.
    fn is_held(&self) -> bool {
        let patched = |gate: u64| {
            word(&self.memory, word(&self.memory, gate + offset_of!(Gate, patched) as u64)?)
        };
        gates(self.control)
            .into_iter()
            .any(|gate| patched(gate).is_some_and(|at| at & HELD as u64 != 0))
    }

    fn guard(&mut self) -> Result<(), Refusal> {
        let failed = |error: io::Error| Refusal::failed("guarding its sampler", &error);
        let mut tracee = seize(self.pid)?;
        tracee.stop()?;
        leave_samplers(&mut tracee, &self.samplers)?;
        for gate in gates(self.control) {
            guard(&tracee.memory, gate).map_err(failed)?;
        }
        tracee.detach();
        self.pause += tracee.pause();
        Ok(())
    }

    fn state(&self) -> RecordingState {
        let word = |at: usize| word(&self.memory, self.control + at as u64);
        let prepared = word(offset_of!(Control, prepared));
        let asked = word(offset_of!(Control, asked));
        let (Some(prepared), Some(asked)) = (prepared, asked) else { return RecordingState::Gone };
        let started = word(offset_of!(Control, started)).unwrap_or(0);
        let trouble = word(offset_of!(Control, trouble)).and_then(Trouble::of);
        match trouble {
            _ if prepared != asked => RecordingState::Waiting,
            Some(trouble) => RecordingState::Trouble(trouble),
            None if started == 0 => RecordingState::Waiting,
            None => RecordingState::Sampling(started),
        }
    }

    /// Whether the user has asked us to stop, by a signal.
    pub fn is_asked_to_stop(&self) -> bool {
        self.held.asked().load(Ordering::Relaxed) != 0
    }

    /// Ends the recording: the trace is then complete. Returns how long the process was stopped in total for
    /// the recording.
    ///
    /// # Errors
    /// If the process cannot be stopped once more. Then the agent ends by itself.
    pub fn end(mut self) -> Result<Duration, Refusal> {
        let ended = on_a_thread(|| match seize(self.pid) {
            Ok(mut tracee) => self.take_back(&mut tracee).map(|()| tracee.pause()),
            Err(refusal) if refusal.cause == Cause::Gone => {
                // There is nothing left to undo.
                self.guardian.all_restored();
                Ok(Duration::ZERO)
            }
            Err(refusal) => Err(refusal),
        });
        drop(self.keeper);
        ended
    }

    fn take_back(&mut self, tracee: &mut Tracee) -> Result<(), Refusal> {
        tracee.stop()?;
        let failed = |error: io::Error| Refusal::failed("ending the recording", &error);
        let running = word(&tracee.memory, self.control + offset_of!(Control, running) as u64);
        let running = running.ok_or_else(|| Refusal::late("its memory cannot be read"))?;
        let asked = self.control + offset_of!(Control, asked) as u64;
        // No sampler is started from here on.
        set_word(tracee.any_stopped()?, asked, 0).map_err(failed)?;
        settle(tracee, self.control, &self.samplers)?;
        let tid = tracee.any_stopped()?;
        self.guardian.all_restored();
        tracee.memory.write_all_at(&[0], running).map_err(failed)?;
        for hook in &self.hooks {
            let ours = word(&tracee.memory, hook.hook + offset_of!(Hook, ours) as u64);
            let previous = previous_of(&tracee.memory, hook.hook);
            // Another hook that was installed after ours knows of it and calls it.
            if let (Some(ours), Some(previous)) = (ours, previous)
                && tracee.word(hook.variable) == Some(ours)
            {
                set_word(tid, hook.variable, previous).map_err(failed)?;
            }
        }
        tracee.detach();
        Ok(())
    }
}

/// Runs what traces a process on a thread of its own.
fn on_a_thread<T: Send>(f: impl FnOnce() -> Result<T, Refusal> + Send) -> Result<T, Refusal> {
    thread::scope(|scope| {
        let tracer = thread::Builder::new().name("tracer".to_owned()).spawn_scoped(scope, f);
        let tracer = tracer.map_err(|error| Refusal::failed("starting a thread", &error))?;
        tracer.join().unwrap_or_else(|_| {
            let reason = "tracing ended because of a bug in Bactrian";
            Err(Refusal::new(Cause::Failed, reason, "Please report this bug"))
        })
    })
}

/// The runtime's variables that have to be set.
struct RuntimePlaces {
    polling: Polling,
    state: StatePlace,
    something_to_do: Option<u64>,
    /// The variables of hooks that we set, each with the offset of its [`Hook`] in [`Control`]; and others
    /// that are restored along with them: the hook that the agent sets itself, and those that an observer has
    /// left set because it was killed.
    hooks: Vec<(u64, usize)>,
    others: Vec<(u64, usize)>,
    /// `caml_memprof_start`, `caml_memprof_stop`, and `caml_memprof_is_sampling` where it exists.
    samplers: Vec<u64>,
}

enum StatePlace {
    Global(u64),
    PerThread(i64),
}

impl RuntimePlaces {
    /// Finds them in a process, with hooks for measuring pauses if `with_pauses`.
    fn of(target: &Target, with_pauses: bool) -> Result<RuntimePlaces, Refusal> {
        let version = target.version;
        let unknown = |reason: String| Refusal::new(Cause::Unknown, reason, WITHOUT_TRACING);
        let has = |name: &str| target.objects.iter().any(|it| it.symbols.find(name).is_some());
        // A static program without fork cannot fork.
        let knows_libc = has(FORKS) || (has(ERRNO) && !has("fork"));
        if let Some((reason, way_out)) = cannot_start_late(version, target.code, knows_libc) {
            return Err(Refusal::new(Cause::Unknown, reason, way_out));
        }
        let find = |name: &str| {
            let missing = || unknown(format!("its OCaml runtime has no symbol {name}"));
            target.global(name).ok_or_else(missing)
        };
        let (poll, state) = match target.runtime.polling {
            Polling::ToEnd { .. } => {
                ("caml_major_slice_begin_hook", StatePlace::Global(find("Caml_state")?))
            }
            Polling::ToHighest { .. } => {
                let offset = thread_offset(target);
                let offset = offset.ok_or_else(|| {
                    unknown("its OCaml runtime has no symbol caml_state".to_owned())
                })?;
                ("caml_domain_external_interrupt_hook", StatePlace::PerThread(offset))
            }
        };
        find("caml_callback_exn")?;
        let mut samplers = vec![find("caml_memprof_start")?, find("caml_memprof_stop")?];
        samplers.extend(target.global("caml_memprof_is_sampling"));
        let mut hooks = vec![
            (find(poll)?, offset_of!(Control, poll)),
            (find("caml_leave_blocking_section_hook")?, offset_of!(Control, leave)),
        ];
        let mut others =
            vec![(find("caml_enter_blocking_section_hook")?, offset_of!(Control, enter))];
        let list = if with_pauses { &mut hooks } else { &mut others };
        for (at, name) in PAUSE_HOOKS.iter().enumerate().filter(|(_, name)| **name != poll) {
            list.push((find(name)?, offset_of!(Control, pauses) + at * size_of::<Hook>()));
        }
        if let StatePlace::PerThread(_) = state {
            let name = "caml_domain_initialize_hook";
            // Since 5.5.
            let of_5_5 = target.global("caml_domain_initialize_hook_exn");
            hooks.push((of_5_5.map_or_else(|| find(name), Ok)?, offset_of!(Control, spawn)));
        }
        Ok(RuntimePlaces {
            polling: target.runtime.polling,
            state,
            something_to_do: target.global("caml_something_to_do"),
            hooks,
            others,
            samplers,
        })
    }

    /// The states of the domains that threads have.
    fn domains(&self, tracee: &Tracee) -> Vec<u64> {
        let mut states: Vec<u64> = match self.state {
            StatePlace::Global(variable) => tracee.word(variable).into_iter().collect(),
            StatePlace::PerThread(offset) => {
                let threads = tracee.threads.values().filter_map(|thread| thread.registers());
                let variables =
                    threads.map(|registers| registers.fs_base.wrapping_add_signed(offset));
                variables.filter_map(|variable| tracee.word(variable)).collect()
            }
        };
        states.retain(|state| *state != 0);
        states.sort_unstable();
        states.dedup();
        states
    }
}

/// The addresses of the agent's gates.
fn gates(control: u64) -> [u64; GATES] {
    let first = control + offset_of!(Control, gates) as u64;
    std::array::from_fn(|at| first + (at * size_of::<Gate>()) as u64)
}

/// Lets the program run until none of its threads is working on a recording, is about to start a sampler, or
/// spins at a door.
fn settle(tracee: &mut Tracee, control: u64, samplers: &[u64]) -> Result<(), Refusal> {
    let failed = |error: io::Error| Refusal::failed("guarding its sampler", &error);
    let until = Instant::now() + PATIENCE;
    let lock = tracee.word(control + offset_of!(Control, lock) as u64).unwrap_or(0);
    let busy = control + offset_of!(Control, busy) as u64;
    loop {
        leave_samplers(tracee, samplers)?;
        for gate in gates(control) {
            guard(&tracee.memory, gate).map_err(failed)?;
        }
        let is_locked = tracee.word(lock).is_some_and(|word| word != 0);
        let is_busy = tracee.word(busy).is_some_and(|count| count != 0);
        if !is_locked && !is_busy || Instant::now() > until {
            return Ok(());
        }
        tracee.resume(true)?;
        tracee.let_run(BREATH)?;
        tracee.stop()?;
    }
}

/// Shows the agent that we are alive.
fn be_seen(memory: &File, control: u64) {
    // If the process has ended, that is noticed elsewhere.
    let _ = memory.write_all_at(&now().to_le_bytes(), control + offset_of!(Control, seen) as u64);
}

/// Microseconds of the monotonic clock.
fn now() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    (now.tv_sec * 1_000_000 + now.tv_nsec / 1000).cast_unsigned()
}

/// A guardian that opens the doors closed by the agent if we are killed before they are guarded.
fn guardian_of(tracee: &Tracee, samplers: &[u64]) -> Result<Guardian, Refusal> {
    let failed = |error: io::Error| Refusal::failed("starting a guardian for it", &error);
    // The agent may close doors until then.
    let delay = Duration::from_micros(GONE_AFTER + GONE_AFTER / 2);
    let mut guardian = Guardian::after(tracee.pid, delay).map_err(failed)?;
    for &address in samplers {
        let was = tracee.word(address).ok_or_else(|| Refusal::late("its code cannot be read"))?;
        let mut now = was.to_le_bytes();
        now[..DOOR.len()].copy_from_slice(&DOOR);
        guardian.note(Change { address, was, now: u64::from_le_bytes(now) }).map_err(failed)?;
    }
    Ok(guardian)
}

/// Whether a process can be recorded at all.
fn is_possible(pid: u32, memory: &ProcessMemory) -> Result<(), Refusal> {
    may_inject(&pid.to_string())
        .map_err(|reason| Refusal::new(Cause::Forbidden, reason, WITHOUT_TRACING))?;
    let namespace = |pid: &str| fs::metadata(format!("/proc/{pid}/ns/mnt")).map(|it| it.ino()).ok();
    let root =
        |pid: &str| fs::metadata(format!("/proc/{pid}/root/.")).map(|it| (it.dev(), it.ino())).ok();
    let number = pid.to_string();
    if namespace(&number) != namespace("self") || root(&number) != root("self") {
        let reason = "it sees different files: it runs in a container, or has another root \
            directory";
        return Err(Refusal::new(
            Cause::Forbidden,
            reason,
            "Run `bactrian record` in that container",
        ));
    }
    let is_agent = |path: &PathBuf| {
        let name =
            path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.starts_with("agent-") && name.ends_with(".so")
    };
    if memory.regions().iter().any(|region| region.file.as_ref().is_some_and(is_agent)) {
        let reason = "it was started under `bactrian record`, so the agent is already loaded";
        return Err(Refusal::new(Cause::Unknown, reason, ""));
    }
    Ok(())
}

/// Whether no other recorder is recording the process.
fn is_free(tracee: &Tracee, control: u64) -> Result<(), Refusal> {
    let word = |at: usize| tracee.word(control + at as u64).unwrap_or(0);
    let recorder = word(offset_of!(Control, recorder));
    let is_seen = now().saturating_sub(word(offset_of!(Control, seen))) < GONE_AFTER;
    let is_there = fs::exists(format!("/proc/{recorder}")).unwrap_or(false);
    match word(offset_of!(Control, asked)) != 0 && is_seen && is_there {
        true => {
            let reason = format!("process {recorder} is already recording it");
            Err(Refusal::new(Cause::Busy, reason, "Wait for the end of that recording"))
        }
        false => Ok(()),
    }
}

/// Attaches to a process, waiting if another tracer is attached: a snapshot takes some milliseconds.
fn seize(pid: u32) -> Result<Tracee, Refusal> {
    let until = Instant::now() + PATIENCE;
    loop {
        match Tracee::seize(pid, Arc::default()) {
            Err(refusal) if refusal.cause == Cause::Forbidden && Instant::now() < until => {
                thread::sleep(BREATH);
            }
            seized => return seized,
        }
    }
}

/// Passes the settings to the agent, sets the hooks and asks the runtime to poll, while all threads are
/// stopped.
fn arm(
    tracee: &mut Tracee,
    control: u64,
    runtime: &RuntimePlaces,
    settings: &Settings,
) -> Result<Vec<SetHook>, Refusal> {
    if runtime.domains(tracee).is_empty() && matches!(runtime.state, StatePlace::Global(_)) {
        let reason = "its OCaml runtime has not started yet";
        return Err(Refusal::new(Cause::Busy, reason, "Try again"));
    }
    let tid = tracee.any_stopped()?;
    let failed = |error: io::Error| Refusal::failed("setting its hooks", &error);
    let text = text_of(settings, tracee.pid)?;
    let settings_at = control + offset_of!(Control, settings) as u64;
    tracee.memory.write_all_at(&text, settings_at).map_err(failed)?;
    be_seen(&tracee.memory, control);
    let recorder = control + offset_of!(Control, recorder) as u64;
    set_word(tid, recorder, std::process::id().into()).map_err(failed)?;
    let asked = control + offset_of!(Control, asked) as u64;
    let prepared = tracee.word(control + offset_of!(Control, prepared) as u64).unwrap_or(0);
    // A recorder that was killed may have left a number that was never prepared.
    let before = prepared.max(tracee.word(asked).unwrap_or(0));
    set_word(tid, asked, before + 1).map_err(failed)?;
    let set_hook =
        |&(variable, field): &(u64, usize)| SetHook { variable, hook: control + field as u64 };
    let mut hooks: Vec<_> = runtime.hooks.iter().map(set_hook).collect();
    for hook in &hooks {
        let ours = word(&tracee.memory, hook.hook + offset_of!(Hook, ours) as u64);
        let before = tracee.word(hook.variable);
        let place = word(&tracee.memory, hook.hook + offset_of!(Hook, previous) as u64);
        let (Some(ours), Some(before), Some(place)) = (ours, before, place) else {
            return Err(Refusal::late("its memory cannot be read"));
        };
        if ours != before {
            set_word(tid, place, before).map_err(failed)?;
            set_word(tid, hook.variable, ours).map_err(failed)?;
        }
    }
    for state in runtime.domains(tracee) {
        poll(tracee, tid, runtime, state).map_err(failed)?;
    }
    hooks.extend(runtime.others.iter().map(set_hook));
    Ok(hooks)
}

/// Asks a domain to poll.
fn poll(tracee: &Tracee, tid: Tid, runtime: &RuntimePlaces, state: u64) -> io::Result<()> {
    let word_at = |at: usize| state + 8 * at as u64;
    match runtime.polling {
        Polling::ToEnd { limit, end, slice } => {
            set_word(tid, word_at(slice), 1)?;
            if let Some(variable) = runtime.something_to_do {
                // An int: keep the other half of the word.
                let word = tracee.word(variable).unwrap_or(0);
                set_word(tid, variable, (word & !0xffff_ffff) | 1)?;
            }
            match tracee.word(word_at(end)) {
                Some(end) => set_word(tid, word_at(limit), end),
                None => Ok(()),
            }
        }
        Polling::ToHighest { limit, pending, interrupt } => {
            set_word(tid, word_at(interrupt), 1)?;
            set_word(tid, word_at(pending), 1)?;
            set_word(tid, word_at(limit), u64::MAX)
        }
    }
}

/// Lets the program run until no thread is inside the first instructions of a function that is about to be
/// patched.
fn leave_samplers(tracee: &mut Tracee, samplers: &[u64]) -> Result<(), Refusal> {
    let until = Instant::now() + PATIENCE;
    // Threads at the door itself have not entered.
    let is_there =
        |rip: u64| samplers.iter().any(|at| (at + 1..at + JUMP_LENGTH as u64).contains(&rip));
    loop {
        let mut threads = tracee.threads.values().filter_map(|thread| thread.registers());
        if !threads.any(|registers| is_there(registers.rip)) {
            return Ok(());
        }
        if Instant::now() > until {
            return Err(Refusal::late("it is about to start a sampler of its own"));
        }
        tracee.resume(true)?;
        tracee.let_run(BREATH)?;
        tracee.stop()?;
    }
}

/// Redirects a function at whose door callers spin to the agent.
fn guard(memory: &File, gate: u64) -> io::Result<()> {
    let unreadable = || io::Error::other("its memory cannot be read");
    let field = |at: usize| word(memory, gate + at as u64).ok_or_else(unreadable);
    let (ours, patched) = (field(offset_of!(Gate, ours))?, field(offset_of!(Gate, patched))?);
    let held = word(memory, patched).ok_or_else(unreadable)?;
    if held & HELD as u64 == 0 {
        return Ok(());
    }
    let function = held & !(HELD as u64);
    let mut bytes = [0; JUMP_LENGTH];
    bytes[..JUMP.len()].copy_from_slice(&JUMP);
    bytes[JUMP.len()..].copy_from_slice(&ours.to_le_bytes());
    memory.write_all_at(&bytes, function)?;
    memory.write_all_at(&function.to_le_bytes(), patched)
}

/// The settings, encoded as the agent reads them.
fn text_of(settings: &Settings, pid: u32) -> Result<Vec<u8>, Refusal> {
    let mut text = Vec::new();
    let mut add = |name: &str, value: &[u8]| {
        text.extend_from_slice(name.as_bytes());
        text.push(b'=');
        text.extend_from_slice(value);
        text.push(0);
    };
    for (name, path) in settings.paths() {
        add(name, path);
    }
    for (name, value) in settings.variables() {
        add(name, value.as_bytes());
    }
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    let name = "OCAMLRUNPARAM";
    let parameters = environment.split(|byte| *byte == 0).find_map(|entry| {
        entry.strip_prefix(name.as_bytes()).and_then(|rest| rest.strip_prefix(b"="))
    });
    add(name, parameters.unwrap_or_default());
    // An additional NUL ends the list, before leftovers of an earlier recording.
    text.push(0);
    match text.len() < SETTINGS {
        true => {
            text.resize(SETTINGS, 0);
            Ok(text)
        }
        false => Err(Refusal::late("the path of the trace is too long")),
    }
}

fn word(memory: &File, address: u64) -> Option<u64> {
    let mut bytes = [0; 8];
    memory.read_exact_at(&mut bytes, address).ok()?;
    Some(u64::from_le_bytes(bytes))
}

fn previous_of(memory: &File, hook: u64) -> Option<u64> {
    word(memory, word(memory, hook + offset_of!(Hook, previous) as u64)?)
}

/// Writes a word atomically, as seen by the process's threads.
fn set_word(tid: Tid, address: u64, value: u64) -> io::Result<()> {
    sys::write_word(tid, address, value)
}
