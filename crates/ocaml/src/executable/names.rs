//! A symbol table as it is in a file, queried by name.
//!
//! A large program has a million symbols in tables of a hundred megabytes, of which some thirty are needed. The
//! dynamic linker has the same need, so its table comes with a hash table (`.gnu.hash`), which finds a name by
//! reading a few pages of the file. Other tables are read once, on the first query, to build an index of
//! hashes.

use core::cell::OnceCell;
use std::vec::Vec;

use object::elf::{STB_LOCAL, STV_DEFAULT, Sym32, Sym64};
use object::pod;
use object::read::elf::Sym;
use object::{Endian, Endianness};

/// Longer names are skipped. The longest of a large OCaml program have some hundred bytes.
const LONGEST_NAME: usize = 1024;

/// A symbol table.
#[derive(Clone, Debug)]
pub(super) struct Names<'a> {
    entries: Entries<'a>,
    strings: &'a [u8],
    endian: Endianness,
    hash: Option<GnuHash<'a>>,
    /// Hashes of names and their indices in the table, sorted; for tables without a hash table.
    index: OnceCell<Vec<(u32, u32)>>,
}

/// An entry of a symbol table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub address: u64,
    pub size: u64,
    /// Whether it is defined here, and not imported from a library.
    pub is_defined: bool,
    /// Whether other objects find it.
    pub is_visible: bool,
    /// The offset of its name among the strings.
    name: u32,
}

#[derive(Clone, Copy, Debug)]
enum Entries<'a> {
    Of64(&'a [Sym64<Endianness>]),
    Of32(&'a [Sym32<Endianness>]),
}

impl<'a> Names<'a> {
    /// None if `symbols` does not consist of whole entries.
    pub fn new(
        bits: u8,
        endian: Endianness,
        symbols: &'a [u8],
        strings: &'a [u8],
        hash: Option<&'a [u8]>,
    ) -> Option<Names<'a>> {
        let entries = match bits {
            64 => Entries::Of64(pod::slice_from_all_bytes(symbols).ok()?),
            _ => Entries::Of32(pod::slice_from_all_bytes(symbols).ok()?),
        };
        let hash = hash.and_then(|bytes| GnuHash::read(bytes, bits, endian));
        Some(Names { entries, strings, endian, hash, index: OnceCell::new() })
    }

    /// The definition of this name.
    pub fn defined(&self, name: &str) -> Option<Symbol> {
        let is_it = |symbol: &Symbol| symbol.is_defined && self.has_name(symbol, name);
        match &self.hash {
            Some(hash) => self.found_by(hash, name).find(is_it),
            None => self.indexed(name).find(is_it),
        }
    }

    /// Whether this name is imported from a library.
    pub fn imports(&self, name: &str) -> bool {
        let is_it = |symbol: Symbol| !symbol.is_defined && self.has_name(&symbol, name);
        match &self.hash {
            // Imports precede all symbols in the hash table, except for functions whose address is taken by an
            // executable at a fixed address: its own jump (PLT entry) is their address for everybody.
            Some(hash) => {
                let first = (0..hash.first.min(self.entries.len())).filter_map(|at| self.get(at));
                self.found_by(hash, name).chain(first).any(is_it)
            }
            None => self.indexed(name).any(is_it),
        }
    }

    fn get(&self, at: usize) -> Option<Symbol> {
        self.entries.get(at, self.endian)
    }

    fn found_by(&self, hash: &GnuHash<'_>, name: &str) -> impl Iterator<Item = Symbol> {
        hash.candidates(name).filter_map(|at| self.get(at))
    }

    /// All definitions that have names.
    pub fn all(&self) -> impl Iterator<Item = (&'a [u8], Symbol)> {
        let symbols = (0..self.entries.len()).filter_map(|at| self.get(at));
        let defined = symbols.filter(|symbol| symbol.is_defined);
        defined.filter_map(|symbol| Some((string_at(self.strings, symbol.name.into())?, symbol)))
    }

    /// The string at an offset among the table's strings.
    pub fn string(&self, offset: u64) -> Option<&'a [u8]> {
        string_at(self.strings, offset)
    }

    fn has_name(&self, symbol: &Symbol, name: &str) -> bool {
        let rest = self.strings.get(symbol.name as usize..).unwrap_or_default();
        !name.is_empty() && rest.strip_prefix(name.as_bytes()).and_then(<[u8]>::first) == Some(&0)
    }

    /// Symbols that may have this name.
    fn indexed(&self, name: &str) -> impl Iterator<Item = Symbol> {
        let index = self.index.get_or_init(|| {
            let hashes = (0..self.entries.len()).filter_map(|at| {
                let symbol = self.get(at)?;
                let name = string_at(self.strings, symbol.name.into())?;
                Some((gnu_hash(name), u32::try_from(at).ok()?))
            });
            let mut index: Vec<_> = hashes.collect();
            index.sort_unstable();
            index
        });
        let hash = gnu_hash(name.as_bytes());
        let from = index.partition_point(|(other, _)| *other < hash);
        let same = index.get(from..).unwrap_or_default();
        let same = same.iter().take_while(move |(other, _)| *other == hash);
        same.filter_map(|(_, at)| self.get(*at as usize))
    }
}

