//! Where and when sampled blocks were allocated, from the trace that was recorded at the same time.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;

use bactrian_snapshot::{Names, Sampling, SnapshotLocation, StackId, StackNode};
use bactrian_trace::{Event, FrameId, Frames, Index, Input, Reader, Stacks};

/// What a trace says about an allocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// Microseconds since the start of the trace.
    pub time: u64,
    pub stack: Option<StackId>,
    /// The number of samples. The runtime's own count does not account for a rate that was halved.
    pub samples: u64,
}

/// Allocations by their id, and the stacks they refer to.
#[derive(Default)]
pub struct Allocations {
    pub found: HashMap<u64, Allocation>,
    pub stacks: Vec<StackNode>,
    pub sampling: Option<Sampling>,
}

/// Looks up allocations in a trace, which may still be growing.
///
/// # Errors
/// A sentence if the trace cannot be read.
pub fn look_up(
    trace: &Path,
    wanted: impl Fn(u64) -> bool,
    names: &mut Names,
) -> Result<Allocations, String> {
    let cannot = |why: &dyn std::fmt::Display| {
        format!("allocation sites of sampled blocks are unknown: {}: {why}", trace.display())
    };
    let input = Input::open(trace).map_err(|why| cannot(&why))?;
    let index = Index::skim(&input).map_err(|why| cannot(&why))?;
    let mut tree = Tree::default();
    let mut found = HashMap::new();
    let mut reader = Reader::new(&input, &index, Stacks::Decode);
    reader.for_each(|event, _| {
        if let Event::Alloc(alloc) = event
            && wanted(alloc.id.0)
        {
            let stack = tree.stack(alloc.stack);
            let samples = alloc.samples;
            found.insert(alloc.id.0, Allocation { time: alloc.time.0, stack, samples });
        }
        ControlFlow::Continue(())
    });
    let stacks = tree.named(reader.frames(), names);
    let found = found.into_iter().map(|(id, allocation)| {
        let stack = allocation.stack.map(|node| stacks.last_of[node.index()]);
        (id, Allocation { stack, ..allocation })
    });
    let info = index.info();
    let sampling = Sampling {
        rate_bits: info.sample_rate.to_bits(),
        halved: u32::try_from(info.halved()).unwrap_or(u32::MAX),
    };
    Ok(Allocations { found: found.collect(), stacks: stacks.nodes, sampling: Some(sampling) })
}

/// A tree of stacks: a node is a frame, and the node of the stack that called it.
#[derive(Default)]
struct Tree {
    nodes: Vec<(Option<StackId>, FrameId)>,
    known: HashMap<(Option<StackId>, FrameId), StackId>,
}

struct Named {
    nodes: Vec<StackNode>,
    /// For each node of the tree, its innermost location: a frame has several if functions were inlined.
    last_of: Vec<StackId>,
}

impl Tree {
    /// The node of a stack, whose outermost frame comes first.
    fn stack(&mut self, frames: &[FrameId]) -> Option<StackId> {
        let mut node = None;
        for &frame in frames {
            let next = StackId(self.nodes.len() as u32);
            let known = *self.known.entry((node, frame)).or_insert(next);
            if known == next {
                self.nodes.push((node, frame));
            }
            node = Some(known);
        }
        node
    }

    fn named(&self, frames: &Frames, names: &mut Names) -> Named {
        let mut named = Named { nodes: Vec::new(), last_of: Vec::new() };
        for &(caller, frame) in &self.nodes {
            let mut caller = caller.and_then(|caller| named.last_of.get(caller.index()).copied());
            let places = frames.locations(frame);
            // A frame without known locations is still a frame.
            let unknown = (places.is_empty()).then(SnapshotLocation::default);
            let text = frames.names();
            let known = places.iter().map(|place| SnapshotLocation {
                function: names.add_bytes(text.bytes(place.function)),
                file: names.add_bytes(text.bytes(place.file)),
                line: place.line,
                start_char: place.start_char.into(),
                end_char: place.end_char.into(),
            });
            for location in known.collect::<Vec<_>>().into_iter().chain(unknown) {
                named.nodes.push(StackNode { caller, location });
                caller = Some(StackId(named.nodes.len() as u32 - 1));
            }
            named.last_of.push(caller.unwrap_or_default());
        }
        named
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inlined_function_is_called_by_its_enclosing_function() {
        let mut frames = Frames::default();
        let [outer, inner] = [1, 2].map(|code| frames.intern(code));
        let location = |frames: &mut Frames, function: &str| bactrian_trace::TraceLocation {
            function: frames.names_mut().intern(function.as_bytes()),
            file: frames.names_mut().intern(b"main.ml"),
            line: 1,
            start_char: 0,
            end_char: 1,
        };
        let [main, load, read] =
            ["main", "load", "read"].map(|function| location(&mut frames, function));
        frames.announce(outer, &[main]);
        // `read` was inlined into `load`: the outermost comes first.
        frames.announce(inner, &[load, read]);
        let mut tree = Tree::default();
        let stack = tree.stack(&[outer, inner]).expect("frames");
        let mut names = Names::default();
        let named = tree.named(&frames, &mut names);
        let mut at = named.last_of.get(stack.index()).copied();
        let mut told = Vec::new();
        while let Some(node) = at.and_then(|at| named.nodes.get(at.index())) {
            told.push(names.get(node.location.function));
            at = node.caller;
        }
        assert_eq!(told, ["read", "load", "main"], "innermost first");
    }
}
