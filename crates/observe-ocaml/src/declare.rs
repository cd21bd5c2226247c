//! Creation and end of observers.
#![expect(unsafe_code, reason = "names are pointers, and so are the cells that are read")]

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{LazyLock, Mutex};

use bactrian_live::{ObserverKind, Value};
use bactrian_observe::{Handle, Name, Origin, server};

use crate::lock;
use crate::texts::{Description, kind, unit};

/// An observer, with what the C interface has to know about it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub handle: Handle,
    pub kind: ObserverKind,
    pub is_of_runtime: bool,
}

/// All live observers, by id.
pub(crate) fn entries() -> &'static Mutex<HashMap<u32, Entry>> {
    static ENTRIES: LazyLock<Mutex<HashMap<u32, Entry>>> = LazyLock::new(Mutex::default);
    &ENTRIES
}

pub(crate) fn remember(kind: ObserverKind, handle: Handle, is_of_runtime: bool) -> u32 {
    let id = handle.id().0;
    if id != 0 {
        lock(entries()).insert(id, Entry { handle, kind, is_of_runtime });
    }
    id
}

/// Declares an observer whose values are requested.
///
/// # Safety
/// The name is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_asked(number: c_int, name: &Description) -> u32 {
    let Some(kind) = kind(number) else { return 0 };
    // SAFETY: the caller's duty.
    let named = unsafe { name.name() };
    remember(kind, server().declare(kind, named, Origin::Asked), false)
}

/// Declares a number of the runtime.
///
/// # Safety
/// The name is a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_asked_of_runtime(
    number: c_int,
    name: *const c_char,
    unit_number: c_int,
) -> u32 {
    let Some(kind) = kind(number) else { return 0 };
    // SAFETY: the caller's duty.
    let name = unsafe { CStr::from_ptr(name) };
    let named = Name::reserved(&name.to_string_lossy()).unit(unit(unit_number));
    remember(kind, server().declare(kind, named, Origin::Asked), true)
}

/// Declares an observer that publishes values whenever it likes.
///
/// # Safety
/// The name is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_published(number: c_int, name: &Description) -> u32 {
    let Some(kind) = kind(number) else { return 0 };
    // SAFETY: the caller's duty.
    let named = unsafe { name.name() };
    remember(kind, server().declare(kind, named, Origin::Published), false)
}

/// A cell of the C stubs that the server's thread reads.
#[derive(Clone, Copy)]
struct Cell(*mut c_void);

// SAFETY: the stubs write their cells with atomic operations, or such that a reader may at worst see an old
// number. They never free them.
unsafe impl Send for Cell {}
// SAFETY: as above.
unsafe impl Sync for Cell {}

impl Cell {
    fn get(self) -> *mut c_void {
        self.0
    }
}

/// Declares a point or counter whose value is `read(cell)`.
///
/// # Safety
/// The name is valid; `read` and `cell` stay valid forever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_count(
    number: c_int,
    name: &Description,
    read: extern "C" fn(*const c_void) -> u64,
    cell: *mut c_void,
) -> u32 {
    let Some(kind) = kind(number) else { return 0 };
    // SAFETY: the caller's duty.
    let named = unsafe { name.name() };
    let cell = Cell(cell);
    let handle = server().declare_read(kind, named, move || Value::Count(read(cell.get())));
    remember(kind, handle, false)
}

/// `struct bactrian_elapsed`.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Elapsed {
    nanos: u64,
    runs: u64,
    is_running: c_int,
}

/// Declares a stopwatch whose value is `read(cell)`.
///
/// # Safety
/// The name is valid; `read` and `cell` stay valid forever.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_observe_time(
    name: &Description,
    read: extern "C" fn(*mut c_void, &mut Elapsed),
    cell: *mut c_void,
) -> u32 {
    // SAFETY: the caller's duty.
    let named = unsafe { name.name() };
    let cell = Cell(cell);
    let read = move || {
        let mut elapsed = Elapsed::default();
        read(cell.get(), &mut elapsed);
        Value::Elapsed {
            nanos: elapsed.nanos,
            runs: elapsed.runs,
            running: elapsed.is_running != 0,
        }
    };
    remember(ObserverKind::Time, server().declare_read(ObserverKind::Time, named, read), false)
}

/// Stops observing.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_kill(id: u32) {
    if let Some(entry) = lock(entries()).remove(&id) {
        entry.handle.kill();
    }
}

/// Marks the observed value as collected.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_collected(id: u32) {
    if let Some(entry) = lock(entries()).remove(&id) {
        entry.handle.collected();
    }
}

/// Sets the milliseconds between values.
#[unsafe(no_mangle)]
pub extern "C" fn bactrian_observe_set_period(id: u32, milliseconds: u32) {
    if let Some(entry) = lock(entries()).get(&id) {
        entry.handle.set_period(milliseconds);
    }
}
