//! What a frozen copy does: it tells the walker what it has to know, starts it, and stays frozen.
//!
//! Nothing is allocated here, and no function of libc is called: another thread of the program may have been
//! in the middle of it.

use core::cell::UnsafeCell;
use core::ffi::{CStr, c_char, c_void};
use core::ops::Range;
use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicU32, Ordering};

use bactrian_agent_abi::frozen::{Facts, MAPS, MEMORY, RANGE, RELEASE, TOLD, Writer, range_of};
use bactrian_agent_abi::ledger::{Line, SnapshotId};
use bactrian_agent_os::proc;
use bactrian_agent_os::process::{self, End};
use bactrian_agent_os::stacks::{self, Stack};
use bactrian_agent_os::sys::{self, Errno, Fd, Limit, Pid, Resource, SysResult};

use super::ledger::Text;
use super::listing::{self, ListingWriter};
use super::notes::Notes;
use super::{Setup, ledger};

/// What a copy is to do.
pub struct Order<'a> {
    pub setup: &'a Setup,
    pub facts: Facts<'a>,
    pub domains: &'a [*const usize],
    pub notes: Option<&'a Notes>,
}

/// The exit signal of the walker.
const SIGCHLD: u8 = 17;

/// How long to wait for the program to report its pause, in milliseconds.
const PATIENCE: i64 = 200;

/// Runs the copy until it exits.
pub fn live(order: Order<'_>) -> ! {
    // SAFETY: this process has no other thread.
    let done = unsafe { stacks::run_on(Stack::Copy, || serve(order)) };
    // Never return to what the program would do next.
    sys::exit_group(if done { 0 } else { 1 })
}

fn serve(mut order: Order<'_>) {
    let ledger = order.setup.ledger.as_deref();
    order.facts.copy = sys::process_id().0;
    let id = SnapshotId { number: order.facts.key, copy: order.facts.copy };
    let descriptors = let_go();
    ledger::add(ledger, &Line::Begun(id));
    if let Some(notes) = order.notes {
        process::store_and_wake(&notes.begun, 1);
    }
    if let Err(what) = descriptors {
        return ledger::failed(ledger, id, format_args!("the copy cannot open {what}"));
    }
    if let Some(Notes { pause, .. }) = order.notes {
        process::wait_while(pause, 0, PATIENCE);
        order.facts.pause = u64::from(pause.load(Ordering::Acquire)) * 1000;
        ledger::add(ledger, &Line::Pause(id, order.facts.pause));
    }
    if let Err(errno) = tell(&order) {
        let why = errno.words();
        let what = format_args!("cannot write what the copy reports: {why} ({})", errno.0);
        return ledger::failed(ledger, id, what);
    }
    // If the program ignores SIGCHLD, or has set SA_NOCLDWAIT, the copy has inherited that; then no signal
    // would come, and we would wait forever. The program itself keeps its disposition.
    sys::default_signal(SIGCHLD);
    match start_walker(order.setup) {
        Ok(walker) => {
            ledger::add(ledger, &Line::Walker(id, walker.0));
            let failure = ledger::failure(id, format_args!("the walker was killed"));
            let ledger = ledger.and_then(|path| process::open_to_append(path).ok());
            hold_still(walker, order.setup.us.clone(), ledger, &failure);
        }
        Err(errno) => {
            let path = order.setup.settings.walker.escape_ascii();
            let why = match errno {
                Errno(2) => "it is not there",
                errno => errno.words(),
            };
            ledger::failed(ledger, id, format_args!("{path} cannot be started: {why}"));
        }
    }
}

/// Waits until the walker has ended. Memory that it has read is released; in the end everything but our own
/// code and data, which include our stack.
fn hold_still(walker: Pid, us: Range<usize>, ledger: Option<Fd>, failure: &Text) {
    const ENDED: u64 = 1 << (SIGCHLD - 1);
    const RELEASED: u64 = 1 << (RELEASE - 1);
    loop {
        if process::wait_for_signal(ENDED | RELEASED) == RELEASE as usize {
            give_back_listed(&us);
        }
        match process::end_of(walker) {
            None => {}
            Some(End::ByItself) => return,
            Some(End::BySignal) => {
                let _ = ledger.map(|ledger| sys::write(ledger, failure.bytes()));
                return;
            }
        }
    }
}

/// Releases what the walker has listed, except our own memory.
fn give_back_listed(us: &Range<usize>) {
    let mut bytes = [0; RANGE];
    for number in 0.. {
        if process::read_at(Fd(TOLD), &mut bytes, number * RANGE) != Ok(RANGE) {
            return;
        }
        let listed = range_of(bytes);
        let (start, end) = (listed.start as usize, listed.end as usize);
        for part in [start..end.min(us.start), start.max(us.end)..end] {
            // SAFETY: nobody reads it any more, nor do we. (Libraries are still mapped where they were.)
            unsafe { process::give_back(part) };
        }
    }
}

