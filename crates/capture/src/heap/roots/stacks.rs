//! Live values on stacks.
//!
//! OCaml 4 shares the system stack with C. A stack consists of chunks of OCaml frames; at the end of a chunk,
//! where C called OCaml, is a link to the next chunk, beyond the frames of C. OCaml 5 has stacks of its own,
//! fibers, each with a parent that handles its effects; C runs elsewhere, and chunks follow each other
//! directly.
//!
//! The bytecode interpreter has a stack of values, in OCaml 5 on a fiber. The words of a function lie above
//! those of the functions that it has called; between them is the return address of the call. A function that
//! has called C has saved its code pointer, too.

use std::collections::HashSet;
use std::ops::Range;

use bactrian_ocaml::frames::Live;
use bactrian_ocaml::heap_layout::{callback_link, fiber, local_roots};
use bactrian_ocaml::{RuntimeCode, StackLayout};

use super::descriptors::Descriptors;
use super::finder::Finder;
use super::words::Words;
use super::{Frame, RootHolder};
use crate::heap::target::Target;
use crate::memory::Memory;

/// A limit in words for interpreters' stacks; OCaml's own limit is a thousandth of it.
const LONGEST_STACK: u64 = 1 << 32;
/// A limit for the items in one table of local roots.
const MOST_ITEMS: u64 = 1 << 24;

/// Reads stacks.
pub struct Stacks<'a> {
    memory: &'a dyn Memory,
    descriptors: Descriptors<'a>,
    layout: StackLayout,
    /// The address range of the running bytecode; empty for native code.
    code: Range<u64>,
}

/// The contents of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scanned {
    /// Live values, innermost first.
    pub slots: Vec<StackSlot>,
    /// Words of the interpreter's stack that are code pointers: the address of each slot, and the code
    /// pointer.
    pub calls: Vec<(u64, u64)>,
    /// Set if reading stopped before the end of the stack, with the reason.
    pub gap: Option<String>,
}

/// A live value on a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StackSlot {
    /// The address of the value.
    pub slot: u64,
    /// The value; 0 where the interpreter's stack has something that is not a value.
    pub value: u64,
    /// The return address of the frame, or 0 if unknown; None for a handler of a fiber.
    pub frame: Option<u64>,
    /// The number of frames further in.
    pub depth: u32,
}

/// Where to start scanning a stack.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    /// OCaml 4, native code.
    System { stack_pointer: u64, return_address: u64, registers: u64 },
    /// OCaml 5: a fiber, and the address of the saved registers.
    Fiber { stack: u64, registers: u64 },
    /// The interpreter of OCaml 4: from its stack pointer up.
    Interpreter { low: u64, high: u64 },
}

impl<'a> Stacks<'a> {
    /// Reads a program's frame tables.
    pub fn new(target: &'a Target, memory: &'a dyn Memory) -> Stacks<'a> {
        let descriptors = Descriptors::read(target, memory);
        let code = target.interpreted(memory);
        Stacks { memory, descriptors, layout: target.runtime.stack, code }
    }

    /// Without frame tables, so that no stack can be read.
    pub(super) fn none(target: &'a Target, memory: &'a dyn Memory) -> Stacks<'a> {
        let descriptors = Descriptors::none(target, memory);
        Stacks { memory, descriptors, layout: target.runtime.stack, code: 0..0 }
    }

    /// The parts of the frame tables that could not be read.
    pub fn gaps(&self) -> &[String] {
        &self.descriptors.gaps
    }

    /// The number of known return addresses.
    pub fn descriptors(&self) -> usize {
        self.descriptors.len()
    }

    /// The return addresses within a range of code, in order.
    pub fn return_addresses(&self, code: Range<u64>) -> impl Iterator<Item = u64> {
        self.descriptors.within(code)
    }

    /// The function and the source locations of a frame.
    pub fn frame(&self, return_address: u64) -> Frame {
        self.descriptors.frame(return_address)
    }

    /// Scans the fiber of a continuation (tag 245) that was met in the heap, and its ancestors. `stack` is
    /// the continuation's first field without its lowest bit: the address of the fiber, or 0 if it was
    /// resumed.
    pub fn scan_fiber(&self, stack: u64) -> Scanned {
        self.scan(Start::Fiber { stack, registers: 0 })
    }

    pub(super) fn scan(&self, start: Start) -> Scanned {
        let mut scan = Scan {
            words: Words::new(self.memory),
            descriptors: &self.descriptors,
            code: &self.code,
            found: Vec::new(),
            calls: Vec::new(),
            depth: 0,
        };
        let gap = match start {
            Start::System { stack_pointer, return_address, registers } => {
                scan.system(stack_pointer, return_address, registers)
            }
            Start::Fiber { stack, registers } => scan.fibers(stack, registers),
            Start::Interpreter { low, high } => scan.interpreted(low, high),
        };
        Scanned { slots: scan.found, calls: scan.calls, gap: gap.err() }
    }

    /// The local roots of C code: the address and the value of each. The second result says why there may be
    /// more.
    pub(super) fn local_roots(&self, first: u64) -> (Vec<(u64, u64)>, Option<String>) {
        let mut words = Words::new(self.memory);
        let mut found = Vec::new();
        let mut at = first;
        let mut met = HashSet::new();
        while at != 0 {
            if !met.insert(at) {
                return (found, Some(format!("local roots of C at {at:#x} are linked in a ring")));
            }
            if local_block(&mut words, at, &mut found).is_none() {
                return (found, Some(format!("local roots of C at {at:#x} cannot be read")));
            }
            at = words.word(at).unwrap_or(0);
        }
        (found, None)
    }
}

