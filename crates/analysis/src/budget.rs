//! A memory budget shared by everything that is open. Each user takes what it needs while some is left.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// A shared number of bytes.
#[derive(Debug, Default)]
pub struct Budget {
    all: OnceLock<u64>,
    granted: AtomicU64,
}

/// A share of a budget, returned on drop.
#[derive(Debug)]
pub struct Grant {
    budget: Option<&'static Budget>,
    bytes: AtomicU64,
}

impl Budget {
    /// A budget whose size is not known yet.
    pub const fn new() -> Budget {
        Budget { all: OnceLock::new(), granted: AtomicU64::new(0) }
    }

    /// Grants half of the remaining budget, so that later users get some too. `all` returns the size of the
    /// budget; it is called once, before the first grant.
    pub fn grant(&'static self, all: impl FnOnce() -> u64) -> Grant {
        let all = *self.all.get_or_init(all);
        let mut given = 0;
        let take = |granted: u64| {
            given = all.saturating_sub(granted) / 2;
            Some(granted + given)
        };
        // Cannot fail: `take` always returns a value.
        let _ = self.granted.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        Grant { budget: Some(self), bytes: AtomicU64::new(given) }
    }
}

impl Grant {
    /// A grant of this many bytes that belongs to no budget.
    pub fn of(bytes: u64) -> Grant {
        Grant { budget: None, bytes: AtomicU64::new(bytes) }
    }

    /// The number of bytes granted.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns what is not needed: only `bytes` are kept.
    pub fn shrink_to(&self, bytes: u64) {
        let had = self.bytes.fetch_min(bytes, Ordering::Relaxed);
        if let Some(budget) = self.budget {
            budget.granted.fetch_sub(had.saturating_sub(bytes), Ordering::Relaxed);
        }
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        self.shrink_to(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grants_never_exceed_the_budget() {
        static BUDGET: Budget = Budget::new();
        let [one, two, three] = [(); 3].map(|()| BUDGET.grant(|| 800));
        assert_eq!([one.bytes(), two.bytes(), three.bytes()], [400, 200, 100]);
        one.shrink_to(100);
        assert_eq!((one.bytes(), BUDGET.grant(|| 1000).bytes()), (100, 200));
        drop((one, two, three));
        assert_eq!(BUDGET.grant(|| 1000).bytes(), 400);
    }
}
