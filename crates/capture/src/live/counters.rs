//! The collector's own counters, read from outside while the program runs.
//!
//! Nothing is stopped and nothing is written: words of the program's memory are read as they stand. Each of them is whole,
//! but they are not of one moment: a sum may be short of what is on its way from one word to another. So what can only
//! grow is never told smaller than before.
//!
//! Native code keeps the pointer into the minor heap in a register, and puts it down when it calls C or the
//! collector. So what was allocated is known up to one minor heap.

use std::time::{Duration, Instant};

use bactrian_ocaml::accounting::{Accounting, MajorHeap, name};
use bactrian_ocaml::{Code, Version};

use super::Known;
use crate::heap::process_memory;
use crate::heap::roots::{Search, running_domains};
use crate::heap::spaces::{self, HeapUse};
use crate::heap::statistics::{self, Statistics};
use crate::heap::target::{Files, Target};
use crate::memory::{Cached, ProcessMemory};

const WORD: u64 = 8;
/// All of memory is searched for domains so often at most.
const SEARCH_EVERY: Duration = Duration::from_secs(5);

/// The counters of one program.
#[derive(Debug)]
pub struct Counters {
    pid: u32,
    memory: ProcessMemory,
    target: Target,
    /// States of the domains that were found last.
    states: Vec<u64>,
    searched: Option<Instant>,
    /// What was told last.
    last: Collector,
}

/// What the collector of a program counts. Bytes are bytes of the OCaml heap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collector {
    /// Bytes of the major heap.
    pub heap: u64,
    /// Bytes of it that are not free: what is alive, and what was not found to be dead yet.
    pub live: u64,
    /// Bytes that were allocated since the program began.
    pub allocated: u64,
    /// Bytes that were promoted from the minor heaps.
    pub promoted: u64,
    /// Minor collections.
    pub minor_collections: u64,
    /// Major collections that are complete.
    pub major_collections: u64,
    /// Compactions.
    pub compactions: u64,
    /// Domains that run; 1 in OCaml 4.
    pub domains: u64,
    /// What the numbers leave out, and why.
    pub gaps: Vec<String>,
}

impl Counters {
    /// Finds the counters of a process.
    ///
    /// # Errors
    /// If its memory may not be read, there is no OCaml in it, or one that is not known.
    pub fn find(pid: u32) -> Known<Counters> {
        let memory = ProcessMemory::open(pid)
            .map_err(|error| crate::attach::Refusal::opening(pid, &error).to_string())?;
        let target = Target::find(&memory, &Files::of_process(pid)).map_err(|e| e.to_string())?;
        if Accounting::of(target.version).is_none() {
            let version = target.version;
            return Err(format!("where OCaml {version} keeps its counters is not known here"));
        }
        let (states, last) = (Vec::new(), Collector::default());
        Ok(Counters { pid, memory, target, states, searched: None, last })
    }

    /// The OCaml of the program.
    pub fn version(&self) -> Version {
        self.target.version
    }

    /// What kind of code it runs.
    pub fn code(&self) -> Code {
        self.target.code
    }

    /// What is mapped, as it was when this was made or the domains were searched last.
    pub fn memory(&self) -> &ProcessMemory {
        &self.memory
    }

    /// Whether the major heap is chunks, as in OCaml 4.
    pub fn has_chunks(&self) -> bool {
        let major = Accounting::of(self.target.version).map(|layout| layout.major);
        matches!(major, Some(MajorHeap::Chunks(_)))
    }

    /// Which addresses are OCaml's, as far as that can be told without looking at all of the heap. Of those in the executable nothing is
    /// told.
    pub fn ranges(&self) -> process_memory::Known {
        let memory = Cached::new(&self.memory);
        let heap = HeapUse {
            ranges: spaces::chunks(&self.target, &memory).unwrap_or_default(),
            ..HeapUse::default()
        };
        process_memory::Known::of_heaps(&self.target, &memory, &heap, &self.states)
    }

    /// Reads them.
    ///
    /// # Errors
    /// If the runtime has not started yet, or its memory cannot be read any more.
    pub fn read(&mut self) -> Known<Collector> {
        let gaps = self.find_domains()?;
        let memory = Cached::new(&self.memory);
        let found = statistics::read(&self.target, &memory, &self.states);
        let mut now = collector(&found)?;
        now.domains = self.states.len() as u64;
        now.gaps.extend(gaps);
        for (now, before) in [
            (&mut now.allocated, self.last.allocated),
            (&mut now.promoted, self.last.promoted),
            (&mut now.minor_collections, self.last.minor_collections),
            (&mut now.major_collections, self.last.major_collections),
            (&mut now.compactions, self.last.compactions),
        ] {
            *now = before.max(*now);
        }
        self.last = now.clone();
        Ok(now)
    }

    fn find_domains(&mut self) -> Known<Vec<String>> {
        let memory = Cached::new(&self.memory);
        let (states, gaps) = running_domains(&self.target, &memory, &self.states, Search::Names);
        if !states.is_empty() && gaps.is_empty() {
            self.states = states;
            return Ok(gaps);
        }
        if self.searched.is_some_and(|last| last.elapsed() < SEARCH_EVERY) && !states.is_empty() {
            self.states = states;
            return Ok(gaps);
        }
        // What is mapped has changed since.
        self.memory = ProcessMemory::open(self.pid).map_err(|error| error.to_string())?;
        let (states, gaps) = running_domains(&self.target, &self.memory, &states, Search::Memory);
        if states.is_empty() {
            return Err("the OCaml runtime has not started yet".to_owned());
        }
        (self.states, self.searched) = (states, Some(Instant::now()));
        Ok(gaps)
    }
}

/// Takes what is told from what the runtime counts.
fn collector(found: &Statistics) -> Known<Collector> {
    let number = |name: &str| {
        let known = found.get(name).map(statistics::Number::whole);
        known.ok_or_else(|| format!("the runtime's counter {name} cannot be read"))
    };
    let bytes = |name: &str| number(name).map(|words| words.saturating_mul(WORD));
    let heap = bytes("heap_words")?;
    let live = match bytes("free_list_words") {
        Ok(free) => heap.saturating_sub(free),
        Err(_) => bytes("pool_live_words")?.saturating_add(bytes("large_words")?),
    };
    let promoted = bytes(name::PROMOTED_WORDS)?;
    let both = bytes(name::MINOR_WORDS)?.saturating_add(bytes(name::MAJOR_WORDS)?);
    // Where nothing else of a counter is of use to who looks at a running program.
    let of_ended = found.gaps.iter().filter(|gap| gap.contains("ended")).cloned();
    Ok(Collector {
        heap,
        live,
        allocated: both.saturating_sub(promoted),
        promoted,
        minor_collections: number(name::MINOR_COLLECTIONS)?,
        major_collections: number("major_collections")?,
        compactions: number(name::COMPACTIONS)?,
        domains: 0,
        gaps: of_ended.collect(),
    })
}
