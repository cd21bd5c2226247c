//! Making the program copy itself.
//!
//! The copy must not be the program's child: it would stay as a zombie among its children until we stop the
//! program once more to make it reap the copy, and forever if we are killed before. So the program creates a
//! *helper* that shares its memory, as `vfork` does, and waits for its end; the helper makes the copy and
//! exits; the program reaps the helper. The copy is then adopted by the first process of the machine or
//! container, like every orphan.
//!
//! A program that adopts orphans (as process 1 of a container, or by `PR_SET_CHILD_SUBREAPER`) would adopt
//! the copy, and see a child that it did not start. Such a program makes the copy itself: `wait` does not
//! report such a child, but it stays as a zombie until [`ProcessCopy::reap`].
//!
//! None of them has an exit signal. Any of them that is left alone by our death exits by itself, through the
//! frames of [`super::net`].

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use super::gadgets::Gadgets;
use super::inject::{self, Lent};
use super::net::Vectors;
use super::sys::{self, Tid};
use super::tracee::Tracee;
use crate::memory::{Memory, ProcessMemory};

/// What the helper shares with the program: everything, but it is not one of its threads.
const HELPER: i32 = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::CLONE_FS;
const NUMBER_OF_CHILD: i32 = libc::CLONE_PARENT_SETTID;

/// The result that is assumed for a helper that ended without a copy: the usual error.
const NOT_COPIED: i64 = -(libc::EAGAIN as i64);
/// How long we wait until the program has reaped a helper. Mostly it has, while we read the copy.
const HELPER_ENDS: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_micros(200);
/// How often the program is stopped to make it reap its copy.
const TRIES: usize = 100;
const BREATH: Duration = Duration::from_millis(1);

/// What it takes to make a program do system calls.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    pub gadgets: Gadgets,
    pub vectors: &'a Vectors,
}

/// A copy of the program, which is about to stop.
pub struct ProcessCopy {
    pub tid: Tid,
    from: Maker,
}

/// The process that made the copy.
enum Maker {
    /// The program, to which the copy has this id.
    Program(u64),
    /// A helper.
    Helper(Tid),
}

impl ProcessCopy {
    /// Makes a stopped thread of the program copy it; then the thread may continue. On failure, returns the
    /// reason, and the thread stays stopped.
    pub fn make(
        tid: Tid,
        memory: &File,
        means: Means<'_>,
        is_first_process: bool,
    ) -> Result<ProcessCopy, String> {
        let failed = |error: io::Error| format!("it could not be made to copy itself: {error}");
        let mut lent = Lent::new(tid, memory, means.gadgets, means.vectors).map_err(failed)?;
        let made = match is_first_process || adopts_orphans(&mut lent, memory) {
            true => child(&mut lent),
            false => grandchild(&mut lent, memory),
        };
        // Even after an error.
        lent.give_back().map_err(failed)?;
        made.map_err(failed)?.map_err(|error| {
            let error = i32::try_from(-error).unwrap_or(libc::EINVAL);
            format!("the kernel did not copy it: {}", io::Error::from_raw_os_error(error))
        })
    }

    /// Makes sure that the program has no child of ours left: makes it reap its copy, or waits until it has
    /// reaped the helper.
    pub fn reap(&self, pid: u32, means: Means<'_>) {
        let child = match self.from {
            Maker::Program(child) => child,
            Maker::Helper(helper) => {
                let until = Instant::now() + HELPER_ENDS;
                while Instant::now() < until
                    && fs::exists(format!("/proc/{helper}")).unwrap_or(false)
                {
                    sleep(NAP);
                }
                return;
            }
        };
        // The process may have ended; then its copy has another parent, which reaps it. A pending signal is
        // ignored here, since we are about to end anyway.
        let Ok(mut tracee) = Tracee::seize_one(pid, Arc::default()) else { return };
        for _ in 0..TRIES {
            if tracee.stop().is_err() {
                return;
            }
            let Ok(memory) = ProcessMemory::open(pid) else { return };
            if let Some(tid) = tracee.any_with_room(memory.regions())
                && let Ok(mut lent) = Lent::new(tid, &tracee.memory, means.gadgets, means.vectors)
            {
                let options = u64::from((libc::__WALL | libc::WNOHANG).cast_unsigned());
                let _ = lent.call(libc::SYS_wait4, [child, 0, options, 0, 0, 0]);
                break;
            }
            // It is in a signal handler that runs on a small alternate stack.
            if tracee.resume(true).and_then(|()| tracee.let_run(BREATH)).is_err() {
                return;
            }
        }
    }
}

/// Whether a process has asked to adopt its descendants' orphans. Only the process itself can tell.
fn adopts_orphans(lent: &mut Lent, memory: &File) -> bool {
    let answer = lent.net().spare();
    let question = u64::from(libc::PR_GET_CHILD_SUBREAPER.unsigned_abs());
    let asked = lent.call(libc::SYS_prctl, [question, answer, 0, 0, 0, 0]);
    let mut word = [0; 4];
    let told = memory.read_exact_at(&mut word, answer);
    asked.is_ok_and(|outcome| outcome.result == 0) && told.is_ok() && word != [0; 4]
}

/// Makes the copy as the program's child.
fn child(lent: &mut Lent) -> io::Result<Result<ProcessCopy, i64>> {
    let (stack, number) = (lent.net().end(), lent.net().child());
    let flags = u64::from(NUMBER_OF_CHILD.unsigned_abs());
    let outcome = lent.call(libc::SYS_clone, [flags, stack, number, 0, 0, 0])?;
    match (outcome.result, outcome.child) {
        (error @ ..0, _) => Ok(Err(error)),
        (number, Some(tid)) => {
            Ok(Ok(ProcessCopy { tid, from: Maker::Program(number.cast_unsigned()) }))
        }
        (_, None) => Err(io::Error::other("its copy cannot be found")),
    }
}

/// Makes the copy as the child of a helper, which exits.
fn grandchild(lent: &mut Lent, memory: &File) -> io::Result<Result<ProcessCopy, i64>> {
    let (stack, number) = (lent.net().copy(), lent.net().child());
    let flags = u64::from((NUMBER_OF_CHILD | HELPER).unsigned_abs());
    let helper = match lent.begin_vfork([flags, stack, number, 0, 0, 0])? {
        Ok(helper) => helper,
        Err(error) => return Ok(Err(error)),
    };
    let made = inject::next_stop(helper).and_then(|_| inject::follow_clone(helper));
    // Its frames lead it to its exit. If it has exited already, the end is reported to us before the program
    // sees it.
    if sys::detach(helper, 0).is_err() {
        let _ = sys::seen(helper, false);
    }
    // If there is no copy, the program itself must stay stopped.
    lent.end_vfork(memory, made.is_ok())?;
    match made {
        Ok(tid) => Ok(Ok(ProcessCopy { tid, from: Maker::Helper(helper) })),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(Err(NOT_COPIED)),
        Err(error) => Err(error),
    }
}
