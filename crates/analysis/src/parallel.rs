//! Parallel work in coarse pieces.
//!
//! Rayon's generic code is compiled anew for each use, which was an eighth of this crate's compile time. Here
//! it is compiled once: it knows the pieces by number only.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::under_way::Step;

/// Per thread, the number of pieces in progress, and as many finished ones.
const BATCH: usize = 4;

/// The fewest elements worth a piece of their own.
const LEAST: usize = 256;

/// Executes all pieces, in any order.
fn each(pieces: usize, step: &Step, work: &(dyn Fn(usize) + Sync)) {
    (0..pieces).into_par_iter().with_max_len(1).for_each(|piece| {
        step.check();
        work(piece);
        step.did_one();
    });
}

/// The results of all pieces, in order.
pub(crate) fn map<P: Sync, T: Send>(pieces: &[P], work: impl Fn(&P) -> T + Sync) -> Vec<T> {
    map_in(&Step::of(pieces.len()), pieces, work)
}

fn map_in<P: Sync, T: Send>(step: &Step, pieces: &[P], work: impl Fn(&P) -> T + Sync) -> Vec<T> {
    let results: Vec<_> = pieces.iter().map(|_| Mutex::new(None)).collect();
    each(pieces.len(), step, &|at| {
        let result = work(&pieces[at]);
        *results[at].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
    });
    results
        .into_iter()
        .filter_map(|result| result.into_inner().unwrap_or_else(PoisonError::into_inner))
        .collect()
}

/// Passes the results to `then` in order, on this thread, while other threads compute the next ones. Only few
/// results are in memory at once.
pub(crate) fn map_then<P: Sync, T: Send>(
    pieces: &[P],
    work: impl Fn(&P) -> T + Sync,
    mut then: impl FnMut(&P, T),
) {
    let step = Step::of(pieces.len());
    let mut batches = pieces.chunks(BATCH * rayon::current_num_threads());
    let mut ready: (&[P], Vec<T>) = (&[], Vec::new());
    loop {
        let next = batches.next().unwrap_or(&[]);
        let (pieces, results) = std::mem::replace(&mut ready, (next, Vec::new()));
        rayon::in_place_scope(|scope| {
            scope.spawn(|_| ready.1 = map_in(&step, next, &work));
            pieces.iter().zip(results).for_each(|(piece, result)| then(piece, result));
        });
        if next.is_empty() {
            return;
        }
    }
}

/// Fills a slice in pieces; `work` gets the index of a piece's first element.
pub(crate) fn fill<T: Send>(slice: &mut [T], work: impl Fn(usize, &mut [T]) + Sync) {
    let size = slice.len().div_ceil(BATCH * rayon::current_num_threads()).max(LEAST);
    let pieces: Vec<_> = slice.chunks_mut(size).map(Mutex::new).collect();
    each(pieces.len(), &Step::of(pieces.len()), &|at| {
        work(at * size, &mut pieces[at].lock().unwrap_or_else(PoisonError::into_inner));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_their_pieces() {
        let pieces: Vec<u64> = (0..1000).collect();
        let squares: Vec<u64> = pieces.iter().map(|piece| piece * piece).collect();
        assert_eq!(map(&pieces, |piece| piece * piece), squares);
        let mut taken = Vec::new();
        map_then(&pieces, |piece| piece * piece, |piece, square| taken.push((*piece, square)));
        assert_eq!(taken, pieces.iter().copied().zip(squares).collect::<Vec<_>>());
        assert!(map(&[] as &[u64], |piece| *piece).is_empty());
    }

    #[test]
    fn every_element_is_filled_once() {
        for length in [0, 1, LEAST, LEAST + 1, 100_000] {
            let mut slice = vec![0; length];
            fill(&mut slice, |first, piece| {
                piece.iter_mut().enumerate().for_each(|(at, it)| *it += first + at + 1);
            });
            assert_eq!(slice, (1..=length).collect::<Vec<_>>());
        }
    }
}
