//! Whether the stack of a program that stands still can be read, before anything is made of it.

use super::finder::Finder;
use super::words::Words;
use crate::heap::target::Target;
use crate::memory::Memory;

/// Tells whether the domain state leads to a stack. The frame tables are read once, while the program still runs.
pub struct StackCheck<'a>(Finder<'a>);

impl<'a> StackCheck<'a> {
    /// Of a program of native code.
    pub fn new(target: &'a Target, memory: &'a dyn Memory) -> StackCheck<'a> {
        StackCheck(Finder::new(target, memory, None))
    }

    /// Whether all frames are known of the stack that the domain state tells. What it tells may be old: C code
    /// that OCaml calls without noting it (`[@@noalloc]`) has then written over the frames it tells of.
    pub fn is_whole(&mut self, state: u64) -> bool {
        // Without a thread of its own: all stacks were noted when their threads began to wait.
        if self.active_thread_is_gone(state) {
            return true;
        }
        let start = self.0.current_stack(state);
        start.is_some_and(|start| self.0.stacks.scan(start).gap.is_none())
    }

    /// Whether the thread that ran last in OCaml 4 has ended, and no other has run since.
    pub fn active_thread_is_gone(&mut self, state: u64) -> bool {
        let finder = &mut self.0;
        // What was read before may have changed.
        finder.words = Words::new(finder.memory);
        finder.states = vec![state];
        finder.ring(0).is_ok_and(|ring| !ring.is_active)
    }
}
