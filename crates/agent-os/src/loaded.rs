//! What is loaded into this process: objects, their symbols, and which code belongs to which symbol.
//!
//! OCaml exports all symbols of an executable for its plugins, so they are there even after `strip`. They are
//! looked up here rather than by dlsym, which lives in different libraries depending on the version of libc.

use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicUsize, Ordering};

/// An object of the process: the executable, a library or a plugin.
pub struct Object {
    base: usize,
    name: *const c_char,
    segments: &'static [Segment],
    /// The calling thread's copy of the object's thread-local variables.
    tls: *const u8,
}

/// An entry of the program header table (Elf64_Phdr).
#[repr(C)]
pub struct Segment {
    kind: u32,
    flags: u32,
    offset: u64,
    address: usize,
    physical: u64,
    file_size: u64,
    memory_size: usize,
    align: u64,
}

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;

/// The record that dl_iterate_phdr passes for an object (struct dl_phdr_info).
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Info {
    base: usize,
    name: *const c_char,
    segments: *const Segment,
    segment_count: u16,
    additions: u64,
    removals: u64,
    tls_module: usize,
    tls_data: *const u8,
}

// SAFETY: the declaration in libc's <link.h>.
unsafe extern "C" {
    fn dl_iterate_phdr(
        each: unsafe extern "C" fn(*const Info, usize, *mut c_void) -> c_int,
        data: *mut c_void,
    ) -> c_int;
}

/// For a program without a dynamic linker: the address of an [`Info`] that our injector has written, with
/// what a dynamic linker would report. Its `tls_data` is the distance from the start of a thread's variables
/// up to its thread pointer. 0 elsewhere.
#[unsafe(no_mangle)]
pub static bactrian_told: AtomicUsize = AtomicUsize::new(0);

/// Replaces dl_iterate_phdr in such a program.
///
/// # Safety
/// As of dl_iterate_phdr.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_dl_iterate_phdr(
    each: unsafe extern "C" fn(*const Info, usize, *mut c_void) -> c_int,
    data: *mut c_void,
) -> c_int {
    let told = bactrian_told.load(Ordering::Acquire) as *const Info;
    if told.is_null() {
        return 0;
    }
    // SAFETY: it is written before we run, and stays.
    let told = unsafe { *told };
    let own = crate::sys::thread_pointer().wrapping_sub(told.tls_data as usize);
    let info = Info { tls_data: own as *const u8, ..told };
    // SAFETY: by the caller.
    unsafe { each(&raw const info, size_of::<Info>(), data) }
}