impl Entries<'_> {
    fn len(&self) -> usize {
        match self {
            Entries::Of64(symbols) => symbols.len(),
            Entries::Of32(symbols) => symbols.len(),
        }
    }

    fn get(&self, at: usize, endian: Endianness) -> Option<Symbol> {
        match self {
            Entries::Of64(symbols) => symbols.get(at).map(|symbol| Symbol::new(symbol, endian)),
            Entries::Of32(symbols) => symbols.get(at).map(|symbol| Symbol::new(symbol, endian)),
        }
    }
}

impl Symbol {
    fn new<S: Sym<Endian = Endianness>>(symbol: &S, endian: Endianness) -> Symbol {
        Symbol {
            address: symbol.st_value(endian).into(),
            size: symbol.st_size(endian).into(),
            is_defined: !symbol.is_undefined(endian),
            is_visible: symbol.st_bind() != STB_LOCAL && symbol.st_visibility() == STV_DEFAULT,
            name: symbol.st_name(endian),
        }
    }
}

/// The hash table of the dynamic linker. Symbols of one bucket are contiguous; an odd hash marks the last one.
#[derive(Clone, Debug)]
struct GnuHash<'a> {
    endian: Endianness,
    /// The first symbol that is in the hash table.
    first: usize,
    buckets: &'a [[u8; 4]],
    /// Hashes of the symbols from the first on, without their lowest bit.
    chains: &'a [[u8; 4]],
}

impl<'a> GnuHash<'a> {
    /// Parses four counts, a filter in machine words (skipped here), buckets, chains.
    fn read(bytes: &'a [u8], bits: u8, endian: Endianness) -> Option<GnuHash<'a>> {
        let (words, _) = bytes.as_chunks::<4>();
        let count = |at: usize| Some(endian.read_u32_bytes(*words.get(at)?) as usize);
        let filter = count(2)?.checked_mul(usize::from(bits) / 32)?;
        let rest = words.get(filter.checked_add(4)?..)?;
        let (buckets, chains) = rest.split_at_checked(count(0)?)?;
        (!buckets.is_empty()).then_some(GnuHash { endian, first: count(1)?, buckets, chains })
    }

    /// Indices of the symbols whose names have the same hash.
    fn candidates(&self, name: &str) -> impl Iterator<Item = usize> {
        let hash = gnu_hash(name.as_bytes());
        let bucket = self.buckets.get(hash as usize % self.buckets.len());
        let start = bucket.map_or(0, |bucket| self.endian.read_u32_bytes(*bucket) as usize);
        // An empty bucket holds 0.
        let chain = start.checked_sub(self.first).and_then(|from| self.chains.get(from..));
        let mut is_over = false;
        let links = (start..).zip(chain.unwrap_or_default()).map_while(move |(at, link)| {
            let link = self.endian.read_u32_bytes(*link);
            let was_over = std::mem::replace(&mut is_over, link & 1 == 1);
            (!was_over).then_some((at, link))
        });
        links.filter(move |(_, link)| link | 1 == hash | 1).map(|(at, _)| at)
    }
}

fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add((*byte).into()))
}

