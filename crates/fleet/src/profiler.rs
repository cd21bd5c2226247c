//! Cuts a trace into minutes: which stacks allocated, what was promoted, and what is live at the end.
//!
//! A minute ends where a packet ends, so that an offset in the trace says exactly what was read. A new process reads the trace up to
//! there without shipping it, and continues.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use bactrian_tables::StackNumbers;
use bactrian_trace::{Event, Follower, Micros, ObjectId, TraceInfo};

use crate::meter::RuntimeCounts;
use crate::stack_ids::StackIds;

/// The length of a profile.
pub const MINUTE: Duration = Duration::from_secs(60);
/// The maximum number of blocks that are remembered because their end was read before their allocation.
const MOST_EARLY: usize = 1 << 20;

/// The counts of a stack. All except the numbers of blocks are numbers of samples, which are sampled words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Allocations that were sampled in this minute.
    pub blocks: u64,
    /// Their samples.
    pub samples: u64,
    /// Samples of what was promoted to the major heap.
    pub promoted: u64,
    /// Sampled blocks that are live at its end.
    pub live_blocks: u64,
    /// Their samples.
    pub live: u64,
}

/// A frame of a stack.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameText {
    /// The function.
    pub function: String,
    /// Its file; empty if unknown.
    pub file: String,
    /// The line; 0 if unknown.
    pub line: u32,
}

/// A stack that no earlier profile has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewStack {
    /// Its id, the same wherever this program runs.
    pub id: i64,
    /// Its frames, the innermost first.
    pub frames: Vec<Arc<FrameText>>,
}

/// A minute of a program.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// The number of minutes since 1970.
    pub minute: u64,
    /// The stable position in the trace up to which it counts.
    pub end: u64,
    /// Counts by stack.
    pub counts: BTreeMap<i64, Counts>,
    /// Stacks that no earlier profile has.
    pub new_stacks: Vec<NewStack>,
    /// The runtime's counters, where they could be read.
    pub runtime: RuntimeCounts,
}

#[derive(Clone, Copy, Debug)]
struct Alive {
    stack: u32,
    samples: u64,
}

/// Reads a trace while it grows.
#[derive(Default)]
pub struct Profiler {
    follower: Follower,
    numbers: StackNumbers,
    ids: StackIds,
    counts: HashMap<u32, Counts>,
    /// Stacks that earlier profiles have.
    told: HashSet<u32>,
    alive: HashMap<ObjectId, Alive>,
    early: HashSet<ObjectId>,
    /// The time of the last event since the trace's start.
    last: Micros,
}

impl Profiler {
    /// Reads the next bytes.
    ///
    /// # Errors
    /// If it is no trace.
    pub fn push(&mut self, bytes: &[u8]) -> bactrian_trace::Result<()> {
        let Profiler { follower, numbers, counts, alive, early, last, .. } = self;
        follower.push(bytes, |event, _| {
            *last = (*last).max(event.time());
            match event {
                Event::Alloc(alloc) => {
                    let stack = numbers.of(alloc.domain.0, alloc.common_prefix, alloc.stack);
                    let counted = counts.entry(stack).or_default();
                    counted.blocks += 1;
                    counted.samples += alloc.samples;
                    if !early.remove(&alloc.id) {
                        counted.live_blocks += 1;
                        counted.live += alloc.samples;
                        alive.insert(alloc.id, Alive { stack, samples: alloc.samples });
                    }
                }
                Event::Promote { id, .. } => {
                    if let Some(block) = alive.get(&id) {
                        counts.entry(block.stack).or_default().promoted += block.samples;
                    }
                }
                Event::Collect { id, .. } => match alive.remove(&id) {
                    Some(Alive { stack, samples }) => {
                        let counted = counts.entry(stack).or_default();
                        counted.live_blocks -= 1;
                        counted.live -= samples;
                    }
                    None if early.len() < MOST_EARLY => drop(early.insert(id)),
                    None => {}
                },
            }
        })
    }

    /// The facts about the run, once they were read.
    pub fn info(&self) -> Option<&TraceInfo> {
        self.follower.info()
    }

    /// The stable position up to which the trace is read: the end of a packet.
    pub fn end(&self) -> u64 {
        self.follower.stable_position()
    }

    /// The minute of the last event since 1970.
    pub fn minute(&self) -> Option<u64> {
        let start = self.info()?.start;
        Some(minute_of(start.saturating_add(self.last.0)))
    }

    /// Whether nothing has happened since the last profile.
    pub fn is_empty(&self) -> bool {
        self.counts.values().all(|counts| *counts == Counts::default())
    }

    /// Everything since the last profile, as the profile of a minute.
    pub fn cut(&mut self, minute: u64) -> Profile {
        let frames = self.follower.frames();
        let mut profile = Profile {
            minute,
            end: self.end(),
            counts: BTreeMap::new(),
            new_stacks: Vec::new(),
            runtime: RuntimeCounts::default(),
        };
        for (&stack, counts) in &self.counts {
            if *counts == Counts::default() {
                continue;
            }
            let id = self.ids.of(stack, &self.numbers, frames);
            let sum = profile.counts.entry(id).or_default();
            sum.blocks += counts.blocks;
            sum.samples += counts.samples;
            sum.promoted += counts.promoted;
            sum.live_blocks += counts.live_blocks;
            sum.live += counts.live;
            if self.told.insert(stack) {
                let frames = self.ids.frames(stack, &self.numbers, frames);
                profile.new_stacks.push(NewStack { id, frames });
            }
        }
        profile.new_stacks.sort_by_key(|stack| stack.id);
        profile.new_stacks.dedup_by_key(|stack| stack.id);
        // Stacks with the same callers side by side, so that their text compresses well.
        profile.new_stacks.sort_by(|a, b| a.frames.iter().rev().cmp(b.frames.iter().rev()));
        // What is live stays live in the next minute.
        self.counts.retain(|_, counts| counts.live_blocks > 0);
        for counts in self.counts.values_mut() {
            (counts.blocks, counts.samples, counts.promoted) = (0, 0, 0);
        }
        profile
    }
}

/// The minute of a time in microseconds since 1970.
pub fn minute_of(micros: u64) -> u64 {
    micros / MINUTE.as_micros() as u64
}
