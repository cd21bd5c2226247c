//! The symbols of an object, searchable by name and by address.

use std::fmt;

/// What a symbol stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A variable, or data of OCaml, whose symbols have no type.
    Data,
    /// A thread-local variable; its address is relative to the start of those.
    ThreadLocal,
}

/// A symbol of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its address in memory.
    pub address: u64,
    /// Its size in bytes; 0 if unknown.
    pub size: u64,
    /// What it stands for.
    pub kind: SymbolKind,
    /// Whether it is local to its source file: a static variable or function.
    pub is_local: bool,
    name: u32,
    /// The source file of a local symbol.
    file: u32,
}

/// The symbols of an object.
#[derive(Default)]
pub struct Symbols {
    /// All strings, each terminated by zero. The first one is empty.
    names: Vec<u8>,
    by_address: Vec<Symbol>,
    /// Hashes of the names, with the index of the symbol, sorted.
    by_name: Vec<(u32, u32)>,
}

/// A symbol table in file format, and its strings.
pub(crate) struct Table {
    pub symbols: Vec<u8>,
    pub strings: Vec<u8>,
}

const SYMBOL: usize = 24;
const UNDEFINED: u16 = 0;
/// The section of symbols that are numbers rather than addresses.
const ABSOLUTE: u16 = 0xfff1;
pub(super) const FILE: u8 = 4;

impl Symbols {
    /// Reads the tables of an object that was loaded with `bias`.
    pub(super) fn read(tables: &[Table], bias: u64) -> Symbols {
        let mut found = Symbols { names: vec![0], ..Symbols::default() };
        for table in tables {
            let Ok(strings) = u32::try_from(found.names.len()) else { break };
            let together = found.names.len() + table.strings.len() + 1;
            if u32::try_from(together).is_err() {
                break;
            }
            found.names.extend_from_slice(&table.strings);
            // Whatever the table contains, its last string ends.
            found.names.push(0);
            found.add(&table.symbols, strings, table.strings.len() as u64, bias);
        }
        // Symbols in both tables appear twice.
        found.by_address.sort_by_key(|symbol| (symbol.address, symbol.is_local));
        let symbols = (0..).zip(&found.by_address);
        let mut by_name: Vec<_> = symbols.map(|(at, s)| (hash(found.name(s)), at)).collect();
        by_name.sort_unstable();
        found.by_name = by_name;
        found
    }

    fn add(&mut self, symbols: &[u8], strings: u32, length: u64, bias: u64) {
        let mut file = 0;
        for symbol in symbols.as_chunks::<SYMBOL>().0 {
            let word = |at: usize| {
                let bytes = symbol.get(at..).and_then(|rest| rest.first_chunk());
                u64::from_le_bytes(bytes.copied().unwrap_or_default())
            };
            let (first, value, size) = (word(0), word(8), word(16));
            let (name, info, section) = (first as u32, (first >> 32) as u8, (first >> 48) as u16);
            if u64::from(name) >= length {
                continue;
            }
            let name = strings + name;
            if info & 0xf == FILE {
                file = name;
                continue;
            }
            let kind = match info & 0xf {
                0 | 1 => SymbolKind::Data,
                2 | 10 => SymbolKind::Function,
                6 => SymbolKind::ThreadLocal,
                _ => continue,
            };
            if section == UNDEFINED || section == ABSOLUTE || self.text(name).is_empty() {
                continue;
            }
            let is_local = info >> 4 == 0;
            let bias = if kind == SymbolKind::ThreadLocal { 0 } else { bias };
            let address = value.wrapping_add(bias);
            let file = if is_local { file } else { 0 };
            self.by_address.push(Symbol { address, size, kind, is_local, name, file });
        }
    }

    /// The name of one of these symbols.
    pub fn name(&self, symbol: &Symbol) -> &str {
        self.text(symbol.name)
    }

    fn text(&self, at: u32) -> &str {
        let rest = self.names.get(at as usize..).unwrap_or_default();
        let end = memchr::memchr(0, rest).unwrap_or(0);
        str::from_utf8(rest.get(..end).unwrap_or_default()).unwrap_or_default()
    }

    /// All symbols, in order of addresses.
    pub fn all(&self) -> &[Symbol] {
        &self.by_address
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.by_address.is_empty()
    }

    /// The global symbol with this name.
    pub fn find(&self, name: &str) -> Option<&Symbol> {
        self.named(name).find(|symbol| !symbol.is_local)
    }

    /// How many tables contain this global name. If a file has it in all of its tables, it is visible to the
    /// dynamic linker.
    pub fn count(&self, name: &str) -> usize {
        self.named(name).filter(|symbol| !symbol.is_local).count()
    }

    /// The local symbol with this name in a source file such as `memprof.c`; None if there are several. If
    /// the runtime was optimised as a whole, the linker records object files instead: `memprof.n.o`.
    pub fn local(&self, file: &str, name: &str) -> Option<&Symbol> {
        let mut found = self
            .named(name)
            .filter(|symbol| symbol.is_local && stem(self.text(symbol.file)) == stem(file));
        let only = found.next()?;
        found.all(|other| other.address == only.address).then_some(only)
    }

