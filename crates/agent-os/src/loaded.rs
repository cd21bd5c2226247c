//! What is loaded into this process: objects, their symbols, and which code belongs to which symbol.
//!
//! OCaml exports all symbols of an executable for its plugins, so they are there even after `strip`. They
//! are looked up here rather than by dlsym, whose home differs between versions of libc.

use alloc::vec::Vec;
use core::ffi::{CStr, c_char, c_int, c_void};
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicUsize, Ordering};

/// An object of the process: the executable, a library, a plugin.
pub struct Object {
    base: usize,
    name: *const c_char,
    segments: &'static [Segment],
    /// This thread's copy of the object's thread-local variables.
    tls: *const u8,
}

/// An entry of the program header table.
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

/// What dl_iterate_phdr tells of an object.
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

/// What whoever put us into a program without a dynamic linker tells of it, as that would: the address of an [`Info`], whose
/// `tls_data` is how far below a thread's own pointer its variables begin. 0 elsewhere.
#[unsafe(no_mangle)]
pub static bactrian_told: AtomicUsize = AtomicUsize::new(0);

/// Is in the place of dl_iterate_phdr in such a program.
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
    // SAFETY: called by dl_iterate_phdr with what `each` gives it.
    unsafe extern "C" fn visit(info: *const Info, _size: usize, data: *mut c_void) -> c_int {
        // SAFETY: dl_iterate_phdr passes a good record and our own pointer.
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

    /// Whether it may be a function in which this is; some do not say how long they are.
    fn may_hold(&self, target: usize) -> bool {
        let is_within = self.size == 0 || target < self.value + self.size;
        self.is_code() && self.value <= target && is_within
    }
}

/// The dynamic symbol table of an object.
struct Symbols {
    symbols: *const Symbol,
    strings: *const c_char,
    /// The GNU hash table: counts, then bloom filter, buckets and chains.
    hash: *const u32,
}

/// The address that a dynamic section tells. glibc has made addresses of what is written there, others leave how far it is from the
/// object's beginning. An object may lie low, below its own length: valgrind puts it at 0x108000. But these tables come first
/// in it.
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
    /// `index` is of the table, as the hash table says.
    unsafe fn get(&self, index: usize) -> &Symbol {
        // SAFETY: by the caller.
        unsafe { &*self.symbols.add(index) }
    }

    /// The name of a symbol of the table.
    fn name(&self, symbol: &Symbol) -> *const c_char {
        // SAFETY: names are offsets into the string table.
        unsafe { self.strings.add(symbol.name as usize) }
    }

    /// Buckets, their number, the chains, and the index of the first symbol in them.
    fn table(&self) -> (*const u32, usize, *const u32, usize) {
        // SAFETY: the layout of a GNU hash table: four counts, the bloom filter in words of 8 bytes,
        // the buckets, the chains.
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
        // SAFETY: buckets hold indices of symbols, or 0; a chain ends with an odd hash.
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

    /// Calls `f` with each symbol that others may find, and its number.
    fn each(&self, mut f: impl FnMut(usize, &Symbol)) {
        let (buckets, bucket_count, chains, first) = self.table();
        for bucket in 0..bucket_count {
            // SAFETY: as in `find`.
            unsafe {
                let mut index = *buckets.add(bucket) as usize;
                if index < first {
                    continue;
                }
                loop {
                    f(index, self.get(index));
                    if *chains.add(index - first) & 1 == 1 {
                        break;
                    }
                    index += 1;
                }
            }
        }
    }
}

impl Object {
    /// The address of a symbol that the object defines; of this thread's copy if it is thread-local.
    ///
    /// An executable whose code is not position-independent has copies of the variables of libraries that it uses, and
    /// the libraries use the copies, too: theirs are dead. Then it is the address of the copy.
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

    /// Where it is: from its first page to the end of its last.
    pub fn extent(&self) -> core::ops::Range<usize> {
        const PAGE: usize = 4096;
        let loaded = || self.segments.iter().filter(|segment| segment.kind == PT_LOAD);
        let start = loaded().map(|segment| segment.address).min().unwrap_or(0);
        let end = loaded().map(|segment| segment.address + segment.memory_size).max().unwrap_or(0);
        (self.base + start) & !(PAGE - 1)..(self.base + end).next_multiple_of(PAGE)
    }

    /// Memory that is not in its file and was zero when it was loaded: variables without a first value.
    pub fn zeroed(&self) -> impl Iterator<Item = core::ops::Range<usize>> {
        const PF_W: u32 = 2;
        let writable = |segment: &&Segment| segment.kind == PT_LOAD && segment.flags & PF_W != 0;
        self.segments.iter().filter(writable).map(|segment| {
            let start = self.base + segment.address;
            start + segment.file_size as usize..start + segment.memory_size
        })
    }

