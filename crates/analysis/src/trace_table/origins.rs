//! The call stacks of all objects: one pass with stacks.
//!
//! Stacks are stored frame by frame, unchanged, so that any labelling, hiding or folding can be applied
//! later. When all are known, their tree is renumbered depth first, so that algorithms on the tree access
//! memory sequentially and locally.
//!
//! Reading the trace takes about two thirds of the time and building the tree one third, so each has its own
//! thread.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread;

use bactrian_trace::{Alloc, FrameId, Frames, Losses};

use super::bits::Bits;
use super::lives::Lives;
use super::{IdSum, NoTable};
use crate::filter::Filter;
use crate::labels::LabelId;
use crate::parallel;
use crate::pass::{self, Conditions, Inside, Outcome, Visitor};
use crate::selection::Selection;
use crate::stack_tree::{StackId, StackTree};
use crate::stack_walk::Along;
use crate::trace_file::TraceFile;

/// The stacks of all objects.
#[derive(Debug)]
pub(crate) struct Origins {
    /// For each object, the index of its stack in `allocating`.
    pub(super) stacks: Vec<u32>,
    /// Stacks of objects, in the order of the tree; most stacks are only prefixes of others.
    pub(super) allocating: Vec<u32>,
    pub(super) tree: FrameTree,
    pub(super) frames: Frames,
    /// The size of the trace, which limits the size of labelled trees.
    pub(super) file_bytes: usize,
    pub(super) sum: IdSum,
    pub losses: Losses,
}

/// All distinct stacks, depth first; the first is the empty one.
#[derive(Debug)]
pub(crate) struct FrameTree {
    pub parents: Vec<u32>,
    /// The innermost frame of each stack.
    pub frames: Vec<FrameId>,
}

impl Origins {
    /// The memory for the stacks, including the sums of some questions.
    pub fn memory_for_stacks(&self) -> u64 {
        self.tree.len() as u64 * super::BYTES_PER_STACK
    }

    /// Reads the stacks.
    ///
    /// # Errors
    /// If there are too many distinct stacks.
    pub fn read(trace: &TraceFile, most_stacks: u64) -> Result<Origins, NoTable> {
        let most_stacks = usize::try_from(most_stacks).unwrap_or(usize::MAX);
        let promised = usize::try_from(trace.index().allocations()).unwrap_or(usize::MAX);
        let mut growing = Growing {
            tree: StackTree::for_file_of(trace.bytes().len()).with_room_for(most_stacks),
            domains: Vec::new(),
            stacks: Vec::with_capacity(promised.min(trace.bytes().len() / 6)),
        };
        let (changes, told) = sync_channel(MOST_WAITING);
        let grow = || told.into_iter().for_each(|batch: Vec<u32>| growing.take(&batch));
        let read = thread::scope(|scope| {
            thread::Builder::new().spawn_scoped(scope, grow).ok()?;
            // If reading is cancelled, the channel is dropped and the other thread ends.
            let batch = Vec::with_capacity(BATCH);
            let mut telling = Telling { batch, changes, sum: IdSum::default() };
            let outcome = pass::run(trace, &Selection::default(), &mut telling);
            telling.send();
            Some((outcome, telling.sum))
        });
        let (outcome, sum) =
            read.ok_or(NoTable::Odd("no thread can be started to read it into memory"))?;
        let Growing { tree, mut stacks, .. } = growing;
        if tree.cut() > 0 {
            return Err(NoTable::Odd("there are too many different stacks"));
        }
        let ids: Vec<_> = outcome.frames.ids().collect();
        let (tree, places) = FrameTree::depth_first(&tree, &ids);
        let mut is_allocating = Bits::none(tree.len());
        stacks.iter().for_each(|&stack| is_allocating.set(places[stack as usize] as usize));
        let mut ranks = vec![0; tree.len()];
        let mut allocating = Vec::new();
        for stack in is_allocating.ones_in(0..is_allocating.words().len()) {
            ranks[stack] = allocating.len() as u32;
            allocating.push(stack as u32);
        }
        parallel::fill(&mut stacks, |_, stacks| {
            for stack in stacks {
                *stack = ranks[places[*stack as usize] as usize];
            }
        });
        let Outcome { frames, losses } = outcome;
        let file_bytes = trace.bytes().len();
        Ok(Origins { stacks, allocating, tree, frames, file_bytes, sum, losses })
    }

    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// The objects in `among` whose stacks satisfy the filter's conditions.
    pub fn admitted(&self, lives: &Lives, among: &Bits, filter: &Filter) -> Bits {
        let mut conditions = Conditions::new(filter);
        let inside = self.tree.inwards(Inside::default(), |outer, frame| {
            conditions.enter(Some(outer), frame, &self.frames)
        });
        let mut stacks = Bits::default();
        for &stack in &self.allocating {
            stacks.push(conditions.are_met(inside[stack as usize]));
        }
        lives.narrowed(among, |first| {
            lives.word_of(first, |at| stacks.get(self.stacks[at] as usize))
        })
    }
}

