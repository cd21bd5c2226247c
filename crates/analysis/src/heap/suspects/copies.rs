//! Finds duplicated contents.

use super::{Look, Severity, Suspect, SuspectKind};
use crate::heap::{WORD, duplicates};
use crate::units::{show_bytes, show_count};

/// The fraction of the heap from which duplicates are reported.
const COPIES: f64 = 0.1;
/// In larger heaps duplicates are searched only on request, because that takes longer than everything else
/// together.
const MOST_BLOCKS: usize = 20_000_000;
/// The most characters quoted of a text.
const LETTERS: usize = 40;

impl Look<'_> {
    /// Blocks that would be unnecessary if equal blocks were shared.
    pub(super) fn copies(&self) -> Vec<Suspect> {
        if self.heap.blocks() > MOST_BLOCKS {
            return Vec::new();
        }
        let found = duplicates(self.heap, 1);
        let words = found.saved / WORD;
        if self.share(words) < COPIES || !self.is_worth(words) {
            return Vec::new();
        }
        let mut sentence = format!(
            "{} blocks are copies of others, {}",
            show_count(found.saved_blocks as f64),
            self.size(words),
        );
        if let Some(class) = found.classes.first() {
            sentence.push_str(&format!(
                "; {} of it are {}",
                show_bytes(class.saved as f64),
                class.label.text()
            ));
        }
        if let Some(largest) = found.structures.first() {
            let what: String = largest.what.chars().take(LETTERS).collect();
            let count = show_count(largest.copies as f64);
            sentence.push_str(&format!(", for example {count} times {what}"));
        }
        if let Some(site) = found.sites.first() {
            let place = site.label.place().map_or(String::new(), |place| format!(" ({place})"));
            sentence.push_str(&format!(". Most were made in {}{place}", site.label.written()));
        }
        let next = ("duplicates", String::new());
        vec![self.suspect(SuspectKind::Copies, Severity::Possible, words, next, sentence)]
    }
}
