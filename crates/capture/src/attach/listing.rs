//! Roots as listed by the runtime itself, through calls of its functions in a copy of the program.

use std::io;

use super::calls::{Caller, Convention};
use super::safe_point::{Places, State};
use crate::heap::roots::{List, Listed, Listing};
use crate::heap::target::Target;
use crate::memory::Memory;

/// Asks for all lists. `domains` are those that are known, and is filled in if empty. If the thread that ran
/// last is gone, lists that begin with it are left out.
pub fn list(
    caller: &mut Caller,
    target: &Target,
    places: &Places,
    domains: &mut Vec<u64>,
    thread_is_gone: bool,
) -> io::Result<Listing> {
    let mut listing = Listing::default();
    let hook = target.global("caml_scan_roots_hook").and_then(|at| caller.memory().word(at));
    let hook = hook.filter(|&hook| hook != 0);
    match places.state {
        State::Global(_) => {
            let mut ask = |list, function: Option<u64>, second| {
                let arguments = |action| vec![action, second];
                ask(caller, &mut listing, (list, 0), function, Convention::ValueSlot, arguments)
            };
            ask(List::Final, target.global("caml_final_do_roots"), 0)?;
            if !thread_is_gone {
                ask(List::Memprof, target.global("caml_memprof_do_roots"), 0)?;
                ask(List::Threads, hook, 0)?;
                ask(List::All, target.global("caml_do_roots"), 1)?;
            }
        }
        State::PerThread(offset) => {
            if domains.is_empty() {
                *domains = vec![the_domain(caller, target, offset)?];
            }
            let convention = Convention::DataValueSlot;
            // The arguments are action, data.
            let global = target.global("caml_scan_global_roots");
            let arguments = |action| vec![action, 0];
            ask(caller, &mut listing, (List::Global, 0), global, convention, arguments)?;
            for (number, &domain) in (0..).zip(domains.iter()) {
                join(caller, target, domain)?;
                let mut ask = |list, number, function: Option<u64>, rest: [u64; 4]| {
                    let arguments = |action| [[action].as_slice(), &rest].concat();
                    ask(caller, &mut listing, (list, number), function, convention, arguments)
                };
                // The arguments are action, flags, data, domain, and whether to include values with
                // finalisers (or for Memprof, only weak entries).
                let of = |last| [0, 0, domain, last];
                ask(List::Final, number, target.global("caml_final_do_roots"), of(1))?;
                ask(List::Threads, number, hook, of(0))?;
                ask(List::Memprof, number, target.global("caml_memprof_scan_roots"), of(0))?;
                ask(List::All, number, target.global("caml_do_roots"), of(1))?;
            }
        }
    }
    listing.domains.clone_from(domains);
    Ok(listing)
}

/// Calls one function for one domain, if there is such a function.
fn ask(
    caller: &mut Caller,
    listing: &mut Listing,
    (list, domain): (List, u32),
    function: Option<u64>,
    convention: Convention,
    arguments: impl FnOnce(u64) -> Vec<u64>,
) -> io::Result<()> {
    let Some(function) = function else { return Ok(()) };
    let mut slots = Vec::new();
    let done = caller.list(function, convention, arguments, &mut slots);
    listing.lists.push(Listed { list, domain, slots, whole: done.is_ok() });
    done
}

/// Makes the copy's thread one of a domain. Before 5.2 the runtime lists the threads of its caller's domain,
/// whichever domain it is asked about, and misbehaves if there is none.
fn join(caller: &mut Caller, target: &Target, domain: u64) -> io::Result<()> {
    let Some(word) = target.runtime.domain_id else { return Ok(()) };
    let number = caller.memory().word(domain.wrapping_add(8 * word as u64));
    match (target.global("caml_init_domain_self"), number) {
        (Some(join), Some(number)) => caller.call(join, &[number & 0xffff_ffff]),
        _ => Ok(()),
    }
}

/// The state of the only domain of a program that is blocked and has released it: the copy makes its thread
/// one of the first domain, as the runtime does with new threads. That takes no lock, which another thread
/// may have held.
fn the_domain(caller: &mut Caller, target: &Target, offset: i64) -> io::Result<u64> {
    let missing = || io::Error::other("the domain cannot be found");
    let join = target.global("caml_init_domain_self").ok_or_else(missing)?;
    caller.call(join, &[0])?;
    let at = caller.thread_pointer().wrapping_add_signed(offset);
    caller.memory().word(at).filter(|&state| state != 0).ok_or_else(missing)
}
