//! Variables that C code has registered: three skip lists, ordered by address.

use bactrian_ocaml::heap_layout::skip_list;

use bactrian_ocaml::Version;

use super::RootHolder;
use super::finder::Finder;

/// In OCaml 4.11 a cell consists of the variable's address and the next cell. The list head has the same
/// layout.
const NEXT_4_11: usize = 1;

impl Finder<'_> {
    pub(super) fn c_roots(&mut self) {
        let (first, next) = match self.target.version < Version::new(4, 12) {
            true => (NEXT_4_11, NEXT_4_11),
            false => (0, skip_list::NEXT),
        };
        for (list, is_generational) in [
            ("caml_global_roots", false),
            ("caml_global_roots_young", true),
            ("caml_global_roots_old", true),
        ] {
            let list_at = self.target.global(list);
            let Some(mut cell) = list_at.and_then(|at| self.field(at, first)) else {
                self.gap(format!("{list}, a list of the roots of C code, cannot be found"));
                continue;
            };
            // The lists are sorted, so a cycle would be detected.
            let mut last = 0;
            while cell != 0 {
                let slot = self.field(cell, 0).filter(|slot| *slot > last);
                let next = self.field(cell, next);
                let (Some(slot), Some(next)) = (slot, next) else {
                    self.gap(format!(
                        "{list}, a list of the roots of C code, cannot be read to its end"
                    ));
                    break;
                };
                match self.words.word(slot) {
                    Some(value) => {
                        let place = self.of_domain(slot);
                        self.add(slot, value, place.unwrap_or(RootHolder::C { is_generational }));
                    }
                    None => self.gap(format!("the root of C at {slot:#x} cannot be read")),
                }
                (last, cell) = (slot, next);
            }
        }
    }

    /// If a registered variable is in a domain's own state, what it is there.
    fn of_domain(&self, slot: u64) -> Option<RootHolder> {
        let words = &self.layout.state;
        let index = self.states.iter().enumerate().find_map(|(thread, state)| {
            let index = slot.checked_sub(*state)? / 8;
            (index < 256).then_some((thread as u32, index as usize))
        });
        match index? {
            (thread, index) if Some(index) == words.domain_local => {
                Some(RootHolder::DomainLocal { thread })
            }
            (thread, index) if index == words.last_exception => {
                Some(RootHolder::LastException { thread })
            }
            _ => None,
        }
    }
}
