//! Where blocks were allocated that are there more than once, as far as they were sampled.
//!
//! All copies count, whichever of them would stay: that is chosen by their places in memory, and says nothing. A sample
//! stands for some number of words, so a site's part of the samples is its part of what is there more than once.

use std::collections::HashMap;

use bactrian_graph::Node;
use serde::Serialize;

use super::Duplicates;
use super::sharing::Sharing;
use crate::estimate::{Estimate, Scale, Tally};
use crate::heap::Heap;
use crate::heap::classes::site_label;
use crate::labels::Label;

/// Where some of the blocks were allocated that are there more than once.
#[derive(Clone, Debug, Serialize)]
pub struct DuplicateSite {
    /// The place.
    #[serde(flatten)]
    pub label: Label,
    /// How many of them were sampled there.
    pub sampled_blocks: u64,
    /// The site's part of all samples of such blocks.
    pub share: f64,
    /// What would be saved of blocks from there, estimated from that.
    pub saved: Estimate,
}

/// Adds them to an answer.
pub(super) fn find(
    heap: &Heap,
    first: &[Node],
    sharing: &Sharing,
    is_static: &[bool],
    answer: &mut Duplicates,
) {
    let mut is_several = vec![false; first.len()];
    sharing.several.iter().for_each(|&node| is_several[node as usize] = true);
    let tables = heap.tables();
    let mut sites: HashMap<Label, (u64, u64)> = HashMap::new();
    let mut samples = 0_u64;
    for sample in &tables.samples {
        let at = sample.block.index();
        if is_several.get(at) != Some(&true) || is_static.get(at) == Some(&true) {
            continue;
        }
        let stack = sample.stack.and_then(|stack| tables.stacks.get(stack.index()));
        let (blocks, sum) = sites.entry(site_label(tables, stack.map(|s| s.location))).or_default();
        *blocks += 1;
        *sum += u64::from(sample.samples);
        samples += u64::from(sample.samples);
        answer.sampled_blocks += 1;
    }
    // As many samples as there are stand for all that would be saved.
    let scale = Scale { rate: samples as f64 / (answer.saved as f64).max(1.0), unit: 1.0 };
    answer.sites = sites
        .into_iter()
        .map(|(label, (sampled_blocks, sum))| {
            let mut tally = Tally::default();
            tally.count(sum, 1.0);
            let share = sum as f64 / (samples as f64).max(1.0);
            DuplicateSite { label, sampled_blocks, share, saved: scale.estimate(tally) }
        })
        .collect();
    answer.sites.sort_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.label.cmp(&b.label)));
}
