//! How we get control: before the program, when its runtime is ready, when it forks, and when it ends.
//!
//! The dynamic linker calls `init` before the program. A native OCaml program asks for its own name after
//! its runtime is initialised and before any OCaml code runs, on the main thread, by `readlink`; OCaml 4
//! and 5 do the same. We stand before libc's functions of these names, so that is where we start.

use alloc::ffi::CString;
use alloc::format;
use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use bactrian_agent_abi::{Children, Settings, Snapshots, variable};
use bactrian_trace::State;

use crate::agent::{self, Agent};
use crate::program::Program;
use crate::recording::{self, Recording};
use crate::sys::{self, Fd};
use crate::{
    bytecode, collect, confined, environment, guard, interpreter, loaded, page, rescue, ring,
    snapshot, switch, tracker, waiting,
};

#[used]
#[unsafe(link_section = ".init_array")]
static INIT: extern "C" fn() = init;
#[used]
#[unsafe(link_section = ".fini_array")]
static FINI: extern "C" fn() = fini;

extern "C" fn init() {
    // SAFETY: there is one thread. A panic leaves us unprepared.
    unsafe { rescue::run(prepare) };
}

/// Reads the settings and looks at the program.
fn prepare() {
    BEHIND.look();
    environment::look();
    environment::restore_inheritance();
    if loaded::is_before("bactrian_agent") {
        // One of us is enough.
        return;
    }
    // Who is started by a process with snapshots finds the path by another name.
    let is_heir = environment::get(variable::HEAP).is_none();
    let get = |name: &str| match name {
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
    let [_, rings] = variable::RUNTIME_EVENTS;
    let rings = environment::get(rings).filter(|_| hides_events);
    let rings = rings.and_then(|path| CString::new(absolute(path)).ok());
    if settings.children == Children::Ignore {
        environment::forget_us();
    }
    // Not an OCaml program, or one we know nothing of: there is nothing to do in this process.
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
    if let Some(folder) = keeper.as_deref().filter(|_| trace.is_some()) {
        ring::find_board(folder);
    }
    let settings = Settings { trace, snapshots, page, keeper, ..settings };
    environment::rename(variable::HEAP, variable::HEIR);
    let is_bytecode = program.interpreter().is_some();
    let bytecode = if is_bytecode { bytecode::file() } else { None };
    // SAFETY: once, before the program runs.
    unsafe {
        agent::prepare(Agent {
            program,
            settings,
            is_heir,
            bytecode,
            hides_events,
            rings,
            runtime_params,
        });
    }
    if is_bytecode {
        interpreter::expect();
    }
}

/// The program may change its directory.
pub fn absolute(path: &[u8]) -> Vec<u8> {
    let mut buffer = [0; 4096];
    match sys::current_directory(&mut buffer) {
        Some(directory) if !path.starts_with(b"/") => [directory, b"/", path].concat(),
        _ => path.into(),
    }
}

/// Says what is not done, and why. Only before the program runs: then standard error is what its starter
/// made it.
fn complain(what: &str, why: &str) {
    let _ = sys::write(Fd(2), format!("bactrian: {what}: {why}\n").as_bytes());
}

/// By this name another agent in the same process is known.
#[unsafe(no_mangle)]
pub static bactrian_agent: u8 = 0;

/// # Safety
/// As for readlink(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlink(path: *const c_char, buffer: *mut c_char, size: usize) -> isize {
    type Readlink = unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> isize;
    // SAFETY: by the caller.
    unsafe {
        if !path.is_null() && CStr::from_ptr(path) == c"/proc/self/exe" {
            runtime_may_be_ready();
        }
        if let Some(real) = BEHIND.readlink.function::<Readlink>() {
            return real(path, buffer, size);
        }
        match sys::readlink(path, buffer, size) {
            Ok(length) => length as isize,
            Err(errno) => {
                sys::set_errno(errno);
                -1
            }
        }
    }
}

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

/// Starts what is asked for. The runtime is initialised, and no OCaml code runs yet.
pub fn start(agent: &'static Agent) {
    follow_forks();
    if agent.hides_events {
        // The runtime has read them.
        environment::remove(&variable::RUNTIME_EVENTS);
    }
    // SAFETY: there is one thread. A panic leaves the page alone.
    unsafe { rescue::run(|| page::start(agent)) };
    if let Some(trace) = &agent.settings.trace {
        start_recording(agent, trace);
    }
    if let Some(snapshots) = &agent.settings.snapshots {
        // SAFETY: there is one thread. A panic leaves snapshots off.
        unsafe {
            rescue::run(|| {
                if let Err(why) = snapshot::start(agent, snapshots) {
                    complain("no snapshots", why);
                }
            });
        }
    }
}

