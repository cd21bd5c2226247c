//! System calls for tracing that no safe library provides; each takes and returns plain data.
#![expect(
    unsafe_code,
    reason = "ptrace and waitid have no safe form; all that is unsafe of attaching is here"
)]

use std::arch::x86_64::__cpuid_count;
use std::fs::File;
use std::io::{self, PipeReader};
use std::os::fd::{AsRawFd, FromRawFd};
use std::ptr;

/// A thread id.
pub type Tid = libc::pid_t;
/// The general registers of a thread.
pub type Registers = libc::user_regs_struct;

/// Requests that the libc crate does not define.
const GET_SIGNAL_MASK: libc::c_uint = 0x420a;
const SET_SIGNAL_MASK: libc::c_uint = 0x420b;

/// The register set with the vector registers.
const NT_X86_XSTATE: libc::c_uint = 0x202;
/// More bytes than any processor has.
const MOST_VECTORS: usize = 64 << 10;

/// How to resume a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeMode {
    /// Until something stops it.
    Freely,
    /// Until the next system call begins or ends.
    ToSystemCall,
}

/// What was seen of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It has stopped, with this signal and ptrace event.
    Stopped {
        /// The signal.
        signal: i32,
        /// The event, or 0 if it is an ordinary signal stop.
        event: i32,
    },
    /// It has ended.
    Ended,
}

/// A request whose address and data are plain numbers.
fn request(request: libc::c_uint, tid: Tid, address: u64, data: u64) -> io::Result<()> {
    // SAFETY: for the requests made here neither argument is an address in this process: they are signal
    // numbers, option bits, or a word for the other process.
    let done = unsafe { libc::ptrace(request, tid, address, data) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Attaches to a thread without stopping it (PTRACE_SEIZE).
pub fn seize(tid: Tid, options: i32) -> io::Result<()> {
    request(libc::PTRACE_SEIZE, tid, 0, u64::from(options.unsigned_abs()))
}

/// Asks a thread to stop (PTRACE_INTERRUPT).
pub fn interrupt(tid: Tid) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0, 0)
}

/// Resumes a stopped thread, delivering a signal if that is not 0.
pub fn resume(tid: Tid, way: ResumeMode, signal: i32) -> io::Result<()> {
    let how = match way {
        ResumeMode::Freely => libc::PTRACE_CONT,
        ResumeMode::ToSystemCall => libc::PTRACE_SYSCALL,
    };
    request(how, tid, 0, u64::from(signal.unsigned_abs()))
}

/// Detaches from a stopped thread, delivering a signal if that is not 0.
pub fn detach(tid: Tid, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_DETACH, tid, 0, u64::from(signal.unsigned_abs()))
}

/// Sets the options of a stopped thread.
pub fn set_options(tid: Tid, options: i32) -> io::Result<()> {
    request(libc::PTRACE_SETOPTIONS, tid, 0, u64::from(options.unsigned_abs()))
}

/// Writes a word into the memory of a stopped thread, regardless of page protection.
pub fn write_word(tid: Tid, address: u64, word: u64) -> io::Result<()> {
    request(libc::PTRACE_POKEDATA, tid, address, word)
}

/// The registers of a stopped thread.
pub fn registers(tid: Tid) -> io::Result<Registers> {
    // SAFETY: a record of numbers, for which zeros are valid.
    let mut registers: Registers = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one record of exactly this type.
    let done = unsafe {
        libc::ptrace(libc::PTRACE_GETREGS, tid, ptr::null_mut::<u8>(), &raw mut registers)
    };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(registers) }
}

/// Sets the registers of a stopped thread.
pub fn set_registers(tid: Tid, registers: &Registers) -> io::Result<()> {
    let registers: *const Registers = registers;
    // SAFETY: the kernel reads one record of exactly this type.
    let done = unsafe { libc::ptrace(libc::PTRACE_SETREGS, tid, ptr::null_mut::<u8>(), registers) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The vector registers of a stopped thread, in XSAVE format.
pub fn vector_registers(tid: Tid) -> io::Result<Vec<u8>> {
    let mut state = vec![0_u8; MOST_VECTORS];
    let mut buffer = libc::iovec { iov_base: state.as_mut_ptr().cast(), iov_len: state.len() };
    // SAFETY: the kernel writes at most `iov_len` bytes into the buffer, and their number into the record.
    let done = unsafe { libc::ptrace(libc::PTRACE_GETREGSET, tid, NT_X86_XSTATE, &raw mut buffer) };
    if done == -1 {
        return Err(io::Error::last_os_error());
    }
    state.truncate(buffer.iov_len);
    Ok(state)
}

/// The end offset of each processor feature in the result of [`vector_registers`].
pub fn ends_of_vector_registers() -> [u32; 64] {
    let mut ends = [0; 64];
    for (feature, end) in (0..63).zip(&mut ends).skip(2) {
        // SAFETY: every processor of this architecture has the instruction; unknown features return 0.
        #[allow(unused_unsafe, reason = "it is safe for newer compilers")]
        let leaf = unsafe { __cpuid_count(13, feature) };
        *end = leaf.eax.saturating_add(leaf.ebx);
    }
    ends
}

/// The message of a ptrace event: the id of the new thread.
pub fn event_message(tid: Tid) -> io::Result<u64> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes one `unsigned long`.
    let done = unsafe {
        libc::ptrace(libc::PTRACE_GETEVENTMSG, tid, ptr::null_mut::<u8>(), &raw mut message)
    };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(message) }
}

