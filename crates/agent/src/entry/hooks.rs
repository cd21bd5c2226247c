//! The functions of libc that we interpose: where the runtime becomes ready, where the process exits or calls
//! exec, and where it sets a seccomp filter.

use core::ffi::{CStr, c_char, c_int};

use bactrian_agent_abi::variable;
use bactrian_agent_os::{birthmark, confined, proc, sys};

use super::behind::Real;
use super::environment;
use crate::keeper::filters;
use crate::record::recording::Recording;
use crate::record::{page, session};
use crate::runtime::agent;
use crate::snapshot;

/// The interposed functions themselves.
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

/// Looks all of them up.
pub fn look() {
    BEHIND.look();
}

impl Behind {
    fn look(&self) {
        let Behind { readlink, exit, execve, execv, execvp, execvpe, prctl, syscall } = self;
        for real in [readlink, exit, execve, execv, execvp, execvpe, prctl, syscall] {
            real.look();
        }
    }
}

/// # Safety
/// As for readlink(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readlink(path: *const c_char, buffer: *mut c_char, size: usize) -> isize {
    type Readlink = unsafe extern "C" fn(*const c_char, *mut c_char, usize) -> isize;
    // SAFETY: by the caller.
    unsafe {
        if !path.is_null() && CStr::from_ptr(path) == proc::EXECUTABLE {
            super::runtime_may_be_ready();
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

/// Whether this process is a child that our fork handlers did not see: it shares the program's memory (vfork) or has a
/// copy of it. Then we do nothing: a lock that another thread held would never
/// be released in a copy, and one that we take in shared memory would never be released if this process is
/// killed meanwhile.
///
/// In a program that has confined itself, a process that shares its memory cannot be told apart: that takes a
/// system call. What is done there must leave the program as it was ([`Recording::before_leaving`]).
fn is_guest() -> bool {
    if agent::prepared().is_none() {
        return false;
    }
    if birthmark::is_in_copy() {
        return true;
    }
    filters::ask();
    !confined::is_confined() && !birthmark::is_by_id()
}

/// # Safety
/// As for _exit(2).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn _exit(status: c_int) -> ! {
    // First, because the time of the end must not include the time in which `is_guest` asks the keeper.
    page::at_end();
    if !is_guest() {
        snapshot::at_end(true);
        super::end(|recording| {
            recording.before_leaving();
        });
    }
    // SAFETY: libc's type of it.
    if let Some(real) = unsafe { BEHIND.exit.function::<extern "C" fn(c_int) -> !>() } {
        real(status)
    }
    sys::exit_group(status)
}

/// Writes everything before the process calls exec. If exec fails, recording continues.
fn around_exec(exec: impl FnOnce() -> c_int) -> c_int {
    if is_guest() {
        return exec();
    }
    let ended = session::with_recording(Recording::before_leaving) == Some(true);
    let result = exec();
    if ended {
        session::with_recording(Recording::resume);
    }
    result
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

/// Runs `set`, which sets a seccomp filter; if its result is negative, it has failed. System calls that the filter may
/// forbid are made before.
fn around_filter(set: impl FnOnce() -> isize) -> isize {
    // The filter of a process that only shares the program's memory is not the program's.
    let is_ours = !is_guest();
    if is_ours && !confined::is_confined() {
        // A forked child that has recorded nothing yet has no output, and cannot get one afterwards.
        session::with_recording(Recording::before_filter);
        snapshot::before_filter();
    }
    let result = set();
    if is_ours && result >= 0 {
        confined::confine();
    }
    result
}

/// The program has called `prctl`. If it adopts orphans from now on, programs that it starts must know.
fn after_adoption(option: c_int, adopts: usize, result: c_int) {
    const PR_SET_CHILD_SUBREAPER: c_int = 36;
    if option == PR_SET_CHILD_SUBREAPER && adopts != 0 && result == 0 {
        // The program may have replaced its environment since.
        environment::look();
        environment::rename(variable::HEIR, variable::WARD);
    }
}

/// # Safety
/// As for prctl(2). The caller passes as many arguments as the option needs; the others are whatever is in
/// their registers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn prctl(option: c_int, a: usize, b: usize, c: usize, d: usize) -> c_int {
    type Prctl = unsafe extern "C" fn(c_int, usize, usize, usize, usize) -> c_int;
    // SAFETY: libc's type of it, as far as registers go.
    let Some(real) = (unsafe { BEHIND.prctl.function::<Prctl>() }) else { return -1 };
    // SAFETY: by the caller.
    let call = || unsafe { real(option, a, b, c, d) };
    if confined::is_filter_of_prctl(option) {
        return around_filter(|| call() as isize) as c_int;
    }
    let result = call();
    after_adoption(option, a, result);
    result
}

/// # Safety
/// As for syscall(2). The caller passes as many arguments as the call needs; the others are whatever is in
/// their registers.
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
    let call = || unsafe { real(number, a, b, c, d, e, f) };
    if confined::is_filter_of_syscall(number, a) {
        return around_filter(call);
    }
    let result = call();
    if number == confined::PRCTL {
        after_adoption(a as c_int, b, result as c_int);
    }
    result
}
