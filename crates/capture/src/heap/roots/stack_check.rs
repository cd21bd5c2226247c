//! Whether the stack of a stopped program can be read, before anything is derived from it.

use super::finder::Finder;
use super::words::Words;
use crate::heap::target::Target;
use crate::memory::Memory;

/// Checks whether the domain state leads to a readable stack. The frame tables are read once, while the
/// program still runs.
pub struct StackCheck<'a>(Finder<'a>);

impl<'a> StackCheck<'a> {
    /// For a program of native code.
    pub fn new(target: &'a Target, memory: &'a dyn Memory) -> StackCheck<'a> {
        StackCheck(Finder::new(target, memory, None))
    }

    /// Whether all frames of the stack in the domain state are known. That state may be stale: C code that
    /// OCaml calls without saving it (`[@@noalloc]`) has then overwritten the frames that it refers to.
    pub fn is_whole(&mut self, state: u64) -> bool {
        // If no thread is active, all stacks were saved when their threads blocked.
        if self.active_thread_is_gone(state) {
            return true;
        }
        let start = self.0.current_stack(state);
        start.is_some_and(|start| self.0.stacks.scan(start).gap.is_none())
    }

    /// Whether, in OCaml 4, the thread that ran last has ended and no other has run since.
    pub fn active_thread_is_gone(&mut self, state: u64) -> bool {
        let finder = &mut self.0;
        // What was read before may have changed.
        finder.words = Words::new(finder.memory);
        finder.states = vec![state];
        finder.ring(0).is_ok_and(|ring| !ring.is_active)
    }
}
