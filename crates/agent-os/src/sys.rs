//! Direct system calls. The agent uses as little as it can of the program's own libc, which may be older or
//! newer than the one it was built with.

use alloc::vec::Vec;
use core::arch::asm;
use core::ffi::{CStr, c_char, c_int};

use crate::confined;

/// An error number of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Errno(pub i32);

impl Errno {
    /// No such file.
    pub const NOENT: Errno = Errno(2);
    /// A signal interrupted the call.
    pub const INTR: Errno = Errno(4);
    /// Permission denied.
    pub const ACCES: Errno = Errno(13);
    /// The file exists already.
    pub const EXIST: Errno = Errno(17);
    /// A component of the path is not a directory.
    pub const NOTDIR: Errno = Errno(20);
    /// Invalid argument.
    pub const INVAL: Errno = Errno(22);
    /// The kernel does not have this system call.
    pub const NOSYS: Errno = Errno(38);

    /// Its meaning, for the errors that can occur when a file is created.
    pub fn words(self) -> &'static str {
        match self.0 {
            1 | 13 => "permission denied",
            2 => "no such directory",
            12 => "out of memory",
            17 => "the file exists",
            20 => "not a directory",
            23 | 24 => "too many open files",
            27 => "file too large",
            28 => "no space left on device",
            30 => "read-only file system",
            36 => "name too long",
            122 => "disk quota exceeded",
            _ => "system error",
        }
    }
}

/// The result of a system call.
pub type SysResult<T> = Result<T, Errno>;

/// System call numbers on x86-64.
mod number {
    pub const READ: usize = 0;
    pub const WRITE: usize = 1;
    pub const CLOSE: usize = 3;
    pub const FSTAT: usize = 5;
    pub const MMAP: usize = 9;
    pub const MPROTECT: usize = 10;
    pub const MUNMAP: usize = 11;
    pub const RT_SIGACTION: usize = 13;
    pub const PWRITE: usize = 18;
    pub const SCHED_YIELD: usize = 24;
    pub const MREMAP: usize = 25;
    pub const GETPID: usize = 39;
    pub const UNAME: usize = 63;
    pub const FCNTL: usize = 72;
    pub const GETCWD: usize = 79;
    pub const READLINK: usize = 89;
    pub const UNLINK: usize = 87;
    pub const LCHOWN: usize = 94;
    pub const GETRLIMIT: usize = 97;
    pub const GETEUID: usize = 107;
    pub const SETRLIMIT: usize = 160;
    pub const FUTEX: usize = 202;
    pub const EXIT_GROUP: usize = 231;
    pub const OPENAT: usize = 257;
    pub const FACCESSAT: usize = 269;
    pub const MEMBARRIER: usize = 324;
    pub const FACCESSAT2: usize = 439;
}