    /// The file it comes from; empty for the executable. Objects of OCaml stay until the end.
    pub fn name(&self) -> &'static [u8] {
        // SAFETY: the dynamic linker's strings end with NUL and stay.
        unsafe { crate::sys::text(self.name) }.unwrap_or_default()
    }

    /// The name of the function that holds `address`, as far as symbols tell.
    fn function_at(&self, address: usize) -> Option<&'static [u8]> {
        let symbols = Symbols::of(self)?;
        let target = address.wrapping_sub(self.base);
        let mut best: Option<(usize, *const c_char)> = None;
        // A large program has a million: only the symbols are looked at, not their names.
        symbols.each(|_, symbol| {
            let better = best.is_none_or(|(value, _)| symbol.value > value);
            if symbol.may_hold(target) && better {
                best = Some((symbol.value, symbols.name(symbol)));
            }
        });
        // SAFETY: a name of the string table, which stays as long as the object.
        best.and_then(|(_, name)| unsafe { crate::sys::text(name) })
    }
}

/// The function at an address.
///
/// # Safety
/// There is a function, and `F` is the type of a pointer to it.
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
        // It comes first.
        ControlFlow::Break(())
    });
    address
}

/// The address of a symbol in the first object behind this one that defines it: what the program would find
/// without us. If this code is in no object, because it was put into a program that ran already, all are behind it.
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

/// Calls `f` with the object that holds an address.
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
    /// The file it comes from; empty for the executable.
    pub object: &'static [u8],
}

/// The functions of the executable, sorted: for whoever asks more often than some times. A large one has a million of
/// them, and looking at each takes milliseconds.
pub struct Functions {
    base: usize,
    extent: core::ops::Range<usize>,
    symbols: Symbols,
    /// Where they begin, counted from the base, and the numbers of their symbols.
    sorted: Vec<(u32, u32)>,
}

// SAFETY: the tables are the executable's, stay until its end, and nobody writes to them.
unsafe impl Send for Functions {}

impl Functions {
    /// None if there is no memory for it.
    pub fn of_executable() -> Option<Functions> {
        let mut functions = None;
        each(|object| {
            functions = object.functions();
            // It comes first.
            ControlFlow::Break(())
        });
        functions
    }

    /// Whether an address is in the executable.
    pub fn cover(&self, address: usize) -> bool {
        self.extent.contains(&address)
    }

    /// The function that holds an address, as far as symbols tell.
    pub fn at(&self, address: usize) -> Option<Function> {
        /// So many symbols are looked at that begin before the address and end before it, too.
        const MOST: usize = 64;
        let target = address.wrapping_sub(self.base);
        let end = self.sorted.partition_point(|(value, _)| *value as usize <= target);
        let before = self.sorted.get(..end)?.iter().rev().take(MOST);
        // SAFETY: the numbers are of this table, and the executable stays.
        let mut symbols = before.map(|(_, index)| unsafe { self.symbols.get(*index as usize) });
        let symbol = symbols.find(|symbol| symbol.may_hold(target))?;
        // SAFETY: a name of the string table, which stays.
        let name = unsafe { crate::sys::text(self.symbols.name(symbol)) }?;
        Some(Function { name, object: &[] })
    }
}

impl Object {
    fn functions(&self) -> Option<Functions> {
        let symbols = Symbols::of(self)?;
        let mut count = 0;
        symbols.each(|_, symbol| count += usize::from(symbol.is_code()));
        let mut sorted = Vec::new();
        sorted.try_reserve_exact(count).ok()?;
        symbols.each(|index, symbol| {
            if let (true, Ok(value), Ok(index)) =
                (symbol.is_code(), u32::try_from(symbol.value), u32::try_from(index))
            {
                sorted.push((value, index));
            }
        });
        // Of several with one address, the first in the table comes last, and is met first.
        sorted.sort_unstable_by_key(|(value, index)| (*value, core::cmp::Reverse(*index)));
        Some(Functions { base: self.base, extent: self.extent(), symbols, sorted })
    }
}

/// The function that holds an address, as far as symbols tell.
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
            // Low, and longer than 1 MB: the address is less than its length.
            (0x10_8350, 0x10_8000, 0x10_8350),
            (0x350, 0x10_8000, 0x10_8350),
            // At a fixed place.
            (0x40_0350, 0, 0x40_0350),
        ];
        for (value, base, address) in cases {
            assert_eq!(address_of(value, base), address, "{value:#x} in an object at {base:#x}");
        }
    }

    #[test]
    fn sorted_functions_are_those_that_symbols_tell() {
        // A library that stays and has many.
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
