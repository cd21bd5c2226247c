//! The frame descriptors of everything that is loaded, by return address.

use std::collections::HashMap;
use std::sync::{Arc, RwLock};

use bactrian_ocaml::RuntimeCode;
use bactrian_ocaml::frames::{Descriptor, FrameLocation, LONGEST_DESCRIPTOR, locations};

use super::Frame;
use super::words::addresses;
use crate::heap::target::Target;
use crate::memory::Memory;

/// An upper bound; programs have one table per module.
const MOST_TABLES: usize = 1 << 20;
/// How many bytes of a table are read at a time.
const PIECE: usize = 1 << 18;

/// All frame descriptors.
pub(super) struct Descriptors<'a> {
    target: &'a Target,
    memory: &'a dyn Memory,
    /// Return addresses with the addresses of their descriptors, sorted.
    places: Vec<(u64, u64)>,
    /// Descriptors that were looked up. Stacks contain few functions, each of them often.
    known: RwLock<HashMap<u64, Option<Arc<Descriptor>>>>,
    /// What could not be read.
    pub gaps: Vec<String>,
}

impl<'a> Descriptors<'a> {
    /// Empty, for searches that do not read stacks.
    pub fn none(target: &'a Target, memory: &'a dyn Memory) -> Descriptors<'a> {
        let known = RwLock::default();
        Descriptors { target, memory, places: Vec::new(), known, gaps: Vec::new() }
    }

    /// Reads the tables of the program and of its plugins.
    pub fn read(target: &'a Target, memory: &'a dyn Memory) -> Descriptors<'a> {
        let mut all = Descriptors::none(target, memory);
        // Bytecode has none, except in a runtime that it was linked with.
        let tables = if target.code == RuntimeCode::Native { all.tables() } else { Vec::new() };
        for table in tables {
            if all.add(table).is_none() {
                all.gaps.push(format!("the frame table at {table:#x} cannot be read"));
            }
        }
        all.places.sort_unstable();
        all
    }

    fn tables(&mut self) -> Vec<u64> {
        let mut tables = Vec::new();
        match self.target.global("caml_frametable") {
            Some(list) => {
                let found = addresses(list, 8, MOST_TABLES).map_while(|at| self.memory.word(at));
                tables.extend(found.take_while(|table| *table != 0));
            }
            None => self.gaps.push("the list of frame tables has no symbol".to_owned()),
        }
        // Plugins have symbols for theirs.
        let symbols = self.target.objects.iter().map(|object| &object.symbols);
        for symbols in symbols {
            let names = symbols.all().iter().filter(|symbol| !symbol.is_local);
            let named = names.filter(|symbol| {
                let name = symbols.name(symbol);
                let unit = name.strip_suffix("frametable");
                unit.is_some_and(|unit| {
                    unit.starts_with("caml") && (unit.ends_with("__") || unit.ends_with('.'))
                })
            });
            tables.extend(named.map(|symbol| symbol.address));
        }
        tables.sort_unstable();
        tables.dedup();
        tables
    }

    fn add(&mut self, table: u64) -> Option<()> {
        let mut left = self.memory.word(table)?;
        let mut at = table.checked_add(8)?;
        while left > 0 {
            let piece = self.piece(at, PIECE)?;
            let is_last = piece.len() < PIECE;
            let mut used = 0;
            while left > 0 {
                let rest = piece.get(used..)?;
                // A descriptor that may continue beyond the piece is read again at the start of the next one.
                if rest.len() < LONGEST_DESCRIPTOR && !is_last && used > 0 {
                    break;
                }
                let (found, length) = Descriptor::read(rest, at + used as u64)?;
                self.places.push((found.return_address, at + used as u64));
                used += length;
                left -= 1;
            }
            at = at.checked_add(used as u64)?;
        }
        Some(())
    }

    /// The bytes at an address, up to `most`, or to where memory cannot be read.
    fn piece(&self, address: u64, most: usize) -> Option<Vec<u8>> {
        let regions = self.memory.regions();
        let after = regions.partition_point(|region| region.range.start <= address);
        let mut ends = Vec::new();
        let mut end = address;
        for region in regions.get(after.checked_sub(1)?..)? {
            if !region.readable || !region.range.contains(&end) || end - address > most as u64 {
                break;
            }
            end = region.range.end;
            ends.push(end);
        }
        // The following region may be the kernel's, which claims to be readable but is not.
        ends.into_iter().rev().find_map(|end| {
            let length = usize::try_from(end - address).ok()?.min(most);
            let mut bytes = vec![0; length];
            self.memory.read(address, &mut bytes).then_some(bytes)
        })
    }

    /// Return addresses within a range, in order.
    pub fn within(&self, range: std::ops::Range<u64>) -> impl Iterator<Item = u64> {
        let first = self.places.partition_point(|(address, _)| *address < range.start);
        let rest = self.places.get(first..).unwrap_or_default().iter().map(|(address, _)| *address);
        rest.take_while(move |address| *address < range.end)
    }

    /// The number of descriptors.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// The descriptor of a return address.
    pub fn find(&self, return_address: u64) -> Option<Arc<Descriptor>> {
        let known = self.known.read().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(found) = known.get(&return_address) {
            return found.clone();
        }
        drop(known);
        let found = self.look_up(return_address).map(Arc::new);
        let mut known = self.known.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        known.insert(return_address, found.clone());
        found
    }

    fn look_up(&self, return_address: u64) -> Option<Descriptor> {
        let at = self.places.binary_search_by_key(&return_address, |(address, _)| *address).ok()?;
        let (_, place) = *self.places.get(at)?;
        // Most descriptors are short.
        [256, LONGEST_DESCRIPTOR].into_iter().find_map(|most| {
            let (found, _) = Descriptor::read(&self.piece(place, most)?, place)?;
            Some(found)
        })
    }

    /// The function and the source locations of a return address.
    pub fn frame(&self, return_address: u64) -> Frame {
        let found = self.find(return_address).and_then(|descriptor| descriptor.debug_info);
        let locations = found.map_or(Vec::new(), |at| self.locations(at));
        let symbol = self.target.function_at(return_address.wrapping_sub(1)).unwrap_or_default();
        Frame { symbol: symbol.to_owned(), locations }
    }

    fn locations(&self, debug_info: u64) -> Vec<FrameLocation> {
        let mut read = |at: u64, buffer: &mut [u8]| self.memory.read(at, buffer);
        locations(debug_info, self.target.runtime.location, &mut read)
    }
}