/// The signal mask of a stopped thread; the lowest bit is signal 1.
pub fn signal_mask(tid: Tid) -> io::Result<u64> {
    let mut mask = 0_u64;
    // SAFETY: the kernel writes one word, as its size says.
    let done = unsafe { libc::ptrace(GET_SIGNAL_MASK, tid, size_of::<u64>(), &raw mut mask) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(mask) }
}

/// Sets the signal mask of a stopped thread.
pub fn set_signal_mask(tid: Tid, mask: u64) -> io::Result<()> {
    // SAFETY: the kernel reads one word, as its size says.
    let done = unsafe { libc::ptrace(SET_SIGNAL_MASK, tid, size_of::<u64>(), &raw const mask) };
    if done == -1 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What has happened to a thread since this was last called; None if nothing has. With `keep`, if the thread
/// has ended, that is left for the next caller.
pub fn seen(tid: Tid, keep: bool) -> io::Result<Option<Seen>> {
    let stops = libc::WSTOPPED | libc::WNOHANG | libc::__WALL;
    let ends = libc::WEXITED | libc::WNOHANG | libc::__WALL;
    if !keep {
        return wait(tid, stops | ends);
    }
    match wait(tid, stops) {
        // An ended thread is not reported if ends are not asked for.
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {}
        Ok(None) => {}
        other => return other,
    }
    // With WNOWAIT the kernel also reports stops here. They are left to be reported when they are asked for.
    Ok(wait(tid, ends | libc::WNOWAIT)?.filter(|&seen| seen == Seen::Ended))
}

/// `waitid` of one thread.
pub fn wait(tid: Tid, options: i32) -> io::Result<Option<Seen>> {
    // SAFETY: a record of numbers, for which zeros are valid.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel writes one record of exactly this type.
    let done = unsafe { libc::waitid(libc::P_PID, tid.unsigned_abs(), &raw mut info, options) };
    if done == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: after waitid, the record describes a child, or is zero.
    let (who, status) = unsafe { (info.si_pid(), info.si_status()) };
    let is_end = matches!(info.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED);
    Ok(match (who, is_end) {
        (0, _) => None,
        (_, true) => Some(Seen::Ended),
        (_, false) => Some(Seen::Stopped { signal: status & 0xff, event: status >> 8 }),
    })
}

/// Forks a process that only runs `guard`, with a pipe and the memory of another process; all other
/// descriptors are closed. `guard` must not allocate, take locks or panic: other threads may have been in the
/// middle of that.
pub fn fork_guardian(
    pipe: &PipeReader,
    memory: &File,
    guard: impl FnOnce(&mut File, &File),
) -> io::Result<Tid> {
    let (pipe, memory) = (pipe.as_raw_fd(), memory.as_raw_fd());
    // SAFETY: the child only makes system calls and uses its stack, and never returns.
    match unsafe { libc::fork() } {
        -1 => return Err(io::Error::last_os_error()),
        0 => {}
        child => return Ok(child),
    }
    // SAFETY: only numbers, and a string that ends with NUL. All descriptors are closed except these two,
    // which are first moved above the numbers that they get; in particular the other end of the pipe is
    // closed, otherwise the pipe would never end.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"guardian".as_ptr());
        let (pipe, memory) =
            (libc::fcntl(pipe, libc::F_DUPFD, 3), libc::fcntl(memory, libc::F_DUPFD, 3));
        libc::dup2(pipe, 0);
        libc::dup2(memory, 1);
        if libc::syscall(libc::SYS_close_range, 2, u32::MAX, 0) != 0 {
            (2..1024).for_each(|other| {
                libc::close(other);
            });
        }
    }
    // SAFETY: they are open, and nothing else uses them.
    let (mut pipe, memory) = unsafe { (File::from_raw_fd(0), File::from_raw_fd(1)) };
    guard(&mut pipe, &memory);
    // SAFETY: ends the process without running exit handlers.
    unsafe { libc::_exit(0) }
}

/// Reaps a child of ours, waiting for its end.
pub fn wait_for_child(child: Tid) {
    // SAFETY: the status may be null.
    while unsafe { libc::waitpid(child, ptr::null_mut(), 0) } == -1
        && io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
    {}
}

/// Kills a process (SIGKILL).
pub fn kill(tid: Tid) {
    // SAFETY: takes only numbers.
    unsafe { libc::kill(tid, libc::SIGKILL) };
}
