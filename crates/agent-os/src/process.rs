//! System calls about processes: making a frozen copy of this process, and everything that the copy needs.
//! Some are made while other threads have been stopped in the middle of libc, so none of them goes through libc.

use core::arch::naked_asm;
use core::ffi::{CStr, c_int, c_void};
use core::ops::Range;
use core::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

use crate::confined;
use crate::sys::{Errno, Fd, Pid, SysResult, call};

/// System call numbers on x86-64.
mod number {
    pub const STAT: usize = 4;
    pub const LSEEK: usize = 8;
    pub const MMAP: usize = 9;
    pub const RT_SIGPROCMASK: usize = 14;
    pub const PREAD: usize = 17;
    pub const MADVISE: usize = 28;
    pub const ALARM: usize = 37;
    pub const CLONE: usize = 56;
    pub const EXECVE: usize = 59;
    pub const WAIT4: usize = 61;
    pub const CHDIR: usize = 80;
    pub const GETRUSAGE: usize = 98;
    pub const SETSID: usize = 112;
    pub const SYSINFO: usize = 99;
    pub const RT_SIGTIMEDWAIT: usize = 128;
    pub const STATFS: usize = 137;
    pub const PRCTL: usize = 157;
    pub const GETTID: usize = 186;
    pub const FUTEX: usize = 202;
    pub const TGKILL: usize = 234;
    pub const OPENAT: usize = 257;
    pub const MEMFD_CREATE: usize = 319;
    pub const CLOSE_RANGE: usize = 436;
}

/// A set of signals; the lowest bit is signal 1.
pub type SignalSet = u64;

/// Sets the signal mask of this thread and returns the previous one.
pub fn set_blocked_signals(signals: SignalSet) -> SignalSet {
    const SET: usize = 2;
    let mut before = 0u64;
    let arguments = [SET, &raw const signals as usize, &raw mut before as usize, 8, 0, 0];
    // SAFETY: the kernel reads one set and fills the other.
    let _ = unsafe { call(number::RT_SIGPROCMASK, arguments) };
    before
}

/// Clones this process with only the calling thread, without an exit signal and hidden from wait(). Returns
/// the copy's id, and None in the copy.
///
/// The copy shares the program's descriptor table rather than copying it: a pipe that the program closes is
/// closed. The copy has to leave the shared table (`let_descriptors_go`) before it does anything with
/// descriptors.
///
/// # Safety
/// The copy must not use anything that another thread may have been in the middle of changing.
pub unsafe fn clone_quietly() -> SysResult<Option<Pid>> {
    const CLONE_FILES: usize = 0x400;
    // SAFETY: by the caller. Memory is copied, and there is no exit signal.
    let process = unsafe { call(number::CLONE, [CLONE_FILES, 0, 0, 0, 0, 0]) }?;
    Ok((process != 0).then_some(Pid(process as u32)))
}

/// Whether the kernel can make such copies of this process: it can since Linux 5.9, which introduced
/// close_range, the call by which a copy leaves the shared table.
///
/// The program itself asks, so the probe must not take effect: a descriptor table of its own would cut this
/// thread off from what other threads open, and libraries may already have started some. close_range on an
/// empty range fails with EINVAL on a kernel that knows the call, and does nothing.
pub fn can_clone_quietly() -> bool {
    // SAFETY: touches no memory, and closes nothing.
    let answer = unsafe { call(number::CLOSE_RANGE, [1, 0, 0, 0, 0, 0]) };
    answer == Err(Errno::INVAL)
}

/// Called in a copy: leaves the shared descriptor table and closes all descriptors; they stay open for the
/// other processes.
pub fn let_descriptors_go() -> bool {
    const UNSHARE: usize = 2;
    // SAFETY: touches no memory.
    unsafe { call(number::CLOSE_RANGE, [0, u32::MAX as usize, UNSHARE, 0, 0, 0]) }.is_ok()
}

