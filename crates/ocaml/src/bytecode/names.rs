//! Names in bytecode files, as text.
//!
//! Any number of things in a file may share a name, so names are not copied: a long one must not turn into many
//! long copies. Only names that are not UTF-8, which the compiler does not produce, are copied, and cut.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

/// The number of bytes kept of a name that must be copied.
const LONGEST_COPY: usize = 256;

/// A name as text.
pub(super) fn name(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => String::from_utf8_lossy(bytes.get(..LONGEST_COPY).unwrap_or(bytes)),
    }
}

/// The part of a text that may be copied.
pub(super) fn beginning(text: &str) -> &str {
    let end = (0..=text.len().min(LONGEST_COPY)).rev().find(|&at| text.is_char_boundary(at));
    text.get(..end.unwrap_or(0)).unwrap_or("")
}

/// Splits names that are each terminated by a zero byte.
pub(super) fn names(bytes: &[u8]) -> Vec<Cow<'_, str>> {
    let names = bytes.strip_suffix(&[0]).unwrap_or(bytes);
    names.split(|&byte| byte == 0).filter(|_| !bytes.is_empty()).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_and_cut() {
        assert_eq!(names(b""), Vec::<Cow<'_, str>>::new());
        assert_eq!(names(b"caml_a\0caml_b\0"), ["caml_a", "caml_b"]);
        assert_eq!(names(b"\0b"), ["", "b"]);
        assert_eq!(name(&[b'x'; 1000]).len(), 1000);
        assert_eq!(name(&[0xff; 1000]).chars().count(), LONGEST_COPY);
        assert_eq!(beginning(&"é".repeat(1000)).len(), LONGEST_COPY);
        assert_eq!(beginning("short"), "short");
    }
}
