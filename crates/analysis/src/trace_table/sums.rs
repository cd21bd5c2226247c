//! Sums over admitted objects: by stack and by class.

use bactrian_trace::Source;

use super::bits::Bits;
use super::columns::{Moment, with_spans};
use super::labelling::Labelling;
use super::lives::{Lives, PROMOTED, source_bits};
use super::origins::Origins;
use crate::estimate::Tally;
use crate::info::Counts;
use crate::lifetimes::{ClassSamples, Tallies, lifetime_class, size_class};
use crate::measure::{Unit, weight_of};
use crate::parallel;

/// The memory for partial sums of threads, in bytes.
const ROOM: usize = 256 << 20;

/// Sums objects in parts, each part on a thread with its own partial sums.
fn add_up<S: Send>(
    admitted: &Bits,
    bytes: usize,
    empty: impl Fn() -> S + Sync,
    add: impl Fn(&mut S, usize) + Sync,
    unite: impl Fn(&mut S, S),
) -> S {
    let words = admitted.words().len();
    let parts = rayon::current_num_threads().min(ROOM / bytes.max(1)).max(1);
    let part = words.div_ceil(parts).max(1);
    let starts = (0..words).step_by(part).collect::<Vec<_>>();
    let mut sums = parallel::map(&starts, |&start| {
        let mut sums = empty();
        admitted.ones_in(start..(start + part).min(words)).for_each(|at| add(&mut sums, at));
        sums
    })
    .into_iter();
    let mut all = sums.next().unwrap_or_else(&empty);
    sums.for_each(|sums| unite(&mut all, sums));
    all
}

/// The tally of each stack itself, over the admitted objects.
pub(crate) fn by_stack(
    lives: &Lives,
    origins: &Origins,
    admitted: &Bits,
    unit: Unit,
) -> Vec<Tally> {
    let stacks = origins.allocating.len();
    match unit {
        // Integers take half the space.
        Unit::Bytes => {
            let sums = add_up(
                admitted,
                stacks * size_of::<u64>(),
                || vec![0u64; stacks],
                |sums, at| sums[origins.stacks[at] as usize] += lives.samples.get(at),
                |all, sums| all.iter_mut().zip(sums).for_each(|(all, sum)| *all += sum),
            );
            sums.into_iter().map(Tally::of_samples).collect()
        }
        Unit::Objects => add_up(
            admitted,
            stacks * size_of::<Tally>(),
            || vec![Tally::default(); stacks],
            |sums, at| {
                let weight = weight_of(Unit::Objects, lives.words.get(at));
                sums[origins.stacks[at] as usize].count(lives.samples.get(at), weight);
            },
            |all, sums| all.iter_mut().zip(sums).for_each(|(all, sum)| *all = *all + sum),
        ),
    }
}

/// Lifetimes and sizes by label; the first entry is for objects without a stack.
pub(crate) fn lifetimes(
    lives: &Lives,
    origins: &Origins,
    labelling: &Labelling,
    admitted: &Bits,
) -> Vec<Tallies> {
    let innermost = labelling.innermost(origins);
    let places = labelling.labels.len() + 1;
    let samples = with_spans!(&lives.times, spans => add_up(
        admitted,
        places * size_of::<ClassSamples>(),
        || vec![ClassSamples::default(); places],
        |classes, at| {
            let label = innermost[origins.stacks[at] as usize];
            let place = label.map_or(0, |label| label.index() + 1);
            let (samples, born, died) = (lives.samples.get(at), spans.born[at], spans.died[at]);
            let lifetime = (!died.is_never())
                .then(|| lifetime_class(died.micros().since(born.micros())));
            classes[place].count(samples, size_class(lives.words.get(at)), lifetime);
        },
        |all, classes| all.iter_mut().zip(classes).for_each(|(all, one)| all.add(&one)),
    ));
    samples.iter().map(Tallies::of_samples).collect()
}

/// Facts about the admitted objects.
pub(crate) fn contents(lives: &Lives, origins: &Origins, admitted: &Bits) -> Counts {
    let mut counts = add_up(
        admitted,
        size_of::<Counts>(),
        || (Counts::default(), Bits::none(origins.allocating.len())),
        |(counts, stacks), at| {
            let kind = lives.kinds[at];
            let source = [Source::Minor, Source::Major, Source::External]
                .into_iter()
                .position(|source| source_bits(source) == kind & !PROMOTED);
            counts.by_source[source.unwrap_or(0)] += 1;
            counts.promotions += u64::from(kind & PROMOTED != 0);
            let samples = lives.samples.get(at);
            counts.samples += samples;
            counts.objects.count(samples, weight_of(Unit::Objects, lives.words.get(at)));
            let died = with_spans!(&lives.times, spans => !spans.died[at].is_never());
            counts.collections += u64::from(died);
            counts.live += if died { 0 } else { samples };
            stacks.set(origins.stacks[at] as usize);
        },
        |(all, stacks), (counts, others)| {
            all.add(&counts);
            stacks.unite(&others);
        },
    );
    counts.0.deepest_stack = deepest(origins, &counts.1);
    counts.0
}

/// The depth of the deepest of some stacks.
fn deepest(origins: &Origins, stacks: &Bits) -> usize {
    let depths = origins.tree.inwards(0usize, |outer, _| outer + 1);
    let used = stacks.ones_in(0..stacks.words().len());
    used.map(|stack| depths[origins.allocating[stack] as usize]).max().unwrap_or(0)
}
