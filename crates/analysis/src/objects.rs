//! Tables of sampled objects by id: sets, and maps of live objects.
//!
//! Ids are dense in sound traces and arbitrary in hostile ones. Both tables consist of small pages that are
//! found by index while ids are dense, and by hashing otherwise. So memory depends on the number of objects
//! and never on the size of their ids.

use std::collections::HashMap;

use bactrian_trace::ObjectId;

/// Ids per page: one 64-bit word has a bit for each.
const PAGE: u64 = 64;

fn split(id: ObjectId) -> (u64, u32) {
    (id.0 / PAGE, (id.0 % PAGE) as u32)
}

/// Pages by number.
#[derive(Clone, Debug)]
struct Pages<P> {
    dense: Vec<Option<P>>,
    sparse: HashMap<u64, P>,
    /// The number of pages ever created.
    made: usize,
}

impl<P> Default for Pages<P> {
    fn default() -> Pages<P> {
        Pages { dense: Vec::new(), sparse: HashMap::new(), made: 0 }
    }
}

impl<P> Pages<P> {
    #[inline]
    fn get(&self, page: u64) -> Option<&P> {
        match self.dense.get(usize::try_from(page).ok()?) {
            Some(Some(found)) => Some(found),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get(&page),
        }
    }

    #[inline]
    fn get_mut(&mut self, page: u64) -> Option<&mut P> {
        match self.dense.get_mut(usize::try_from(page).ok()?) {
            Some(Some(found)) => Some(found),
            _ if self.sparse.is_empty() => None,
            _ => self.sparse.get_mut(&page),
        }
    }

    #[inline]
    fn get_or_insert(&mut self, page: u64, new: impl FnOnce() -> P) -> &mut P {
        // The indexed table may have at most four slots per page.
        let reach = self.made * 4 + 1024;
        match usize::try_from(page) {
            Ok(at) if at < reach && !self.sparse.contains_key(&page) => {
                if at >= self.dense.len() {
                    self.dense.resize_with(at + 1, || None);
                }
                let slot = &mut self.dense[at];
                self.made += usize::from(slot.is_none());
                slot.get_or_insert_with(new)
            }
            _ => self.sparse.entry(page).or_insert_with(|| {
                self.made += 1;
                new()
            }),
        }
    }

    fn remove(&mut self, page: u64) -> Option<P> {
        let dense = usize::try_from(page).ok().and_then(|at| self.dense.get_mut(at)?.take());
        dense.or_else(|| self.sparse.remove(&page))
    }
}

/// A set of objects: one bit each.
#[derive(Clone, Debug, Default)]
pub(crate) struct ObjectSet {
    pages: Pages<u64>,
}

impl ObjectSet {
    #[inline]
    pub fn insert(&mut self, id: ObjectId) {
        let (page, bit) = split(id);
        *self.pages.get_or_insert(page, || 0) |= 1 << bit;
    }

    #[inline]
    pub fn remove(&mut self, id: ObjectId) {
        let (page, bit) = split(id);
        if let Some(bits) = self.pages.get_mut(page) {
            *bits &= !(1 << bit);
        }
    }

    #[inline]
    pub fn contains(&self, id: ObjectId) -> bool {
        let (page, bit) = split(id);
        self.pages.get(page).is_some_and(|bits| bits >> bit & 1 != 0)
    }

    /// Adds all objects of `other`.
    pub fn unite(&mut self, other: ObjectSet) {
        let dense = other.pages.dense.into_iter().enumerate();
        let dense = dense.filter_map(|(page, bits)| Some((page as u64, bits?)));
        for (page, bits) in dense.chain(other.pages.sparse) {
            *self.pages.get_or_insert(page, || 0) |= bits;
        }
    }

    /// Removes all objects that are not in `other`.
    pub fn intersect(&mut self, other: &ObjectSet) {
        let dense = self.pages.dense.iter_mut().enumerate();
        let dense = dense.filter_map(|(page, bits)| Some((page as u64, bits.as_mut()?)));
        let sparse = self.pages.sparse.iter_mut().map(|(page, bits)| (*page, bits));
        for (page, bits) in dense.chain(sparse) {
            *bits &= other.pages.get(page).copied().unwrap_or(0);
        }
    }
}

/// A map from live objects to values.
///
/// A page is freed when its last object dies. So that a few survivors do not hold many pages, nearly empty
/// pages are swept into a hash table each time the number of pages has doubled.
#[derive(Debug)]
pub(crate) struct LiveTable<T> {
    pages: Pages<Box<LivePage<T>>>,
    survivors: HashMap<u64, T>,
    in_use: usize,
    sweep_at: usize,
}

#[derive(Debug)]
struct LivePage<T> {
    used: u64,
    items: [T; PAGE as usize],
}

/// Pages with at most this many objects are swept.
const NEARLY_EMPTY: u32 = 8;

