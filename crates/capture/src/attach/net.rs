//! Signal frames that restore a thread if its tracer has died.
//!
//! A thread that does a system call for us has registers that are not its own, and the tracer that should
//! restore them may be killed first. So the thread must be able to do it itself. Before its registers change,
//! we write frames like those that the kernel makes for signals: below the thread's stack pointer (and below
//! the red zone, which belongs to its code), where nobody looks. Addresses grow upwards:
//!
//! ```text
//!     reap    `wait4` for the child that the injected call created; then `back`
//!     back    the thread as it was: registers, vector registers, signal mask
//!     end     for a copy of the process: `exit_group`
//!     copy    for a helper that shares the memory: `clone`, by which it makes the copy; then `quit`
//!     quit    the helper's end
//!     vectors the vector registers, for all of them
//! ```
//!
//! Then a single change of registers puts the thread before `syscall; ret` with its stack pointer at `reap`.
//! Each frame begins with the address of the restorer, the code to which signal handlers return, so `ret`
//! leads to `rt_sigreturn`, which loads the frame. Before this change the thread is as it was; after it, the
//! thread restores itself, whatever happens to us. `clone` itself writes the id of the child, as the program
//! sees it, into `reap`.
//!
//! The lowest frame is used first: a signal that arrives in between has its own frame below, and does not
//! overwrite any that is still needed.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::gadgets::Gadgets;
use super::sys::{self, Registers, Tid};
use crate::memory::Region;

/// The bytes below its stack pointer that a thread's code may use without adjusting it.
const RED_ZONE: u64 = 128;
/// Bytes that must be free below a thread's stack pointer. Most of it is for the vector registers.
const ROOM: u64 = 20 << 10;
/// The mask that blocks all signals.
pub const ALL: u64 = u64::MAX;
/// A process id that no process has: `wait4` for it fails at once.
const NOBODY: u32 = 0x7fff_ffff;
/// The system call that stands for an interrupted one that is resumed.
const RESTART: i64 = libc::SYS_restart_syscall;
/// The values of `rax` that make the kernel restart an interrupted system call. Programs never see them.
const RESTARTS: [i64; 3] = [-512, -513, -514];
/// The same for calls that are resumed with the remaining time.
const RESTART_BLOCK: i64 = -516;
const TRAP_FLAG: u64 = 0x100;
const DIRECTION_FLAG: u64 = 0x400;

/// What `rt_sigreturn` reads, in words: the return address of the handler, `ucontext`, the signal mask.
type Frame = [u64; 39];
const FRAME: u64 = size_of::<Frame>() as u64;
/// Word offsets within a frame.
const RDI: u64 = 14;
const SPARE: u64 = 30;

/// Frames below the stack of a stopped thread.
pub struct Net {
    /// The registers of the thread when it was stopped.
    pub saved: Registers,
    /// Its signal mask.
    pub mask: u64,
    /// Whether the net restores exactly that state. If a system call was interrupted, the net restarts it
    /// from the beginning; the kernel knows better how much time is left, and whether a signal has arrived
    /// for which it should be given up.
    pub is_exact: bool,
    gadgets: Gadgets,
    reap: u64,
}

impl Net {
    /// Writes the frames. The thread is not affected: it can continue as if nothing had happened.
    pub fn spread(tid: Tid, memory: &File, gadgets: Gadgets, vectors: &Vectors) -> io::Result<Net> {
        let saved = sys::registers(tid)?;
        let mask = sys::signal_mask(tid)?;
        let state = vectors.as_in_signal_frame(sys::vector_registers(tid)?)?;
        let below = saved.rsp.checked_sub(RED_ZONE + state.len() as u64);
        let at = below.map_or(0, |below| below & !63);
        let reap = at.saturating_sub(5 * FRAME);
        if saved.rsp.saturating_sub(reap) > ROOM {
            return Err(io::Error::other("its registers take more space than expected"));
        }
        let resumed = resumed(&saved, memory);
        let is_exact = resumed.rip == saved.rip && resumed.rax == saved.rax;
        let net = Net { saved, mask, is_exact, gadgets, reap };
        let frame = |registers, mask, vectors| frame(gadgets.restorer, registers, mask, vectors);
        let wait = net.reap(NOBODY);
        let exit = net.before_call(libc::SYS_exit_group, [0; 6], net.end());
        let clone = net.before_call(libc::SYS_clone, [0, net.end(), 0, 0, 0, 0], net.quit());
        // A frame without vector registers would clear them.
        let frames = [
            frame(&wait, ALL, at),
            frame(&resumed, mask, at),
            frame(&exit, ALL, 0),
            frame(&clone, ALL, at),
            frame(&exit, ALL, 0),
        ];
        let mut bytes: Vec<u8> =
            frames.as_flattened().iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(state);
        memory.write_all_at(&bytes, reap)?;
        Ok(net)
    }

