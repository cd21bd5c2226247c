//! The address ranges that may contain blocks.
//!
//! OCaml 4 links the chunks of its major heap. OCaml 5 maps pieces of all sizes and has no list that is easy
//! to read, so there all writable memory of the program may be heap; only pointers tell where blocks are.

use std::ops::Range;

use bactrian_ocaml::heap_layout::chunk;
use bactrian_ocaml::symbol;

use super::finder::Finder;
use super::words::addresses;
use super::{Space, SpaceKind};

const MOST_SEGMENTS: usize = 1 << 20;
/// Blocks without fields, one for each tag.
const ATOMS: u64 = 256;

impl Finder<'_> {
    pub(super) fn spaces(&mut self) {
        let fixed = self.static_data();
        match self.has_domains() {
            false => self.chunks(),
            true => self.mapped(&fixed),
        }
        self.found.spaces.extend(fixed);
        self.found.spaces.sort_by_key(|space| space.range.start);
    }

    /// OCaml 4: the chunks, which are linked in order of addresses, and the minor heap.
    fn chunks(&mut self) {
        let head = self.layout.chunk_head;
        let mut at = self.global_word("caml_heap_start").unwrap_or(0);
        let mut last = 0;
        if at == 0 {
            self.gap("the chunks of the major heap cannot be found");
        }
        while at != 0 {
            let before = at.saturating_sub(8 * head as u64);
            let size = self.field(before, chunk::SIZE);
            let next = self.field(before, chunk::NEXT);
            let end = size.and_then(|size| at.checked_add(size)).filter(|_| at > last);
            let (Some(end), Some(next)) = (end, next) else {
                return self.gap("the chunks of the major heap cannot be read to the last");
            };
            self.found.spaces.push(Space { range: at..end, kind: SpaceKind::Major });
            (last, at) = (at, next);
        }
        let state = self.global_word("Caml_state").unwrap_or(0);
        let words = &self.layout.state;
        let young = [words.young_start, words.young_end].map(|index| self.field(state, index));
        match young {
            [Some(start), Some(end)] if start <= end => {
                self.found.spaces.push(Space { range: start..end, kind: SpaceKind::Minor });
            }
            _ => self.gap("the minor heap cannot be found"),
        }
    }

    /// OCaml 5: all writable memory that is known to be nothing else.
    fn mapped(&mut self, fixed: &[Space]) {
        let minor = self.minor_area();
        if minor.is_none() {
            self.gap("the minor heaps cannot be found");
        }
        let minor = minor.unwrap_or_default();
        let mut found = Vec::new();
        for region in self.memory.regions() {
            let is_named = region.file.as_ref().is_some_and(|name| name.as_os_str() != "[heap]");
            let mut objects = self.target.objects.iter();
            let is_of_object = objects.any(|object| overlap(&object.range, &region.range));
            if !region.may_hold_blocks() || is_named || is_of_object {
                continue;
            }
            // The area of the minor heaps may share a mapping with its neighbours, and OCaml's atoms are in
            // memory allocated by C.
            let mut parts = vec![region.range.clone()];
            for other in fixed.iter().map(|space| &space.range).chain([&minor]) {
                parts = parts.iter().flat_map(|part| without(part, other)).collect();
            }
            found.extend(parts.into_iter().map(|range| Space { range, kind: SpaceKind::Major }));
        }
        if !minor.is_empty() {
            found.push(Space { range: minor, kind: SpaceKind::Minor });
        }
        self.found.spaces.extend(found);
    }

    /// Static data of modules: those of the program, which lists them, and those of plugins, which have
    /// symbols for them.
    fn static_data(&mut self) -> Vec<Space> {
        let mut found = Vec::new();
        let mut add = |start: u64, end: u64| {
            if start < end {
                found.push(Space { range: start..end, kind: SpaceKind::Static });
            }
        };
        if let Some(segments) = self.target.global("caml_data_segments") {
            for at in addresses(segments, 16, MOST_SEGMENTS) {
                let both = [self.words.word(at), self.words.word(at.saturating_add(8))];
                let [Some(start), Some(end)] = both else { break };
                if start == 0 {
                    break;
                }
                // The end is the address of the last word.
                add(start, end.saturating_add(8));
            }
        }
        let own = self.target.runtime_object().range.start;
        for object in self.target.objects.iter().filter(|object| object.range.start != own) {
            for begin in object.symbols.all() {
                let name = object.symbols.name(begin);
                let Some(unit) = name.strip_suffix("data_begin") else { continue };
                let end = object.symbols.find(&format!("{unit}data_end"));
                if let Some(end) = end.filter(|_| symbol::is_ocaml(unit)) {
                    add(begin.address, end.address.saturating_add(8));
                }
            }
        }
        if let Some(atoms) = self.global_word("caml_atom_table").filter(|atoms| *atoms != 0) {
            add(atoms, atoms.saturating_add(8 * (ATOMS + 1)));
        }
        found.sort_by_key(|space| space.range.start);
        found.dedup();
        found
    }
}

fn overlap(one: &Range<u64>, other: &Range<u64>) -> bool {
    one.start < other.end && other.start < one.end
}

/// The parts of a range outside another.
fn without(range: &Range<u64>, other: &Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let parts = match overlap(range, other) {
        false => [range.clone(), 0..0],
        true => [range.start..other.start, other.end..range.end],
    };
    parts.into_iter().filter(|part| part.start < part.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_cut_out_of_another() {
        let check = |other: Range<u64>, expected: &[(u64, u64)]| {
            let left = without(&(10..20), &other).map(|part| (part.start, part.end));
            assert_eq!(left.collect::<Vec<_>>(), expected, "{other:?}");
        };
        check(0..0, &[(10, 20)]);
        check(20..30, &[(10, 20)]);
        check(12..15, &[(10, 12), (15, 20)]);
        check(5..15, &[(15, 20)]);
        check(10..20, &[]);
        check(0..100, &[]);
    }
}
