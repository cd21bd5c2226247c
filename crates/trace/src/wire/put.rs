//! Fields appended to a buffer.

use alloc::vec::Vec;

/// Appends fields to a buffer.
pub(crate) trait Put {
    fn put(&mut self, bytes: &[u8]);

    #[inline]
    fn put_u8(&mut self, v: u8) {
        self.put(&[v]);
    }
    #[inline]
    fn put_u16(&mut self, v: u16) {
        self.put(&v.to_le_bytes());
    }
    #[inline]
    fn put_u32(&mut self, v: u32) {
        self.put(&v.to_le_bytes());
    }
    #[inline]
    fn put_u64(&mut self, v: u64) {
        self.put(&v.to_le_bytes());
    }

    /// Writes an integer in the shortest form, as memtrace does.
    #[inline]
    fn put_vint(&mut self, v: i64) {
        match v {
            0..=252 => self.put_u8(v as u8),
            253..=0xFFFF => {
                self.put_u8(253);
                self.put_u16(v as u16);
            }
            _ => self.put_long_vint(v),
        }
    }

    /// Writes an integer in one of the rare long forms.
    #[cold]
    fn put_long_vint(&mut self, v: i64) {
        match i32::try_from(v) {
            Ok(narrow) => {
                self.put_u8(254);
                self.put_u32(narrow as u32);
            }
            Err(_) => {
                self.put_u8(255);
                self.put_u64(v as u64);
            }
        }
    }

    /// Writes a string, cut at its first NUL, and a NUL.
    fn put_string(&mut self, text: &[u8]) {
        let len = text.iter().position(|&b| b == 0).unwrap_or(text.len());
        self.put(&text[..len]);
        self.put_u8(0);
    }
}

impl Put for Vec<u8> {
    #[inline]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }
}
