//! The memory track: live memory over time. Its samples are changes, beginning at zero.

use serde::Serialize;

use crate::about::{About, LivePoint};
use crate::stream::Same;

use super::milliseconds;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counter {
    name: &'static str,
    category: &'static str,
    description: &'static str,
    pid: String,
    main_thread_index: usize,
    samples: Samples,
}

#[derive(Serialize)]
struct Samples {
    length: usize,
    time: Vec<f64>,
    count: Vec<i64>,
    number: Same<u32>,
}

impl Counter {
    /// The track; None if there is nothing to show.
    pub fn new(about: &About, timeline: &[LivePoint]) -> Option<Counter> {
        let mut before = 0;
        let change = |point: &LivePoint| {
            let live = i64::try_from(point.live.0).unwrap_or(i64::MAX);
            let change = live - before;
            before = live;
            change
        };
        let samples = Samples {
            length: timeline.len(),
            time: timeline.iter().map(|point| milliseconds(point.time)).collect(),
            count: timeline.iter().map(change).collect(),
            number: Same(1, timeline.len()),
        };
        (!timeline.is_empty()).then(|| Counter {
            name: "live",
            // The profiler draws a graph of bytes for this category.
            category: "Memory",
            description: "Estimated live OCaml memory",
            pid: about.pid.to_string(),
            main_thread_index: 0,
            samples,
        })
    }
}
