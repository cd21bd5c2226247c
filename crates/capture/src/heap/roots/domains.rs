//! The states of domains, from which everything that belongs to a domain is reachable.
//!
//! OCaml 4 has a single state, in a global variable. OCaml 5 has the state of the running domain in a
//! thread-local variable, which is null while the thread is blocked in a system call, and a list of all
//! domains in a static variable. So states are taken from the listing, else from that list, else from threads
//! whose registers are known. If none of these is available, memory is searched for what looks like a state:
//! its minor heap must be within the area that the runtime reserves for minor heaps, which has a global
//! symbol.

use std::collections::HashSet;
use std::ops::Range;

use bactrian_ocaml::StackLayout;
use bactrian_ocaml::heap_layout::fiber;

use super::finder::Finder;
use super::words::addresses;
use crate::memory::Region;

/// The largest number that OCaml allows.
const MOST_DOMAINS: u64 = 4096;
/// The maximal number of bytes that are searched.
const MOST_SEARCHED: u64 = 1 << 28;
const PIECE: u64 = 1 << 20;

/// How to search for the states of domains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// Only through symbols.
    Names,
    /// Also in all of memory, if symbols do not lead to all of them: that takes a while.
    Memory,
}

impl Finder<'_> {
    pub(super) fn domains(&mut self) {
        let states = match self.has_domains() {
            false => self.global_word("Caml_state").into_iter().collect(),
            true => self.domains_of_5(Search::Memory),
        };
        if states.is_empty() {
            self.gap("stacks, finalisers and ephemerons: the state of no domain was found");
        }
        for state in &states {
            let domain = self.domain_number(*state);
            self.thread(domain, None, true);
        }
        self.found.domains = states.clone();
        self.states = states;
    }

    /// The states of the domains that are running at this moment, in a program that is not stopped.
    pub(super) fn running_domains(&mut self, search: Search) -> Vec<u64> {
        match self.has_domains() {
            false => {
                self.global_word("Caml_state").filter(|state| *state != 0).into_iter().collect()
            }
            true => self.domains_of_5(search),
        }
    }

    fn domains_of_5(&mut self, search: Search) -> Vec<u64> {
        let Some(area) = self.minor_area() else { return Vec::new() };
        let expected = self.global_word("caml_num_domains_running").unwrap_or(1);
        let listed = self.listing.map(|listing| listing.domains.clone()).unwrap_or_default();
        let ways = [
            |_: &mut Finder<'_>, listed: Vec<u64>| listed,
            |finder: &mut Finder<'_>, _| finder.participating().unwrap_or_default(),
            |finder: &mut Finder<'_>, _| finder.of_threads(),
            |finder: &mut Finder<'_>, _| finder.searched(),
        ];
        let ways = match search {
            Search::Memory => &ways[..],
            Search::Names => &ways[..3],
        };
        let mut states = Vec::new();
        let mut met = HashSet::new();
        for way in ways {
            // Blocked threads do not say which domain they belong to, so one way may find what another does
            // not.
            if states.len() as u64 >= expected {
                break;
            }
            let found = way(self, listed.clone());
            states.extend(
                found
                    .into_iter()
                    .filter(|state| self.is_state(*state, &area) && met.insert(*state)),
            );
        }
        if !states.is_empty() && (states.len() as u64) < expected {
            let known = states.len();
            self.gap(format!("{known} of {expected} domains were found"));
        }
        states
    }

    /// `stw_domains`: the number of domains, followed by their list or a pointer to it.
    fn participating(&mut self) -> Option<Vec<u64>> {
        let domains = self.target.local("domain", "stw_domains")?;
        let count = u64::from(self.field(domains, 0)? as u32);
        let list = match self.layout.holds_domains_in_place {
            true => domains.checked_add(8)?,
            false => self.field(domains, 1)?,
        };
        let each = (0..count.min(MOST_DOMAINS)).filter_map(|at| {
            let domain = self.words.word(list.checked_add(8 * at)?)?;
            // The state follows the domain's number.
            self.field(domain, 1)
        });
        Some(each.collect())
    }

    /// `caml_state` of running threads.
    fn of_threads(&mut self) -> Vec<u64> {
        let object = self.target.runtime_object();
        let own = object.symbols.find("caml_state").zip(object.tls);
        let Some((symbol, tls)) = own else { return Vec::new() };
        let size = tls.end();
        let threads = self.target.threads.iter();
        let states = threads.filter_map(|thread| {
            let block = thread.thread_pointer.checked_sub(size)?;
            self.words.word(block.checked_add(symbol.address)?)
        });
        states.collect()
    }

    fn searched(&mut self) -> Vec<u64> {
        let mut found = Vec::new();
        let mut left = MOST_SEARCHED;
        let is_private = |region: &&Region| region.writable && region.readable && !region.shared;
        let area = self.minor_area().unwrap_or_default();
        let is_elsewhere = |region: &&Region| !area.contains(&region.range.start);
        let anonymous = |region: &&Region| {
            let name = region.file.as_ref();
            name.is_none_or(|name| name.as_os_str() == "[heap]")
        };
        let regions = self.memory.regions().iter();
        let regions: Vec<_> =
            regions.filter(is_private).filter(anonymous).filter(is_elsewhere).cloned().collect();
        let mut bytes = vec![0; PIECE as usize];
        let expected = self.global_word("caml_num_domains_running").unwrap_or(MOST_DOMAINS);
        for region in regions {
            let mut at = region.range.start;
            while at < region.range.end && left > 0 && (found.len() as u64) < expected {
                let length = PIECE.min(region.range.end - at).min(left);
                left -= length;
                let piece = bytes.get_mut(..length as usize).unwrap_or_default();
                if self.memory.read(at, piece) {
                    let words =
                        piece.as_chunks::<8>().0.iter().map(|word| u64::from_le_bytes(*word));
                    let young =
                        addresses(at, 8, usize::MAX).zip(words).filter(|(_, w)| area.contains(w));
                    // A pointer into the minor heaps' area may be the start of a minor heap.
                    let offset = 8 * self.layout.state.young_start as u64;
                    let candidates: Vec<_> =
                        young.filter_map(|(at, _)| at.checked_sub(offset)).collect();
                    found.extend(
                        candidates.into_iter().filter(|state| self.is_state(*state, &area)),
                    );
                }
                at += length;
            }
        }
        found
    }

    /// The area of all minor heaps.
    pub(super) fn minor_area(&mut self) -> Option<Range<u64>> {
        let start = self.global_word("caml_minor_heaps_start")?;
        let end = self.global_word("caml_minor_heaps_end")?;
        (start < end).then_some(start..end)
    }

    /// Whether this may be the state of a domain of OCaml 5: its minor heap is in the area, its number is
    /// valid, and it has a stack.
    fn is_state(&mut self, state: u64, area: &Range<u64>) -> bool {
        let words = &self.layout.state;
        let fields = [words.young_start, words.young_end, words.young_pointer];
        let [start, end, pointer] = fields.map(|index| self.field(state, index).unwrap_or(0));
        let is_heap = area.start <= start && start < end && end <= area.end;
        let number = u64::from(self.domain_number(state));
        let is_running = match self.target.runtime.stack {
            StackLayout::Fibers { current } => {
                self.field(state, current).is_some_and(|stack| self.is_fiber(stack))
            }
            StackLayout::System { .. } => false,
        };
        is_heap && (start..=end).contains(&pointer) && number < MOST_DOMAINS && is_running
    }

    /// Whether this may be a fiber: its stack pointer is between its beginning and its end.
    fn is_fiber(&mut self, stack: u64) -> bool {
        let words = [fiber::STACK_POINTER, fiber::HANDLER].map(|index| self.field(stack, index));
        let [Some(pointer), Some(end)] = words else { return false };
        stack < pointer && pointer <= end && self.field(end, fiber::PARENT).is_some()
    }
}
