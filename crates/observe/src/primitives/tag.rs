//! Tagged values: how many are still alive, and how large they are.

use std::sync::{Arc, Mutex, Weak};

use bactrian_live::{ObserverKind, Value};

use super::observer;
use crate::name::Name;
use crate::process;
use crate::registry::{Handle, lock};
use crate::server::server;

/// Counts tagged values while they live. Tagging does not keep a value alive.
#[derive(Debug)]
pub struct Tag<T> {
    handle: Handle,
    marked: Arc<Mutex<Marked<T>>>,
}

#[derive(Debug)]
struct Marked<T> {
    values: Vec<Weak<T>>,
    /// Dead entries are removed when there are this many entries, so that tagging stays cheap whether or not
    /// there are clients.
    next_cleaning: usize,
}

/// Below this size, dead entries are not worth removing.
const FIRST_CLEANING: usize = 1024;

observer!(Tag<T>);

impl<T: Send + Sync + 'static> Tag<T> {
    /// Creates a tag that counts its values.
    pub fn new(name: impl Into<Name>) -> Tag<T> {
        Tag::make(name.into(), None::<fn(&T) -> u64>)
    }

    /// Creates a tag that also sums the sizes of its values, in bytes, as `size` reports them. A value tagged
    /// twice counts once.
    ///
    /// The server keeps each value alive while it counts; if the program drops its last reference just then,
    /// the value is dropped on the server's thread.
    pub fn with_size(name: impl Into<Name>, size: impl Fn(&T) -> u64 + Send + 'static) -> Tag<T> {
        Tag::make(name.into(), Some(size))
    }

    fn make(name: Name, size: Option<impl Fn(&T) -> u64 + Send + 'static>) -> Tag<T> {
        let marked = Marked { values: Vec::new(), next_cleaning: FIRST_CLEANING };
        let marked = Arc::new(Mutex::new(marked));
        let read = Arc::clone(&marked);
        let handle = server().watch(ObserverKind::Tag, name, move || {
            // The lock is not held while sizes are taken, so that the program can go on tagging.
            let values = {
                let mut marked = lock(&read);
                marked.clean();
                marked.values.clone()
            };
            let count = Some(values.len() as u64);
            let sizes = |size: &dyn Fn(&T) -> u64| {
                values
                    .iter()
                    .filter_map(Weak::upgrade)
                    .map(|value| size(&value))
                    .fold(0, u64::saturating_add)
            };
            let bytes = size.as_ref().map(|size| sizes(size));
            Value::Tag { count, bytes }
        });
        Tag { handle, marked }
    }

    /// Tags a value.
    pub fn mark(&self, value: &Arc<T>) {
        if process::is_child() {
            return;
        }
        let mut marked = lock(&self.marked);
        if marked.values.len() >= marked.next_cleaning {
            marked.clean();
        }
        marked.values.push(Arc::downgrade(value));
    }
}

impl<T> Marked<T> {
    /// Removes dead entries and duplicates.
    fn clean(&mut self) {
        self.values.retain(|value| value.strong_count() > 0);
        self.values.sort_unstable_by_key(Weak::as_ptr);
        self.values.dedup_by_key(|value| value.as_ptr());
        self.next_cleaning = FIRST_CLEANING.max(2 * self.values.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_and_duplicate_values_do_not_count() {
        let tag = Tag::with_size("tagged", |bytes: &Vec<u8>| bytes.len() as u64);
        let kept: Vec<_> = (0..3).map(|length| Arc::new(vec![0; length])).collect();
        for value in &kept {
            tag.mark(value);
            tag.mark(value);
        }
        for _ in 0..3 * FIRST_CLEANING {
            tag.mark(&Arc::new(Vec::new()));
        }
        let mut marked = lock(&tag.marked);
        assert!(marked.values.len() <= FIRST_CLEANING + 6, "{}", marked.values.len());
        marked.clean();
        assert_eq!(marked.values.len(), 3);
        assert_eq!(
            marked.values.iter().filter_map(Weak::upgrade).map(|it| it.len()).sum::<usize>(),
            3
        );
    }
}