/// Starts a new session and process group.
pub fn leave_session() {
    // SAFETY: touches no memory.
    let _ = unsafe { call(number::SETSID, [0; 6]) };
}

/// Starts a process that shares our memory and calls `f` on the given stack. This thread continues when the
/// new process has called exec or has ended (vfork).
///
/// # Safety
/// `top` is the upper end of an unused stack; `f` must not return into what it does not own.
pub unsafe fn start_sharing(
    top: usize,
    f: extern "C" fn(*mut c_void),
    data: *mut c_void,
) -> SysResult<Pid> {
    /// # Safety
    /// As for `start_sharing`.
    #[unsafe(naked)]
    unsafe extern "C" fn start(
        top: usize,
        f: extern "C" fn(*mut c_void),
        data: *mut c_void,
        flags: usize,
    ) -> isize {
        naked_asm!(
            "push rbx",
            "push r12",
            "mov rbx, rsi",
            "mov r12, rdx",
            "mov rsi, rdi",
            "mov rdi, rcx",
            "xor edx, edx",
            "xor r10d, r10d",
            "xor r8d, r8d",
            "mov eax, 56",
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call rbx",
            "mov edi, 127",
            "mov eax, 231",
            "syscall",
            "2:",
            "pop r12",
            "pop rbx",
            "ret",
        )
    }
    const CLONE_VM: usize = 0x100;
    const CLONE_VFORK: usize = 0x4000;
    /// The exit signal of the new process, which `wait_for_signal` waits for.
    const SIGCHLD: usize = 17;
    // SAFETY: by the caller; while the child runs on its stack, this thread does not run.
    let result = unsafe { start(top & !15, f, data, CLONE_VM | CLONE_VFORK | SIGCHLD) };
    if result < 0 { Err(Errno(-result as i32)) } else { Ok(Pid(result as u32)) }
}

/// Waits for one of some blocked signals; returns its number, or 0.
pub fn wait_for_signal(signals: SignalSet) -> usize {
    let arguments = [&raw const signals as usize, 0, 0, 8, 0, 0];
    // SAFETY: the kernel reads the set.
    unsafe { call(number::RT_SIGTIMEDWAIT, arguments) }.unwrap_or(0)
}

/// Releases memory (MADV_DONTNEED): the next read finds zeros, or the contents of the mapped file.
///
/// # Safety
/// Nobody needs the contents.
pub unsafe fn give_back(memory: Range<usize>) {
    const DONTNEED: usize = 4;
    if memory.is_empty() {
        return;
    }
    let arguments = [memory.start, memory.end - memory.start, DONTNEED, 0, 0, 0];
    // SAFETY: by the caller. Unmapped ranges are left alone.
    let _ = unsafe { call(number::MADVISE, arguments) };
}

/// Makes children find zeros in this memory instead of a copy (MADV_WIPEONFORK).
///
/// # Safety
/// The memory is mapped, private, and anonymous.
pub unsafe fn wipe_in_children(memory: *mut u8, bytes: usize) -> SysResult<()> {
    const WIPEONFORK: usize = 18;
    // SAFETY: by the caller.
    unsafe { call(number::MADVISE, [memory as usize, bytes, WIPEONFORK, 0, 0, 0]) }.map(|_| ())
}

/// How a process ended.
#[derive(Clone, Copy)]
pub enum End {
    /// It exited, or no longer exists.
    ByItself,
    /// A signal killed it.
    BySignal,
}

/// How a child of this process has ended; None if it still runs. Does not wait. A process that no longer exists has
/// ended.
pub fn end_of(child: Pid) -> Option<End> {
    const ALL: usize = 0x4000_0000;
    look_for_end(child, ALL)
}

/// The same, of a copy made by [`clone_quietly`]. If its id belongs to a child of the program by now, that child is not
/// reaped.
pub fn end_of_copy(copy: Pid) -> Option<End> {
    const WITHOUT_EXIT_SIGNAL: usize = 0x8000_0000;
    look_for_end(copy, WITHOUT_EXIT_SIGNAL)
}