impl<T: Copy + Default> Default for LiveTable<T> {
    fn default() -> LiveTable<T> {
        LiveTable {
            pages: Pages::default(),
            survivors: HashMap::new(),
            in_use: 0,
            sweep_at: 1 << 14,
        }
    }
}

impl<T: Copy + Default> LiveTable<T> {
    #[inline]
    pub fn insert(&mut self, id: ObjectId, item: T) {
        if self.in_use >= self.sweep_at {
            self.sweep();
        }
        let (page, bit) = split(id);
        let in_use = &mut self.in_use;
        let page = self.pages.get_or_insert(page, || {
            *in_use += 1;
            Box::new(LivePage { used: 0, items: [T::default(); PAGE as usize] })
        });
        page.used |= 1 << bit;
        page.items[bit as usize] = item;
    }

    #[inline]
    pub fn get_mut(&mut self, id: ObjectId) -> Option<&mut T> {
        let (page, bit) = split(id);
        match self.pages.get_mut(page) {
            Some(page) if page.used >> bit & 1 != 0 => Some(&mut page.items[bit as usize]),
            _ => self.survivors.get_mut(&id.0),
        }
    }

    #[inline]
    pub fn remove(&mut self, id: ObjectId) -> Option<T> {
        let (number, bit) = split(id);
        if let Some(page) = self.pages.get_mut(number)
            && page.used >> bit & 1 != 0
        {
            page.used &= !(1 << bit);
            let item = page.items[bit as usize];
            if page.used == 0 {
                self.pages.remove(number);
                self.in_use -= 1;
            }
            return Some(item);
        }
        if self.survivors.is_empty() { None } else { self.survivors.remove(&id.0) }
    }

    /// The values of the objects that are still alive.
    pub fn into_items(self) -> impl Iterator<Item = T> {
        let dense = self.pages.dense.into_iter().flatten();
        let pages = dense.chain(self.pages.sparse.into_values());
        let paged = pages.flat_map(|page| {
            let used = page.used;
            page.items.into_iter().enumerate().filter(move |(bit, _)| used >> bit & 1 != 0)
        });
        paged.map(|(_, item)| item).chain(self.survivors.into_values())
    }

    #[cold]
    fn sweep(&mut self) {
        let LiveTable { pages, survivors, in_use, .. } = self;
        let mut sweep = |number: u64, page: &LivePage<T>| {
            let few = page.used.count_ones() <= NEARLY_EMPTY;
            for bit in (0..PAGE).filter(|bit| few && page.used >> bit & 1 != 0) {
                survivors.insert(number * PAGE + bit, page.items[bit as usize]);
            }
            *in_use -= usize::from(few);
            few
        };
        for (number, slot) in pages.dense.iter_mut().enumerate() {
            if slot.as_ref().is_some_and(|page| sweep(number as u64, page)) {
                *slot = None;
            }
        }
        pages.sparse.retain(|&number, page| !sweep(number, page));
        self.sweep_at = (self.in_use * 2).max(1 << 14);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ids() -> impl Strategy<Value = u64> {
        prop_oneof![4 => 0..5_000u64, 1 => any::<u64>(), 1 => (1u64 << 40)..(1 << 40) + 300]
    }

    proptest! {
        #[test]
        fn object_tables_behave_like_maps(steps in prop::collection::vec((ids(), any::<bool>()), 0..600)) {
            let (mut table, mut set) = (LiveTable::default(), ObjectSet::default());
            table.sweep_at = 8;
            let mut model = HashMap::new();
            for (step, (id, insert)) in steps.into_iter().enumerate() {
                if insert && !model.contains_key(&id) {
                    table.insert(ObjectId(id), step);
                    set.insert(ObjectId(id));
                    model.insert(id, step);
                } else {
                    prop_assert_eq!(table.remove(ObjectId(id)), model.remove(&id));
                    set.remove(ObjectId(id));
                }
                prop_assert_eq!(set.contains(ObjectId(id)), model.contains_key(&id));
                table.sweep_at = table.sweep_at.min(table.in_use + 3);
            }
            let mut left: Vec<_> = table.into_items().collect();
            let mut expected: Vec<_> = model.into_values().collect();
            left.sort_unstable();
            expected.sort_unstable();
            prop_assert_eq!(left, expected);
        }
    }

    #[test]
    fn exponentially_growing_ids_cost_little() {
        let mut set = ObjectSet::default();
        for doubling in 0..50 {
            set.insert(ObjectId((PAGE * 1024) << doubling));
        }
        assert!(set.pages.dense.len() <= 2_000);
    }

    #[test]
    fn large_ids_cost_little() {
        let mut table = LiveTable::default();
        for n in 0..1_000u64 {
            table.insert(ObjectId(n << 50), n);
        }
        assert!(table.pages.dense.len() <= 2_000);
        assert_eq!(table.into_items().count(), 1_000);
    }
}