/// # Safety
/// As for the system call itself.
#[inline]
pub unsafe fn call(number: usize, arguments: [usize; 6]) -> SysResult<usize> {
    let [a, b, c, d, e, f] = arguments;
    let result: isize;
    // SAFETY: beyond what the caller vouches for, the kernel only changes rcx and r11.
    unsafe {
        asm!("syscall", inlateout("rax") number as isize => result,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    if (-4095..0).contains(&result) { Err(Errno(-result as i32)) } else { Ok(result as usize) }
}

/// A file descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fd(pub c_int);

const AT_FDCWD: isize = -100;
const O_WRONLY: usize = 0o1;
const O_CREAT: usize = 0o100;
const O_EXCL: usize = 0o200;
const O_CLOEXEC: usize = 0o2_000_000;

/// Creates a file that only this user can read; fails if the name exists.
pub fn create(path: &CStr) -> SysResult<Fd> {
    let flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    let arguments = [AT_FDCWD as usize, path.as_ptr() as usize, flags, 0o600, 0, 0];
    // SAFETY: the path ends with NUL.
    unsafe { call(number::OPENAT, arguments) }.map(|fd| Fd(fd as c_int))
}

/// Opens a file for reading.
pub fn open_to_read(path: &CStr) -> SysResult<Fd> {
    let arguments = [AT_FDCWD as usize, path.as_ptr() as usize, O_CLOEXEC, 0, 0, 0];
    // SAFETY: the path ends with NUL.
    unsafe { call(number::OPENAT, arguments) }.map(|fd| Fd(fd as c_int))
}

/// A kind of access to a file or directory.
#[derive(Clone, Copy)]
pub enum Access {
    /// Reading it.
    Read = 4,
    /// Creating files in it.
    Fill = 3,
}

/// Whether this process has this access, with its effective user and groups.
pub fn may(access: Access, path: &CStr) -> SysResult<()> {
    const EFFECTIVE: usize = 0x200;
    let arguments = [AT_FDCWD as usize, path.as_ptr() as usize, access as usize, EFFECTIVE, 0, 0];
    // SAFETY: the path ends with NUL.
    let answer = match unsafe { call(number::FACCESSAT2, arguments) } {
        // Before Linux 5.8, and under a seccomp filter that does not know the call: check the real user's
        // rights, which differ only if the effective user is another.
        // SAFETY: the same.
        Err(Errno::NOSYS | Errno(1)) => unsafe { call(number::FACCESSAT, arguments) },
        answer => answer,
    };
    answer.map(|_| ())
}

/// Changes the owner of a directory, if this process may.
pub fn give(path: &CStr, user: u32) {
    const SAME: usize = usize::MAX;
    // SAFETY: the path ends with NUL.
    let _ = unsafe { call(number::LCHOWN, [path.as_ptr() as usize, user as usize, SAME, 0, 0, 0]) };
}

/// Unlinks a file, if this process may.
pub fn remove(path: &CStr) {
    // SAFETY: the path ends with NUL.
    let _ = unsafe { call(number::UNLINK, [path.as_ptr() as usize, 0, 0, 0, 0, 0]) };
}

/// The effective user id of this process.
pub fn effective_user() -> u32 {
    // SAFETY: touches no memory, and cannot fail.
    unsafe { call(number::GETEUID, [0; 6]) }.unwrap_or(0) as u32
}

/// The contents of a small file, or of a file in /proc or /sys.
pub fn read_file(path: &CStr) -> SysResult<Vec<u8>> {
    const STEP: usize = 4096;
    let fd = open_to_read(path)?;
    let mut contents = Vec::new();
    loop {
        let length = contents.len();
        contents.resize(length + STEP, 0);
        let place = contents[length..].as_mut_ptr() as usize;
        // SAFETY: the vector has room for that many bytes.
        let count = unsafe { call(number::READ, [fd.0 as usize, place, STEP, 0, 0, 0]) };
        contents.truncate(length + *count.as_ref().unwrap_or(&0));
        match count {
            Ok(0) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(errno) => {
                close(fd);
                return Err(errno);
            }
        }
    }
    close(fd);
    Ok(contents)
}

/// The contents of a file, mapped forever. A file that may be truncated meanwhile must not be read this way;
/// executables are not truncated.
pub fn map_file(path: &CStr) -> SysResult<&'static [u8]> {
    const MAP_PRIVATE: usize = 2;
    let fd = open_to_read(path)?;
    let mapped = status(fd).and_then(|status| {
        // SAFETY: maps memory at an address that is unused.
        let memory = unsafe {
            call(number::MMAP, [0, status.size, PROT_READ, MAP_PRIVATE, fd.0 as usize, 0])
        };
        // SAFETY: that many bytes are mapped, and stay mapped.
        memory.map(|at| unsafe { core::slice::from_raw_parts(at as *const u8, status.size) })
    });
    close(fd);
    mapped
}

/// Maps the beginning of a file shared, for reading and writing; fails if the file is shorter than `bytes`.
pub fn map_shared(path: &CStr, bytes: usize) -> SysResult<*mut u8> {
    const O_RDWR: usize = 2;
    const MAP_SHARED: usize = 1;
    let arguments = [AT_FDCWD as usize, path.as_ptr() as usize, O_RDWR | O_CLOEXEC, 0, 0, 0];
    // SAFETY: the path ends with NUL.
    let fd = unsafe { call(number::OPENAT, arguments) }.map(|fd| Fd(fd as c_int))?;
    let mapped = status(fd).and_then(|status| {
        if status.size < bytes {
            return Err(Errno::INVAL);
        }
        let access = PROT_READ | PROT_WRITE;
        // SAFETY: maps memory at an address that is unused.
        unsafe { call(number::MMAP, [0, bytes, access, MAP_SHARED, fd.0 as usize, 0]) }
    });
    close(fd);
    mapped.map(|address| address as *mut u8)
}

/// Opens an existing file for writing.
pub fn reopen(path: &CStr) -> SysResult<Fd> {
    let arguments = [AT_FDCWD as usize, path.as_ptr() as usize, O_WRONLY | O_CLOEXEC, 0, 0, 0];
    // SAFETY: the path ends with NUL.
    unsafe { call(number::OPENAT, arguments) }.map(|fd| Fd(fd as c_int))
}

/// Writes at the file position; returns the number of bytes.
pub fn write(fd: Fd, bytes: &[u8]) -> SysResult<usize> {
    // SAFETY: the slice is readable.
    unsafe { call(number::WRITE, [fd.0 as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

/// Writes at an offset of a file; returns the number of bytes.
pub fn write_at(fd: Fd, bytes: &[u8], offset: u64) -> SysResult<usize> {
    let arguments = [fd.0 as usize, bytes.as_ptr() as usize, bytes.len(), offset as usize, 0, 0];
    // SAFETY: the slice is readable.
    unsafe { call(number::PWRITE, arguments) }
}

/// Closes a descriptor.
pub fn close(fd: Fd) {
    // SAFETY: touches no memory. After an error there is nothing left to do.
    let _ = unsafe { call(number::CLOSE, [fd.0 as usize, 0, 0, 0, 0, 0]) };
}

/// What fstat reports about a file.
struct Status {
    device: u64,
    inode: u64,
    size: usize,
}

fn status(fd: Fd) -> SysResult<Status> {
    // struct stat is 144 bytes: device, inode, others, with the size at offset 48.
    let mut stat = [0u64; 18];
    // SAFETY: the kernel fills the array.
    unsafe { call(number::FSTAT, [fd.0 as usize, stat.as_mut_ptr() as usize, 0, 0, 0, 0]) }?;
    Ok(Status { device: stat[0], inode: stat[1], size: stat[6] as usize })
}

/// The device and inode of the file behind a descriptor.
pub fn identity(fd: Fd) -> SysResult<(u64, u64)> {
    status(fd).map(|status| (status.device, status.inode))
}

/// Duplicates a descriptor to a number of at least `least`.
pub fn duplicate_above(fd: Fd, least: usize) -> SysResult<Fd> {
    const F_DUPFD_CLOEXEC: usize = 1030;
    // SAFETY: touches no memory.
    let copy = unsafe { call(number::FCNTL, [fd.0 as usize, F_DUPFD_CLOEXEC, least, 0, 0, 0]) };
    copy.map(|fd| Fd(fd as c_int))
}

/// A resource with a soft and a hard limit.
#[derive(Clone, Copy)]
pub enum Resource {
    /// `RLIMIT_FSIZE`.
    FileSize = 1,
    /// `RLIMIT_DATA`.
    Data = 2,
    /// `RLIMIT_NOFILE`.
    Descriptors = 7,
    /// `RLIMIT_AS`.
    AddressSpace = 9,
}

/// A soft and a hard limit.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Limit {
    /// The soft limit.
    pub now: u64,
    /// The hard limit.
    pub most: u64,
}

/// The limits of a resource; `u64::MAX` is unlimited.
pub fn limit(resource: Resource) -> Limit {
    let mut limit = Limit { now: u64::MAX, most: u64::MAX };
    let arguments = [resource as usize, &raw mut limit as usize, 0, 0, 0, 0];
    // SAFETY: the kernel fills the record. It knows these resources.
    let _ = unsafe { call(number::GETRLIMIT, arguments) };
    limit
}

/// Sets the limits of a resource.
pub fn set_limit(resource: Resource, limit: Limit) -> SysResult<()> {
    let arguments = [resource as usize, &raw const limit as usize, 0, 0, 0, 0];
    // SAFETY: the kernel reads the record.
    unsafe { call(number::SETRLIMIT, arguments) }.map(|_| ())
}

const PROT_READ: usize = 1;
const PROT_WRITE: usize = 2;
const PROT_EXEC: usize = 4;

/// Maps new zeroed memory.
pub fn map(bytes: usize) -> SysResult<*mut u8> {
    const MAP_PRIVATE_ANONYMOUS: usize = 0x22;
    let arguments = [0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE_ANONYMOUS, usize::MAX, 0];
    // SAFETY: maps memory at an address that is unused.
    unsafe { call(number::MMAP, arguments) }.map(|address| address as *mut u8)
}

/// # Safety
/// `address` and `bytes` are a mapping that nobody uses any more.
pub unsafe fn unmap(address: *mut u8, bytes: usize) {
    // SAFETY: by the caller.
    let _ = unsafe { call(number::MUNMAP, [address as usize, bytes, 0, 0, 0, 0]) };
}

/// # Safety
/// `address` and `old` are a mapping; only the result is used afterwards.
pub unsafe fn remap(address: *mut u8, old: usize, new: usize) -> SysResult<*mut u8> {
    const MAY_MOVE: usize = 1;
    // SAFETY: by the caller.
    let result = unsafe { call(number::MREMAP, [address as usize, old, new, MAY_MOVE, 0, 0]) };
    result.map(|address| address as *mut u8)
}

/// Makes pages inaccessible.
///
/// # Safety
/// Nobody needs their contents.
pub unsafe fn forbid(address: usize, bytes: usize) -> SysResult<()> {
    // SAFETY: by the caller.
    unsafe { call(number::MPROTECT, [address, bytes, 0, 0, 0, 0]) }.map(|_| ())
}

/// Makes code writable, or read-only again; it stays executable all the time.
///
/// # Safety
/// The pages are a program's code.
pub unsafe fn protect_code(address: usize, bytes: usize, writable: bool) -> SysResult<()> {
    let access = PROT_READ | PROT_EXEC | if writable { PROT_WRITE } else { 0 };
    // SAFETY: by the caller.
    unsafe { call(number::MPROTECT, [address, bytes, access, 0, 0, 0]) }.map(|_| ())
}

/// The id of this process.
pub fn process_id() -> Pid {
    // SAFETY: touches no memory.
    Pid(unsafe { call(number::GETPID, [0; 6]) }.unwrap_or(0) as u32)
}

/// The id of a process, in the PID namespace of this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pid(pub u32);

/// Yields the processor.
pub fn yield_now() {
    // SAFETY: touches no memory.
    let _ = unsafe { call(number::SCHED_YIELD, [0; 6]) };
}

/// Passes this machine's host name to `found`.
pub fn host_name(found: &mut dyn FnMut(&[u8])) {
    const FIELD: usize = 65;
    let mut names = [0u8; 6 * FIELD];
    // SAFETY: the kernel fills the array.
    if unsafe { call(number::UNAME, [names.as_mut_ptr() as usize, 0, 0, 0, 0, 0]) }.is_ok() {
        let name = &names[FIELD..2 * FIELD];
        found(&name[..name.iter().position(|&byte| byte == 0).unwrap_or(FIELD)]);
    }
}

/// The current directory; None if its name does not fit.
pub fn current_directory(buffer: &mut [u8]) -> Option<&[u8]> {
    let arguments = [buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0, 0];
    // SAFETY: the kernel fills the buffer.
    let length = unsafe { call(number::GETCWD, arguments) }.ok()?;
    buffer.get(..length.checked_sub(1)?)
}

/// The absolute path, valid even if the program changes its directory later.
pub fn absolute(path: &[u8]) -> Vec<u8> {
    let mut buffer = [0; 4096];
    match current_directory(&mut buffer) {
        Some(directory) if !path.starts_with(b"/") => [directory, b"/", path].concat(),
        _ => path.into(),
    }
}

/// # Safety
/// As for readlink(2).
pub unsafe fn readlink(path: *const c_char, buffer: *mut c_char, size: usize) -> SysResult<usize> {
    // SAFETY: by the caller.
    unsafe { call(number::READLINK, [path as usize, buffer as usize, size, 0, 0, 0]) }
}

/// Waits while `*word == expected`.
pub fn futex_wait(word: &core::sync::atomic::AtomicU32, expected: u32) {
    const WAIT_PRIVATE: usize = 128;
    let arguments = [word.as_ptr() as usize, WAIT_PRIVATE, expected as usize, 0, 0, 0];
    // SAFETY: the word outlives the call.
    let _ = unsafe { call(number::FUTEX, arguments) };
}

/// Waits while `*word == expected`, for at most `time`. A change through another mapping of the same file wakes nobody;
/// the caller sees it when the time is up.
pub fn futex_wait_at_most(
    word: &core::sync::atomic::AtomicU32,
    expected: u32,
    time: core::time::Duration,
) {
    const WAIT: usize = 0;
    let time = [time.as_secs(), u64::from(time.subsec_nanos())];
    let arguments =
        [word.as_ptr() as usize, WAIT, expected as usize, &raw const time as usize, 0, 0];
    // SAFETY: the word and the time outlive the call.
    let _ = unsafe { call(number::FUTEX, arguments) };
}

/// Wakes one thread that waits on `word`.
pub fn futex_wake(word: &core::sync::atomic::AtomicU32) {
    const WAKE_PRIVATE: usize = 129;
    // SAFETY: the word outlives the call.
    let _ = unsafe { call(number::FUTEX, [word.as_ptr() as usize, WAKE_PRIVATE, 1, 0, 0, 0]) };
}

/// Ends the process with all its threads, without running exit handlers.
pub fn exit_group(status: c_int) -> ! {
    loop {
        // SAFETY: ends the process.
        let _ = unsafe { call(number::EXIT_GROUP, [status as usize, 0, 0, 0, 0, 0]) };
    }
}

/// Makes all threads of this process pass a serialising barrier (membarrier SYNC_CORE), so that none executes
/// instructions that it fetched before. A program that has confined itself goes without.
pub fn let_all_threads_catch_up() {
    if confined::is_confined() {
        return;
    }
    const REGISTER: usize = 1 << 6;
    const SYNC_CORE: usize = 1 << 5;
    for command in [REGISTER, SYNC_CORE] {
        // SAFETY: touches no memory. Kernels before 4.16 do not have the command; there we go without.
        let _ = unsafe { call(number::MEMBARRIER, [command, 0, 0, 0, 0, 0]) };
    }
}

#[repr(C)]
struct KernelSigaction {
    handler: usize,
    flags: u64,
    restorer: usize,
    mask: u64,
}

/// Installs a signal handler. Interrupted system calls are restarted where possible.
pub fn handle_signal(signal: u8, handler: extern "C" fn(c_int)) -> SysResult<()> {
    const SA_RESTART: u64 = 0x1000_0000;
    const SA_ONSTACK: u64 = 0x0800_0000;
    handle(signal, handler, SA_RESTART | SA_ONSTACK)
}

/// Installs a handler for a fault. It runs on the stack on which the fault occurs, and need not return.
pub fn handle_fault(signal: u8, handler: extern "C" fn(c_int)) -> SysResult<()> {
    const SA_NODEFER: u64 = 0x4000_0000;
    handle(signal, handler, SA_NODEFER)
}

fn handle(signal: u8, handler: extern "C" fn(c_int), flags: u64) -> SysResult<()> {
    const SA_RESTORER: u64 = 0x0400_0000;
    let action = KernelSigaction {
        handler: handler as usize,
        flags: SA_RESTORER | flags,
        restorer: restore_signal as *const () as usize,
        mask: 0,
    };
    let arguments = [usize::from(signal), &raw const action as usize, 0, 8, 0, 0];
    // SAFETY: the record has the kernel's layout, the handler lives as long as the process.
    unsafe { call(number::RT_SIGACTION, arguments) }.map(|_| ())
}

/// Ignores a signal.
pub fn ignore_signal(signal: u8) {
    const SIG_IGN: usize = 1;
    set_disposition(signal, SIG_IGN);
}

/// Restores the default action of a signal.
pub fn default_signal(signal: u8) {
    const SIG_DFL: usize = 0;
    set_disposition(signal, SIG_DFL);
}

fn set_disposition(signal: u8, handler: usize) {
    let action = KernelSigaction { handler, flags: 0, restorer: 0, mask: 0 };
    let arguments = [usize::from(signal), &raw const action as usize, 0, 8, 0, 0];
    // SAFETY: the record has the kernel's layout.
    let _ = unsafe { call(number::RT_SIGACTION, arguments) };
}

/// The restorer that a signal handler returns to (rt_sigreturn).
///
/// # Safety
/// Only the kernel arranges a return here.
#[unsafe(naked)]
unsafe extern "C" fn restore_signal() {
    core::arch::naked_asm!("mov eax, 15", "syscall")
}

// SAFETY: these are libc's declarations.
unsafe extern "C" {
    fn clock_gettime(clock: c_int, time: *mut [i64; 2]) -> c_int;
    fn __errno_location() -> *mut c_int;
}

/// A clock of clock_gettime(2).
#[derive(Clone, Copy)]
pub enum Clock {
    /// The time of day.
    Realtime = 0,
    /// Time that never goes backwards.
    Monotonic = 1,
    /// What all threads of this process have spent on processors.
    ProcessCpu = 2,
}

/// The time in nanoseconds. Goes through libc, which reads it from the vDSO without a system call.
#[inline]
pub fn nanos(clock: Clock) -> u64 {
    let mut time = [0; 2];
    // SAFETY: the record has room for two words. Every libc has this function.
    unsafe { clock_gettime(clock as c_int, &mut time) };
    time[0] as u64 * 1_000_000_000 + time[1] as u64
}

/// The time in microseconds.
#[inline]
pub fn micros(clock: Clock) -> u64 {
    nanos(clock) / 1000
}

/// The address from which this thread's thread-local variables are addressed (the FS base).
#[inline]
pub fn thread_pointer() -> usize {
    let pointer;
    // SAFETY: on x86-64 the first word at the FS base holds its own address.
    unsafe { asm!("mov {}, fs:0", out(reg) pointer, options(pure, readonly, nostack)) };
    pointer
}

/// The processor's time stamp counter.
#[inline]
pub fn ticks() -> u64 {
    // SAFETY: every x86-64 processor has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Sets this thread's `errno`, for callers of libc functions that we replace.
pub fn set_errno(errno: Errno) {
    // SAFETY: the place is this thread's own. Every libc has this function.
    unsafe { *__errno_location() = errno.0 };
}

/// The bytes of a C string, without the NUL; None if the pointer is null.
///
/// # Safety
/// The pointer is null or points to a string that ends with NUL and outlives `'a`.
pub unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a [u8]> {
    // SAFETY: by the caller.
    (!pointer.is_null()).then(|| unsafe { CStr::from_ptr(pointer) }.to_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    use std::ffi::CString;
    use std::sync::atomic::AtomicU32;

    fn temporary(name: &str) -> CString {
        let path = std::env::temp_dir().join(format!("bactrian-os-{}-{name}", std::process::id()));
        let _ = std::fs::remove_file(&path);
        CString::new(path.into_os_string().into_encoded_bytes()).expect("no NUL")
    }

    #[test]
    fn a_file_is_created_once_written_anywhere_and_read_back() {
        let path = temporary("file");
        let fd = create(&path).expect("it can be created");
        assert_eq!(create(&path), Err(Errno::EXIST));
        assert_eq!(write(fd, b"abc"), Ok(3));
        assert_eq!(write_at(fd, b"X", 1), Ok(1));
        let again = reopen(&path).expect("it is there");
        assert_eq!(identity(fd), identity(again));
        let above = duplicate_above(again, 200).expect("there are so many");
        assert!(above.0 >= 200);
        [fd, again, above].into_iter().for_each(close);
        assert_eq!(read_file(&path).as_deref(), Ok(&b"aXc"[..]));
        assert_eq!(map_file(&path), Ok(&b"aXc"[..]));
        assert_eq!(map_shared(&path, 4096), Err(Errno::INVAL));
        std::fs::remove_file(path.to_str().expect("plain")).expect("it was there");
        assert_eq!(open_to_read(&path), Err(Errno::NOENT));
    }

    #[test]
    fn shared_mappings_show_what_others_write() {
        let path = temporary("shared");
        std::fs::write(path.to_str().expect("plain"), vec![0; 4096]).expect("it can be written");
        let [one, other] = [(); 2].map(|()| map_shared(&path, 4096).expect("it is long enough"));
        // SAFETY: that many bytes are mapped.
        unsafe {
            *one.add(7) = 9;
            assert_eq!(*other.add(7), 9);
            unmap(one, 4096);
            unmap(other, 4096);
        }
        std::fs::remove_file(path.to_str().expect("plain")).expect("it was there");
    }

    #[test]
    fn may_reports_access_to_files_and_directories() {
        assert_eq!(may(Access::Read, c"/proc/self/exe"), Ok(()));
        assert_eq!(may(Access::Fill, c"/nonexistent"), Err(Errno::NOENT));
        assert_eq!(may(Access::Read, c"/proc/self/exe/x"), Err(Errno::NOTDIR));
    }

    #[test]
    fn paths_are_made_absolute_once() {
        let here = std::env::current_dir().expect("it is there").join("x");
        assert_eq!(absolute(b"x"), here.as_os_str().as_encoded_bytes());
        assert_eq!(absolute(b"/y/z"), b"/y/z");
    }

    #[test]
    fn limits_are_those_of_the_process() {
        let text = std::fs::read_to_string("/proc/self/limits").expect("it is there");
        let line = text.lines().find(|line| line.starts_with("Max open files")).expect("a limit");
        let soft = line.split_whitespace().nth(3).expect("a number");
        assert_eq!(limit(Resource::Descriptors).now.to_string(), soft);
    }

    #[test]
    fn a_futex_waits_no_longer_than_it_may() {
        let word = AtomicU32::new(0);
        let begin = std::time::Instant::now();
        futex_wait_at_most(&word, 0, core::time::Duration::from_millis(20));
        assert!(begin.elapsed() >= core::time::Duration::from_millis(20));
        futex_wait_at_most(&word, 1, core::time::Duration::from_secs(3600));
    }

    #[test]
    fn a_futex_waits_only_for_the_expected_value_and_is_woken() {
        let word = AtomicU32::new(0);
        futex_wait(&word, 1);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(core::sync::atomic::Ordering::Acquire) == 0 {
                    futex_wait(&word, 0);
                }
            });
            word.store(1, core::sync::atomic::Ordering::Release);
            futex_wake(&word);
        });
    }

    #[test]
    fn clocks_go_forward_and_processes_know_themselves() {
        let start = nanos(Clock::Monotonic);
        assert!(micros(Clock::Realtime) > 1_600_000_000_000_000);
        assert!(nanos(Clock::Monotonic) >= start);
        assert_eq!(process_id().0, std::process::id());
        let pointers =
            [thread_pointer(), std::thread::spawn(thread_pointer).join().expect("it ends")];
        assert_ne!(pointers[0], pointers[1]);
    }
}
