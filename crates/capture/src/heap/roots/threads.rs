//! Stacks: of the thread that runs in each domain, and of the others that systhreads knows.

use bactrian_ocaml::{Code, StackLayout};

use super::finder::Finder;
use super::stacks::Start;
use super::{List, Place};

/// No program has more.
const MOST_THREADS: usize = 1 << 20;

impl Finder<'_> {
    pub(super) fn threads(&mut self) {
        for (domain, state) in self.states.clone().into_iter().enumerate() {
            // The first threads have the numbers of their domains.
            let thread = domain as u32;
            let local_roots =
                self.field(state, self.layout.state.local_roots).unwrap_or_else(|| {
                    self.found.gaps.push(format!("the domain state at {state:#x} cannot be read"));
                    0
                });
            match self.target.code {
                Code::Native => {
                    let start = self.current_stack(state);
                    self.stack(thread, start, local_roots);
                }
                Code::Bytecode => {
                    self.interpreter_stack(thread, state);
                    self.stack(thread, None, local_roots);
                }
            }
        }
        // Programs that have threads have a function that tells which one runs.
        let has_threads =
            self.target.objects.iter().any(|o| o.symbols.find("caml_thread_self").is_some());
        if has_threads {
            for domain in 0..self.states.len() {
                self.other_threads(domain);
            }
        }
    }

    /// The threads of one domain, in a ring that begins with the one that runs.
    fn other_threads(&mut self, domain: usize) {
        let first = match self.active_thread(domain) {
            Ok(first) => first,
            Err(why) => return self.gap(why),
        };
        let mut at = first;
        for count in 0.. {
            if at == 0 {
                return;
            }
            if count == MOST_THREADS || self.one_thread(domain, at, at == first).is_none() {
                return self.gap(format!("the thread at {at:#x} cannot be read"));
            }
            at = self.field(at, self.layout.thread.next).unwrap_or(0);
            if at == first {
                return;
            }
        }
    }

    /// The thread that runs in a domain; 0 if systhreads was not started.
    fn active_thread(&mut self, domain: usize) -> Result<u64, String> {
        let file = "st_stubs";
        let known = match self.layout.thread.table_stride {
            None => self.static_word(file, "curr_thread"),
            Some(stride) => self.static_word(file, "thread_table").and_then(|table| {
                if table == 0 {
                    return Some(0);
                }
                let state = *self.states.get(domain)?;
                let number = self.domain_number(state) as usize;
                self.field(table, stride.checked_mul(number)?)
            }),
        };
        // The hook names the descriptor first, which a thread begins with, and then the exception.
        let listed = self.listed(List::Threads, domain).map(|slots| match slots.as_slice() {
            [] => Some(0),
            [first, second, ..] => {
                let distance = 8 * self.layout.thread.last_exception as u64;
                (second.checked_sub(*first) == Some(distance)).then_some(*first)
            }
            _ => None,
        });
        let known = known.or(listed.flatten());
        known.or_else(|| self.active_thread_by_code(domain)).ok_or_else(|| {
            "stacks of other threads: the executable was stripped of the name they hang on"
                .to_owned()
        })
    }

    /// The same without names: the variable is the one that `Thread.self` uses and that leads to a ring of threads.
    fn active_thread_by_code(&mut self, domain: usize) -> Option<u64> {
        let variables = self.target.variables_of(self.memory, "caml_thread_self");
        variables.into_iter().find_map(|variable| {
            let value = self.words.word(variable)?;
            let thread = match self.layout.thread.table_stride {
                None => value,
                Some(stride) => {
                    let state = *self.states.get(domain)?;
                    let number = self.domain_number(state) as usize;
                    self.field(value, stride.checked_mul(number)?)?
                }
            };
            // `next` and then `prev`.
            let next = self.field(thread, self.layout.thread.next)?;
            let back = self.field(next, self.layout.thread.next + 1)?;
            (thread != 0 && back == thread).then_some(thread)
        })
    }

    fn one_thread(&mut self, domain: usize, at: u64, is_active: bool) -> Option<()> {
        let layout = &self.layout.thread;
        let descriptor = self.words.word(at)?;
        // Its first field is the number.
        let id = match descriptor & 1 {
            0 => self.words.word(descriptor).filter(|id| id & 1 == 1).map(|id| id >> 1),
            _ => None,
        };
        let thread = match is_active {
            true => {
                let thread = domain as u32;
                self.found.threads.get_mut(domain)?.id = id;
                thread
            }
            false => {
                let domain = self.found.threads.get(domain)?.domain;
                self.thread(domain, id, false)
            }
        };
        self.add(at, descriptor, Place::ThreadDescriptor { thread });
        let slot = at.checked_add(8 * layout.last_exception as u64)?;
        let exception = self.words.word(slot)?;
        self.add(slot, exception, Place::LastException { thread });
        // Where there are none of their own, there is nothing to note.
        self.note_memprof_thread(at);
        if is_active {
            return Some(());
        }
        let stack = self.field(at, layout.stack)?;
        let registers = self.field(at, layout.registers)?;
        let local_roots = self.field(at, layout.local_roots)?;
        let start = match (self.target.code, self.target.runtime.stack) {
            (Code::Bytecode, StackLayout::System { .. }) => {
                let sp = self.field(at, layout.interpreter_stack?)?;
                let high = self.field(at, layout.interpreter_stack_high?)?;
                self.interpreter_words(thread, sp, high);
                None
            }
            (Code::Bytecode, StackLayout::Fibers { .. }) => None,
            // One that has not begun to run has nothing yet.
            (Code::Native, _) if stack == 0 => return Some(()),
            (Code::Native, StackLayout::System { .. }) => Some(Start::System {
                stack_pointer: stack,
                return_address: self.field(at, layout.return_address?)?,
                registers,
            }),
            (Code::Native, StackLayout::Fibers { .. }) => Some(Start::Fiber { stack, registers }),
        };
        self.stack(thread, start, local_roots);
        Some(())
    }
}
