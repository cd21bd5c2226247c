//! Roots, as the runtime's own functions report them to a frozen copy.
//!
//! If the program's memory is corrupt these functions may fault or not terminate. Then the list is
//! incomplete, but the copy survives, and the walker is told.

use core::ffi::{c_int, c_void};
use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use bactrian_agent_abi::frozen::{List, Slot, Writer};
use bactrian_agent_os::process;
use bactrian_agent_os::stacks::{self, Stack};
use bactrian_agent_os::sys;

use crate::runtime::collector::{Collector, Domains, Many, One, Scan5};
use crate::runtime::program::Program;

/// An upper bound for the number of roots in a list.
const MOST_SLOTS: usize = 1 << 26;
/// The time limit for a list, in seconds.
const MOST_SECONDS: usize = 20;

/// SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV, SIGALRM.
const FAULTS: [u8; 6] = [4, 6, 7, 8, 11, 14];

/// The writer to which roots are reported.
pub type ListingWriter = Writer<'static, fn(&[u8])>;

/// The current writer, in a static variable because OCaml 4's callbacks take no data argument.
static WRITER: AtomicPtr<ListingWriter> = AtomicPtr::new(ptr::null_mut());
static COUNT: AtomicUsize = AtomicUsize::new(0);

/// Lists all roots.
///
/// # Safety
/// In a frozen copy, once, with the states of all domains.
pub unsafe fn list(
    program: &Program,
    collector: &Collector,
    domains: &[*const usize],
    told: &mut ListingWriter,
) {
    let mut unblocked = 0;
    for signal in FAULTS {
        // If this is refused a fault ends the copy.
        let _ = sys::handle_fault(signal, give_up);
        unblocked |= 1 << (signal - 1);
    }
    process::set_blocked_signals(!unblocked);
    // Nothing else uses the writer until this is null again.
    WRITER.store(told, Ordering::Relaxed);
    match &collector.domains {
        Domains::One(one) => list_one(collector, one),
        Domains::Many(many) => list_many(program, collector, many, domains),
    }
    WRITER.store(ptr::null_mut(), Ordering::Relaxed);
    process::set_blocked_signals(!0);
}

fn list_one(collector: &Collector, one: &One) {
    listed(List::Final, 0, || (one.final_roots)(found_4));
    listed(List::Memprof, 0, || (one.memprof_roots)(found_4));
    if let hook @ 1.. = collector.threads.load(Ordering::Relaxed) {
        // SAFETY: the type of this hook.
        let hook: extern "C" fn(crate::runtime::collector::Action4) =
            unsafe { bactrian_agent_os::loaded::function(hook) };
        listed(List::Threads, 0, || hook(found_4));
    }
    listed(List::All, 0, || (one.do_roots)(found_4, 1));
}

fn list_many(program: &Program, collector: &Collector, many: &Many, domains: &[*const usize]) {
    let hook = collector.threads.load(Ordering::Relaxed);
    listed(List::Global, 0, || (many.global_roots)(found_5, ptr::null_mut()));
    for (number, &domain) in domains.iter().enumerate() {
        // Before 5.2 the runtime lists the threads of its caller's domain, whichever domain it is asked
        // about.
        // SAFETY: in a frozen copy.
        unsafe { program.become_domain(domain) };
        let scan = |list, scan: Scan5, last| {
            listed(list, number as u32, || scan(found_5, 0, ptr::null_mut(), domain, last));
        };
        scan(List::Final, many.final_roots, 0);
        if let Some(memprof) = many.memprof_roots {
            // Without roots that the sampler does not keep alive.
            scan(List::Memprof, memprof, 0);
        }
        if hook != 0 {
            // SAFETY: the type of this hook; it ignores the fifth argument.
            scan(List::Threads, unsafe { bactrian_agent_os::loaded::function(hook) }, 0);
        }
        scan(List::All, many.do_roots, 1);
    }
}

/// Calls a function that reports roots.
fn listed(list: List, domain: u32, function: impl FnOnce()) {
    told(|told| told.list(list, domain));
    COUNT.store(0, Ordering::Relaxed);
    process::alarm(MOST_SECONDS);
    // SAFETY: nothing else uses that stack. In the copy, only such functions use the program's memory.
    let whole = unsafe { stacks::run_on(Stack::Listing, function) };
    process::alarm(0);
    if whole {
        told(ListingWriter::list_is_whole);
    }
}

fn told(f: impl FnOnce(&mut ListingWriter)) {
    // SAFETY: set while a list is made, by one thread, and used by nothing else meanwhile.
    if let Some(told) = unsafe { WRITER.load(Ordering::Relaxed).as_mut() } {
        f(told);
    }
}

extern "C" fn found_4(value: usize, slot: *mut usize) {
    if COUNT.fetch_add(1, Ordering::Relaxed) >= MOST_SLOTS {
        give_up(0);
    }
    told(|told| told.slot(Slot { slot: slot as u64, value: value as u64 }));
}

extern "C" fn found_5(_data: *mut c_void, value: usize, slot: *mut usize) {
    found_4(value, slot);
}

/// Abandons the runtime's function that is running.
extern "C" fn give_up(_signal: c_int) {
    // SAFETY: whatever the function was working on is used again only by functions that can be abandoned
    // themselves.
    unsafe { stacks::give_up_here() };
    // The fault was not in one of those functions.
    sys::exit_group(127);
}
