//! Numbers for the stacks of a trace.

use std::collections::HashMap;

use bactrian_trace::FrameId;

/// Distinct stacks, by what each adds to the one that it goes on from: a number for each, from the outermost frame inwards.
#[derive(Debug, Default)]
pub struct StackNumbers {
    known: HashMap<(u32, FrameId), u32>,
    /// The caller and the innermost frame of each but the empty one, which has the number 0.
    all: Vec<(u32, FrameId)>,
    /// Which of them are some object's.
    allocating: Vec<bool>,
    /// Of each domain: the numbers along its last stack.
    last: HashMap<u16, Vec<u32>>,
}

impl StackNumbers {
    /// The number of a stack that shares so many outer frames with the last one of its domain.
    pub fn of(&mut self, domain: u16, common: usize, stack: &[FrameId]) -> u32 {
        let way = self.last.entry(domain).or_default();
        way.truncate(common.min(stack.len()));
        for &frame in &stack[way.len()..] {
            let outer = way.last().copied().unwrap_or(0);
            let number = *self.known.entry((outer, frame)).or_insert_with(|| {
                self.all.push((outer, frame));
                self.all.len() as u32
            });
            way.push(number);
        }
        let number = way.last().copied().unwrap_or(0);
        if self.allocating.len() <= number as usize {
            self.allocating.resize(number as usize + 1, false);
        }
        self.allocating[number as usize] = true;
        number
    }

    /// The stacks that are some object's.
    pub(crate) fn allocating(&self) -> Vec<u32> {
        (0..self.allocating.len() as u32).filter(|at| self.allocating[*at as usize]).collect()
    }

    /// The stack that called the innermost frame of a stack, and that frame; none of the empty one.
    pub fn innermost(&self, number: u32) -> Option<(u32, FrameId)> {
        self.all.get(number.checked_sub(1)? as usize).copied()
    }

    /// The frames of a stack, the innermost first.
    pub fn frames(&self, mut number: u32) -> impl Iterator<Item = FrameId> + '_ {
        std::iter::from_fn(move || {
            let (outer, frame) = self.innermost(number)?;
            number = outer;
            Some(frame)
        })
    }
}