impl FrameTree {
    /// Renumbers a tree depth first, and returns where each stack went.
    fn depth_first(tree: &StackTree, frames: &[FrameId]) -> (FrameTree, Vec<u32>) {
        let len = tree.len();
        let mut sizes = vec![1u32; len];
        for stack in tree.ids().rev() {
            sizes[tree.parent(stack).index()] += sizes[stack.index()];
        }
        // For each stack, where its next child goes. Parents come before their children.
        let mut next = vec![1u32; len];
        let mut places = vec![0u32; len];
        let mut grown = FrameTree { parents: vec![0; len], frames: vec![FrameId::NONE; len] };
        for stack in tree.ids() {
            let parent = tree.parent(stack).index();
            let (place, size) = (next[parent], sizes[stack.index()]);
            next[parent] += size;
            next[stack.index()] = place + 1;
            places[stack.index()] = place;
            let at = place as usize;
            grown.parents[at] = places[parent];
            grown.frames[at] = frames[tree.label(stack).index()];
        }
        (grown, places)
    }

    /// Computes an item for each stack from its caller's item and its innermost frame; the empty stack's item
    /// is `first`.
    pub fn inwards<T: Copy>(&self, first: T, mut enter: impl FnMut(T, FrameId) -> T) -> Vec<T> {
        let mut items = Vec::with_capacity(self.len());
        items.push(first);
        for stack in 1..self.len() {
            let outer = items[self.parents[stack] as usize];
            items.push(enter(outer, self.frames[stack]));
        }
        items
    }

    /// The number of stacks, including the empty one.
    pub fn len(&self) -> usize {
        self.parents.len()
    }
}

/// The size of a batch between the threads, and the most batches waiting.
const BATCH: usize = 1 << 14;
const MOST_WAITING: usize = 8;

/// Sends changes of stacks. For each allocation: its domain, the number of outer frames shared with the
/// previous stack, the number of other frames, and these frames.
struct Telling {
    batch: Vec<u32>,
    changes: SyncSender<Vec<u32>>,
    sum: IdSum,
}

impl Telling {
    fn send(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        // Fails if the other thread has panicked; the scope propagates the panic.
        let _ = self.changes.send(batch);
    }
}

impl Visitor for Telling {
    fn wants_stacks(&self) -> bool {
        true
    }

    fn wants_ends(&self) -> bool {
        false
    }

    #[inline]
    fn alloc(&mut self, alloc: &Alloc<'_>, _: &Frames) {
        let stays = alloc.common_prefix.min(alloc.stack.len());
        let entered = &alloc.stack[stays..];
        let numbers = [usize::from(alloc.domain.0), stays, entered.len()];
        self.batch.extend(numbers.map(|number| number as u32));
        self.batch.extend(entered.iter().map(|frame| frame.index() as u32));
        self.sum.add(alloc.id);
        if self.batch.len() >= BATCH {
            self.send();
        }
    }
}

/// Builds the tree and fills the column.
struct Growing {
    tree: StackTree,
    /// For each domain, its last stack as the list of all its prefixes, outermost first.
    domains: Vec<Vec<StackId>>,
    stacks: Vec<u32>,
}

impl Growing {
    fn take(&mut self, mut batch: &[u32]) {
        while let [domain, stays, entered, rest @ ..] = batch {
            let [domain, stays, entered] = [domain, stays, entered].map(|&number| number as usize);
            let (frames, after) = rest.split_at(entered);
            batch = after;
            if domain >= self.domains.len() {
                self.domains.resize_with(domain + 1, Vec::new);
            }
            let stack = &mut self.domains[domain];
            stack.truncate(stays);
            for &frame in frames {
                let outer = stack.last().copied().unwrap_or(StackId::ROOT);
                stack.push(self.tree.child(outer, LabelId::from_index(frame as usize)));
            }
            self.stacks.push(stack.last().map_or(0, |stack| stack.index() as u32));
        }
    }
}
