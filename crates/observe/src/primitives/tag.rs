//! Marked values: how many are still alive, and how large they are.

use std::sync::{Arc, Mutex, Weak};

use bactrian_live::{Kind, Value};

use super::observer;
use crate::name::Name;
use crate::process;
use crate::registry::{Handle, lock};
use crate::server::server;

/// Values that were marked, as long as they live. Marking does not keep them alive.
#[derive(Debug)]
pub struct Tag<T> {
    handle: Handle,
    marked: Arc<Mutex<Marked<T>>>,
}

#[derive(Debug)]
struct Marked<T> {
    values: Vec<Weak<T>>,
    /// The dead are looked for when there are as many as this; so marking stays cheap, whether somebody watches or not.
    next_cleaning: usize,
}

/// Few enough to keep, dead or alive.
const FIRST_CLEANING: usize = 1024;

observer!(Tag<T>);

impl<T: Send + Sync + 'static> Tag<T> {
    /// A new one that counts.
    pub fn new(name: impl Into<Name>) -> Tag<T> {
        Tag::make(name.into(), None::<fn(&T) -> u64>)
    }

    /// A new one that also adds up what `size` says of each, in bytes. A value that was marked twice counts once.
    ///
    /// For the moment of the counting the server keeps the value alive; should the program let go of it just then, it
    /// is dropped on the server's thread.
    pub fn with_size(name: impl Into<Name>, size: impl Fn(&T) -> u64 + Send + 'static) -> Tag<T> {
        Tag::make(name.into(), Some(size))
    }

    fn make(name: Name, size: Option<impl Fn(&T) -> u64 + Send + 'static>) -> Tag<T> {
        let marked = Marked { values: Vec::new(), next_cleaning: FIRST_CLEANING };
        let marked = Arc::new(Mutex::new(marked));
        let read = Arc::clone(&marked);
        let handle = server().watch(Kind::Tag, name, move || {
            // The program may go on marking while sizes are taken.
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

    /// Marks a value.
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
    /// Keeps those that are alive, each once.
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
    fn the_dead_and_the_doubles_do_not_count() {
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
