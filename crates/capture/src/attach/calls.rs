//! Function calls in a copy. The copy is ours: whatever goes wrong in it does not affect the program.

use std::io;
use std::time::{Duration, Instant};

use super::inject::system_call;
use super::sys::{self, Registers, ResumeMode, Seen, Tid};
use crate::heap::roots::Slot;
use crate::memory::{Memory, ProcessMemory};

/// The time limit of one call.
const PATIENCE: Duration = Duration::from_secs(5);
const NAP: Duration = Duration::from_micros(20);
/// Sizes of what is mapped into the copy: the stack, a page for the two words of the cell, and the buffer of
/// reports.
const STACK: u64 = 256 << 10;
const CELL: u64 = 4096;
const BUFFER: u64 = 1 << 20;
const PAGE: u64 = 4096;
/// The size of a report: a value and its address.
const REPORT: u64 = 16;
/// More reports than this are an error.
const MOST_REPORTS: usize = 16 << 20;

/// How functions call the action to report a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Convention {
    /// OCaml 4: `action(value, slot)`.
    ValueSlot,
    /// OCaml 5: `action(data, value, slot)`.
    DataValueSlot,
}

/// A copy in which functions can be called.
pub struct Caller {
    tid: Tid,
    instruction: u64,
    memory: ProcessMemory,
    saved: Registers,
    code: u64,
    data: u64,
}

impl Caller {
    pub fn new(tid: Tid, instruction: u64) -> io::Result<Caller> {
        let memory = ProcessMemory::open(tid.unsigned_abs())?;
        let map = |length: u64, rights: i32| {
            let rights = u64::from(rights.unsigned_abs());
            let kind = u64::from((libc::MAP_PRIVATE | libc::MAP_ANONYMOUS).unsigned_abs());
            let call = [0, length, rights, kind, u64::MAX, 0];
            match system_call(tid, instruction, libc::SYS_mmap, call)?.result {
                address @ 1.. => Ok(address.cast_unsigned()),
                error => Err(io::Error::from_raw_os_error(i32::try_from(-error).unwrap_or(0))),
            }
        };
        let code = map(PAGE, libc::PROT_READ | libc::PROT_EXEC)?;
        let data = map(STACK + CELL + BUFFER, libc::PROT_READ | libc::PROT_WRITE)?;
        let saved = sys::registers(tid)?;
        Ok(Caller { tid, instruction, memory, saved, code, data })
    }

    /// The memory of the copy.
    pub fn memory(&self) -> &ProcessMemory {
        &self.memory
    }

    /// The thread pointer (FS base) of the copy.
    pub fn thread_pointer(&self) -> u64 {
        self.saved.fs_base
    }

    /// Calls a function.
    pub fn call(&mut self, function: u64, arguments: &[u64]) -> io::Result<()> {
        self.list(function, Convention::ValueSlot, |_| arguments.to_vec(), &mut Vec::new())
    }

    /// Calls a function that reports to an action, whose address is passed to `arguments`.
    pub fn list(
        &mut self,
        function: u64,
        convention: Convention,
        arguments: impl FnOnce(u64) -> Vec<u64>,
        reports: &mut Vec<Slot>,
    ) -> io::Result<()> {
        let action = Action::new(convention, self.cell());
        self.write(self.code, &action.bytes)?;
        self.empty()?;
        let top = self.data + STACK - 16;
        // The function's stack begins with its return address.
        let rsp = top - 8;
        sys::write_word(self.tid, rsp, self.code + action.end)?;
        let mut given = arguments(self.code);
        given.resize(6, 0);
        let mut registers = self.saved;
        (registers.rip, registers.rsp, registers.orig_rax) = (function, rsp, u64::MAX);
        (registers.rdi, registers.rsi, registers.rdx) = (given[0], given[1], given[2]);
        (registers.rcx, registers.r8, registers.r9) = (given[3], given[4], given[5]);
        (registers.rax, registers.rbp) = (0, 0);
        sys::set_registers(self.tid, &registers)?;
        let until = Instant::now() + PATIENCE;
        loop {
            sys::resume(self.tid, ResumeMode::Freely, 0)?;
            let (signal, event) = self.next_stop(until)?;
            let at = sys::registers(self.tid)?.rip.wrapping_sub(1).wrapping_sub(self.code);
            match (signal, event) {
                (libc::SIGTRAP, 0) if at == action.end => return self.drain(reports),
                (libc::SIGTRAP, 0) if at == action.full => self.drain(reports)?,
                (_, libc::PTRACE_EVENT_STOP) => {}
                (signal, _) => {
                    return Err(io::Error::other(format!("it ended by signal {signal}")));
                }
            }
        }
    }