/// Closes everything that is the program's, and opens what the walker inherits.
fn let_go() -> Result<(), &'static str> {
    if !process::let_descriptors_go() {
        // The descriptors are still shared with the program.
        sys::exit_group(1);
    }
    process::leave_session();
    process::change_directory(c"/");
    // When memory is short, we are killed first, and the walker.
    if let Ok(fd) = process::open_to_write(proc::OOM_SCORE) {
        let _ = sys::write(fd, b"1000");
        sys::close(fd);
    }
    for resource in [Resource::AddressSpace, Resource::Data, Resource::FileSize] {
        // The walker is not subject to the program's soft limits.
        let most = sys::limit(resource).most;
        let _ = sys::set_limit(resource, Limit { now: most, most });
    }
    // All descriptors are free, and each open gets the lowest free number.
    let wanted = [
        (0, c"/dev/null"),
        (1, c"/dev/null"),
        (2, c"/dev/null"),
        (MEMORY, proc::MEMORY),
        (MAPS, proc::MAPS),
    ];
    // If the program has dropped privileges, it may not open its own memory, and nor may any other process:
    // we lift that only for a moment.
    let was_readable = process::set_readable(true);
    let unopened =
        wanted.iter().find(|(number, path)| process::open_to_hand_on(path) != Ok(Fd(*number)));
    process::set_readable(was_readable);
    if let Some((_, path)) = unopened {
        return Err(path.to_str().unwrap_or_default());
    }
    match process::file_in_memory(c"bactrian") {
        Ok(Fd(TOLD)) => Ok(()),
        _ => Err("a file in memory"),
    }
}

/// The buffer of the writer.
struct Buffer(UnsafeCell<[u8; 64 << 10]>);

// SAFETY: used in the copy only, by its only thread.
unsafe impl Sync for Buffer {}

static BUFFER: Buffer = Buffer(UnsafeCell::new([0; 64 << 10]));

/// The error number if not everything could be written; 0 otherwise.
static UNTOLD: AtomicI32 = AtomicI32::new(0);

/// Writes a part of the output.
fn put(mut bytes: &[u8]) {
    while UNTOLD.load(Ordering::Relaxed) == 0 && !bytes.is_empty() {
        match sys::write(Fd(TOLD), bytes) {
            Ok(count) => bytes = &bytes[count..],
            Err(Errno::INTR) => {}
            Err(Errno(errno)) => UNTOLD.store(errno, Ordering::Relaxed),
        }
    }
}

/// Writes what the walker has to know.
fn tell(order: &Order<'_>) -> SysResult<()> {
    // SAFETY: the copy has one thread.
    let buffer = unsafe { &mut *BUFFER.0.get() };
    let mut told: ListingWriter = Writer::new(buffer, put, &order.facts);
    for domain in order.domains {
        told.domain(*domain as u64);
    }
    // SAFETY: in the copy, once, with all domains.
    unsafe {
        listing::list(&order.setup.agent.program, order.setup.collector, order.domains, &mut told)
    };
    told.end();
    process::rewind(Fd(TOLD));
    match UNTOLD.load(Ordering::Relaxed) {
        0 => Ok(()),
        errno => Err(Errno(errno)),
    }
}

/// What the child process needs to exec the walker.
struct Start<'a> {
    path: &'a CStr,
    arguments: [*const c_char; 3],
    environment: [*const c_char; 1],
    /// Set to the error number if exec failed.
    error: AtomicU32,
}

fn start_walker(setup: &Setup) -> Result<Pid, Errno> {
    let start = Start {
        path: &setup.walker,
        arguments: [c"bactrian".as_ptr(), c"walk-frozen".as_ptr(), ptr::null()],
        environment: [ptr::null()],
        error: AtomicU32::new(0),
    };
    extern "C" fn become_walker(start: *mut c_void) {
        /// Signals that the walker blocks: those of a terminal (HUP, INT, QUIT, TSTP, TTIN, TTOU), PIPE, and those
        /// of exceeded limits (XCPU, XFSZ).
        const NOT_FOR_US: u64 = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 12 | 0b111 << 19 | 0b11 << 23;
        // SAFETY: `start` is passed below; it lives until exec.
        let start = unsafe { &*start.cast::<Start<'_>>() };
        process::set_blocked_signals(NOT_FOR_US);
        let (arguments, environment) = (start.arguments.as_ptr(), start.environment.as_ptr());
        // SAFETY: the lists end with null.
        let errno = unsafe { process::execute(start.path, arguments, environment) };
        start.error.store(errno.0 as u32, Ordering::Release);
    }
    let top = stacks::top_of(Stack::Listing);
    // SAFETY: all lists are done, so that stack is unused.
    let walker = unsafe {
        process::start_sharing(top, become_walker, (&raw const start).cast_mut().cast())
    }?;
    match start.error.load(Ordering::Acquire) {
        0 => Ok(walker),
        errno => Err(Errno(errno as i32)),
    }
}
