//! Differences between snapshots: classes that grow; blocks that are new, gone or surviving; and where the
//! growth leads.
//!
//! Classes are identified by name and place. Blocks are identified by address, class and size: a block that
//! took the place of a similar one is mistaken for it. After a compaction, or for snapshots of two processes,
//! blocks cannot be compared, and the answer says so.

use std::collections::HashMap;
use std::sync::Arc;

use bactrian_graph::Node;
use bactrian_snapshot::{Number, SpaceKind};
use schemars::JsonSchema;
use serde::Serialize;

use super::{Heap, WORD, difference};
use crate::sorted_rows::SortRows;

/// If fewer than this fraction of the smaller heap's blocks are found again, something has moved them.
const FEW: f64 = 0.01;
/// But only if there are this many blocks, because a small heap may well be all new.
const ENOUGH: u64 = 1_000;

/// A comparison of snapshots.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct HeapDiff {
    /// The snapshots, in order.
    pub snapshots: Vec<DiffPoint>,
    /// All blocks.
    pub all: ClassChange,
    /// Classes, those that grew most first.
    pub rows: Vec<ClassChange>,
    /// Why blocks of the first and the last snapshot cannot be matched; null if they can.
    pub not_matched: Option<String>,
}

/// A snapshot in a comparison.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DiffPoint {
    /// When it was taken, in seconds since the Unix epoch.
    pub taken: f64,
    /// Number of blocks.
    pub blocks: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Number of compactions before the snapshot, if known.
    pub compactions: Option<u64>,
}

/// How a class changed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ClassChange {
    /// The class.
    pub class: String,
    /// Number of its blocks in each snapshot.
    pub blocks: Vec<u64>,
    /// Their size in bytes in each snapshot.
    pub bytes: Vec<u64>,
    /// Growth in bytes from the first to the last snapshot.
    pub change: i64,
    /// Whether it grew in every step, with at least two steps.
    pub grows_always: bool,
    /// Growth in bytes per second, by least squares; null if all snapshots have the same time, or are of several processes.
    pub rate: Option<f64>,
    /// Blocks of the last snapshot that are not in the first; null if blocks cannot be matched.
    pub new: Option<Counted>,
    /// Blocks of the first snapshot that are not in the last.
    pub gone: Option<Counted>,
    /// Blocks that are in both.
    pub surviving: Option<Counted>,
}

/// A number of blocks and their size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counted {
    /// Number of blocks.
    pub blocks: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

impl Counted {
    pub(super) fn add(&mut self, words: u64) {
        self.blocks += 1;
        self.bytes = self.bytes.saturating_add(words.saturating_mul(WORD));
    }
}

impl HeapDiff {
    /// In how many seconds after the last snapshot the total reaches `bytes`, if the growth continues; None
    /// if there is no growth, 0 if it is reached already.
    pub fn time_to(&self, bytes: u64) -> Option<f64> {
        let now = self.all.bytes.last().copied()?;
        if now >= bytes {
            return Some(0.0);
        }
        let rate = self.all.rate.filter(|rate| *rate > 0.0)?;
        Some((bytes - now) as f64 / rate)
    }
}

/// Compares a sequence of snapshots, with only two in memory at a time.
#[derive(Default)]
pub struct Series {
    first: Option<(Arc<Heap>, Vec<u32>)>,
    points: Vec<DiffPoint>,
    times: Vec<f64>,
    /// Whether they are not all of the same process.
    is_of_several: bool,
    classes: ClassNumbers,
    /// For each snapshot, blocks and bytes by class.
    totals: Vec<Vec<Counted>>,
    /// From the first to the last snapshot: new, gone and surviving blocks by class, or why they are not
    /// known.
    matched: Option<Result<Vec<[Counted; 3]>, String>>,
}

impl Series {
    /// Adds the next snapshot. If `is_last`, its blocks are compared with those of the first.
    pub fn add(&mut self, heap: impl Into<Arc<Heap>>, is_last: bool) {
        let heap = heap.into();
        let numbers = self.count(&heap);
        match &self.first {
            None => self.first = Some((heap, numbers)),
            Some((first, of_first)) if is_last => {
                let classes = self.classes.names.len();
                self.matched = Some(match Origin::of(first).why_not(&Origin::of(&heap)) {
                    Some(reason) => Err(reason),
                    None => matched(first, of_first, &heap, &numbers, classes),
                });
            }
            Some(_) => {}
        }
    }

    /// Adds the last snapshot without comparing its blocks.
    pub fn add_uncompared(&mut self, heap: &Heap) {
        self.count(heap);
    }

    /// Counts a snapshot's blocks by class and returns the numbers of its classes.
    fn count(&mut self, heap: &Heap) -> Vec<u32> {
        let numbers = self.classes.of(heap);
        let totals = totals(heap, &numbers, self.classes.names.len());
        let info = heap.snapshot().info();
        let is_other = |first: &Heap| Origin::of(first).process != Origin::of(heap).process;
        self.is_of_several |= self.first.as_ref().is_some_and(|(first, _)| is_other(first));
        self.times.push(info.taken as f64 / 1e6);
        self.points.push(DiffPoint {
            taken: info.taken as f64 / 1e6,
            blocks: totals.iter().map(|of_class| of_class.blocks).sum(),
            bytes: totals.iter().map(|of_class| of_class.bytes).sum(),
            compactions: compactions(heap),
        });
        self.totals.push(totals);
        numbers
    }