    /// The address of two words: where the next report goes, and where the buffer ends.
    fn cell(&self) -> u64 {
        self.data + STACK
    }

    fn buffer(&self) -> u64 {
        self.cell() + CELL
    }

    fn empty(&self) -> io::Result<()> {
        sys::write_word(self.tid, self.cell(), self.buffer())?;
        sys::write_word(self.tid, self.cell() + 8, self.buffer() + BUFFER)
    }

    /// Moves the reports out of the buffer.
    fn drain(&mut self, reports: &mut Vec<Slot>) -> io::Result<()> {
        let bad = || io::Error::other("its memory has an unexpected layout");
        let next = self.memory.word(self.cell()).ok_or_else(bad)?;
        let length = next.wrapping_sub(self.buffer());
        if length > BUFFER || length % REPORT != 0 {
            return Err(bad());
        }
        let mut bytes = vec![0; usize::try_from(length).map_err(|_| bad())?];
        if !self.memory.read(self.buffer(), &mut bytes) {
            return Err(bad());
        }
        let reported = bytes.as_chunks::<8>().0.as_chunks::<2>().0.iter();
        reports.extend(reported.map(|[value, slot]| Slot {
            value: u64::from_le_bytes(*value),
            slot: u64::from_le_bytes(*slot),
        }));
        if reports.len() > MOST_REPORTS {
            return Err(io::Error::other("there are too many"));
        }
        self.empty()
    }

    fn next_stop(&self, until: Instant) -> io::Result<(i32, i32)> {
        let mut asked = false;
        loop {
            match sys::seen(self.tid, true)? {
                Some(Seen::Stopped { event: libc::PTRACE_EVENT_STOP, .. }) if asked => {
                    return Err(io::Error::other("it does not end"));
                }
                Some(Seen::Stopped { signal, event }) => return Ok((signal, event)),
                Some(Seen::Ended) => return Err(io::Error::from_raw_os_error(libc::ESRCH)),
                None => std::thread::sleep(NAP),
            }
            if Instant::now() > until && !asked {
                sys::interrupt(self.tid)?;
                asked = true;
            }
        }
    }

    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()> {
        for (at, piece) in bytes.chunks(8).enumerate() {
            let mut word = [0; 8];
            word[..piece.len()].copy_from_slice(piece);
            sys::write_word(self.tid, address + 8 * at as u64, u64::from_le_bytes(word))?;
        }
        Ok(())
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        // The copy should look like the program as far as possible. It is stopped even if the last call has
        // failed.
        if sys::set_registers(self.tid, &self.saved).is_ok() {
            for (address, length) in [(self.code, PAGE), (self.data, STACK + CELL + BUFFER)] {
                let call = [address, length, 0, 0, 0, 0];
                let _ = system_call(self.tid, self.instruction, libc::SYS_munmap, call);
            }
        }
    }
}

/// Machine code that stores what is reported to it.
struct Action {
    bytes: Vec<u8>,
    /// Offset of the int3 that is reached when the buffer is full.
    full: u64,
    /// Offset of the int3 to which functions return.
    end: u64,
}

impl Action {
    fn new(convention: Convention, cell: u64) -> Action {
        let mut bytes = match convention {
            // mov rax, rdi; mov rdx, rsi
            Convention::ValueSlot => vec![0x48, 0x89, 0xf8, 0x48, 0x89, 0xf2],
            // mov rax, rsi; the slot is in rdx
            Convention::DataValueSlot => vec![0x48, 0x89, 0xf0],
        };
        // mov r8, cell
        bytes.extend([0x49, 0xb8]);
        bytes.extend(cell.to_le_bytes());
        // again: mov r9, [r8]; cmp r9, [r8 + 8]; jb store
        bytes.extend([0x4d, 0x8b, 0x08, 0x4d, 0x3b, 0x48, 0x08, 0x72, 0x03]);
        let full = bytes.len() as u64;
        // int3; jmp again
        bytes.extend([0xcc, 0xeb, 0xf4]);
        // store: mov [r9], rax; mov [r9 + 8], rdx; add r9, 16; mov [r8], r9; ret
        bytes.extend([0x49, 0x89, 0x01, 0x49, 0x89, 0x51, 0x08]);
        bytes.extend([0x49, 0x83, 0xc1, 0x10, 0x4d, 0x89, 0x08, 0xc3]);
        let end = bytes.len() as u64;
        bytes.push(0xcc);
        Action { bytes, full, end }
    }
}
