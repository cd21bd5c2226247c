//! Arrays of numbers, in memory or in a mapped file.
//!
//! The index file of a snapshot holds graphs and results computed from them. Mapping the file makes them
//! available at once, and the kernel can reclaim their memory whenever it needs to.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::sync::Arc;

use bytemuck::Pod;
use memmap2::{Mmap, MmapOptions};

use crate::{GraphError, Result};

/// An array of numbers that derefs to a slice: either owned or part of a mapped file.
#[derive(Clone, Debug)]
pub struct Column<T>(Data<T>);

#[derive(Clone, Debug)]
enum Data<T> {
    Owned(Vec<T>),
    Mapped { map: Arc<Mmap>, bytes: Range<usize>, numbers: PhantomData<T> },
}

impl<T> From<Vec<T>> for Column<T> {
    fn from(numbers: Vec<T>) -> Column<T> {
        Column(Data::Owned(numbers))
    }
}

impl<T> Default for Column<T> {
    fn default() -> Column<T> {
        Column(Data::Owned(Vec::new()))
    }
}

impl<T: Pod> Deref for Column<T> {
    type Target = [T];

    // Also where callers are optimised for size: it is in all hot loops.
    #[inline(always)]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Data::Owned(numbers) => numbers,
            // Length and alignment were checked when the column was made.
            Data::Mapped { map, bytes, .. } => {
                let bytes = map.get(bytes.clone()).unwrap_or_default();
                bytemuck::try_cast_slice(bytes).unwrap_or_default()
            }
        }
    }
}

impl<T: Pod + PartialEq> PartialEq for Column<T> {
    fn eq(&self, other: &Column<T>) -> bool {
        **self == **other
    }
}

/// A mapped file that columns are taken from. Numbers are in native byte order.
#[derive(Clone, Debug)]
pub struct MappedFile(Arc<Mmap>);

impl MappedFile {
    /// Maps a file for reading. Nobody may write to it or shorten it from now on: replace the file as a whole
    /// instead.
    ///
    /// # Errors
    /// The error of the operating system.
    #[expect(unsafe_code, reason = "mapping a file is unsafe because the file may change under it")]
    pub fn new(file: &File) -> io::Result<MappedFile> {
        // SAFETY: the map is private and read-only, and all bit patterns of the numbers are valid: this crate
        // uses them only as checked indices. If somebody writes to the file in spite of the duty above, answers
        // are wrong or a check fails; if somebody shortens it, the process dies of SIGBUS.
        let map = unsafe { MmapOptions::new().map_copy_read_only(file)? };
        Ok(MappedFile(Arc::new(map)))
    }

    /// All bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// The numbers in a range of bytes.
    ///
    /// # Errors
    /// The range exceeds the file, is not aligned for `T`, or does not hold a whole number of them.
    pub fn column<T: Pod>(&self, bytes: Range<usize>) -> Result<Column<T>> {
        let wrong = |reason| GraphError::Column { offset: bytes.start, reason };
        let part = self.0.get(bytes.clone()).ok_or(wrong("goes beyond its end"))?;
        bytemuck::try_cast_slice::<u8, T>(part)
            .map_err(|_| wrong("is not aligned, or not a whole number of numbers"))?;
        Ok(Column(Data::Mapped { map: Arc::clone(&self.0), bytes, numbers: PhantomData }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn columns_of_files_are_checked() -> io::Result<()> {
        let mut file = tempfile::tempfile()?;
        file.write_all(bytemuck::cast_slice(&[7u32, 8, 9]))?;
        let file = MappedFile::new(&file)?;
        assert_eq!(file.bytes().len(), 12);
        let column = file.column::<u32>(4..12).map(|column| column.to_vec());
        assert_eq!(column, Ok(vec![8, 9]));
        assert_eq!(file.column::<u32>(4..4).map(|column| column.len()), Ok(0));
        for wrong in [4..13, 2..6, 4..11, 12..16] {
            assert!(file.column::<u32>(wrong.clone()).is_err(), "{wrong:?}");
        }
        Ok(())
    }

    #[test]
    fn an_empty_file_has_empty_columns() -> io::Result<()> {
        let file = MappedFile::new(&tempfile::tempfile()?)?;
        assert_eq!(file.column::<u64>(0..0).map(|column| column.len()), Ok(0));
        Ok(())
    }
}