    /// The registers for a system call of the thread, after which the frames restore it.
    pub fn call(&self, number: i64, arguments: [u64; 6]) -> Registers {
        self.before_call(number, arguments, self.reap)
    }

    /// The registers for reaping a child, after which the thread is restored.
    pub fn reap(&self, child: u32) -> Registers {
        let options = u64::from(libc::__WALL.cast_unsigned());
        self.before_call(libc::SYS_wait4, [u64::from(child), 0, options, 0, 0, 0], self.back())
    }

    /// The address at which `clone` must store the id of the child to reap.
    pub fn child(&self) -> u64 {
        self.reap + 8 * RDI
    }

    /// The address of an unused word, 0 at first.
    pub fn spare(&self) -> u64 {
        self.reap + 8 * SPARE
    }

    /// The stack pointer for a copy: it exits.
    pub fn end(&self) -> u64 {
        self.back() + FRAME
    }

    /// The stack pointer for a helper: it makes the copy and exits.
    pub fn copy(&self) -> u64 {
        self.end() + FRAME
    }

    fn back(&self) -> u64 {
        self.reap + FRAME
    }

    fn quit(&self) -> u64 {
        self.copy() + FRAME
    }

    fn before_call(
        &self,
        number: i64,
        [rdi, rsi, rdx, r10, r8, r9]: [u64; 6],
        rsp: u64,
    ) -> Registers {
        // -1 means that no system call is in progress, so that the kernel restarts none.
        let (rax, orig_rax) = (number.cast_unsigned(), u64::MAX);
        let (rip, eflags) = (self.gadgets.call, self.saved.eflags & !(TRAP_FLAG | DIRECTION_FLAG));
        Registers { rip, rsp, eflags, rax, orig_rax, rdi, rsi, rdx, r10, r8, r9, ..self.saved }
    }
}

/// Whether frames can be written below a thread's stack pointer: the stack must be one that the kernel or the
/// thread library made, with enough room. Fibers of OCaml 5 and alternate signal stacks are small.
pub fn has_room(regions: &[Region], registers: &Registers) -> bool {
    let rsp = registers.rsp;
    let Some(region) = regions.iter().find(|region| region.range.contains(&rsp)) else {
        return false;
    };
    let is_first = region.file.as_ref().is_some_and(|file| file.as_os_str() == "[stack]");
    // Thread libraries keep the thread control block above the stack, in the same mapping.
    let thread = registers.fs_base;
    let is_threads = rsp < thread
        && region.range.contains(&thread)
        && rsp.saturating_sub(region.range.start) >= ROOM;
    // The main stack grows.
    region.writable && (is_first || is_threads)
}

/// The state from which the thread continues by itself. `rt_sigreturn` does not restart system calls, so we
/// do here what the kernel would do: put the thread before its `syscall` again.
fn resumed(saved: &Registers, memory: &File) -> Registers {
    let number = saved.orig_rax.cast_signed();
    let result = saved.rax.cast_signed();
    if number < 0 {
        return *saved;
    }
    if RESTARTS.contains(&result) {
        return begun_again(saved, saved.orig_rax);
    }
    if result == -i64::from(libc::EINTR) && is_given_up_for_stops(number) {
        return begun_again(saved, saved.orig_rax);
    }
    if result != RESTART_BLOCK {
        return *saved;
    }
    // If it was interrupted before, only its code says which call it was.
    let known = if number == RESTART { number_in_code(saved, memory) } else { Some(number) };
    let Some(number) = known else {
        return Registers { rax: (-i64::from(libc::EINTR)).cast_unsigned(), ..*saved };
    };
    let mut again = begun_again(saved, number.cast_unsigned());
    // These calls have stored the remaining time at the address given to them.
    match number {
        libc::SYS_nanosleep if saved.rsi != 0 => again.rdi = saved.rsi,
        libc::SYS_clock_nanosleep if saved.r10 != 0 && saved.rsi & 1 == 0 => again.rdx = saved.r10,
        _ => {}
    }
    again
}

fn begun_again(saved: &Registers, number: u64) -> Registers {
    Registers { rax: number, rip: saved.rip.wrapping_sub(2), orig_rax: u64::MAX, ..*saved }
}

