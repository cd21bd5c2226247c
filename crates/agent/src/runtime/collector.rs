//! The program's collector: its hooks, how to make it come to a safe point, and its functions that report
//! roots.

use core::ffi::{c_int, c_void};
use core::sync::atomic::AtomicUsize;

use bactrian_agent_os::loaded::{self, Object};
use bactrian_ocaml::{CollectorLayout, Version};

/// A variable of the runtime that holds a function pointer, or null.
pub type Hook = &'static AtomicUsize;
/// What OCaml 4 calls with each root: its value and its address.
pub type Action4 = extern "C" fn(value: usize, slot: *mut usize);
/// What OCaml 5 calls with each root: data, its value and its address.
pub type Action5 = extern "C" fn(data: *mut c_void, value: usize, slot: *mut usize);

/// The collector of a program.
pub struct Collector {
    /// `caml_minor_gc_end_hook`.
    pub minor_end: Hook,
    /// `caml_leave_blocking_section_hook`.
    pub leave_blocking: Hook,
    /// `caml_scan_roots_hook`.
    pub threads: Hook,
    /// `caml_thread_initialize`, if it is linked: it puts its own functions into these hooks.
    pub thread_initialize: Option<usize>,
    pub domains: Domains,
}

/// What differs between a collector for one domain and one for many.
pub enum Domains {
    One(One),
    Many(Many),
}

/// OCaml 4.
pub struct One {
    /// `caml_major_gc_hook`.
    pub major: Hook,
    /// `caml_request_minor_gc`: may be called in a signal handler.
    pub request: extern "C" fn(),
    pub do_roots: extern "C" fn(Action4, c_int),
    pub final_roots: extern "C" fn(Action4),
    pub memprof_roots: extern "C" fn(Action4),
    /// `caml_fl_cur_wsz`: words in the free list.
    free_words: *const usize,
    cycles: usize,
    heap_words: usize,
}

/// Scans the roots of a domain in OCaml 5.
pub type Scan5 = extern "C" fn(Action5, c_int, *mut c_void, *const usize, c_int);
/// What runs while all domains are stopped: its arguments are the domain, data, and all domains.
pub type Still = extern "C" fn(*const usize, *mut c_void, c_int, *const *const usize);

/// OCaml 5.
pub struct Many {
    /// `caml_major_slice_end_hook`.
    pub slice_end: Hook,
    /// `caml_domain_external_interrupt_hook`.
    pub interrupted: Hook,
    /// `caml_major_cycles_completed`.
    pub cycles: *const usize,
    /// `caml_num_domains_running`.
    pub running: &'static AtomicUsize,
    /// `caml_interrupt_all_signal_safe`, since 5.2.
    pub interrupt_all: Option<extern "C" fn()>,
    /// `caml_try_run_on_all_domains`.
    pub try_run: extern "C" fn(Still, *mut c_void, extern "C" fn(*const usize)) -> c_int,
    pub do_roots: Scan5,
    pub final_roots: Scan5,
    /// `caml_memprof_scan_roots`, where there is a sampler.
    pub memprof_roots: Option<Scan5>,
    pub global_roots: extern "C" fn(Action5, *mut c_void),
    /// `caml_collect_heap_stats_sample`.
    statistics: extern "C" fn(*const c_void, *mut [isize; 8]),
    pub young_limit: usize,
    pub interrupt: usize,
    heap: usize,
}

// SAFETY: variables and functions of the program, valid for the whole run.
unsafe impl Send for Collector {}
// SAFETY: as above.
unsafe impl Sync for Collector {}

impl Collector {
    /// Finds the collector in a runtime; None if it is of an unknown kind.
    pub fn of(object: &Object, version: Version) -> Option<Collector> {
        let find = |name| object.find(name);
        // SAFETY: variables of the runtime that hold pointers, aligned, and valid for the whole run.
        let hook = |name| find(name).map(|at| unsafe { &*(at as *const AtomicUsize) });
        // SAFETY: functions and variables with these types in every version that has a layout.
        let domains = unsafe {
            match CollectorLayout::of(version)? {
                CollectorLayout::One { cycles, heap_words } => Domains::One(One {
                    major: hook("caml_major_gc_hook")?,
                    request: loaded::function(find("caml_request_minor_gc")?),
                    do_roots: loaded::function(find("caml_do_roots")?),
                    final_roots: loaded::function(find("caml_final_do_roots")?),
                    memprof_roots: loaded::function(find("caml_memprof_do_roots")?),
                    free_words: find("caml_fl_cur_wsz")? as *const usize,
                    cycles,
                    heap_words,
                }),
                CollectorLayout::Many { young_limit, interrupt, heap } => Domains::Many(Many {
                    slice_end: hook("caml_major_slice_end_hook")?,
                    interrupted: hook("caml_domain_external_interrupt_hook")?,
                    cycles: find("caml_major_cycles_completed")? as *const usize,
                    running: hook("caml_num_domains_running")?,
                    interrupt_all: find("caml_interrupt_all_signal_safe")
                        .map(|function| loaded::function(function)),
                    try_run: loaded::function(find("caml_try_run_on_all_domains")?),
                    do_roots: loaded::function(find("caml_do_roots")?),
                    final_roots: loaded::function(find("caml_final_do_roots")?),
                    memprof_roots: find("caml_memprof_scan_roots")
                        .map(|function| loaded::function(function)),
                    global_roots: loaded::function(find("caml_scan_global_roots")?),
                    statistics: loaded::function(find("caml_collect_heap_stats_sample")?),
                    young_limit,
                    interrupt,
                    heap,
                }),
            }
        };
        Some(Collector {
            minor_end: hook("caml_minor_gc_end_hook")?,
            leave_blocking: hook("caml_leave_blocking_section_hook")?,
            threads: hook("caml_scan_roots_hook")?,
            thread_initialize: find("caml_thread_initialize"),
            domains,
        })
    }
}

impl One {
    /// The number of completed major collections.
    ///
    /// # Safety
    /// `state` is the domain state.
    pub unsafe fn cycles(&self, state: *const usize) -> usize {
        // SAFETY: by the caller and the table of layouts.
        unsafe { *state.add(self.cycles) }
    }

    /// Words in use in the major heap.
    ///
    /// # Safety
    /// `state` is the domain state.
    pub unsafe fn used_words(&self, state: *const usize) -> usize {
        // SAFETY: by the caller and the table of layouts; a variable of the program.
        unsafe { (*state.add(self.heap_words)).saturating_sub(*self.free_words) }
    }
}

impl Many {
    /// Words of the major heap in use by the given domains.
    ///
    /// # Safety
    /// These are domain states, and their domains are stopped.
    pub unsafe fn used_words(&self, states: &[*const usize]) -> usize {
        let mut words = 0;
        for state in states {
            // struct heap_stats: the third word counts live words in pools, the sixth words of large blocks.
            let mut statistics = [0isize; 8];
            // SAFETY: by the caller and the table of layouts. The function fills the record.
            unsafe {
                (self.statistics)(*state.add(self.heap) as *const c_void, &mut statistics);
            }
            words += statistics[2].max(0) as usize + statistics[5].max(0) as usize;
        }
        words
    }
}