    /// The result.
    pub fn finish(self) -> HeapDiff {
        let sum = |of: &dyn Fn(&Counted) -> u64| -> Vec<u64> {
            self.totals.iter().map(|totals| totals.iter().map(of).sum()).collect()
        };
        let (matched, not_matched) = match self.matched {
            Some(Ok(matched)) => (Some(matched), None),
            Some(Err(reason)) => (None, Some(reason)),
            None => (None, Some("they were not compared".to_owned())),
        };
        let change =
            |class: String, blocks: Vec<u64>, bytes: Vec<u64>, of: Option<[Counted; 3]>| {
                let ends = bytes.first().zip(bytes.last());
                ClassChange {
                    class,
                    change: ends.map_or(0, |(first, last)| difference(*last, *first)),
                    grows_always: bytes.len() > 2 && bytes.windows(2).all(|pair| pair[0] < pair[1]),
                    // Between two processes there is no time over which anything grew.
                    rate: rate(&self.times, &bytes).filter(|_| !self.is_of_several),
                    blocks,
                    bytes,
                    new: of.map(|of| of[0]),
                    gone: of.map(|of| of[1]),
                    surviving: of.map(|of| of[2]),
                }
            };
        let all_matched = matched.as_ref().map(|matched| {
            let mut all = [Counted::default(); 3];
            for of_class in matched {
                for (all, part) in all.iter_mut().zip(of_class) {
                    all.blocks += part.blocks;
                    all.bytes += part.bytes;
                }
            }
            all
        });
        let all = change("all".to_owned(), sum(&|c| c.blocks), sum(&|c| c.bytes), all_matched);
        let row = |(at, name): (usize, &String)| {
            let of = |totals: &Vec<Counted>| totals.get(at).copied().unwrap_or_default();
            let blocks: Vec<u64> = self.totals.iter().map(|totals| of(totals).blocks).collect();
            let bytes = self.totals.iter().map(|totals| of(totals).bytes).collect();
            let matched =
                matched.as_ref().map(|matched| matched.get(at).copied().unwrap_or_default());
            blocks
                .iter()
                .any(|count| *count > 0)
                .then(|| change(name.clone(), blocks, bytes, matched))
        };
        let mut rows: Vec<_> = self.classes.names.iter().enumerate().filter_map(row).collect();
        rows.sort_rows_by(|a, b| b.change.cmp(&a.change).then_with(|| a.class.cmp(&b.class)));
        HeapDiff { snapshots: self.points, all, rows, not_matched }
    }
}

pub(super) fn totals(heap: &Heap, numbers: &[u32], classes: usize) -> Vec<Counted> {
    let mut totals = vec![Counted::default(); classes];
    for (&class, &words) in heap.class_of().iter().zip(heap.weights()).take(heap.blocks()) {
        let class = numbers.get(class as usize).and_then(|&class| totals.get_mut(class as usize));
        class.into_iter().for_each(|total| total.add(u64::from(words)));
    }
    totals
}

pub(super) fn compactions(heap: &Heap) -> Option<u64> {
    let tables = heap.tables();
    let of = |name: &str| {
        let mut all = tables.statistics.iter();
        let found = all.find(|statistic| tables.names.get(statistic.name) == name)?;
        match found.value {
            Number::Whole(count) => Some(count),
            Number::Real(_) => None,
        }
    };
    of("compactions")
}

/// Numbers classes of several snapshots, by name.
#[derive(Default)]
pub(super) struct ClassNumbers {
    known: HashMap<String, u32>,
    names: Vec<String>,
}

impl ClassNumbers {
    /// The common number of each class of a heap.
    pub fn of(&mut self, heap: &Heap) -> Vec<u32> {
        let number = |class: &super::Class| {
            let title = class.title();
            if let Some(&known) = self.known.get(&title) {
                return known;
            }
            let number = self.names.len() as u32;
            self.names.push(title.clone());
            self.known.insert(title, number);
            number
        };
        heap.classes().iter().map(number).collect()
    }
}

/// The process of a snapshot, and how often its heap had been compacted.
pub(super) struct Origin {
    process: (u32, String, String),
    compactions: Option<u64>,
}

impl Origin {
    pub fn of(heap: &Heap) -> Origin {
        let info = heap.snapshot().info();
        let process = (info.pid, info.program.clone(), info.host.clone());
        Origin { process, compactions: compactions(heap) }
    }

    /// Why blocks of this snapshot and a later one cannot be compared by address; None if they can.
    pub fn why_not(&self, later: &Origin) -> Option<String> {
        if self.process != later.process {
            return Some("the snapshots are of different processes".to_owned());
        }
        match (self.compactions, later.compactions) {
            (Some(before), Some(after)) if before != after => Some(format!(
                "the heap was compacted in between ({before} and {after} compactions)"
            )),
            _ => None,
        }
    }
}