fn local_block(words: &mut Words<'_>, at: u64, found: &mut Vec<(u64, u64)>) -> Option<()> {
    let word = |index: usize| at.checked_add(8 * index as u64);
    let tables = words.word(word(local_roots::TABLES)?)?;
    let items = words.word(word(local_roots::ITEMS)?)?;
    if tables > local_roots::MOST_TABLES || items > MOST_ITEMS {
        return None;
    }
    for table in 0..tables as usize {
        let table = words.word(word(local_roots::FIRST_TABLE + table)?)?;
        for item in 0..items {
            let slot = table.checked_add(8 * item)?;
            found.push((slot, words.word(slot)?));
        }
    }
    words.word(at).map(|_| ())
}

struct Scan<'s, 'a> {
    words: Words<'a>,
    descriptors: &'s Descriptors<'a>,
    code: &'s Range<u64>,
    found: Vec<StackSlot>,
    calls: Vec<(u64, u64)>,
    depth: u32,
}

impl Scan<'_, '_> {
    /// OCaml 4: from the stack pointer up to where the program began.
    fn system(&mut self, start: u64, return_address: u64, registers: u64) -> Result<(), String> {
        let (mut sp, mut return_address, mut registers) = (start, return_address, registers);
        while sp != 0 {
            let end = self.piece(sp, return_address, registers)?;
            let above = end
                .checked_add(callback_link::OFFSET)
                .ok_or("a stack reaches the end of the address space")?;
            [sp, return_address, registers] = [above, above + 8, above + 16].map(|at| {
                // An unreadable link ends the stack like its regular end, but is reported.
                self.words.word(at).unwrap_or(u64::MAX)
            });
            if sp != 0 && sp <= end {
                return Err(format!("the next part of the stack is not above {end:#x}"));
            }
        }
        Ok(())
    }

    /// OCaml 5: a fiber and its ancestors.
    fn fibers(&mut self, stack: u64, registers: u64) -> Result<(), String> {
        let (mut stack, registers) = (stack, registers);
        let mut met = HashSet::new();
        while stack != 0 {
            if !met.insert(stack) {
                return Err(format!("fibers are linked in a ring at {stack:#x}"));
            }
            let handler = self.field(stack, fiber::HANDLER)?;
            let sp = self.field(stack, fiber::STACK_POINTER)?;
            match self.code.is_empty() {
                // The saved registers are used for all of them, as the runtime does.
                true => self.fiber(sp, handler, registers)?,
                false => self.interpreted(sp, handler)?,
            }
            for which in fiber::HANDLES {
                let slot = handler.wrapping_add(8 * which as u64);
                let value = self.field(handler, which)?;
                let depth = self.depth;
                self.found.push(StackSlot { slot, value, frame: None, depth });
            }
            stack = self.field(handler, fiber::PARENT)?;
        }
        Ok(())
    }

    fn fiber(&mut self, start: u64, end: u64, registers: u64) -> Result<(), String> {
        let (mut sp, mut registers) = (start, registers);
        while sp != end {
            if sp > end {
                return Err(format!("a fiber's stack pointer {sp:#x} is beyond its end {end:#x}"));
            }
            let return_address = self.read(sp)?;
            let piece_end = self.piece(sp + 8, return_address, registers)?;
            registers = self.read(piece_end.saturating_add(fiber::SAVED_REGISTERS))?;
            sp = piece_end.saturating_add(fiber::PIECE_HEADER);
        }
        Ok(())
    }

