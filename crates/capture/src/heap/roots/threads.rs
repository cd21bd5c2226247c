//! Stacks of threads: the one that runs in each domain, and the others that systhreads knows.

use bactrian_ocaml::{RuntimeCode, StackLayout};

use super::finder::Finder;
use super::stacks::Start;
use super::{List, RootHolder};

/// An upper bound for the number of threads.
const MOST_THREADS: usize = 1 << 20;

/// The threads of a domain, linked in a ring.
#[derive(Clone, Copy)]
pub(super) struct Ring {
    /// One of its threads; 0 if there are none.
    first: u64,
    /// Whether that thread is running, or ran last: its stack is in the domain state. In OCaml 4 a thread
    /// that ends leaves the ring, and until another has its turn, the domain state and `curr_thread` belong
    /// to a thread that is gone.
    pub is_active: bool,
}

impl Finder<'_> {
    pub(super) fn threads(&mut self) {
        let rings: Vec<_> = (0..self.states.len()).map(|domain| self.ring(domain)).collect();
        for ((domain, state), ring) in self.states.clone().into_iter().enumerate().zip(&rings) {
            if ring.as_ref().is_ok_and(|ring| !ring.is_active) {
                self.active_thread_is_gone = true;
                continue;
            }
            // The first threads have the indices of their domains.
            let thread = domain as u32;
            let local_roots =
                self.field(state, self.layout.state.local_roots).unwrap_or_else(|| {
                    self.found.gaps.push(format!("the domain state at {state:#x} cannot be read"));
                    0
                });
            self.fibers_of_domain(thread, state);
            let start = self.current_stack(state);
            if start.is_none() && self.target.code == RuntimeCode::Bytecode {
                self.gap("the interpreter's stack cannot be found");
            }
            self.stack(thread, start, local_roots);
        }
        for (domain, ring) in rings.into_iter().enumerate() {
            match ring {
                Ok(ring) => self.threads_of(domain, ring),
                Err(why) => self.gap(why),
            }
        }
    }

    /// Adds the threads of one domain.
    fn threads_of(&mut self, domain: usize, ring: Ring) {
        let mut at = ring.first;
        for count in 0.. {
            if at == 0 {
                return;
            }
            let is_first = at == ring.first;
            let is_active = is_first && ring.is_active;
            if count == MOST_THREADS || self.one_thread(domain, at, is_first, is_active).is_none() {
                return self.gap(format!("the thread at {at:#x} cannot be read"));
            }
            at = self.field(at, self.layout.thread.next).unwrap_or(0);
            if at == ring.first {
                return;
            }
        }
    }

    /// The ring of one domain's threads, or why it is not known.
    pub(super) fn ring(&mut self, domain: usize) -> Result<Ring, String> {
        // Programs with threads have the function behind `Thread.self`.
        let mut objects = self.target.objects.iter();
        if !objects.any(|object| object.symbols.find("caml_thread_self").is_some()) {
            return Ok(Ring { first: 0, is_active: true });
        }
        let active = self.active_thread(domain);
        if self.has_domains() {
            return active.map(|first| Ring { first, is_active: true });
        }
        match active {
            Ok(first) if first == 0 || self.is_in_ring(first) => {
                Ok(Ring { first, is_active: true })
            }
            Ok(_) => {
                let first = self.any_thread().unwrap_or_else(|| {
                    self.gap(
                        "stacks of threads: the thread that ran last has ended, and no \
                        other can be found",
                    );
                    0
                });
                Ok(Ring { first, is_active: false })
            }
            Err(why) => {
                // Without symbols, the variable is accepted only if it leads to a ring.
                let variables = self.target.variables_of(self.memory, "caml_thread_self");
                let first = self.any_thread().filter(|_| !variables.is_empty()).ok_or(why)?;
                Ok(Ring { first, is_active: false })
            }
        }
    }

    /// A thread of OCaml 4's ring when none is active: the head of the list, which a thread that ends passes
    /// on. None if it is not found; 0 if all have ended.
    fn any_thread(&mut self) -> Option<u64> {
        if let Some(head) = self.static_word("st_stubs", "all_threads") {
            return (head == 0 || self.is_in_ring(head)).then_some(head);
        }
        let variables = self.target.variables_of(self.memory, "caml_c_thread_register");
        variables.into_iter().find_map(|variable| {
            let head = self.words.word(variable)?;
            self.is_in_ring(head).then_some(head)
        })
    }

    /// Whether a thread's neighbours point to it. Those of a thread that has ended point to each other
    /// instead.
    fn is_in_ring(&mut self, thread: u64) -> bool {
        let (next, previous) = (self.layout.thread.next, self.layout.thread.next + 1);
        let leads_back = |finder: &mut Self, there, back| {
            let neighbour = finder.field(thread, there)?;
            finder.field(neighbour, back)
        };
        thread != 0
            && leads_back(self, next, previous) == Some(thread)
            && leads_back(self, previous, next) == Some(thread)
    }

    /// The thread that is running in a domain; 0 if systhreads was not started.
    fn active_thread(&mut self, domain: usize) -> Result<u64, String> {
        let file = "st_stubs";
        let known = match self.layout.thread.table_stride {
            None => self.static_word(file, "curr_thread"),
            Some(stride) => self
                .target
                .local(file, "thread_table")
                .and_then(|variable| self.active_thread_in(variable, stride, domain)),
        };
        // The hook first reports the descriptor, which is the first field of a thread, and then the
        // exception.
        let listed = self.listed(List::Threads, domain).map(|slots| match slots.as_slice() {
            [] => Some(0),
            [first, second, ..] => {
                let distance = 8 * self.layout.thread.last_exception as u64;
                (second.checked_sub(*first) == Some(distance)).then_some(*first)
            }
            _ => None,
        });
        let listed = listed.flatten().filter(|thread| self.is_of_domain(*thread, domain));
        known.or(listed).or_else(|| self.active_thread_by_code(domain)).ok_or_else(|| {
            "stacks of other threads: the executable was stripped of the symbol that leads to them"
                .to_owned()
        })
    }

    /// Whether a thread belongs to a domain. Before 5.2 the hook lists the threads of its caller's domain,
    /// whichever domain it is asked about.
    fn is_of_domain(&mut self, thread: u64, domain: usize) -> bool {
        let Some(word) = self.layout.thread.domain.filter(|_| thread != 0) else { return true };
        let state = self.states.get(domain).copied().unwrap_or(0);
        let number = self.domain_number(state);
        self.field(thread, word).is_some_and(|found| found as u32 == number)
    }

    /// The same without symbols: the variable is the one that `Thread.self` uses and that leads to a ring of
    /// threads.
    fn active_thread_by_code(&mut self, domain: usize) -> Option<u64> {
        let variables = self.target.variables_of(self.memory, "caml_thread_self");
        variables.into_iter().find_map(|variable| {
            let thread = match self.layout.thread.table_stride {
                None => self.words.word(variable)?,
                Some(stride) => self.active_thread_in(variable, stride, domain)?,
            };
            self.is_in_ring(thread).then_some(thread)
        })
    }

    /// The thread that is running in a domain, from the variable `thread_table` of OCaml 5.
    fn active_thread_in(&mut self, variable: u64, stride: usize, domain: usize) -> Option<u64> {
        let table = match self.layout.holds_domains_in_place {
            true => variable,
            false => self.words.word(variable)?,
        };
        if table == 0 {
            return Some(0);
        }
        let state = *self.states.get(domain)?;
        let number = self.domain_number(state) as usize;
        self.field(table, stride.checked_mul(number)?)
    }

    fn one_thread(
        &mut self,
        domain: usize,
        at: u64,
        is_first: bool,
        is_active: bool,
    ) -> Option<()> {
        let layout = &self.layout.thread;
        let descriptor = self.words.word(at)?;
        // Its first field is the thread's id.
        let id = match descriptor & 1 {
            0 => self.words.word(descriptor).filter(|id| id & 1 == 1).map(|id| id >> 1),
            _ => None,
        };
        let thread = match is_first {
            true => {
                let thread = self.found.threads.get_mut(domain)?;
                (thread.id, thread.is_active) = (id, is_active);
                domain as u32
            }
            false => {
                let domain = self.found.threads.get(domain)?.domain;
                self.thread(domain, id, false)
            }
        };
        self.add(at, descriptor, RootHolder::ThreadDescriptor { thread });
        let slot = at.checked_add(8 * layout.last_exception as u64)?;
        let exception = self.words.word(slot)?;
        self.add(slot, exception, RootHolder::LastException { thread });
        // Where threads have no sampler tables, there is nothing to note.
        self.note_memprof_thread(at);
        if is_active {
            return Some(());
        }
        let stack = self.field(at, layout.stack)?;
        let registers = self.field(at, layout.registers)?;
        let local_roots = self.field(at, layout.local_roots)?;
        self.fibers_of_thread(thread, stack);
        let start = match (self.target.code, self.target.runtime.stack) {
            (RuntimeCode::Bytecode, StackLayout::System { .. }) => Some(Start::Interpreter {
                low: self.field(at, layout.interpreter_stack?)?,
                high: self.field(at, layout.interpreter_stack_high?)?,
            }),
            // A thread that has not started to run has nothing yet.
            _ if stack == 0 => return Some(()),
            (RuntimeCode::Native, StackLayout::System { .. }) => Some(Start::System {
                stack_pointer: stack,
                return_address: self.field(at, layout.return_address?)?,
                registers,
            }),
            (_, StackLayout::Fibers { .. }) => Some(Start::Fiber { stack, registers }),
        };
        self.stack(thread, start, local_roots);
        Some(())
    }
}
