//! The notes of a core file: what the kernel, or gcore, records about the process besides its memory.

use crate::elf::{word, word32};
use std::ffi::OsStr;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

use crate::heap::target::Thread;

const PRSTATUS: u32 = 1;
const PROCESS: u32 = 3;
const AUXILIARY: u32 = 6;
const FILES: u32 = 0x4649_4c45;

/// Word offsets in `struct user_regs_struct`.
const RIP: usize = 16;
const RSP: usize = 19;
const FS_BASE: usize = 21;
const ORIG_RAX: usize = 15;
/// Byte offsets of a thread's id and registers in its note.
const THREAD_ID_AT: usize = 32;
const REGISTERS_AT: usize = 112;
/// Byte offset of the process id in the process's note.
const PROCESS_ID_AT: usize = 24;

/// Keys of the auxiliary vector.
const PROGRAM_HEADERS: u64 = 3;

/// The contents of the notes.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// Threads, starting with the one that crashed.
    pub threads: Vec<Thread>,
    /// The system calls that those threads are in.
    pub calls: Vec<Option<u64>>,
    /// The process id.
    pub pid: Option<u32>,
    /// Files that were mapped.
    pub files: Vec<Mapped>,
    /// The address of the executable's program headers.
    pub program_headers: Option<u64>,
    /// Notes that exist but cannot be read.
    pub damage: Vec<&'static str>,
}

/// A file that was mapped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapped {
    pub range: Range<u64>,
    pub offset: u64,
    pub path: PathBuf,
}

impl Notes {
    /// Reads a segment of notes.
    pub fn add(&mut self, bytes: &[u8]) {
        let mut at = 0;
        while let Some(header) = bytes.get(at..at + 12) {
            let (Some(name), Some(length), Some(kind)) =
                (word32(header, 0), word32(header, 4), word32(header, 8))
            else {
                return;
            };
            let padded = |length: u32| (length as usize).next_multiple_of(4);
            let name_at = at + 12;
            let content_at = name_at + padded(name);
            let owner = bytes.get(name_at..name_at + name as usize);
            let Some(content) = bytes.get(content_at..content_at + length as usize) else {
                self.damage.push("the notes are truncated");
                return;
            };
            if owner.is_some_and(|owner| owner.starts_with(b"CORE")) {
                self.note(kind, content);
            }
            at = content_at + padded(length);
        }
    }

    fn note(&mut self, kind: u32, content: &[u8]) {
        match kind {
            PRSTATUS => match thread(content) {
                Some((thread, call)) => {
                    self.threads.push(thread);
                    self.calls.push(call);
                }
                None => self.damage.push("a thread's registers are truncated"),
            },
            PROCESS => self.pid = word32(content, PROCESS_ID_AT),
            AUXILIARY => {
                for [kind, value] in words(content).as_chunks::<2>().0 {
                    if *kind == PROGRAM_HEADERS {
                        self.program_headers = Some(*value);
                    }
                }
            }
            FILES => match files(content) {
                Some(files) => self.files.extend(files),
                None => self.damage.push("the list of mapped files is damaged"),
            },
            _ => {}
        }
    }
}

fn thread(content: &[u8]) -> Option<(Thread, Option<u64>)> {
    let registers = words(content.get(REGISTERS_AT..)?);
    let register = |word: usize| registers.get(word).copied();
    let thread = Thread {
        id: word32(content, THREAD_ID_AT)?,
        thread_pointer: register(FS_BASE)?,
        stack_pointer: register(RSP)?,
        instruction: register(RIP)?,
    };
    Some((thread, register(ORIG_RAX).filter(|call| call.cast_signed() >= 0)))
}

/// Parses the list of files: their number, the unit of offsets, then start, end and offset of each, followed
/// by their names.
fn files(content: &[u8]) -> Option<Vec<Mapped>> {
    let (count, unit) = (word(content, 0)?, word(content, 8)?);
    let count = usize::try_from(count).ok()?;
    let names_at = count.checked_mul(24)?.checked_add(16)?;
    let entries = content.get(16..names_at)?;
    let mut names = content.get(names_at..)?.split(|&byte| byte == 0);
    let mut files = Vec::new();
    for [start, end, offset] in words(entries).as_chunks::<3>().0 {
        let path = PathBuf::from(OsStr::from_bytes(names.next()?));
        files.push(Mapped { range: *start..*end, offset: offset.checked_mul(unit)?, path });
    }
    Some(files)
}

fn words(bytes: &[u8]) -> Vec<u64> {
    bytes.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
}
