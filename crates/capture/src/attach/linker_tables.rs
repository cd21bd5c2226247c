//! Tables for an agent in a program that is linked statically or does not export its symbols. The agent asks
//! the dynamic linker what is loaded, and reads the tables made for the dynamic linker. Such a program has
//! none, so we make them from the symbols in its file, and write them beside the agent.

use crate::heap::target::{Object, SymbolKind, Target};

/// The function that reports what is loaded.
pub const OBJECTS: &str = "dl_iterate_phdr";
/// The function of glibc by which the agent learns of forks.
pub const FORKS: &str = "__register_atfork";
/// A function that every libc has.
pub const ERRNO: &str = "__errno_location";
/// A function that every runtime with a sampler has.
const OF_RUNTIME: &str = "caml_memprof_start";

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
/// Sizes in words of struct dl_phdr_info, of a program header, and of a symbol.
const INFO: u64 = 8;
const SEGMENT: u64 = 7;
const SYMBOL: u64 = 3;
/// The average number of symbols per bucket of the hash table.
const PER_BUCKET: usize = 4;

/// The tables.
pub struct LinkerTables<'a> {
    object: &'a Object,
    /// Symbols with the hashes of their names, ordered by bucket.
    symbols: Vec<(u32, &'a str, Named)>,
    buckets: u32,
}

/// The value of a symbol.
#[derive(Clone, Copy)]
struct Named {
    value: u64,
    size: u64,
    kind: u64,
}

impl<'a> LinkerTables<'a> {
    /// Tables of the object that contains the OCaml runtime: its global functions, the variables of the
    /// runtime, and what the agent needs of libc. None if the program needs no tables.
    pub fn of(target: &'a Target) -> Option<LinkerTables<'a>> {
        let object = target.runtime_object();
        let has_linker = target.objects.iter().any(|it| it.symbols.find(OBJECTS).is_some());
        let is_hidden = object.has_all_symbols && object.symbols.count(OF_RUNTIME) == 1;
        if has_linker && !is_hidden {
            return None;
        }
        let names = &object.symbols;
        let all = names.all().iter().filter(|symbol| !symbol.is_local);
        let mut symbols: Vec<_> = all
            .filter_map(|symbol| {
                let name = names.name(symbol);
                let (kind, bias) = match symbol.kind {
                    SymbolKind::Function => (2, object.bias),
                    SymbolKind::ThreadLocal => (6, 0),
                    SymbolKind::Data
                        if ["caml_", "Caml_"].iter().any(|of| name.starts_with(of)) =>
                    {
                        (1, object.bias)
                    }
                    // Data of OCaml modules and of libc.
                    SymbolKind::Data => return None,
                };
                let value = symbol.address.wrapping_sub(bias);
                Some((gnu_hash(name), name, Named { value, size: symbol.size, kind }))
            })
            .collect();
        if object.symbols.find(FORKS).is_none() {
            let found = target.objects.iter().find_map(|it| it.symbols.find(FORKS));
            symbols.extend(found.map(|symbol| {
                let value = symbol.address.wrapping_sub(object.bias);
                (gnu_hash(FORKS), FORKS, Named { value, size: symbol.size, kind: 2 })
            }));
        }
        let buckets = u32::try_from(symbols.len() / PER_BUCKET + 1).unwrap_or(1);
        symbols.sort_by_key(|(hash, ..)| hash % buckets);
        Some(LinkerTables { object, symbols, buckets })
    }

    /// Their size in bytes.
    pub fn length(&self) -> u64 {
        self.placed_at(0).len() as u64
    }

    /// The bytes to be written at an address.
    pub fn placed_at(&self, at: u64) -> Vec<u8> {
        let Object { bias, range, tls, .. } = self.object;
        let segments = at + 8 * INFO;
        let dynamic = segments + 2 * 8 * SEGMENT;
        let symbols = dynamic + 4 * 16;
        let hashes = symbols + (self.symbols.len() as u64 + 1) * 8 * SYMBOL;
        let hash_table = self.hash_table();
        let strings = hashes + hash_table.len() as u64;
        let mut words = vec![*bias, strings, segments, 2, 0, 0, 1, tls.map_or(0, |tls| tls.end())];
        let start = range.start.wrapping_sub(*bias);
        let length = range.end - range.start;
        words.extend([PT_LOAD, 0, start, start, length, length, 0]);
        words.extend([PT_DYNAMIC, 0, dynamic.wrapping_sub(*bias), 0, 0, 0, 0]);
        words.extend([DT_STRTAB, strings, DT_SYMTAB, symbols, DT_GNU_HASH, hashes, 0, 0]);
        words.extend([0; SYMBOL as usize]);
        // The first string is empty: an executable has no name.
        let mut texts = vec![0];
        for (_, name, symbol) in &self.symbols {
            // Any section except undefined.
            let (global, section) = (1 << 4, 1 << 16);
            let about = (symbol.kind | global | section) << 32;
            words.extend([about | texts.len() as u64, symbol.value, symbol.size]);
            texts.extend_from_slice(name.as_bytes());
            texts.push(0);
        }
        let mut bytes: Vec<u8> = words.into_iter().flat_map(u64::to_le_bytes).collect();
        bytes.extend(hash_table);
        bytes.extend(texts);
        bytes
    }

    /// The GNU hash table: counts, a bloom filter that lets everything through, the start of each bucket, and
    /// the hashes, the last of each bucket being odd.
    fn hash_table(&self) -> Vec<u8> {
        let bucket = |at: usize| self.symbols.get(at).map(|(hash, ..)| hash % self.buckets);
        let mut begins = vec![0; self.buckets as usize];
        let mut chain = Vec::new();
        for (at, (hash, ..)) in self.symbols.iter().enumerate() {
            let begin = &mut begins[(hash % self.buckets) as usize];
            if *begin == 0 {
                *begin = at as u32 + 1;
            }
            let is_last = bucket(at) != bucket(at + 1);
            chain.push(hash & !1 | u32::from(is_last));
        }
        let counts = [self.buckets, 1, 1, 0, u32::MAX, u32::MAX];
        counts.into_iter().chain(begins).chain(chain).flat_map(u32::to_le_bytes).collect()
    }
}

fn gnu_hash(name: &str) -> u32 {
    name.bytes().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}
