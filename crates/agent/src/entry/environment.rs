//! The program's environment: our settings are read from it and, if children are not to be followed, we are
//! removed from it.

use core::ffi::c_char;
use core::sync::atomic::{AtomicPtr, Ordering};

use bactrian_agent_abi::{Inherited, variable};
use bactrian_agent_os::loaded;
use bactrian_agent_os::sys::{self, Fd};

/// The environment that the program was started with: an array of strings that ends with a null pointer.
static STRINGS: AtomicPtr<*mut c_char> = AtomicPtr::new(core::ptr::null_mut());

/// Finds the environment. (glibc passes it to initialisers, other libcs do not.)
pub fn look() {
    // One variable with three names. libc itself sets it under the first one; a program may define the others
    // for something else.
    for name in ["__environ", "environ", "_environ"] {
        if let Some(variable) = loaded::find_behind(name) {
            // SAFETY: libc's variable, which is set before libraries are initialised.
            STRINGS.store(unsafe { *(variable as *const *mut *mut c_char) }, Ordering::Relaxed);
            return;
        }
    }
}

/// Visits all strings; `f` returns whether a string stays.
fn retain(mut f: impl FnMut(*mut c_char) -> bool) {
    let strings = STRINGS.load(Ordering::Relaxed);
    if strings.is_null() {
        return;
    }
    let (mut from, mut to) = (strings, strings);
    // SAFETY: the array ends with null, and strings that stay only move towards its start.
    unsafe {
        while !(*from).is_null() {
            let string = *from;
            if f(string) {
                if from != to {
                    *to = string;
                }
                to = to.add(1);
            }
            from = from.add(1);
        }
        if from != to {
            *to = core::ptr::null_mut();
        }
    }
}

fn value_of<'a>(text: &'a [u8], name: &str) -> Option<&'a [u8]> {
    text.strip_prefix(name.as_bytes())?.strip_prefix(b"=")
}

/// The value of a variable. Only called before the program runs: later it may have changed its environment.
pub fn get(name: &str) -> Option<&'static [u8]> {
    let mut value = None;
    retain(|string| {
        // SAFETY: strings of the environment end with NUL and stay until the program changes them.
        let text = unsafe { sys::text(string) }.unwrap_or_default();
        value = value.or(value_of(text, name));
        true
    });
    value
}

/// Renames a variable to a name of the same length, in place, so that children see it too; returns false if
/// there is none.
pub fn rename(old: &str, new: &str) -> bool {
    let mut found = false;
    retain(|string| {
        // SAFETY: strings of the environment end with NUL.
        let text = unsafe { sys::text(string) }.unwrap_or_default();
        if old.len() == new.len() && value_of(text, old).is_some() {
            // SAFETY: the string is at least as long as its name.
            unsafe { core::ptr::copy_nonoverlapping(new.as_ptr().cast(), string, new.len()) };
            found = true;
        }
        true
    });
    found
}

/// Restores what the launcher could not pass on to the program: ignored signals and closed standard streams.
/// Done once: children of the program inherit from the program.
pub fn restore_inheritance() {
    let Some(inherited) = get(variable::INHERITED).and_then(Inherited::parse) else { return };
    for signal in (1..=64).filter(|signal| inherited.ignored_signals >> (signal - 1) & 1 == 1) {
        sys::ignore_signal(signal);
    }
    for stream in (0..3).filter(|stream| inherited.closed_streams >> stream & 1 == 1) {
        sys::close(Fd(stream));
    }
    let is_it = |text: &[u8]| value_of(text, variable::INHERITED).is_some();
    // SAFETY: strings of the environment end with NUL.
    retain(|string| !is_it(unsafe { sys::text(string) }.unwrap_or_default()));
}

/// Removes variables.
pub fn remove(names: &[&str]) {
    retain(|string| {
        // SAFETY: strings of the environment end with NUL.
        let text = unsafe { sys::text(string) }.unwrap_or_default();
        !names.iter().any(|name| value_of(text, name).is_some())
    });
}

/// Removes our variables, and us from `LD_PRELOAD`. Allocates nothing.
pub fn forget_us() {
    let us = us();
    retain(|string| {
        // SAFETY: as above.
        let text = unsafe { sys::text(string) }.unwrap_or_default();
        let name = text.split(|byte| *byte == b'=').next().unwrap_or_default();
        if variable::is_ours(name) {
            return false;
        }
        let Some(length) = value_of(text, variable::PRELOAD).map(<[u8]>::len) else { return true };
        // SAFETY: the rest of the string, with its NUL. No other thread writes to it; the other reference is
        // no longer used.
        let list = unsafe {
            let start = string.add(text.len() - length);
            core::slice::from_raw_parts_mut(start.cast::<u8>(), length + 1)
        };
        let kept = without(&mut list[..length], us);
        list[kept] = 0;
        kept != 0
    });
}

/// Our own path, as the dynamic linker knows it.
pub fn us() -> &'static [u8] {
    let mut us: &[u8] = b"";
    loaded::holding(forget_us as *const () as usize, |object| us = object.name());
    us
}

/// Removes a name from an `LD_PRELOAD` list in place; returns the new length.
fn without(list: &mut [u8], name: &[u8]) -> usize {
    let (mut from, mut to, mut is_first) = (0, 0, true);
    while from <= list.len() {
        let separator = list[from..].iter().position(|byte| b": ".contains(byte));
        let end = separator.map_or(list.len(), |at| from + at);
        if &list[from..end] != name {
            if !is_first {
                list[to] = b':';
                to += 1;
            }
            list.copy_within(from..end, to);
            to += end - from;
            is_first = false;
        }
        from = end + 1;
    }
    to
}