fn look_for_end(process: Pid, which: usize) -> Option<End> {
    const WITHOUT_WAITING: usize = 1;
    let mut status = 0i32;
    let place = &raw mut status as usize;
    let arguments = [process.0 as usize, place, which | WITHOUT_WAITING, 0, 0, 0];
    // SAFETY: the kernel fills the status.
    match unsafe { call(number::WAIT4, arguments) } {
        Ok(0) => None,
        Ok(_) if status & 0x7F != 0 => Some(End::BySignal),
        Ok(_) | Err(_) => Some(End::ByItself),
    }
}

/// Replaces this process by another program; returns only on failure, with the error.
///
/// # Safety
/// The lists end with null, and their strings with NUL.
pub unsafe fn execute(
    path: &CStr,
    arguments: *const *const i8,
    environment: *const *const i8,
) -> Errno {
    let all = [path.as_ptr() as usize, arguments as usize, environment as usize, 0, 0, 0];
    // SAFETY: by the caller.
    unsafe { call(number::EXECVE, all) }.err().unwrap_or(Errno(0))
}

const AT_FDCWD: isize = -100;
const O_WRONLY: usize = 0o1;
const O_APPEND: usize = 0o2000;
const O_CLOEXEC: usize = 0o2_000_000;

fn open(path: &CStr, flags: usize) -> SysResult<Fd> {
    let arguments = [AT_FDCWD as usize, path.as_ptr() as usize, flags, 0, 0, 0];
    // SAFETY: the path ends with NUL.
    unsafe { call(number::OPENAT, arguments) }.map(|fd| Fd(fd as c_int))
}

/// Opens a file for reading; the descriptor survives exec.
pub fn open_to_hand_on(path: &CStr) -> SysResult<Fd> {
    open(path, 0)
}

/// Opens an existing file for appending.
pub fn open_to_append(path: &CStr) -> SysResult<Fd> {
    open(path, O_WRONLY | O_APPEND | O_CLOEXEC)
}

/// Opens an existing file for writing.
pub fn open_to_write(path: &CStr) -> SysResult<Fd> {
    open(path, O_WRONLY | O_CLOEXEC)
}

/// Creates a file that exists in memory only (memfd); the descriptor survives exec.
pub fn file_in_memory(name: &CStr) -> SysResult<Fd> {
    // SAFETY: the name ends with NUL.
    unsafe { call(number::MEMFD_CREATE, [name.as_ptr() as usize, 0, 0, 0, 0, 0]) }
        .map(|fd| Fd(fd as c_int))
}

/// Seeks to the beginning of a file.
pub fn rewind(fd: Fd) {
    // SAFETY: touches no memory.
    let _ = unsafe { call(number::LSEEK, [fd.0 as usize, 0, 0, 0, 0, 0]) };
}

/// Reads from an offset of a file; returns the number of bytes.
pub fn read_at(fd: Fd, bytes: &mut [u8], offset: usize) -> SysResult<usize> {
    let arguments = [fd.0 as usize, bytes.as_mut_ptr() as usize, bytes.len(), offset, 0, 0];
    // SAFETY: the slice is writable.
    unsafe { call(number::PREAD, arguments) }
}