/// The string that begins at an offset, if it is terminated and not empty.
fn string_at(strings: &[u8], offset: u64) -> Option<&[u8]> {
    let rest = strings.get(usize::try_from(offset).ok()?..)?;
    let end = memchr::memchr(0, rest.get(..LONGEST_NAME).unwrap_or(rest))?;
    rest.get(..end).filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRINGS: &[u8] = b"\0readlink\0caml_state\0same\0";

    /// A 64-bit symbol.
    fn symbol(name: u32, section: u16, address: u64) -> Vec<u8> {
        let first = u64::from(name) | 0x12 << 32 | u64::from(section) << 48;
        [first, address, 0].iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    fn symbols() -> Vec<u8> {
        // Imports come first, unless they have an address; `state` is the end of another name.
        let taken = [symbol(0, 0, 0), symbol(1, 0, 0)];
        let others = [symbol(10, 1, 16), symbol(15, 1, 32), symbol(21, 0, 48)];
        [taken.concat(), others.concat()].concat()
    }

    /// A hash table with one bucket.
    fn hash(start: u32, names: &[&str]) -> Vec<u8> {
        let mut words = std::vec![1, 2, 1, 0, 0, 0, start];
        words.extend(names.iter().map(|name| gnu_hash(name.as_bytes()) & !1));
        if let Some(last) = words.last_mut() {
            *last |= 1;
        }
        words.iter().flat_map(|word: &u32| word.to_le_bytes()).collect()
    }

    fn check(names: &Names<'_>) {
        let address = |name| names.defined(name).map(|symbol| symbol.address);
        assert_eq!(address("caml_state"), Some(16));
        assert_eq!(address("state"), Some(32));
        for other in ["", "readlink", "caml_stat", "caml_state\0same", "same"] {
            assert_eq!(address(other), None, "{other}");
        }
        assert!(names.imports("readlink") && names.imports("same"));
        assert!(!names.imports("caml_state") && !names.imports(""));
        let all: Vec<_> = names.all().map(|(name, symbol)| (name, symbol.address)).collect();
        assert_eq!(all, [(&b"caml_state"[..], 16), (b"state", 32)]);
    }

    #[test]
    fn names_are_found_with_and_without_a_hash_table() {
        let symbols = symbols();
        let names = |hash| Names::new(64, Endianness::Little, &symbols, STRINGS, hash);
        check(&names(None).expect("whole symbols"));
        let table = hash(2, &["caml_state", "state", "same"]);
        let by_hash = names(Some(&table)).expect("whole symbols");
        check(&by_hash);
        assert!(by_hash.index.get().is_none(), "the table was read");
        // An invalid hash table is ignored.
        check(&names(Some(&table[..20])).expect("whole symbols"));
    }

    #[test]
    fn any_hash_table_is_survived() {
        let symbols = symbols();
        let table = hash(2, &["caml_state", "state", "same"]);
        for at in 0..table.len() {
            for value in [0, 1, 0x7f, 0xff] {
                let mut table = table.clone();
                table[at] = value;
                let names = Names::new(64, Endianness::Little, &symbols, STRINGS, Some(&table));
                let names = names.expect("whole symbols");
                for name in ["caml_state", "readlink", "same"] {
                    names.defined(name);
                    names.imports(name);
                }
            }
        }
    }
}
