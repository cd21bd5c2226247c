//! Integer values, for formats without fractions.
//!
//! Estimates have fractions: one sample of a large block stands for a hundredth of an object. Rounded
//! separately, a thousand of them would vanish. So the rounding error of one stack is carried to the next:
//! every value is off by less than one, and the values sum to the rounded total.

use bactrian_analysis::{Column, StackId, StackTree};

use crate::path::every_stack;

/// The greatest integer that all formats can hold.
pub const MOST: u64 = i64::MAX as u64;

/// Rounds the values of one column, stack after stack.
#[derive(Clone, Debug, Default)]
pub struct Rounding {
    exact: f64,
    given: u64,
}

impl Rounding {
    /// What the stack itself allocated.
    pub fn own(&mut self, column: &Column, stack: StackId) -> u64 {
        self.next(column.estimate(column.own(stack)).value)
    }

    fn next(&mut self, value: f64) -> u64 {
        self.exact += value;
        let sum = (self.exact.round() as u64).min(MOST);
        let part = sum.saturating_sub(self.given);
        self.given += part;
        part
    }
}

/// The stacks that allocated something themselves, with the amount. Parents come before their children.
pub fn nonzero<'a>(
    tree: &StackTree,
    column: &'a Column,
) -> impl Iterator<Item = (StackId, u64)> + use<'a> {
    let mut rounding = Rounding::default();
    let values = every_stack(tree).map(move |stack| (stack, rounding.own(column, stack)));
    values.filter(|&(_, value)| value > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounding_errors_are_carried_to_the_next_value() {
        let mut rounding = Rounding::default();
        let whole = [0.4, 0.4, 10.0, 0.0, 0.4, 0.4, 2.7].map(|value| rounding.next(value));
        assert_eq!(whole, [0, 1, 10, 0, 0, 1, 2]);
        assert_eq!(whole.iter().sum::<u64>(), 14);
    }

    #[test]
    fn rounding_survives_huge_values() {
        for huge in [f64::INFINITY, f64::NAN, f64::MAX] {
            let mut rounding = Rounding::default();
            let sum = rounding.next(huge) + rounding.next(huge) + rounding.next(1.0);
            assert!(sum <= MOST);
        }
    }
}