/// Starts the recording and the sampler.
fn start_recording(agent: &'static Agent, trace: &'static [u8]) {
    let mut recording = None;
    // SAFETY: the runtime is initialised and no OCaml code runs yet. Nobody else is on our stack before the recording
    // begins; a panic leaves what the environment says of the parameters.
    unsafe {
        agent.program.with_parameters(|parameters| {
            rescue::run(|| {
                if let Some(parameters) = parameters {
                    recording::set_parameters(parameters);
                }
            });
        });
        rescue::run(|| {
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
    agent::begin(recording);
    if let Some(signal) = agent.settings.signal {
        switch::install(signal);
    }
    // SAFETY: the runtime is initialised and no OCaml code runs yet.
    unsafe {
        let depth = collect::take_over(agent);
        tracker::start(&agent.program, agent.settings.rate, depth);
        let start = agent.program.memprof_start as *const () as usize;
        let stop = agent.program.memprof_stop as *const () as usize;
        if !guard::put_up(start, stop) {
            agent::stop_sampling();
            agent::with_recording(|recording| recording.end(State::SwitchedOff));
            return;
        }
    }
    waiting::stay(&agent.program);
}

fn follow_forks() {
    type Register = extern "C" fn(extern "C" fn(), extern "C" fn(), extern "C" fn(), *mut c_void);
    // glibc's own name of pthread_atfork, which is not in the shared library.
    if let Some(address) = loaded::find_behind("__register_atfork") {
        // SAFETY: the function has this type since glibc 2.3.2.
        let register: Register = unsafe { loaded::function(address) };
        register(
            agent::before_fork,
            agent::after_fork_in_parent,
            agent::after_fork_in_child,
            core::ptr::null_mut(),
        );
    }
}

extern "C" fn fini() {
    snapshot::at_end(false);
    agent::with_recording(|recording| recording.end(State::Ended));
}

/// # Safety
/// As for _exit(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    snapshot::at_end(true);
    fini();
    // SAFETY: libc's type of it.
    if let Some(real) = unsafe { BEHIND.exit.function::<extern "C" fn(c_int) -> !>() } {
        real(status)
    }
    sys::exit_group(status)
}

/// Before the process becomes another program: all is written; after, if it did not come to that: we go on.
fn around_exec(exec: impl FnOnce() -> c_int) -> c_int {
    let ended = agent::with_recording(Recording::before_exec) == Some(true);
    let result = exec();
    if ended {
        agent::with_recording(Recording::resume);
    }
    result
}

/// Functions that we stand before, as the program would find them without us: libc's, or those of another
/// library that stands before libc. Looked up once: later it may be a signal handler who asks.
struct Behind {
    readlink: Real,
    exit: Real,
    execve: Real,
    execv: Real,
    execvp: Real,
    execvpe: Real,
    prctl: Real,
    syscall: Real,
}

/// A function that we stand before.
pub struct Real(&'static str, AtomicUsize);

static BEHIND: Behind = Behind {
    readlink: Real::new("readlink"),
    exit: Real::new("_exit"),
    execve: Real::new("execve"),
    execv: Real::new("execv"),
    execvp: Real::new("execvp"),
    execvpe: Real::new("execvpe"),
    prctl: Real::new("prctl"),
    syscall: Real::new("syscall"),
};

impl Real {
    /// The function of this name.
    pub const fn new(name: &'static str) -> Real {
        Real(name, AtomicUsize::new(0))
    }

    fn look(&self) {
        self.1.store(loaded::find_behind(self.0).unwrap_or(0), Ordering::Relaxed);
    }

    /// The function, if it is there.
    ///
    /// # Safety
    /// `F` is the type of a function of that name.
    pub unsafe fn function<F: Copy>(&self) -> Option<F> {
        if self.1.load(Ordering::Relaxed) == 0 {
            // Another library's initialiser came before ours.
            self.look();
        }
        let address = self.1.load(Ordering::Relaxed);
        // SAFETY: by the caller.
        (address != 0).then(|| unsafe { loaded::function(address) })
    }
}

impl Behind {
    fn look(&self) {
        let Behind { readlink, exit, execve, execv, execvp, execvpe, prctl, syscall } = self;
        for real in [readlink, exit, execve, execv, execvp, execvpe, prctl, syscall] {
            real.look();
        }
    }
}

type Strings = *const *const c_char;

macro_rules! exec {
    ($name:ident($($argument:ident: $type:ty),*)) => {
        /// # Safety
        /// As for the function of libc.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> c_int {
            type Exec = unsafe extern "C" fn($($type),*) -> c_int;
            // SAFETY: libc's type of it.
            match unsafe { BEHIND.$name.function::<Exec>() } {
                // SAFETY: by the caller.
                Some(real) => around_exec(|| unsafe { real($($argument),*) }),
                None => -1,
            }
        }
    };
}

exec!(execve(path: *const c_char, arguments: Strings, environment: Strings));
exec!(execv(path: *const c_char, arguments: Strings));
exec!(execvp(file: *const c_char, arguments: Strings));
exec!(execvpe(file: *const c_char, arguments: Strings, environment: Strings));

/// # Safety
/// As for prctl(2). It has as many arguments as the option needs; others are whatever was in their registers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    type Prctl = unsafe extern "C" fn(c_int, usize, usize, usize, usize) -> c_int;
    // SAFETY: libc's type of it, as far as registers go.
    let Some(real) = (unsafe { BEHIND.prctl.function::<Prctl>() }) else { return -1 };
    // SAFETY: by the caller.
    let result = unsafe { real(option, a, b, c, d) };
    confined::after_prctl(option, result);
    result
}

/// # Safety
/// As for syscall(2). It has as many arguments as the call needs; others are whatever was in their registers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: isize,
    a: usize,
    b: usize,
    c: usize,
    d: usize,
    e: usize,
    f: usize,
) -> isize {
    type Syscall = unsafe extern "C" fn(isize, usize, usize, usize, usize, usize, usize) -> isize;
    // SAFETY: libc's type of it, as far as registers go.
    let Some(real) = (unsafe { BEHIND.syscall.function::<Syscall>() }) else { return -1 };
    // SAFETY: by the caller.
    let result = unsafe { real(number, a, b, c, d, e, f) };
    confined::after_syscall(number, result);
    result
}
