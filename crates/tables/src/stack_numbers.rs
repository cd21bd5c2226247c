//! Numbers for the stacks of a trace.

use std::collections::HashMap;

use bactrian_trace::FrameId;

/// Distinct stacks as a tree: each stack has a number and consists of an outer stack and one more frame.
#[derive(Debug, Default)]
pub struct StackNumbers {
    known: HashMap<(u32, FrameId), u32>,
    /// The outer stack and the innermost frame of each stack but the empty one, which has the number 0.
    all: Vec<(u32, FrameId)>,
    /// Which of them are the stack of some object.
    allocating: Vec<bool>,
    /// For each domain, the numbers of the prefixes of its last stack.
    last: HashMap<u16, Vec<u32>>,
}

impl StackNumbers {
    /// The number of a stack that shares `common` outer frames with the last one of its domain.
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

    /// The stacks of objects.
    pub(crate) fn allocating(&self) -> Vec<u32> {
        (0..self.allocating.len() as u32).filter(|at| self.allocating[*at as usize]).collect()
    }

    /// The outer stack and the innermost frame of a stack; None for the empty one.
    pub fn innermost(&self, number: u32) -> Option<(u32, FrameId)> {
        self.all.get(number.checked_sub(1)? as usize).copied()
    }

    /// The frames of a stack, innermost first.
    pub fn frames(&self, mut number: u32) -> impl Iterator<Item = FrameId> + '_ {
        std::iter::from_fn(move || {
            let (outer, frame) = self.innermost(number)?;
            number = outer;
            Some(frame)
        })
    }
}
