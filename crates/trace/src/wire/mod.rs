//! Little-endian fields, vints and strings: the primitives of the format, read and written.

#[cfg(feature = "std")]
mod get;
mod put;

#[cfg(feature = "std")]
pub(crate) use get::{Cursor, Fault, Parse};
pub(crate) use put::Put;

#[cfg(test)]
mod tests {
    use super::*;

    fn vint_bytes(v: i64) -> Vec<u8> {
        let mut out = Vec::new();
        out.put_vint(v);
        out
    }

    #[test]
    fn vints_have_the_lengths_memtrace_gives_them() {
        let table: &[(i64, usize)] = &[
            (0, 1),
            (252, 1),
            (253, 3),
            (0xFFFF, 3),
            (0x1_0000, 5),
            (0x7FFF_FFFF, 5),
            (0x8000_0000, 9),
            (0xFFFF_FFFF, 9),
            (-1, 5),
            (i64::from(i32::MIN), 5),
            (i64::MIN, 9),
            (i64::MAX, 9),
        ];
        for &(v, len) in table {
            let bytes = vint_bytes(v);
            assert_eq!(bytes.len(), len, "{v}");
            let mut cursor = Cursor::at(&bytes, 0);
            assert_eq!(cursor.vint(), Ok(v));
            assert!(cursor.at_end());
        }
    }

    #[test]
    fn truncated_fields_are_reported_as_short() {
        for v in [253, 0x1_0000, i64::MAX] {
            let bytes = vint_bytes(v);
            for cut in 0..bytes.len() {
                assert_eq!(Cursor::at(&bytes[..cut], 0).vint(), Err(Fault::Short));
            }
        }
        assert_eq!(Cursor::at(b"abc", 0).string(), Err(Fault::Short));
        assert_eq!(Cursor::at(b"abc\0d", 0).string(), Ok(&b"abc"[..]));
    }

    #[test]
    fn strings_are_cut_at_nul() {
        let mut out = Vec::new();
        out.put_string(b"a\0b");
        assert_eq!(out, b"a\0");
    }
}