/// Changes the current directory.
pub fn change_directory(path: &CStr) {
    // SAFETY: the path ends with NUL.
    let _ = unsafe { call(number::CHDIR, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// Sets whether processes of the same user may read this one's memory (the dumpable flag), which includes
/// opening its own /proc/self/mem by name. Returns the previous setting.
pub fn set_readable(readable: bool) -> bool {
    const GET_DUMPABLE: usize = 3;
    const SET_DUMPABLE: usize = 4;
    // SAFETY: touches no memory.
    unsafe {
        let before = call(number::PRCTL, [GET_DUMPABLE, 0, 0, 0, 0, 0]);
        let _ = call(number::PRCTL, [SET_DUMPABLE, usize::from(readable), 0, 0, 0, 0]);
        before == Ok(1)
    }
}

/// Whether this process adopts its orphaned descendants (it is a subreaper, or process 1).
pub fn adopts_orphans() -> bool {
    const GET_CHILD_SUBREAPER: usize = 37;
    let mut adopts: c_int = 0;
    let arguments = [GET_CHILD_SUBREAPER, &raw mut adopts as usize, 0, 0, 0, 0];
    // SAFETY: the kernel fills the number.
    let _ = unsafe { call(number::PRCTL, arguments) };
    adopts != 0 || crate::sys::process_id() == Pid(1)
}

/// Schedules SIGALRM after some seconds; 0 cancels it.
pub fn alarm(seconds: usize) {
    // SAFETY: touches no memory.
    let _ = unsafe { call(number::ALARM, [seconds, 0, 0, 0, 0, 0]) };
}

/// Maps a zeroed page that is shared with copies of this process.
pub fn map_shared_page() -> SysResult<*mut u8> {
    const READ_WRITE: usize = 3;
    const SHARED_ANONYMOUS: usize = 0x21;
    // SAFETY: maps memory at an address that is unused.
    unsafe { call(number::MMAP, [0, 4096, READ_WRITE, SHARED_ANONYMOUS, usize::MAX, 0]) }
        .map(|address| address as *mut u8)
}

/// Waits while a word shared between processes has the expected value, for at most some milliseconds.
pub fn wait_while(word: &AtomicU32, expected: u32, milliseconds: i64) {
    const WAIT: usize = 0;
    let time = [milliseconds / 1000, milliseconds % 1000 * 1_000_000];
    let place = word.as_ptr() as usize;
    // SAFETY: word and time outlive the call.
    let _ = unsafe {
        call(number::FUTEX, [place, WAIT, expected as usize, &raw const time as usize, 0, 0])
    };
}

/// Sleeps for some milliseconds.
pub fn nap(milliseconds: i64) {
    wait_while(&AtomicU32::new(0), 0, milliseconds);
}

/// Stores a word and wakes all threads that wait for it to change.
pub fn store_and_wake(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Release);
    wake_all(word);
}

fn wake_all(word: &AtomicU32) {
    const WAKE: usize = 1;
    // SAFETY: the word outlives the call.
    let _ =
        unsafe { call(number::FUTEX, [word.as_ptr() as usize, WAKE, i32::MAX as usize, 0, 0, 0]) };
}

/// A gate at which threads wait while it is closed. Opening it takes no system call if none waits.
pub struct Gate(AtomicU32);

impl Gate {
    const OPEN: u32 = 0;
    const CLOSED: u32 = 1;
    /// Closed, and some thread waits.
    const AWAITED: u32 = 2;

    /// An open gate.
    pub const fn new() -> Gate {
        Gate(AtomicU32::new(Gate::OPEN))
    }

    /// Closes it; false if it was closed already.
    pub fn close(&self) -> bool {
        let order = (Ordering::SeqCst, Ordering::Relaxed);
        self.0.compare_exchange(Gate::OPEN, Gate::CLOSED, order.0, order.1).is_ok()
    }

    /// Opens it, and lets those go that wait.
    pub fn open(&self) {
        if self.0.swap(Gate::OPEN, Ordering::SeqCst) == Gate::AWAITED {
            wake_all(&self.0);
        }
    }

    /// Waits until it is open.
    pub fn pass(&self) {
        while self.0.load(Ordering::SeqCst) != Gate::OPEN {
            let order = (Ordering::SeqCst, Ordering::SeqCst);
            match self.0.compare_exchange(Gate::CLOSED, Gate::AWAITED, order.0, order.1) {
                Err(Gate::OPEN) => return,
                Ok(_) | Err(_) => wait_while(&self.0, Gate::AWAITED, 1000),
            }
        }
    }
}

/// A thread id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadId(pub u32);

/// Where libc keeps the id of each thread, in bytes from its thread pointer; 0 if unknown.
static ID_AT: AtomicUsize = AtomicUsize::new(0);

/// Finds out where libc keeps the ids of threads, so that [`thread_id`] needs no system call from then on.
/// Called before the program runs.
pub fn learn_thread_ids() {
    /// In musl, whose record is the smaller one, and in glibc.
    const KNOWN: [usize; 2] = [0x30, 0x2d0];
    let known = KNOWN.into_iter().find(|&at| id_at(at) == asked_id());
    ID_AT.store(known.unwrap_or(0), Ordering::Relaxed);
}

fn id_at(offset: usize) -> ThreadId {
    // SAFETY: libc's record of a thread begins at the thread pointer. Musl's offset, the smaller one, is tried first and
    // is within both records; glibc's is read only if musl's did not match.
    ThreadId(unsafe { ((crate::sys::thread_pointer() + offset) as *const u32).read_volatile() })
}

fn asked_id() -> ThreadId {
    // SAFETY: touches no memory.
    ThreadId(unsafe { call(number::GETTID, [0; 6]) }.unwrap_or(0) as u32)
}

/// The id of this thread; None if finding it out takes a system call and the program has confined itself.
pub fn thread_id() -> Option<ThreadId> {
    match ID_AT.load(Ordering::Relaxed) {
        0 if confined::is_confined() => None,
        0 => Some(asked_id()),
        at => Some(id_at(at)),
    }
}

/// Whether a thread of this process still exists.
pub fn thread_lives(thread: ThreadId) -> bool {
    let process = crate::sys::process_id().0 as usize;
    // SAFETY: touches no memory; signal 0 only checks.
    unsafe { call(number::TGKILL, [process, thread.0 as usize, 0, 0, 0, 0]) }.is_ok()
}

/// The size of a file in bytes; None if it cannot be examined.
pub fn file_size(path: &CStr) -> Option<u64> {
    stat(path).map(|stat| stat[6])
}

/// The inode of a file; None if it cannot be examined.
pub fn inode(path: &CStr) -> Option<u64> {
    stat(path).map(|stat| stat[1])
}

fn stat(path: &CStr) -> Option<[u64; 18]> {
    let mut stat = [0u64; 18];
    let arguments = [path.as_ptr() as usize, stat.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the path ends with NUL, the kernel fills the array.
    unsafe { call(number::STAT, arguments) }.ok().map(|_| stat)
}

/// Free bytes in the file system of a path, for unprivileged users.
pub fn free_space(path: &CStr) -> Option<u64> {
    // struct statfs: type, block size, blocks, free blocks, free blocks for unprivileged users, ...
    let mut record = [0u64; 15];
    let arguments = [path.as_ptr() as usize, record.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the path ends with NUL, the kernel fills the record.
    unsafe { call(number::STATFS, arguments) }.ok()?;
    record[4].checked_mul(record[1])
}

/// Bytes of memory that hold nothing at all, not even caches.
pub fn unused_memory() -> u64 {
    // struct sysinfo: uptime, three load averages, total, free, ...; the unit is near its end.
    let mut record = [0u64; 14];
    // SAFETY: the kernel fills the record.
    if unsafe { call(number::SYSINFO, [record.as_mut_ptr() as usize, 0, 0, 0, 0, 0]) }.is_err() {
        return 0;
    }
    record[5].saturating_mul(u64::from(record[13] as u32).max(1))
}

/// The peak resident set size of this process in bytes.
pub fn most_memory() -> u64 {
    // struct rusage: two times of two words each, then the peak resident set in KiB, ...
    let mut record = [0u64; 18];
    let arguments = [0, record.as_mut_ptr() as usize, 0, 0, 0, 0];
    // SAFETY: the kernel fills the record.
    if unsafe { call(number::GETRUSAGE, arguments) }.is_err() {
        return u64::MAX;
    }
    record[4].saturating_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_copy_ends_without_a_child_to_wait_for() {
        // SAFETY: the copy only ends.
        let copy = match unsafe { clone_quietly() } {
            Ok(None) => crate::sys::exit_group(3),
            Ok(Some(copy)) => copy,
            Err(errno) => panic!("cannot clone: {errno:?}"),
        };
        for _ in 0..10_000 {
            if let Some(end) = end_of_copy(copy) {
                assert!(matches!(end, End::ByItself));
                return;
            }
            nap(1);
        }
        panic!("the copy did not end");
    }

    #[test]
    fn a_process_that_never_existed_has_ended() {
        assert!(end_of(Pid(u32::MAX >> 1)).is_some());
        assert!(end_of_copy(Pid(u32::MAX >> 1)).is_some());
    }

    #[test]
    fn a_child_of_the_program_is_never_reaped_as_a_copy() {
        let mut child = std::process::Command::new("false").spawn().expect("a process");
        // As if its id had been that of a copy.
        let copy = Pid(child.id());
        for _ in 0..100 {
            assert!(matches!(end_of_copy(copy), Some(End::ByItself)));
            nap(1);
        }
        assert_eq!(child.wait().expect("it is still there").code(), Some(1));
    }

    #[test]
    fn threads_live_until_they_end() {
        let ended = std::thread::spawn(asked_id).join().expect("it ends");
        assert!(thread_lives(asked_id()));
        let gone = (0..1000).any(|_| {
            nap(1);
            !thread_lives(ended)
        });
        assert!(gone);
    }

    #[test]
    fn threads_know_their_ids_without_a_system_call() {
        learn_thread_ids();
        assert_ne!(ID_AT.load(Ordering::Relaxed), 0);
        for _ in 0..3 {
            let known = std::thread::spawn(|| thread_id() == Some(asked_id()));
            assert!(known.join().expect("it ends"));
        }
        assert_eq!(thread_id(), Some(asked_id()));
    }

    #[test]
    fn threads_wait_at_a_closed_gate_and_only_there() {
        static GATE: Gate = Gate::new();
        GATE.pass();
        assert!(GATE.close() && !GATE.close());
        let waits = std::thread::spawn(|| GATE.pass());
        while GATE.0.load(Ordering::SeqCst) != Gate::AWAITED {
            std::thread::yield_now();
        }
        assert!(!waits.is_finished());
        GATE.open();
        waits.join().expect("it goes on");
        assert!(GATE.close());
        GATE.open();
        GATE.pass();
    }

    #[test]
    fn waiting_ends_when_the_word_changes_or_time_is_up() {
        let word = AtomicU32::new(0);
        wait_while(&word, 0, 1);
        std::thread::scope(|scope| {
            scope.spawn(|| store_and_wake(&word, 1));
            while word.load(Ordering::Acquire) == 0 {
                wait_while(&word, 0, 10_000);
            }
        });
    }

    #[test]
    fn setting_blocked_signals_returns_the_previous_mask() {
        let before = set_blocked_signals(1 << 9);
        assert_eq!(set_blocked_signals(before), 1 << 9);
    }

    #[test]
    fn a_file_in_memory_is_read_from_any_place() {
        let fd = file_in_memory(c"test").expect("there is memory");
        assert_eq!(crate::sys::write(fd, b"0123456789"), Ok(10));
        let mut bytes = [0; 4];
        assert_eq!(read_at(fd, &mut bytes, 3), Ok(4));
        assert_eq!(&bytes, b"3456");
        assert_eq!(read_at(fd, &mut bytes, 8), Ok(2));
        crate::sys::close(fd);
    }

    #[test]
    fn files_and_machine_are_measured() {
        assert!(file_size(c"/proc/self/exe").is_some_and(|size| size > 1000));
        assert_eq!(file_size(c"/nonexistent"), None);
        assert!(free_space(c"/").is_some());
        assert!(most_memory() > 1 << 16 && unused_memory() > 0);
        assert!(can_clone_quietly());
    }
}