    fn named(&self, name: &str) -> impl Iterator<Item = &Symbol> {
        let hash = hash(name);
        let from = self.by_name.partition_point(|(found, _)| *found < hash);
        let same = self.by_name.get(from..).unwrap_or_default();
        let same = same.iter().take_while(move |(found, _)| *found == hash);
        let symbols = same.filter_map(|(_, at)| self.by_address.get(*at as usize));
        symbols.filter(move |symbol| self.name(symbol) == name)
    }

    /// The function that contains an address.
    pub fn function_at(&self, address: u64) -> Option<&Symbol> {
        self.at(address, SymbolKind::Function)
    }

    /// The data that contains an address. OCaml's data symbols have no size: then it is the last one that
    /// begins before the address.
    pub fn data_at(&self, address: u64) -> Option<&Symbol> {
        self.at(address, SymbolKind::Data)
    }

    fn at(&self, address: u64, kind: SymbolKind) -> Option<&Symbol> {
        let after = self.by_address.partition_point(|symbol| symbol.address <= address);
        let mut before = self.by_address.get(..after)?.iter().rev();
        let nearest = before.find(|symbol| symbol.kind == kind)?;
        // Several symbols may have this address; prefer one with a size.
        let same = before.take_while(|symbol| symbol.address == nearest.address);
        let best = same.fold(nearest, |best, symbol| match symbol.kind == kind {
            true if best.size == 0 => symbol,
            _ => best,
        });
        let is_within = best.size == 0 || address - best.address < best.size;
        is_within.then_some(best)
    }
}

impl fmt::Debug for Symbols {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} symbols", self.by_address.len())
    }
}

/// Suffixes of OCaml 4.11's runtime objects, which are compiled from one source: `memprof_n.o`. Since 4.12 it
/// is `memprof.n.o`.
const RUNTIMES: [&str; 9] = ["_b", "_bd", "_bi", "_bpic", "_n", "_nd", "_ni", "_np", "_npic"];

/// The name of a file without directories, extensions, and the suffix of a runtime.
fn stem(file: &str) -> &str {
    let name = file.rsplit('/').next().unwrap_or(file);
    let name = name.split('.').next().unwrap_or(name);
    RUNTIMES.iter().find_map(|runtime| name.strip_suffix(runtime)).unwrap_or(name)
}

/// The FNV-1a hash.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn symbol(name: u32, info: u8, section: u16, value: u64, size: u64) -> Vec<u8> {
        let first = u64::from(name) | u64::from(info) << 32 | u64::from(section) << 48;
        [first, value, size].iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn names_are_found_by_name_and_by_address() {
        let strings = b"\0a.c\0b.o\0same\0camlFoo\0f\0own\0".to_vec();
        const GLOBAL: u8 = 1 << 4;
        let symbols = [
            symbol(1, FILE, ABSOLUTE, 0, 0),
            symbol(9, 1, 3, 0x100, 8),
            symbol(5, FILE, ABSOLUTE, 0, 0),
            symbol(9, 1, 3, 0x108, 8),
            symbol(14, GLOBAL, 3, 0x200, 0),
            symbol(22, GLOBAL | 2, 1, 0x10, 16),
            symbol(24, GLOBAL | 6, 5, 8, 8),
            symbol(24, GLOBAL, UNDEFINED, 8, 8),
            symbol(9999, GLOBAL, 3, 0x300, 0),
        ]
        .concat();
        let found = Symbols::read(&[Table { symbols, strings }], 0x1000);
        assert_eq!(found.local("b", "same").expect("b has it").address, 0x1108);
        assert_eq!(found.local("c", "same"), None);
        assert_eq!(found.find("same"), None);
        assert_eq!(found.find("camlFoo").expect("there").address, 0x1200);
        // Thread-local variables do not move with the object.
        assert_eq!(found.find("own").expect("there").address, 8);
        let name = |symbol: Option<&Symbol>| symbol.map(|symbol| found.name(symbol).to_owned());
        assert_eq!(name(found.function_at(0x101f)).as_deref(), Some("f"));
        assert_eq!(name(found.function_at(0x1020)), None);
        assert_eq!(name(found.data_at(0x1210)).as_deref(), Some("camlFoo"));
        assert_eq!(name(found.data_at(0x1110)), None);
    }

    #[test]
    fn object_file_names_are_reduced_to_their_source() {
        let names =
            ["memprof.c", "runtime/memprof.c", "memprof.n.o", "memprof_n.o", "memprof_bpic.o"];
        assert_eq!(names.map(stem), ["memprof"; 5]);
        assert_eq!(stem("roots_nat_n.o"), "roots_nat");
    }

    #[test]
    fn damaged_symbol_tables_never_panic() {
        for byte in [0, 1, 0x7f, 0xff] {
            let table = Table { symbols: vec![byte; 1000], strings: vec![byte; 100] };
            let found = Symbols::read(&[table], u64::MAX);
            assert_eq!(found.find("x"), None);
            found.data_at(u64::MAX);
        }
        assert!(Symbols::read(&[], 0).is_empty());
    }
}