/// Calls `f` with each object until it breaks; the executable comes first.
pub fn each(mut f: impl FnMut(&Object) -> ControlFlow<()>) {
    type Each<'a> = &'a mut dyn FnMut(&Object) -> ControlFlow<()>;
    // SAFETY: called by dl_iterate_phdr with the arguments that `each` gives it.
    unsafe extern "C" fn visit(info: *const Info, _size: usize, data: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a valid record and our own pointer.
        let (info, f) = unsafe { (&*info, &mut *data.cast::<Each<'_>>()) };
        if info.segments.is_null() {
            return 0;
        }
        // SAFETY: the table is part of the loaded object.
        let segments =
            unsafe { core::slice::from_raw_parts(info.segments, info.segment_count.into()) };
        let object = Object { base: info.base, name: info.name, segments, tls: info.tls_data };
        f(&object).is_break().into()
    }
    let mut f: Each<'_> = &mut f;
    // SAFETY: `visit` gets the pointer it expects; every libc with a dynamic linker has this function.
    unsafe { dl_iterate_phdr(visit, (&raw mut f).cast()) };
}

/// A symbol table entry.
#[repr(C)]
struct Symbol {
    name: u32,
    info: u8,
    other: u8,
    section: u16,
    value: usize,
    size: usize,
}

impl Symbol {
    const THREAD_LOCAL: u8 = 6;
    const VARIABLE: u8 = 1;
    const FUNCTION: u8 = 2;
    const UNTYPED: u8 = 0;

    fn kind(&self) -> u8 {
        self.info & 15
    }

    fn is_code(&self) -> bool {
        self.section != 0 && matches!(self.kind(), Symbol::FUNCTION | Symbol::UNTYPED)
    }

    /// Whether this may be the function that contains `target`; some symbols have no size.
    #[inline]
    fn may_hold(&self, target: usize) -> bool {
        let is_within = target.wrapping_sub(self.value) < self.size;
        (is_within || self.size == 0 && self.value <= target) && self.is_code()
    }
}

/// The dynamic symbol table of an object.
struct Symbols {
    symbols: *const Symbol,
    strings: *const c_char,
    /// The GNU hash table: counts, then bloom filter, buckets and chains.
    hash: *const u32,
}

/// The address that an entry of the dynamic section stands for. glibc relocates these entries to addresses,
/// other linkers leave offsets from the object's base. An object may be loaded at an address lower than its
/// own length (valgrind uses 0x108000), but these tables come first in an object.
fn address_of(value: usize, base: usize) -> usize {
    if value < base { base + value } else { value }
}

fn gnu_hash(name: &[u8]) -> u32 {
    name.iter().fold(5381, |hash: u32, &byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

impl Symbols {
    fn of(object: &Object) -> Option<Symbols> {
        const NULL: usize = 0;
        const STRTAB: usize = 5;
        const SYMTAB: usize = 6;
        const GNU_HASH: usize = 0x6fff_fef5;
        let dynamic = object.segments.iter().find(|segment| segment.kind == PT_DYNAMIC)?;
        let mut entry = (object.base + dynamic.address) as *const [usize; 2];
        let (mut strings, mut symbols, mut hash) = (0, 0, 0);
        let absolute = |value| address_of(value, object.base);
        loop {
            // SAFETY: the dynamic section ends with a null entry.
            let [key, value] = unsafe { *entry };
            match key {
                NULL => break,
                STRTAB => strings = absolute(value),
                SYMTAB => symbols = absolute(value),
                GNU_HASH => hash = absolute(value),
                _ => {}
            }
            entry = entry.wrapping_add(1);
        }
        let all = strings != 0 && symbols != 0 && hash != 0;
        all.then_some(Symbols {
            symbols: symbols as *const Symbol,
            strings: strings as *const c_char,
            hash: hash as *const u32,
        })
    }

    /// # Safety
    /// `index` comes from the hash table, so it is within the symbol table.
    unsafe fn get(&self, index: usize) -> &Symbol {
        // SAFETY: by the caller.
        unsafe { &*self.symbols.add(index) }
    }

    /// The name of a symbol of this table.
    fn name(&self, symbol: &Symbol) -> *const c_char {
        // SAFETY: names are offsets into the string table.
        unsafe { self.strings.add(symbol.name as usize) }
    }

    /// The buckets, their number, the chains, and the index of the first symbol in the chains.
    fn table(&self) -> (*const u32, usize, *const u32, usize) {
        // SAFETY: the layout of a GNU hash table: four counts, the bloom filter in words of 8 bytes, the
        // buckets, the chains.
        unsafe {
            let [buckets, first, bloom] = [0, 1, 2].map(|at| *self.hash.add(at) as usize);
            let bucket_table = self.hash.add(4 + 2 * bloom);
            (bucket_table, buckets, bucket_table.add(buckets), first)
        }
    }

    fn find(&self, name: &[u8]) -> Option<&Symbol> {
        let (buckets, bucket_count, chains, first) = self.table();
        if bucket_count == 0 {
            return None;
        }
        let hash = gnu_hash(name);
        // SAFETY: buckets hold symbol indices, or 0; the last link of a chain is odd.
        unsafe {
            let mut index = *buckets.add(hash as usize % bucket_count) as usize;
            if index < first {
                return None;
            }
            loop {
                let link = *chains.add(index - first);
                if link | 1 == hash | 1 {
                    let symbol = self.get(index);
                    let found = CStr::from_ptr(self.name(symbol));
                    if found.to_bytes() == name && symbol.section != 0 {
                        return Some(symbol);
                    }
                }
                if link & 1 == 1 {
                    return None;
                }
                index += 1;
            }
        }
    }

    /// The exported symbols, and the index of the first.
    fn exported(&self) -> (usize, &[Symbol]) {
        let (buckets, bucket_count, chains, first) = self.table();
        // SAFETY: as in `find`. The symbols of a chain are next to each other, and chains are in the order of
        // their buckets.
        unsafe {
            let starts = core::slice::from_raw_parts(buckets, bucket_count);
            let mut last = starts.iter().max().map_or(0, |start| *start as usize);
            if last < first {
                return (first, &[]);
            }
            while *chains.add(last - first) & 1 == 0 {
                last += 1;
            }
            (first, core::slice::from_raw_parts(self.symbols.add(first), last + 1 - first))
        }
    }
}

impl Object {
    /// The address of a symbol that the object defines; if it is thread-local, that of the calling thread's
    /// copy.
    ///
    /// A position-dependent executable has copies of the library variables that it uses (copy relocations),
    /// and the libraries use those copies, too: their own variables are dead. Then this is the address of the
    /// copy.
    pub fn find(&self, name: &str) -> Option<usize> {
        let symbols = Symbols::of(self)?;
        let symbol = symbols.find(name.as_bytes())?;
        if symbol.kind() == Symbol::THREAD_LOCAL {
            return (!self.tls.is_null()).then_some(self.tls as usize + symbol.value);
        }
        let copy = match symbol.kind() {
            Symbol::VARIABLE if !self.is_executable() => variable_of_executable(name),
            _ => None,
        };
        copy.or(Some(self.base + symbol.value))
    }

    fn is_executable(&self) -> bool {
        self.name().is_empty()
    }

    /// Whether an address is in the object.
    pub fn holds(&self, address: usize) -> bool {
        self.segments.iter().any(|segment| {
            let start = self.base + segment.address;
            segment.kind == PT_LOAD && (start..start + segment.memory_size).contains(&address)
        })
    }

    /// Its address range, from its first page to the end of its last.
    pub fn extent(&self) -> core::ops::Range<usize> {
        const PAGE: usize = 4096;
        let loaded = || self.segments.iter().filter(|segment| segment.kind == PT_LOAD);
        let start = loaded().map(|segment| segment.address).min().unwrap_or(0);
        let end = loaded().map(|segment| segment.address + segment.memory_size).max().unwrap_or(0);
        (self.base + start) & !(PAGE - 1)..(self.base + end).next_multiple_of(PAGE)
    }

    /// Memory that is not in the file and was zero when the object was loaded (.bss).
    pub fn zeroed(&self) -> impl Iterator<Item = core::ops::Range<usize>> {
        const PF_W: u32 = 2;
        let writable = |segment: &&Segment| segment.kind == PT_LOAD && segment.flags & PF_W != 0;
        self.segments.iter().filter(writable).map(|segment| {
            let start = self.base + segment.address;
            start + segment.file_size as usize..start + segment.memory_size
        })
    }

    /// The file it was loaded from; empty for the executable. The string is never freed: objects of OCaml
    /// programs are not unloaded.
    pub fn name(&self) -> &'static [u8] {
        // SAFETY: the dynamic linker's strings end with NUL and stay.
        unsafe { crate::sys::text(self.name) }.unwrap_or_default()
    }

    /// The name of the function that contains `address`, according to the symbol table.
    fn function_at(&self, address: usize) -> Option<&'static [u8]> {
        let symbols = Symbols::of(self)?;
        let target = address.wrapping_sub(self.base);
        let mut best = None;
        // How far its start may be before the target: less than that of the best so far.
        let mut nearest = target.wrapping_add(1);
        // A large program has a million symbols: this loop reads the entries, not their names.
        for symbol in symbols.exported().1 {
            let distance = target.wrapping_sub(symbol.value);
            if distance < nearest && symbol.may_hold(target) {
                (best, nearest) = (Some(symbol), distance);
            }
        }
        // SAFETY: a name in the string table, which stays as long as the object.
        best.and_then(|symbol| unsafe { crate::sys::text(symbols.name(symbol)) })
    }
}

/// Converts the address of a function to a function pointer.
///
/// # Safety
/// There is a function at the address, and `F` is its pointer type.
pub unsafe fn function<F: Copy>(address: usize) -> F {
    const { assert!(size_of::<F>() == size_of::<usize>()) };
    // SAFETY: by the caller; pointers to functions are addresses.
    unsafe { core::mem::transmute_copy(&address) }
}

/// The address of a variable that the executable defines.
fn variable_of_executable(name: &str) -> Option<usize> {
    let mut address = None;
    each(|object| {
        if object.is_executable()
            && let Some(symbols) = Symbols::of(object)
            && let Some(symbol) = symbols.find(name.as_bytes())
            && symbol.kind() == Symbol::VARIABLE
        {
            address = Some(object.base + symbol.value);
        }
        // The executable comes first.
        ControlFlow::Break(())
    });
    address
}

/// The address of a symbol in the first object after this one that defines it, which is what the program
/// would find without us. If this code is in no object, because it was injected into a running program, all
/// objects count.
pub fn find_behind(name: &str) -> Option<usize> {
    let here = find_behind as *const () as usize;
    let (mut is_behind, mut address) = (true, None);
    holding(here, |_| is_behind = false);
    each(|object| {
        if is_behind {
            address = object.find(name);
        }
        is_behind |= object.holds(here);
        if address.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    address
}

/// Whether an object before this one defines a symbol.
pub fn is_before(name: &str) -> bool {
    let here = is_before as *const () as usize;
    let mut found = false;
    each(|object| {
        if object.holds(here) {
            return ControlFlow::Break(());
        }
        found = object.find(name).is_some();
        if found { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    found
}

/// Calls `f` with the object that contains an address.
pub fn holding(address: usize, mut f: impl FnMut(&Object)) {
    each(|object| {
        if !object.holds(address) {
            return ControlFlow::Continue(());
        }
        f(object);
        ControlFlow::Break(())
    });
}

/// A function of the program.
pub struct Function {
    /// Its symbol.
    pub name: &'static [u8],
    /// The file it was loaded from; empty for the executable.
    pub object: &'static [u8],
}

/// The functions of the executable, sorted by address, for repeated lookups. A large executable has a
/// million, and a linear search takes milliseconds.
pub struct Functions {
    base: usize,
    extent: core::ops::Range<usize>,
    symbols: Symbols,
    /// The start of each function, relative to the base, with the index of its symbol.
    sorted: Vec<(u32, u32)>,
}

// SAFETY: the tables are the executable's, stay until its end, and are never written.
unsafe impl Send for Functions {}

impl Functions {
    /// None if there is no memory for the table.
    pub fn of_executable() -> Option<Functions> {
        let mut functions = None;
        each(|object| {
            functions = object.functions();
            // The executable comes first.
            ControlFlow::Break(())
        });
        functions
    }

    /// Whether an address is in the executable.
    pub fn cover(&self, address: usize) -> bool {
        self.extent.contains(&address)
    }

    /// The function that contains an address, according to the symbol table.
    pub fn at(&self, address: usize) -> Option<Function> {
        /// The largest number of symbols examined that begin before the address but may also end before it.
        const MOST: usize = 64;
        let target = address.wrapping_sub(self.base);
        let end = self.sorted.partition_point(|(value, _)| *value as usize <= target);
        let before = self.sorted.get(..end)?.iter().rev().take(MOST);
        // SAFETY: the indices are of this table, and the executable stays.
        let mut symbols = before.map(|(_, index)| unsafe { self.symbols.get(*index as usize) });
        let symbol = symbols.find(|symbol| symbol.may_hold(target))?;
        // SAFETY: a name in the string table, which stays.
        let name = unsafe { crate::sys::text(self.symbols.name(symbol)) }?;
        Some(Function { name, object: &[] })
    }
}

impl Object {
    fn functions(&self) -> Option<Functions> {
        let symbols = Symbols::of(self)?;
        let (first, exported) = symbols.exported();
        let count = exported.iter().filter(|symbol| symbol.is_code()).count();
        let mut sorted = Vec::new();
        sorted.try_reserve_exact(count).ok()?;
        for (index, symbol) in (first..).zip(exported) {
            if let (true, Ok(value), Ok(index)) =
                (symbol.is_code(), u32::try_from(symbol.value), u32::try_from(index))
            {
                sorted.push((value, index));
            }
        }
        // Of several symbols at one address, the first of the table sorts last, and so is found first.
        sorted.sort_unstable_by_key(|(value, index)| (*value, core::cmp::Reverse(*index)));
        Some(Functions { base: self.base, extent: self.extent(), symbols, sorted })
    }
}

/// The function that contains an address, according to the symbol table.
pub fn function_at(address: usize) -> Option<Function> {
    let mut function = None;
    holding(address, |object| {
        let named = |name| Function { name, object: object.name() };
        function = object.function_at(address).map(named);
    });
    function
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_of_libraries_are_found_behind_this_object() {
        let malloc = find_behind("malloc").expect("a libc has it");
        let named = function_at(malloc).expect("it has a symbol");
        assert!(named.name.ends_with(b"malloc"), "{}", named.name.escape_ascii());
        assert!(!named.object.is_empty());
        assert_eq!(find_behind("there_is_no_such_symbol"), None);
    }

    #[test]
    fn tables_are_found_however_low_an_object_lies() {
        let cases = [
            (0x350, 0x5555_5555_4000, 0x5555_5555_4350),
            (0x5555_5555_4350, 0x5555_5555_4000, 0x5555_5555_4350),
            // Low and longer than 1 MB: the address is less than the object's length.
            (0x10_8350, 0x10_8000, 0x10_8350),
            (0x350, 0x10_8000, 0x10_8350),
            // A position-dependent object.
            (0x40_0350, 0, 0x40_0350),
        ];
        for (value, base, address) in cases {
            assert_eq!(address_of(value, base), address, "{value:#x} in an object at {base:#x}");
        }
    }

    #[test]
    fn sorted_functions_agree_with_a_linear_search() {
        // A library that stays loaded and has many functions.
        let malloc = find_behind("malloc").expect("a libc has it");
        holding(malloc, |object| {
            let (functions, extent) = (object.functions().expect("room"), object.extent());
            for address in extent.clone().step_by(extent.len() / 2000 + 1).chain([malloc]) {
                assert!(functions.cover(address));
                let name = functions.at(address).map(|function| function.name);
                assert_eq!(name, object.function_at(address), "{address:#x}");
            }
            assert!(functions.sorted.len() > 1000 && !functions.cover(extent.end));
        });
        let here = gnu_hash as *const () as usize;
        assert!(Functions::of_executable().is_none_or(|functions| functions.cover(here)));
    }

    #[test]
    fn no_object_is_before_the_executable() {
        assert!(!is_before("malloc"));
        let mut names = Vec::new();
        holding(is_before as *const () as usize, |object| names.push(object.name()));
        assert_eq!(names, [b""]);
    }

    #[test]
    fn thread_local_variables_are_this_threads_own() {
        let of_thread = || find_behind("errno").or_else(|| find_behind("__libc_errno"));
        let Some(here) = of_thread() else { return };
        let there = std::thread::spawn(of_thread).join().expect("it ends");
        assert_ne!(Some(here), there);
    }

    #[test]
    fn an_object_holds_what_is_in_its_extent() {
        let code = gnu_hash as *const () as usize;
        let mut extent = 0..0;
        holding(code, |object| extent = object.extent());
        assert!(extent.contains(&code));
    }
}
