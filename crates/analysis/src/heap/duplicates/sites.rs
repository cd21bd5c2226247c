//! Allocation sites of duplicates, as far as the blocks were sampled.
//!
//! All copies count, whichever of them would stay: that choice depends on addresses and means nothing. A
//! sample stands for a certain number of words, so a site's share of the samples is its share of the
//! duplicates. If every word was sampled nothing is estimated, and copies without samples are reported beside
//! the sites.

use std::collections::HashMap;

use bactrian_graph::Node;
use schemars::JsonSchema;
use serde::Serialize;

use super::Duplicates;
use super::sharing::Sharing;
use crate::estimate::{Estimate, Scale};
use crate::heap::Heap;
use crate::heap::classes::{heaviest_sample, is_all_sampled, not_sampled, site_label};
use crate::labels::Label;
use crate::library::place_of;
use crate::sorted_rows::SortRows;

/// An allocation site of redundant blocks.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct DuplicateSite {
    /// The site.
    #[serde(flatten)]
    pub label: Label,
    /// Number of redundant blocks that were sampled there.
    pub sampled_blocks: u64,
    /// The site's share of all samples of redundant blocks; if every word was sampled, of all their words.
    pub share: f64,
    /// What sharing would save of the blocks from there, by that share.
    pub saved: Estimate,
}

/// Adds the sites to an answer.
pub(super) fn find(
    heap: &Heap,
    first: &[Node],
    sharing: &Sharing,
    is_static: &[bool],
    answer: &mut Duplicates,
) {
    let mut is_copy = vec![false; first.len()];
    let weights = heap.weights();
    let mut words = 0_u64;
    for at in sharing.several.iter().map(|&node| node as usize).filter(|&at| !is_static[at]) {
        is_copy[at] = true;
        words += u64::from(weights[at]);
    }
    let tables = heap.tables();
    let mut sites: HashMap<Label, (u64, u64)> = HashMap::new();
    let mut samples = 0_u64;
    for sample in &tables.samples {
        if is_copy.get(sample.block.index()) != Some(&true) {
            continue;
        }
        let place = place_of(tables, sample.stack, false);
        let (blocks, sum) = sites.entry(site_label(tables, place)).or_default();
        *blocks += 1;
        *sum += u64::from(sample.samples);
        samples += u64::from(sample.samples);
        answer.sampled_blocks += 1;
    }
    answer.sites_exact = is_all_sampled(heap);
    let others = words.saturating_sub(samples);
    if answer.sites_exact && others > 0 {
        sites.insert(not_sampled(), (0, others));
        samples += others;
    }
    // All samples together stand for all copies, and each word of a copy for its share of the saving.
    let all = (words as f64).max(1.0);
    let scale = Scale::of_words(samples as f64 / all, answer.saved as f64 / all)
        .with_heaviest(heaviest_sample(heap));
    answer.sites = sites
        .into_iter()
        .map(|(label, (sampled_blocks, sum))| {
            let share = sum as f64 / (samples as f64).max(1.0);
            DuplicateSite { label, sampled_blocks, share, saved: scale.of_samples(sum) }
        })
        .collect();
    answer
        .sites
        .sort_rows_by(|a, b| b.share.total_cmp(&a.share).then_with(|| a.label.cmp(&b.label)));
}
