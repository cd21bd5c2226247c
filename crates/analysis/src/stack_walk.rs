//! Follows the stacks of a domain from one allocation to the next.
//!
//! The trace says how many outer frames a stack shares with the previous one. A walk keeps an item for each
//! frame of the last visited stack (a tree node, a count, a verdict) and only touches what changed. Skipped
//! stacks are not visited; the walk records how many frames they kept.

use bactrian_trace::{Alloc, DomainId, FrameId, Frames};

/// What to keep for each frame of a stack.
pub(crate) trait Along {
    /// The item of one frame.
    type Item: Copy;

    /// The following calls concern the stacks of this domain.
    fn at_domain(&mut self, _domain: usize) {}

    /// A frame is entered from the frame with the item `outer`; None for the outermost.
    fn enter(&mut self, outer: Option<Self::Item>, frame: FrameId, frames: &Frames) -> Self::Item;

    /// A frame is left, innermost first.
    fn leave(&mut self, _item: Self::Item) {}
}

/// The walks of all domains.
#[derive(Clone, Debug)]
pub(crate) struct StackWalks<T> {
    domains: Vec<StackWalk<T>>,
}

#[derive(Clone, Debug)]
struct StackWalk<T> {
    items: Vec<T>,
    /// The number of outer items that all stacks since the last visited one have kept.
    kept: usize,
}

impl<T> Default for StackWalks<T> {
    fn default() -> StackWalks<T> {
        StackWalks { domains: Vec::new() }
    }
}

impl<T: Copy> StackWalks<T> {
    #[inline]
    fn domain(&mut self, domain: DomainId) -> &mut StackWalk<T> {
        let at = usize::from(domain.0);
        if at >= self.domains.len() {
            self.domains.resize_with(at + 1, || StackWalk { items: Vec::new(), kept: 0 });
        }
        &mut self.domains[at]
    }

    /// Skips a stack.
    #[inline]
    pub fn leave_out(&mut self, alloc: &Alloc<'_>) {
        let walk = self.domain(alloc.domain);
        walk.kept = walk.kept.min(alloc.common_prefix);
    }

    /// Visits a stack and returns the items of its frames, outermost first.
    #[inline]
    pub fn go_to<A: Along<Item = T>>(
        &mut self,
        alloc: &Alloc<'_>,
        frames: &Frames,
        along: &mut A,
    ) -> &[T] {
        along.at_domain(usize::from(alloc.domain.0));
        let StackWalk { items, kept } = self.domain(alloc.domain);
        let stays = alloc.common_prefix.min(*kept).min(alloc.stack.len());
        for &item in items[stays..].iter().rev() {
            along.leave(item);
        }
        items.truncate(stays);
        for &frame in &alloc.stack[stays..] {
            let item = along.enter(items.last().copied(), frame, frames);
            items.push(item);
        }
        *kept = items.len();
        items
    }

    /// Leaves all frames of all domains.
    pub fn leave_all<A: Along<Item = T>>(&mut self, along: &mut A) {
        for (domain, walk) in self.domains.iter_mut().enumerate() {
            if !walk.items.is_empty() {
                along.at_domain(domain);
            }
            walk.items.drain(..).rev().for_each(|item| along.leave(item));
            walk.kept = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bactrian_trace::{Micros, ObjectId, Source, Words};

    /// Keeps the frames themselves, and logs enters and leaves.
    #[derive(Default)]
    struct Log(Vec<i64>);

    impl Along for Log {
        type Item = FrameId;
        fn enter(&mut self, _: Option<FrameId>, frame: FrameId, _: &Frames) -> FrameId {
            self.0.push(frame.index() as i64);
            frame
        }
        fn leave(&mut self, frame: FrameId) {
            self.0.push(-(frame.index() as i64));
        }
    }

    #[test]
    fn only_what_changed_is_touched() {
        let mut frames = Frames::default();
        let ids: Vec<_> = (1..9).map(|code| frames.intern(code)).collect();
        fn alloc(stack: &[FrameId], common_prefix: usize) -> Alloc<'_> {
            Alloc {
                time: Micros(0),
                domain: DomainId(0),
                id: ObjectId(0),
                length: Words(1),
                samples: 1,
                source: Source::Minor,
                common_prefix,
                stack,
            }
        }
        let (mut walks, mut log) = (StackWalks::default(), Log::default());
        walks.go_to(&alloc(&ids[..3], 0), &frames, &mut log);
        assert_eq!(std::mem::take(&mut log.0), [1, 2, 3]);
        walks.go_to(&alloc(&[ids[0], ids[1], ids[4]], 2), &frames, &mut log);
        assert_eq!(std::mem::take(&mut log.0), [-3, 5]);
        // A stack that kept one frame is skipped; the next shares three frames with it.
        walks.leave_out(&alloc(&[], 1));
        let now = walks.go_to(&alloc(&[ids[0], ids[6], ids[7]], 3), &frames, &mut log);
        assert_eq!(now, [ids[0], ids[6], ids[7]]);
        assert_eq!(std::mem::take(&mut log.0), [-5, -2, 7, 8]);
        walks.leave_all(&mut log);
        assert_eq!(log.0, [-8, -7, -1]);
    }
}
