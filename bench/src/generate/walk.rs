//! The call stack of an invented program, as it changes from one sample to the next.
//!
//! Between two samples a few calls return and a few others are made, so most of the stack stays. The deeper the
//! stack, the fewer calls are made: its depth fluctuates around that of the shape.

use super::program::{Allocation, Program};
use super::random::Random;
use super::shape::Shape;

/// The minimum number of calls in a deep recursion, and the maximum number of additional ones.
const RECURSION: (usize, usize) = (300, 1_000);

pub struct Walk {
    /// Codes of the frames, outermost first; the last one allocates.
    stack: Vec<u64>,
    /// The function of each frame.
    functions: Vec<usize>,
}

impl Walk {
    /// The program begins in its first function.
    pub fn new() -> Walk {
        Walk { stack: Vec::new(), functions: vec![0] }
    }

    /// Advances to the next sampled allocation; returns it with its stack.
    pub fn next(
        &mut self,
        program: &Program,
        shape: &Shape,
        random: &mut Random,
    ) -> (Allocation, &[u64]) {
        self.stack.pop();
        let depth = self.stack.len();
        let left = depth - random.geometric(shape.returns).min(depth);
        self.stack.truncate(left);
        self.functions.truncate(left + 1);
        let makes = shape.returns * (shape.depth / (left + 1) as f64).min(4.0);
        for _ in 0..random.geometric(makes) {
            self.call(program, random);
        }
        if random.chance(shape.deep_recursion) {
            self.recurse(program, random);
        }
        let allocation = program.allocation(self.function(), random);
        self.stack.push(allocation.code);
        (allocation, &self.stack)
    }

    fn function(&self) -> usize {
        *self.functions.last().unwrap_or(&0)
    }

    fn call(&mut self, program: &Program, random: &mut Random) {
        let call = program.call(self.function(), random);
        self.stack.push(call.code);
        self.functions.push(call.callee);
    }

    /// A function that calls itself from one call site, like a plain `map` over a list.
    fn recurse(&mut self, program: &Program, random: &mut Random) {
        let function = self.function();
        let code = program.call(function, random).code;
        let (least, more) = RECURSION;
        for _ in 0..least + random.below(more) {
            self.stack.push(code);
            self.functions.push(function);
        }
    }
}
