//! What is counted of a snapshot in a series: little, so that the heap itself need not stay in memory.
//!
//! All blocks are counted by class; sampled blocks are also counted by class and allocation site. From these
//! counts, all sizes that [`classes_of`](super::classes_of) reports can be derived, for any class, module,
//! function or site ([`evolution`](super::evolution)).

use std::collections::{HashMap, HashSet};

use bactrian_snapshot::Losses;
use schemars::JsonSchema;
use serde::Serialize;

use super::classes::{
    class_label, heaviest_sample, is_all_sampled, is_of_outside, site_label, words_of,
};
use super::diff::{Counted, compactions, totals};
use super::{Heap, WORD, info};
use crate::estimate::Tally;
use crate::labels::Label;
use crate::library::place_of;
use crate::units::Time;

/// A snapshot in a series.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct SeriesPoint {
    /// When it was taken, in seconds since the Unix epoch.
    pub taken: f64,
    /// When it was taken, since observation began.
    pub since_start: Option<Time>,
    /// Its number among the snapshots of the process, from 1.
    pub sequence: u32,
    /// Why it was taken, as in `info`.
    pub reason: &'static str,
    /// The name that the program gave it.
    pub name: Option<String>,
    /// The process id.
    pub pid: u32,
    /// Number of blocks.
    pub blocks: u64,
    /// Their size in bytes.
    pub bytes: u64,
    /// Size of the blocks that the collector manages: all but static ones.
    pub live: u64,
    /// Bytes mapped for the major heap, if known.
    pub heap: Option<u64>,
    /// Number of compactions before the snapshot, if known.
    pub compactions: Option<u64>,
}

/// The counts of a snapshot.
#[derive(Clone, Debug)]
pub struct HeapSums {
    pub(super) point: SeriesPoint,
    pub(super) program: String,
    pub(super) host: String,
    pub(super) has_types: bool,
    pub(super) classes: Vec<(Label, Counted)>,
    pub(super) sampled: Vec<Sampled>,
    /// Whether every allocated word was sampled.
    pub(super) is_all_sampled: bool,
    /// Samples per live word.
    pub(super) rate: f64,
    /// The most samples that one sample can stand for.
    pub(super) heaviest_sample: f64,
    losses: Losses,
}

/// Sampled blocks of one class and one allocation site.
#[derive(Clone, Debug)]
pub(super) struct Sampled {
    /// The index of the class.
    pub class: u32,
    /// The allocation site, as `sites` shows it.
    pub site: Label,
    /// Their samples, for estimates of bytes.
    pub words: Tally,
    /// Their samples, for estimates of block counts.
    pub blocks: Tally,
    /// The sampled blocks themselves.
    pub counted: Counted,
}

impl HeapSums {
    /// Counts the blocks of a heap.
    pub fn of(heap: &Heap) -> HeapSums {
        let about = info(heap.snapshot());
        let numbers: Vec<u32> = (0..).take(heap.classes().len()).collect();
        let of_classes = totals(heap, &numbers, numbers.len());
        let contents = heap.census().count.contents(heap.losses().clone());
        let (sampled, samples) = sampled(heap);
        HeapSums {
            point: SeriesPoint {
                taken: about.taken,
                since_start: about.since_start,
                sequence: about.sequence,
                reason: about.reason,
                name: about.name,
                pid: about.pid,
                blocks: of_classes.iter().map(|of_class| of_class.blocks).sum(),
                bytes: of_classes.iter().fold(0, |sum, c| c.bytes.saturating_add(sum)),
                live: contents.live_bytes,
                heap: about.memory.mapped_heap,
                compactions: compactions(heap),
            },
            program: about.program,
            host: about.host,
            has_types: heap.coverage().is_some(),
            classes: heap.classes().iter().map(class_label).zip(of_classes).collect(),
            sampled,
            is_all_sampled: is_all_sampled(heap),
            rate: samples as f64 / ((contents.live_bytes / WORD) as f64).max(1.0),
            heaviest_sample: heaviest_sample(heap),
            losses: heap.losses().clone(),
        }
    }

    /// What is missing or damaged in the snapshot's file.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Facts about the snapshot as a whole.
    pub fn point(&self) -> &SeriesPoint {
        &self.point
    }

    pub(super) fn is_of_same_process(&self, other: &HeapSums) -> bool {
        let process = |sums: &HeapSums| (sums.point.pid, sums.program.clone(), sums.host.clone());
        process(self) == process(other)
    }
}

/// Sampled blocks by class and site, and the number of their samples.
fn sampled(heap: &Heap) -> (Vec<Sampled>, u64) {
    let tables = heap.tables();
    let mut places = HashMap::new();
    let mut found: Vec<Sampled> = Vec::new();
    let mut seen = HashSet::new();
    let mut samples = 0_u64;
    for sample in tables.samples.iter().filter(|sample| !is_of_outside(heap, sample.block.0)) {
        let Some(&class) = heap.class_of().get(sample.block.index()) else { continue };
        let location = place_of(tables, sample.stack, false);
        let words = words_of(heap, sample);
        samples = samples.saturating_add(sample.samples.into());
        let place = *places.entry((class, location)).or_insert_with(|| {
            let (words, blocks, counted) = Default::default();
            let site = site_label(tables, location);
            found.push(Sampled { class, site, words, blocks, counted });
            found.len() - 1
        });
        let of_place = &mut found[place];
        of_place.words.count(sample.samples.into(), 1.0);
        of_place.blocks.count(sample.samples.into(), 1.0 / words.max(1) as f64);
        if seen.insert(sample.block) {
            of_place.counted.add(words);
        }
    }
    (found, samples)
}
