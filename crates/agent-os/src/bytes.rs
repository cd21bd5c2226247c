//! Our own versions of the functions that the compiler calls to move and compare bytes. An agent that is
//! injected into a running program cannot use libc's: those are chosen by the dynamic linker.

use core::arch::asm;
use core::ffi::{c_char, c_int, c_void};

/// # Safety
/// As for memcpy(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_memcpy(
    to: *mut c_void,
    from: *const c_void,
    length: usize,
) -> *mut c_void {
    // SAFETY: by the caller.
    unsafe {
        asm!("rep movsb", inout("rcx") length => _, inout("rdi") to => _, inout("rsi") from => _,
             options(nostack, preserves_flags));
    }
    to
}

/// # Safety
/// As for memmove(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_memmove(
    to: *mut c_void,
    from: *const c_void,
    length: usize,
) -> *mut c_void {
    // SAFETY: by the caller. If the destination overlaps the end of the source, bytes are copied backwards
    // from the last one.
    unsafe {
        if (to as usize).wrapping_sub(from as usize) >= length {
            return bactrian_memcpy(to, from, length);
        }
        let last = length.wrapping_sub(1);
        asm!("std", "rep movsb", "cld", inout("rcx") length => _,
             inout("rdi") to.wrapping_byte_add(last) => _,
             inout("rsi") from.wrapping_byte_add(last) => _, options(nostack));
    }
    to
}

/// # Safety
/// As for memset(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_memset(
    to: *mut c_void,
    byte: c_int,
    length: usize,
) -> *mut c_void {
    // SAFETY: by the caller.
    unsafe {
        asm!("rep stosb", inout("rcx") length => _, inout("rdi") to => _, in("al") byte as u8,
             options(nostack, preserves_flags));
    }
    to
}

/// # Safety
/// As for memcmp(3); the result only says whether the bytes are equal.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_bcmp(
    one: *const c_void,
    other: *const c_void,
    length: usize,
) -> c_int {
    let (one, other) = (one.cast::<u8>(), other.cast::<u8>());
    // SAFETY: by the caller. Volatile, so that the compiler does not recognise the loop and replace it by a
    // call of this function.
    let differs = |at| unsafe { one.add(at).read_volatile() != other.add(at).read_volatile() };
    (0..length).any(differs).into()
}

/// # Safety
/// As for strlen(3).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bactrian_strlen(text: *const c_char) -> usize {
    let mut length = 0;
    // SAFETY: by the caller.
    while unsafe { text.add(length).read_volatile() } != 0 {
        length += 1;
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_moved_and_compared_as_by_libc() {
        let from: Vec<u8> = (0..200).collect();
        for length in [0, 1, 7, 64, 100] {
            let mut to = [7_u8; 200];
            // SAFETY: both arrays are longer than `length`.
            unsafe {
                bactrian_memcpy(to.as_mut_ptr().cast(), from.as_ptr().cast(), length);
                assert_eq!(to[..length], from[..length]);
                assert_eq!(bactrian_bcmp(to.as_ptr().cast(), from.as_ptr().cast(), length), 0);
                bactrian_memset(to.as_mut_ptr().cast(), 0x105, length);
            }
            assert!(to[..length].iter().all(|byte| *byte == 5) && to[length] == 7);
            for (one, other) in [(3, 10), (10, 3), (5, 5), (0, 100)] {
                let (mut ours, mut theirs) = (from.clone(), from.clone());
                // SAFETY: within the vector.
                unsafe {
                    let start = ours.as_mut_ptr();
                    bactrian_memmove(start.add(one).cast(), start.add(other).cast(), length);
                }
                theirs.copy_within(other..other + length, one);
                assert_eq!(ours, theirs, "{length} bytes from {other} to {one}");
            }
        }
        // SAFETY: both strings have at least 4 bytes; the last one ends with NUL.
        unsafe {
            assert_ne!(bactrian_bcmp(c"abcd".as_ptr().cast(), c"abce".as_ptr().cast(), 4), 0);
            assert_eq!(bactrian_strlen(c"four".as_ptr()), 4);
        }
    }
}
