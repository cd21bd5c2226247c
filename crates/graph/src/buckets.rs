//! Counting sort by small keys.

use crate::Node;
use crate::memory::zeroes;

/// Groups the indices of `keys` by key. Returns where each key's group begins (plus where the last one ends),
/// and the indices group by group, ascending within a group. Keys that are not below `count` are left out.
pub(crate) fn by_key(keys: &[u32], count: usize) -> (Vec<u32>, Vec<Node>) {
    let is_kept = |key: u32| (key as usize) < count;
    // `starts` holds counts first, then the groups' ends. Filling the groups from the back turns ends into
    // starts.
    let mut starts = zeroes::<u32>(count + 1);
    for &key in keys.iter().filter(|&&key| is_kept(key)) {
        starts[key as usize] += 1;
    }
    let total = sum_up(&mut starts);
    let mut indices = zeroes(total as usize);
    for (index, &key) in keys.iter().enumerate().rev() {
        if is_kept(key) {
            let place = &mut starts[key as usize];
            *place -= 1;
            indices[*place as usize] = index as Node;
        }
    }
    (starts, indices)
}

/// Replaces each number by the sum of all numbers up to it, and returns the total.
pub(crate) fn sum_up(numbers: &mut [u32]) -> u32 {
    let mut sum = 0;
    for number in numbers {
        sum += *number;
        *number = sum;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NONE;

    #[test]
    fn indices_are_in_order_of_their_keys() {
        let (starts, indices) = by_key(&[2, 0, NONE, 2, 3, 0], 3);
        assert_eq!(starts, [0, 2, 2, 4]);
        assert_eq!(indices, [1, 5, 0, 3]);
        assert_eq!(by_key(&[], 0), (vec![0], vec![]));
    }
}