/// New, gone and surviving blocks by class. Blocks of minor heaps are new or gone: they have no stable
/// address.
fn matched(
    first: &Heap,
    of_first: &[u32],
    last: &Heap,
    of_last: &[u32],
    classes: usize,
) -> Result<Vec<[Counted; 3]>, String> {
    let mut found = vec![[Counted::default(); 3]; classes];
    let mut count = |which: usize, class: u32, words: u64| {
        let of_class = found.get_mut(class as usize);
        of_class.into_iter().for_each(|of_class| of_class[which].add(words));
    };
    let mut old = Blocks::new(first, of_first);
    let mut new = Blocks::new(last, of_last);
    let (mut one, mut other) = (old.next(), new.next());
    let (mut survived, mut smaller) = (0_u64, [0_u64; 2]);
    loop {
        match (one, other) {
            (None, None) => break,
            (Some(a), Some(b)) if a.address == b.address && !a.is_young && !b.is_young => {
                if (a.class, a.words) == (b.class, b.words) {
                    count(2, a.class, a.words);
                    survived += u64::from(!a.is_static);
                } else {
                    count(1, a.class, a.words);
                    count(0, b.class, b.words);
                }
                smaller[0] += u64::from(!a.is_static);
                smaller[1] += u64::from(!b.is_static);
                (one, other) = (old.next(), new.next());
            }
            (Some(a), b) if b.is_none_or(|b| a.address <= b.address) => {
                count(1, a.class, a.words);
                smaller[0] += u64::from(!a.is_static && !a.is_young);
                one = old.next();
            }
            (_, Some(b)) => {
                count(0, b.class, b.words);
                smaller[1] += u64::from(!b.is_static && !b.is_young);
                other = new.next();
            }
            (Some(_), None) => break,
        }
    }
    let least = smaller[0].min(smaller[1]);
    if least >= ENOUGH && (survived as f64) < FEW * least as f64 {
        return Err(format!(
            "only {survived} of {least} blocks are at the same address: they were moved"
        ));
    }
    Ok(found)
}

#[derive(Clone, Copy)]
pub(super) struct Seen {
    pub node: Node,
    pub address: u64,
    pub class: u32,
    pub words: u64,
    pub is_young: bool,
    pub is_static: bool,
}

/// Blocks in address order, read group by group.
pub(super) struct Blocks<'a> {
    heap: &'a Heap,
    numbers: &'a [u32],
    next_group: usize,
    group: std::vec::IntoIter<bactrian_snapshot::Block>,
}

impl<'a> Blocks<'a> {
    pub fn new(heap: &'a Heap, numbers: &'a [u32]) -> Blocks<'a> {
        Blocks { heap, numbers, next_group: 0, group: Vec::new().into_iter() }
    }

    pub fn next(&mut self) -> Option<Seen> {
        loop {
            if let Some(block) = self.group.next() {
                let class = self.heap.class_of().get(block.id.index())?;
                let space = self.heap.tables().space_of(block.address).map(|space| space.kind);
                return Some(Seen {
                    node: block.id.0,
                    address: block.address,
                    class: self.numbers.get(*class as usize).copied().unwrap_or(u32::MAX),
                    words: u64::from(self.heap.weights().get(block.id.index()).copied()?),
                    is_young: space == Some(SpaceKind::Minor),
                    is_static: space == Some(SpaceKind::Static),
                });
            }
            let snapshot = self.heap.snapshot();
            if self.next_group >= snapshot.groups().len() {
                return None;
            }
            let group = snapshot.group(self.next_group);
            self.next_group += 1;
            self.group = group.map(|group| group.blocks().to_vec()).unwrap_or_default().into_iter();
        }
    }
}

/// The slope of bytes over seconds by least squares; None if all times are equal.
pub(super) fn rate(times: &[f64], bytes: &[u64]) -> Option<f64> {
    let count = times.len().min(bytes.len()) as f64;
    let first = *times.first()?;
    let points =
        || times.iter().map(|time| time - first).zip(bytes.iter().map(|bytes| *bytes as f64));
    let (time, size) = points().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
    let (time, size) = (time / count, size / count);
    let (mut above, mut below) = (0.0, 0.0);
    for (x, y) in points() {
        above += (x - time) * (y - size);
        below += (x - time) * (x - time);
    }
    (below > 0.0).then(|| above / below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_the_least_squares_slope() {
        assert_eq!(rate(&[0.0, 1.0, 2.0], &[10, 20, 30]), Some(10.0));
        assert_eq!(rate(&[5.0, 6.0, 7.0], &[10, 40, 10]), Some(0.0));
        assert_eq!(rate(&[5.0, 5.0], &[10, 40]), None);
        assert_eq!(rate(&[5.0], &[10]), None);
        assert_eq!(rate(&[], &[]), None);
    }
}