    /// The interpreter's stack, from its stack pointer up.
    fn interpreted(&mut self, low: u64, high: u64) -> Result<(), String> {
        let length = high.checked_sub(low).map(|bytes| bytes / 8);
        let Some(length) = length.filter(|length| *length <= LONGEST_STACK) else {
            return Err("an interpreter's stack has no end".to_owned());
        };
        // Above the environment is the code pointer of the call to C.
        let called = self.words.word(low.saturating_add(8)).filter(|at| self.code.contains(at));
        let mut frame = called.unwrap_or(0);
        for at in 0..length {
            let slot = low + 8 * at;
            let mut value = self.read(slot)?;
            if self.code.contains(&value) {
                if value != frame {
                    self.depth = self.depth.saturating_add(1);
                }
                frame = value;
                self.calls.push((slot, value));
                // The runtime skips it, too: it checks what is heap, or what is code.
                value = 0;
            }
            let depth = self.depth;
            self.found.push(StackSlot { slot, value, frame: Some(frame), depth });
        }
        Ok(())
    }

    /// Scans a chunk of OCaml frames; returns the stack pointer at its end.
    fn piece(&mut self, start: u64, return_address: u64, registers: u64) -> Result<u64, String> {
        let (mut sp, mut return_address) = (start, return_address);
        loop {
            let descriptor = self.descriptors.find(return_address).ok_or_else(|| {
                format!("the stack at {sp:#x} returns to {return_address:#x}, which no frame table knows")
            })?;
            let Some(size) = descriptor.frame_size else { return Ok(sp) };
            for live in &descriptor.live {
                let slot = match *live {
                    Live::Stack(offset) => sp.wrapping_add(u64::from(offset)),
                    Live::Register(index) => registers.wrapping_add(8 * u64::from(index)),
                };
                let value = self.read(slot)?;
                let (frame, depth) = (Some(return_address), self.depth);
                self.found.push(StackSlot { slot, value, frame, depth });
            }
            if size == 0 {
                return Err(format!("the frame at {sp:#x} has no size"));
            }
            self.depth = self.depth.saturating_add(1);
            sp = sp
                .checked_add(u64::from(size))
                .ok_or("a stack reaches the end of the address space")?;
            return_address = self.read(sp - 8)?;
        }
    }

    fn field(&mut self, structure: u64, index: usize) -> Result<u64, String> {
        self.read(structure.wrapping_add(8 * index as u64))
    }

    fn read(&mut self, at: u64) -> Result<u64, String> {
        self.words.word(at).ok_or_else(|| format!("a stack leads to {at:#x}, which cannot be read"))
    }
}

impl Finder<'_> {
    /// Adds the roots on a stack, and the local roots of C code on it.
    pub(super) fn stack(&mut self, thread: u32, start: Option<Start>, local_roots: u64) {
        let scanned = start.map_or_else(Scanned::default, |start| self.stacks.scan(start));
        self.found.calls.extend(scanned.calls);
        for StackSlot { slot, value, frame, depth } in scanned.slots {
            let place = match (frame, self.target.code) {
                (Some(frame), RuntimeCode::Native) => RootHolder::Stack { thread, frame, depth },
                (Some(frame), RuntimeCode::Bytecode) => {
                    RootHolder::Interpreter { thread, frame, depth }
                }
                (None, _) => RootHolder::Handler { thread },
            };
            if self.add(slot, value, place)
                && let RootHolder::Stack { frame, .. } = place
                && !self.found.frames.contains_key(&frame)
            {
                self.found.frames.insert(frame, self.stacks.frame(frame));
            }
        }
        self.found.gaps.extend(scanned.gap);
        let (local, gap) = self.stacks.local_roots(local_roots);
        for (slot, value) in local {
            self.add(slot, value, RootHolder::Local { thread });
        }
        self.found.gaps.extend(gap);
    }

    /// The start of the stack whose pointers are in the domain state.
    pub(super) fn current_stack(&mut self, state: u64) -> Option<Start> {
        let word = |index: usize| self.memory.word(state.checked_add(8 * index as u64)?);
        let registers = word(self.layout.state.registers)?;
        match self.stacks.layout {
            StackLayout::System { .. } if self.target.code == RuntimeCode::Bytecode => {
                Some(Start::Interpreter {
                    low: word(self.target.runtime.interpreter_stack?)?,
                    high: word(self.layout.state.stack_high?)?,
                })
            }
            StackLayout::System { bottom, return_address, .. } => Some(Start::System {
                stack_pointer: word(bottom)?,
                return_address: word(return_address)?,
                registers,
            }),
            StackLayout::Fibers { current } => {
                Some(Start::Fiber { stack: word(current)?, registers })
            }
        }
    }
}