/// The number in `mov $number, %eax; syscall`, behind which the thread is stopped.
fn number_in_code(saved: &Registers, memory: &File) -> Option<i64> {
    let mut code = [0; 7];
    memory.read_exact_at(&mut code, saved.rip.wrapping_sub(7)).ok()?;
    match code {
        [0xb8, a, b, c, d, 0x0f, 0x05] => Some(i64::from(u32::from_le_bytes([a, b, c, d]))),
        _ => None,
    }
}

/// Whether the kernel fails this system call with EINTR, instead of restarting it, when a thread is stopped.
pub fn is_given_up_for_stops(number: i64) -> bool {
    matches!(
        number,
        libc::SYS_epoll_wait
            | libc::SYS_epoll_pwait
            | libc::SYS_epoll_pwait2
            | libc::SYS_rt_sigtimedwait
            | libc::SYS_semop
            | libc::SYS_semtimedop
            | libc::SYS_io_getevents
    )
}

/// The kernel's `struct rt_sigframe`, as far as `rt_sigreturn` reads it.
fn frame(restorer: u64, registers: &Registers, mask: u64, vectors: u64) -> Frame {
    // The frame has vector registers in XSAVE format; `ss` is given, and must be used as it is.
    let flags = 1 | 2 | 4;
    // An invalid mode: the alternate stack stays as it is.
    let stack_flags = 0x7f;
    let r = registers;
    let segments = r.cs & 0xffff | (r.ss & 0xffff) << 48;
    let mut frame = [0; 39];
    frame[0] = restorer;
    frame[1] = flags;
    frame[4] = stack_flags;
    frame[6..14].copy_from_slice(&[r.r8, r.r9, r.r10, r.r11, r.r12, r.r13, r.r14, r.r15]);
    frame[14..20].copy_from_slice(&[r.rdi, r.rsi, r.rbp, r.rbx, r.rdx, r.rax]);
    frame[20..25].copy_from_slice(&[r.rcx, r.rsp, r.rip, r.eflags, segments]);
    frame[29] = vectors;
    frame[38] = mask;
    frame
}

/// How this processor lays out vector registers. Determined before anything is stopped: `cpuid` is slow in
/// virtual machines.
#[derive(Clone, Copy)]
pub struct Vectors {
    /// The end offset of each feature's state.
    ends: [u32; 64],
}

/// The part that every processor has: x87 and SSE, and the header of the rest.
const LEGACY: u32 = 576;
/// The software-reserved bytes of that part, which the kernel fills in signal frames.
const SOFTWARE: std::ops::Range<usize> = 464..512;
/// The bits of the features in use.
const IN_USE: std::ops::Range<usize> = 512..520;
/// The tile registers of AMX, which only threads have that asked for them.
const TILES: u64 = 1 << 18;
const FIRST_MAGIC: u32 = 0x4650_5853;
const SECOND_MAGIC: u32 = 0x4650_5845;

impl Vectors {
    pub fn of_this_processor() -> Vectors {
        Vectors { ends: sys::ends_of_vector_registers() }
    }

    /// Converts what ptrace returns into what the kernel writes into a signal frame.
    fn as_in_signal_frame(&self, mut state: Vec<u8>) -> io::Result<Vec<u8>> {
        let word = |range: std::ops::Range<usize>| {
            let bytes = state.get(range)?.first_chunk::<8>()?;
            Some(u64::from_le_bytes(*bytes))
        };
        // For debuggers, ptrace puts the features of the processor here.
        let (Some(all), Some(in_use)) = (word(SOFTWARE.start..SOFTWARE.start + 8), word(IN_USE))
        else {
            return Err(io::Error::other("its vector registers are not as expected"));
        };
        let features = if in_use & TILES == 0 { all & !TILES } else { all };
        let end_of = |features: u64| {
            let ends = (2..63).filter(|bit| features >> bit & 1 == 1).map(|bit| self.ends[bit]);
            ends.fold(LEGACY, u32::max)
        };
        let size = end_of(features);
        // If the thread may use tiles but does not, the second magic is expected elsewhere.
        let whole = end_of(all).min(u32::try_from(state.len()).unwrap_or(u32::MAX)).max(size);
        state.resize(whole as usize + 4, 0);
        state[SOFTWARE].fill(0);
        let mut put = |at: usize, bytes: &[u8]| state[at..at + bytes.len()].copy_from_slice(bytes);
        put(SOFTWARE.start, &FIRST_MAGIC.to_le_bytes());
        put(SOFTWARE.start + 4, &(size + 4).to_le_bytes());
        put(SOFTWARE.start + 8, &features.to_le_bytes());
        put(SOFTWARE.start + 16, &size.to_le_bytes());
        put(whole as usize, &SECOND_MAGIC.to_le_bytes());
        put(size as usize, &SECOND_MAGIC.to_le_bytes());
        Ok(state)
    }
}
