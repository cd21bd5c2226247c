//! Making the program copy itself.
//!
//! The copy must not be the program's child: it would stay as a zombie among its children until the program is stopped
//! once more to take note of its end, and for good if we are killed before. So the program makes a *helper* that shares its
//! memory, as `vfork` does, and waits for its end; the helper makes the copy and ends; the program takes note of the
//! helper. The copy then belongs to the first process of the machine or container, as every orphan.
//!
//! A program that adopts orphans (as process 1 of a container, or by `PR_SET_CHILD_SUBREAPER`) would adopt the copy, and
//! see a child that it did not start. It makes the copy itself: `wait` does not tell of such a child, but it stays as a
//! zombie until [`Copy::reap`].
//!
//! No signal tells of the end of any of them. Whoever of them is left alone by our death comes to its end by itself, by
//! the frames of [`super::net`].

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

/// What the helper shares with the program: everything but being a thread of it.
const HELPER: i32 = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_FILES | libc::CLONE_FS;
const NUMBER_OF_CHILD: i32 = libc::CLONE_PARENT_SETTID;

/// What a helper that ended without a copy is taken for: the usual reason.
const NOT_COPIED: i64 = -(libc::EAGAIN as i64);
/// How long the program may take to take note of a helper's end. It has had its time while the copy was read.
const HELPER_ENDS: Duration = Duration::from_secs(2);
const NAP: Duration = Duration::from_micros(200);
/// How often a program is stopped to take note of its copy's end.
const TRIES: usize = 100;
const BREATH: Duration = Duration::from_millis(1);

/// What is needed to make a program do system calls.
#[derive(Clone, Copy)]
pub struct Means<'a> {
    pub gadgets: Gadgets,
    pub vectors: &'a Vectors,
}

/// A copy of the program. It is about to stop.
pub struct Copy {
    pub tid: Tid,
    from: From,
}

/// Who made it.
enum From {
    /// The program, which sees it under this number.
    Program(u64),
    /// A helper.
    Helper(Tid),
}

impl Copy {
    /// Has a stopped thread of the program make a copy of it; the thread may go on then. Or why not; then it stands still.
    pub fn make(
        tid: Tid,
        memory: &File,
        means: Means<'_>,
        is_first_process: bool,
    ) -> Result<Copy, String> {
        let failed = |error: io::Error| format!("it could not be made to copy itself: {error}");
        let mut lent = Lent::new(tid, memory, means.gadgets, means.vectors).map_err(failed)?;
        let made = match is_first_process || adopts_orphans(&mut lent, memory) {
            true => child(&mut lent),
            false => grandchild(&mut lent, memory),
        };
        // Also after an error.
        lent.give_back().map_err(failed)?;
        made.map_err(failed)?.map_err(|error| {
            let error = i32::try_from(-error).unwrap_or(libc::EINVAL);
            format!("the kernel did not copy it: {}", io::Error::from_raw_os_error(error))
        })
    }

    /// Sees to it that the program has no child of ours any more: has it take note of the end of its copy, or waits
    /// until it has taken note of the helper's.
    pub fn reap(&self, pid: u32, means: Means<'_>) {
        let child = match self.from {
            From::Program(child) => child,
            From::Helper(helper) => {
                let until = Instant::now() + HELPER_ENDS;
                while Instant::now() < until
                    && fs::exists(format!("/proc/{helper}")).unwrap_or(false)
                {
                    sleep(NAP);
                }
                return;
            }
        };
        // The process may have ended; then its copy has another parent, which reaps it. A signal that came is
        // not heeded: this is how we end.
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
            // It is in a signal handler that has a small stack of its own.
            if tracee.resume(true).and_then(|()| tracee.let_run(BREATH)).is_err() {
                return;
            }
        }
    }
}

/// Whether a process asked to be the parent of its descendants' orphans. Only it can tell.
fn adopts_orphans(lent: &mut Lent, memory: &File) -> bool {
    let answer = lent.net().spare();
    let question = u64::from(libc::PR_GET_CHILD_SUBREAPER.unsigned_abs());
    let asked = lent.call(libc::SYS_prctl, [question, answer, 0, 0, 0, 0]);
    let mut word = [0; 4];
    let told = memory.read_exact_at(&mut word, answer);
    asked.is_ok_and(|outcome| outcome.result == 0) && told.is_ok() && word != [0; 4]
}

/// The copy is the program's child.
fn child(lent: &mut Lent) -> io::Result<Result<Copy, i64>> {
    let (stack, number) = (lent.net().end(), lent.net().child());
    let flags = u64::from(NUMBER_OF_CHILD.unsigned_abs());
    let outcome = lent.call(libc::SYS_clone, [flags, stack, number, 0, 0, 0])?;
    match (outcome.result, outcome.child) {
        (error @ ..0, _) => Ok(Err(error)),
        (number, Some(tid)) => Ok(Ok(Copy { tid, from: From::Program(number.cast_unsigned()) })),
        (_, None) => Err(io::Error::other("its copy is not to be found")),
    }
}

/// The copy is the child of a helper, which ends.
fn grandchild(lent: &mut Lent, memory: &File) -> io::Result<Result<Copy, i64>> {
    let (stack, number) = (lent.net().copy(), lent.net().child());
    let flags = u64::from((NUMBER_OF_CHILD | HELPER).unsigned_abs());
    let helper = match lent.begin_vfork([flags, stack, number, 0, 0, 0])? {
        Ok(helper) => helper,
        Err(error) => return Ok(Err(error)),
    };
    let made = inject::next_stop(helper).and_then(|_| inject::follow_clone(helper));
    // Its frames lead it to its end. If it has come to it, its end is ours to hear of before the program can.
    if sys::detach(helper, 0).is_err() {
        let _ = sys::seen(helper, false);
    }
    // Without a copy, it is the program that is to stand still.
    lent.end_vfork(memory, made.is_ok())?;
    match made {
        Ok(tid) => Ok(Ok(Copy { tid, from: From::Helper(helper) })),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(Err(NOT_COPIED)),
        Err(error) => Err(error),
    }
}
