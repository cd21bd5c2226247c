//! What may be kept in memory of all that is open: one budget, out of which each takes what it needs as long as there is some.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes for all who share it.
#[derive(Debug, Default)]
pub struct Budget {
    all: OnceLock<u64>,
    granted: AtomicU64,
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub struct Grant {
    budget: &'static Budget,
    bytes: u64,
}

impl Budget {
    /// One whose size is not known yet.
    pub const fn new() -> Budget {
        Budget { all: OnceLock::new(), granted: AtomicU64::new(0) }
    }

    /// So many bytes, or what is left. `all` says how large the budget is; it is asked once, before anything is granted.
    pub fn grant(&'static self, bytes: u64, all: impl FnOnce() -> u64) -> Grant {
        let all = *self.all.get_or_init(all);
        let mut given = 0;
        let take = |granted: u64| {
            given = bytes.min(all.saturating_sub(granted));
            Some(granted + given)
        };
        // It never refuses.
        let _ = self.granted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        Grant { budget: self, bytes: given }
    }
}

impl Grant {
    /// How many bytes these are.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.budget.granted.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn together_they_take_no_more_than_there_is() {
        static BUDGET: Budget = Budget::new();
        let [one, two, three] = [60, 60, 60].map(|bytes| BUDGET.grant(bytes, || 100));
        assert_eq!([one.bytes(), two.bytes(), three.bytes()], [60, 40, 0]);
        drop(one);
        assert_eq!(BUDGET.grant(90, || 1000).bytes(), 60);
    }
}
