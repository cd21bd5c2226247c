//! What the sampler tracks: blocks, which it does not keep alive, and what its user has returned for each,
//! which it does.

use bactrian_ocaml::heap_layout::{MemprofLayout, configuration};

use super::finder::Finder;
use super::{List, RootHolder, Sample};

const MOST_ENTRIES: u64 = 1 << 32;
const MOST_LINKS: usize = 1 << 20;

impl Finder<'_> {
    pub(super) fn memprof(&mut self) {
        let Some(layout) = &self.layout.memprof else { return };
        match self.layout.state.memprof {
            Some(word) => {
                for state in self.states.clone() {
                    let domain = self.field(state, word).unwrap_or(0);
                    if domain != 0 && self.memprof_domain(layout, domain).is_none() {
                        self.gap("the sampler's entries cannot be read");
                    }
                }
            }
            None => self.memprof_of_4(layout),
        }
    }

    fn memprof_of_4(&mut self, layout: &MemprofLayout) {
        let file = "memprof";
        let table = self.target.local(file, "entries_global");
        let table = table.or_else(|| self.target.local(file, "trackst"));
        let Some(table) = table else {
            // The list contains the entries of all threads, beginning with the one that ran last.
            let listed = self.listed(List::Memprof, 0).filter(|_| !self.active_thread_is_gone);
            return match listed {
                Some(slots) => {
                    for slot in slots {
                        let entry = slot.wrapping_sub(8 * layout.user_data as u64);
                        if self.entry(layout, entry).is_none() {
                            return self.gap("the sampler's entries cannot be read");
                        }
                    }
                }
                None => self.gap(
                    "the sampler's entries: the executable was stripped of the symbol that leads \
                     to them",
                ),
            };
        };
        let mut tables = vec![table];
        if self.layout.thread.memprof.is_some() {
            // Samples whose callback has not been called yet are in the tables of their threads.
            let main = self.target.global("caml_memprof_main_ctx");
            tables.extend(main.map(|main| main.saturating_add(8 * layout.thread_table as u64)));
            tables.extend(self.memprof_threads.iter().copied());
        }
        tables.sort_unstable();
        tables.dedup();
        for table in tables {
            if self.entries(layout, table).is_none() {
                self.gap("the sampler's entries cannot be read");
            }
        }
    }

    /// Notes the table that a thread of OCaml 4 has of its own.
    pub(super) fn note_memprof_thread(&mut self, thread: u64) -> Option<()> {
        let context = self.field(thread, self.layout.thread.memprof?)?;
        let table = context.checked_add(8 * self.layout.memprof?.thread_table as u64)?;
        if context != 0 {
            self.memprof_threads.push(table);
        }
        Some(())
    }

    fn memprof_domain(&mut self, layout: &MemprofLayout, domain: u64) -> Option<()> {
        let places = layout.domain?;
        let within = |at: u64, index: usize| at.saturating_add(8 * index as u64);
        self.configured_entries(layout, within(domain, places.table))?;
        let mut thread = self.field(domain, places.threads)?;
        for _ in 0..MOST_LINKS {
            if thread == 0 {
                break;
            }
            self.configured_entries(layout, within(thread, layout.thread_table))?;
            thread = self.field(thread, places.next_thread)?;
        }
        let mut orphan = self.field(domain, places.orphans)?;
        for _ in 0..MOST_LINKS {
            if orphan == 0 {
                break;
            }
            self.configured_entries(layout, orphan)?;
            orphan = self.field(orphan, places.next_orphan)?;
        }
        Some(())
    }

    /// A table of OCaml 5, which is in use only if it has a configuration.
    fn configured_entries(&mut self, layout: &MemprofLayout, table: u64) -> Option<()> {
        let at = layout.domain?.configuration;
        let slot = table.checked_add(8 * at as u64)?;
        let block = self.words.word(slot)?;
        if block == configuration::NONE as u64
            || self.field(block, configuration::STATUS)? == configuration::DISCARDED as u64
        {
            return Some(());
        }
        self.add(slot, block, RootHolder::Memprof);
        self.entries(layout, table)
    }

    fn entries(&mut self, layout: &MemprofLayout, table: u64) -> Option<()> {
        let first = self.words.word(table)?;
        let count = self.field(table, layout.table_length)?;
        if count > MOST_ENTRIES {
            return None;
        }
        for entry in 0..count {
            self.entry(layout, first.checked_add(8 * layout.entry as u64 * entry)?)?;
        }
        Some(())
    }

    fn entry(&mut self, layout: &MemprofLayout, entry: u64) -> Option<()> {
        let block = self.words.word(entry)?;
        let samples = self.field(entry, layout.samples)?;
        let user_data = self.field(entry, layout.user_data)?;
        let flags = self.field(entry, layout.flags)?;
        let slot = entry.checked_add(8 * layout.user_data as u64)?;
        self.add(slot, user_data, RootHolder::Memprof);
        let is_gone = flags & (layout.is_deallocated | layout.is_deleted | layout.is_offset) != 0;
        if !is_gone && block & 1 == 0 && block != 0 {
            self.found.samples.push(Sample { block, samples, user_data });
        }
        Some(())
    }
}
