//! Finalisers. Their functions are roots; their values only if the function is about to be called.

use bactrian_ocaml::heap_layout::finaliser as layout;

use super::finder::Finder;
use super::{Finaliser, List, Order, RootHolder};

const MOST_FINALISERS: u64 = 1 << 32;
const MOST_LISTS: usize = 1 << 20;

impl Finder<'_> {
    pub(super) fn finalisers(&mut self) {
        let Some(word) = self.layout.state.finalisers else { return self.finalisers_of_4() };
        let mut all = Vec::new();
        for state in self.states.clone() {
            all.extend(self.field(state, word));
        }
        // Those that domains have left behind when they ended, until another takes them.
        if let Some(orphans) = self.target.local("major_gc", "orph_structs") {
            let mut orphan = self.field(orphans, 1).unwrap_or(0);
            while orphan != 0 && all.len() < MOST_LISTS {
                all.push(orphan);
                orphan = self.field(orphan, layout::NEXT).unwrap_or(0);
            }
        }
        for info in all {
            for (at, order) in [(layout::FIRST, Order::First), (layout::LAST, Order::Last)] {
                let table = info.saturating_add(8 * at as u64);
                if self.finaliser_table(table, order).is_none() {
                    self.gap("finalisers cannot be read");
                }
            }
            let due = self.field(info, layout::DUE).unwrap_or(0);
            self.due_finalisers(due);
        }
    }

    fn finalisers_of_4(&mut self) {
        let file = "finalise";
        let first = self.target.local(file, "finalisable_first");
        let last = self.target.local(file, "finalisable_last");
        let due = self.static_word(file, "to_do_hd");
        if let (Some(first), Some(last), Some(due)) = (first, last, due) {
            for (table, order) in [(first, Order::First), (last, Order::Last)] {
                if self.finaliser_table(table, order).is_none() {
                    self.gap("finalisers cannot be read");
                }
            }
            self.due_finalisers(due);
            return;
        }
        match self.listed(List::Final, 0) {
            Some(slots) => self.listed_finalisers(&slots),
            None => self.finalisers_by_code(),
        }
    }

    /// Without symbols: the tables are what the functions use that register finalisers.
    fn finalisers_by_code(&mut self) {
        for (function, order) in [
            ("caml_final_register", Order::First),
            ("caml_final_register_called_without_value", Order::Last),
        ] {
            let variables = self.target.variables_of(self.memory, function);
            let table = variables.into_iter().find(|at| self.is_finaliser_table(*at));
            if table.and_then(|table| self.finaliser_table(table, order)).is_none() {
                self.gap(
                    "finalisers: the executable was stripped of the symbols that lead to \
                    them",
                );
            }
        }
        // The first variable used by the function that calls them is the list of finalisers that are due.
        let variables = self.target.variables_of(self.memory, "caml_final_do_calls_exn");
        match variables.first().and_then(|due| self.words.word(*due)) {
            Some(due) => self.due_finalisers(due),
            None => self.gap(
                "finalisers that are due: the executable was stripped of their \
                symbol",
            ),
        }
    }

    /// Whether this may be a table: `{table, old, young, size}`, where each count includes the one before.
    fn is_finaliser_table(&mut self, at: u64) -> bool {
        let words = [0, 1, 2, 3].map(|index| self.field(at, index));
        let [Some(table), Some(old), Some(young), Some(size)] = words else { return false };
        old <= young && young <= size && size < MOST_FINALISERS && (table == 0) == (size == 0)
    }

    /// Reads a `struct finalisable`.
    fn finaliser_table(&mut self, at: u64, order: Order) -> Option<()> {
        let table = self.field(at, layout::TABLE)?;
        let count = self.field(at, layout::COUNT)?;
        if count > MOST_FINALISERS {
            return None;
        }
        for entry in 0..count {
            let entry = table.checked_add(8 * layout::ENTRY as u64 * entry)?;
            self.finaliser(entry, order, false)?;
        }
        Some(())
    }

    /// Reads the list of tables with finalisers that are due.
    fn due_finalisers(&mut self, first: u64) {
        let mut at = first;
        for _ in 0..MOST_LISTS {
            if at == 0 {
                return;
            }
            let count = self.field(at, layout::DUE_COUNT).unwrap_or(0) as u32;
            for entry in 0..u64::from(count) {
                let offset = layout::DUE_ENTRIES as u64 + layout::ENTRY as u64 * entry;
                if self.finaliser(at.saturating_add(8 * offset), Order::First, true).is_none() {
                    return self.gap("finalisers that are due cannot be read");
                }
            }
            at = self.field(at, 0).unwrap_or(0);
        }
        self.gap("finalisers that are due have no end");
    }

    fn finaliser(&mut self, entry: u64, order: Order, is_due: bool) -> Option<()> {
        let function = self.field(entry, 0)?;
        let value = self.field(entry, layout::VALUE)?;
        self.add(entry, function, RootHolder::FinaliserFunction { order });
        let slot = entry.checked_add(8 * layout::VALUE as u64)?;
        if is_due {
            self.add(slot, value, RootHolder::FinaliserDue);
        } else {
            // OCaml 5 lists the slot among its roots, although it does not keep the value alive.
            self.pass(slot);
        }
        self.found.finalisers.push(Finaliser { function, value, order, is_due });
        Some(())
    }

    /// The runtime lists the functions of the two tables, and then function and value of each finaliser that
    /// is due. The second table begins where the addresses are not consecutive.
    fn listed_finalisers(&mut self, slots: &[u64]) {
        let stride = 8 * layout::ENTRY as u64;
        let mut order = Order::First;
        let mut before: Option<u64> = None;
        let mut rest = slots.iter().copied().peekable();
        while let Some(slot) = rest.next() {
            let is_due = rest.next_if_eq(&slot.wrapping_add(8 * layout::VALUE as u64)).is_some();
            let follows = before.is_none_or(|before| before.wrapping_add(stride) == slot);
            if !follows && !is_due {
                order = Order::Last;
            }
            before = Some(slot);
            if self.finaliser(slot, order, is_due).is_none() {
                return self.gap("finalisers cannot be read");
            }
        }
    }
}
