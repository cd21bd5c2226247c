//! Ephemerons and weak arrays: the runtime links all of them through their first field.

use super::finder::Finder;

impl Finder<'_> {
    pub(super) fn ephemerons(&mut self) {
        let mut lists = Vec::new();
        match self.layout.state.ephemerons {
            Some(word) => {
                for state in self.states.clone() {
                    let info = self.field(state, word).unwrap_or(0);
                    // `todo` and `live`.
                    let both = [self.field(info, 0), self.field(info, 1)];
                    lists.extend(both.into_iter().flatten());
                }
                let orphans = self.static_word("major_gc", "orph_structs");
                lists.extend(orphans);
            }
            None => match self.global_word("caml_ephe_list_head") {
                Some(head) => lists.push(head),
                None => self.gap("the list of ephemerons cannot be found"),
            },
        }
        for list in lists {
            self.ephemeron_list(list);
        }
    }

    fn ephemeron_list(&mut self, first: u64) {
        let mut at = first;
        // Cycle detection by Brent: a remembered element is met again, and replaced at doubling distances.
        let (mut met, mut steps, mut limit) = (None, 0_u64, 1_u64);
        while at & 1 == 0 && at != 0 {
            self.found.ephemerons.push(at);
            let Some(next) = self.words.word(at) else {
                return self.gap("the list of ephemerons cannot be read to its end");
            };
            if Some(next) == met {
                return self.gap("the list of ephemerons is linked in a ring");
            }
            steps += 1;
            if steps == limit {
                (met, steps, limit) = (Some(next), 0, limit * 2);
            }
            at = next;
        }
    }
}
