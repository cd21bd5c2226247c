//! Learns what type variables stand for from the blocks of these types.
//!
//! A cell that `List.map` allocated is an `'a list`, so its tail and the positions of its elements are known.
//! If some elements were sampled too, and no element contradicts them, it is a list of that type.

use super::hash::Map;
use super::shape::Shape;
use super::spread::{Origin, Spread};
use super::terms::{Head, Term};

/// The maximum number of rounds: each makes new types known, which may decide more.
const ROUNDS: usize = 16;

impl Spread<'_> {
    /// Learns what variables stand for from blocks with types, and finally from headers alone.
    pub(crate) fn pull(&mut self, origin: Origin) {
        // A variable whose blocks have not changed yields nothing new.
        let mut seen: Map<u32, usize> = Map::default();
        for round in 0..ROUNDS {
            let mut variables: Vec<u32> = self.waiting.keys().copied().collect();
            variables.sort_unstable();
            let mut is_changed = false;
            for number in variables {
                let typed = self.typed_waiters(number);
                if typed == 0 || seen.insert(number, typed) == Some(typed) {
                    continue;
                }
                if let Some(term) = self.agreed(number, false) {
                    is_changed = true;
                    self.bind(number, term, origin);
                    self.run();
                }
            }
            if !is_changed || round + 1 == ROUNDS {
                break;
            }
        }
        let mut variables: Vec<u32> = self.waiting.keys().copied().collect();
        variables.sort_unstable();
        for number in variables {
            if let Some(term) = self.agreed(number, true) {
                self.bind(number, term, origin);
            }
        }
        self.run();
    }

    fn typed_waiters(&self, number: u32) -> usize {
        let blocks = self.waiting.get(&number).map_or(&[][..], |blocks| blocks);
        blocks.iter().filter(|&&block| self.is_telling(block)).count()
    }

    /// Whether a block's type is evidence for the variable as which it was reached.
    fn is_telling(&self, block: u32) -> bool {
        !self.is_shared(block) && self.typed(block).is_some()
    }

    /// What all blocks that wait for a variable agree on. In the last pass, headers are enough.
    fn agreed(&mut self, number: u32, is_end: bool) -> Option<Term> {
        let blocks = self.waiting.get(&number)?.clone();
        let mark = self.terms.mark();
        let agreed = self.agreement(&blocks, is_end);
        // Bindings made for the comparison are only undone if there is no agreement; otherwise the blocks that
        // wait for them are woken.
        if agreed.is_none() {
            self.terms.undo(mark);
        } else {
            self.wake();
        }
        agreed
    }

    fn agreement(&mut self, blocks: &[u32], is_end: bool) -> Option<Term> {
        let mut agreed = Term::ANY;
        let mut last = Term::NONE;
        for &block in blocks {
            if self.is_shared(block) {
                continue;
            }
            let term = match self.typed(block) {
                Some(term) => term,
                None if is_end => self.by_header(block)?,
                None => continue,
            };
            if term != last {
                agreed = self.terms.unify(agreed, term).ok()?;
                last = term;
            }
        }
        let agreed = self.terms.shallow(agreed);
        let head = self.terms.head(agreed);
        if matches!(head, Head::Any | Head::Variable(_)) || self.hidden.contains_key(&head) {
            return None;
        }
        // No waiting block may contradict it.
        for &block in blocks {
            let (form, words) =
                (self.image.forms[block as usize], self.image.words[block as usize]);
            match self.shapes.of(&mut self.terms, agreed, form, words) {
                Shape::Fits(_) => {}
                Shape::Becomes(_) | Shape::Clashes | Shape::Waits => return None,
            }
        }
        Some(agreed)
    }
}
