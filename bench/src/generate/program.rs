//! An invented program: functions, their call and allocation sites, and their names.

use bactrian_trace::{Locate, SourceLocation};

use super::random::Random;
use super::shape::Shape;

/// The code address of the first function.
const FIRST_CODE: u64 = 0x40_0000;
/// The size of a function's code; each site is one byte of it.
const FUNCTION_CODE: u64 = 64;
/// The number of functions per module.
const MODULE: u64 = 20;

pub struct Program {
    functions: Vec<Function>,
}

struct Function {
    /// Call sites, the most used first.
    calls: Vec<Call>,
    /// Allocation sites, the most used first.
    allocations: Vec<Allocation>,
}

#[derive(Clone, Copy)]
pub struct Call {
    pub code: u64,
    /// The function that is called.
    pub callee: usize,
}

#[derive(Clone, Copy)]
pub struct Allocation {
    pub code: u64,
    pub words: usize,
}

impl Program {
    pub fn invent(shape: &Shape, random: &mut Random) -> Program {
        let functions = (0..shape.functions).map(|function| {
            let code = FIRST_CODE + FUNCTION_CODE * function as u64;
            let (fewest, most) = shape.call_sites.clone().into_inner();
            let branches = random.chance(shape.branching);
            let calls = if branches { fewest + 1 + random.below(most - fewest) } else { fewest };
            let (fewest, most) = shape.allocation_sites.clone().into_inner();
            let allocations = fewest + random.below(most - fewest + 1);
            Function {
                calls: (0..calls)
                    .map(|site| Call {
                        code: code + site as u64,
                        callee: callee(function, site, shape.functions, random),
                    })
                    .collect(),
                allocations: (calls..calls + allocations)
                    .map(|site| Allocation {
                        code: code + site as u64,
                        words: length(shape, random),
                    })
                    .collect(),
            }
        });
        Program { functions: functions.collect() }
    }

    /// A random call site of `function`.
    pub fn call(&self, function: usize, random: &mut Random) -> Call {
        let calls = &self.functions[function].calls;
        calls[random.skewed(calls.len())]
    }

    /// A random allocation site of `function`.
    pub fn allocation(&self, function: usize, random: &mut Random) -> Allocation {
        let allocations = &self.functions[function].allocations;
        allocations[random.skewed(allocations.len())]
    }
}

/// The callee of a call site: the function itself, a neighbour, or a library function used by many. The first
/// call is to a neighbour; otherwise a walk could be trapped in a few functions that only call each other.
fn callee(function: usize, site: usize, functions: usize, random: &mut Random) -> usize {
    match if site == 0 { 0 } else { random.below(10) } {
        0..5 => (function + 1 + random.below(MODULE as usize)) % functions,
        5..7 => function,
        _ => random.skewed(functions),
    }
}

fn length(shape: &Shape, random: &mut Random) -> usize {
    let mut left = random.unit();
    let chosen = shape.lengths.iter().find(|(share, _)| {
        left -= share;
        left < 0.0
    });
    // If the fractions add up to slightly less than one, the rest goes to the last range.
    let range = chosen.or(shape.lengths.last()).map_or(1..=1, |(_, range)| range.clone());
    range.start() + random.below(range.end() - range.start() + 1)
}

impl Locate for Program {
    fn locate(&self, code: u64, found: &mut dyn FnMut(&[SourceLocation<'_>])) {
        let (function, site) = ((code - FIRST_CODE) / FUNCTION_CODE, code % FUNCTION_CODE);
        let module = function / MODULE;
        found(&[SourceLocation {
            file: format!("src/module{module}.ml").as_bytes(),
            function: format!("Module{module}.function{function}").as_bytes(),
            line: (function % MODULE * 20 + site + 1) as u32,
            start_char: 4,
            end_char: 30,
        }]);
    }
}
