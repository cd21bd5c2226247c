//! Placing the agent in a running process: the process is made to map memory, and the agent is written there
//! from outside.

use std::io;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use bactrian_agent_abi::control::MAGIC;

use super::gadgets::Gadgets;
use super::implant::Implant;
use super::inject::Lent;
use super::linker_tables::{LinkerTables, OBJECTS};
use super::net::Vectors;
use super::refusal::{Cause, Refusal};
use super::tracee::Tracee;
use super::tracer::may_inject;
use crate::heap::target::Target;
use crate::memory::{Memory, ProcessMemory};

const PAGE: u64 = 4096;
const BREATH: Duration = Duration::from_millis(1);
/// How long threads may take to leave signal handlers that run on small alternate stacks.
const PATIENCE: Duration = Duration::from_secs(2);

/// What it takes to make a thread do system calls.
pub struct Means {
    pub gadgets: Gadgets,
    pub vectors: Vectors,
}

/// The address of an agent of ours that an earlier recording has left.
pub fn find_earlier(memory: &ProcessMemory, implant: &Implant<'_>) -> Result<Option<u64>, Refusal> {
    let starts = memory.regions().iter().filter(|region| region.readable && region.file.is_none());
    for region in starts {
        let start = region.range.start;
        if memory.word(start) == Some(MAGIC) {
            if memory.word(start + 8) != Some(implant.number()) {
                let reason = "another version of Bactrian recorded it before";
                return Err(Refusal::new(Cause::Unknown, reason, "Use that version"));
            }
            return Ok(Some(start + PAGE));
        }
    }
    Ok(None)
}

/// Makes the process map memory for the agent; returns the address of its first page, which is preceded by a
/// page of ours.
pub fn map(tracee: &mut Tracee, means: &Means, length: u64) -> Result<u64, Refusal> {
    let rights = u64::from((libc::PROT_READ | libc::PROT_WRITE).unsigned_abs());
    let kind = u64::from((libc::MAP_PRIVATE | libc::MAP_ANONYMOUS).unsigned_abs());
    let length = length + PAGE;
    let start = system_call(tracee, means, libc::SYS_mmap, [0, length, rights, kind, u64::MAX, 0])?;
    Ok(start + PAGE)
}

/// The agent prepared for a program, not yet at an address.
pub struct Made<'a> {
    implant: &'a Implant<'a>,
    target: &'a Target,
    /// Tables for what the program cannot report itself.
    told: Option<LinkerTables<'a>>,
}

impl<'a> Made<'a> {
    /// # Errors
    /// If the program's libc lacks what the agent needs.
    pub fn of(implant: &'a Implant<'a>, target: &'a Target) -> Result<Made<'a>, Refusal> {
        let told = LinkerTables::of(target);
        let made = Made { implant, target, told };
        made.placed_at(0)?;
        Ok(made)
    }

    fn placed_at(&self, base: u64) -> Result<Vec<u8>, Refusal> {
        let find = |name: &str| {
            if name == OBJECTS && self.told.is_some() {
                return None;
            }
            let mut objects = self.target.objects.iter();
            objects.find_map(|object| object.symbols.find(name)).map(|symbol| symbol.address)
        };
        let mut image = self.implant.placed_at(base, find).map_err(Refusal::late)?;
        if let Some(told) = &self.told {
            let place =
                self.implant.tables_pointer as usize..self.implant.tables_pointer as usize + 8;
            let at = base + image.len() as u64;
            let outside = || Refusal::late("a part of the agent is outside its image");
            image.get_mut(place).ok_or_else(outside)?.copy_from_slice(&at.to_le_bytes());
            image.extend(told.placed_at(at));
        }
        Ok(image)
    }

    /// Its size in memory, in bytes.
    pub fn length(&self) -> u64 {
        let told = self.told.as_ref().map_or(0, LinkerTables::length);
        (self.implant.length() + told).next_multiple_of(PAGE)
    }

    /// Writes it to memory that was mapped for it.
    pub fn write(&self, tracee: &Tracee, base: u64) -> Result<(), Refusal> {
        // The mapping already consists of zeros.
        for (at, page) in self.placed_at(base)?.chunks(PAGE as usize).enumerate() {
            if page.iter().any(|byte| *byte != 0) {
                let written = tracee.memory.write_all_at(page, base + at as u64 * PAGE);
                written.map_err(|error| Refusal::failed("writing the agent", &error))?;
            }
        }
        Ok(())
    }
}

/// Makes the agent's code executable.
pub fn protect(
    tracee: &mut Tracee,
    means: &Means,
    base: u64,
    implant: &Implant<'_>,
) -> Result<(), Refusal> {
    let only_read = u64::from(libc::PROT_READ.unsigned_abs());
    system_call(tracee, means, libc::SYS_mprotect, [base - PAGE, PAGE, only_read, 0, 0, 0])?;
    for part in implant.rights() {
        let length = part.pages.end - part.pages.start;
        let call = [base + part.pages.start, length, part.rights, 0, 0, 0];
        system_call(tracee, means, libc::SYS_mprotect, call)?;
    }
    Ok(())
}

/// Marks the agent as present, once it is complete.
pub fn sign(tracee: &Tracee, base: u64, implant: &Implant<'_>) -> Result<(), Refusal> {
    let mut page = MAGIC.to_le_bytes().to_vec();
    page.extend(implant.number().to_le_bytes());
    let written = tracee.memory.write_all_at(&page, base - PAGE);
    written.map_err(|error| Refusal::failed("writing the agent", &error))
}

/// Makes a thread of the process do a system call.
fn system_call(
    tracee: &mut Tracee,
    means: &Means,
    number: i64,
    arguments: [u64; 6],
) -> Result<u64, Refusal> {
    let failed = |error: io::Error| Refusal::failed("making it map memory", &error);
    let until = Instant::now() + PATIENCE;
    loop {
        let memory = ProcessMemory::open(tracee.pid).map_err(failed)?;
        if let Some(tid) = tracee.any_with_room(memory.regions()) {
            // Each thread has its own seccomp filters.
            may_inject(&format!("{}/task/{tid}", tracee.pid)).map_err(Refusal::late)?;
            let mut lent =
                Lent::new(tid, &tracee.memory, means.gadgets, &means.vectors).map_err(failed)?;
            let outcome = lent.call(number, arguments).map_err(failed);
            lent.give_back().map_err(failed)?;
            let result = outcome?.result;
            let is_error = (-4095..0).contains(&result);
            return match is_error {
                true => {
                    Err(failed(io::Error::from_raw_os_error(i32::try_from(-result).unwrap_or(0))))
                }
                false => Ok(result.cast_unsigned()),
            };
        }
        if Instant::now() > until {
            return Err(Refusal::late("none of its threads has enough stack space"));
        }
        // They are in signal handlers that run on small alternate stacks.
        tracee.resume(true)?;
        tracee.let_run(BREATH)?;
        tracee.stop()?;
    }
}
