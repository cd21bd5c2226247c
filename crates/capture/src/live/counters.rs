//! The collector's own counters, read from outside while the program runs.
//!
//! Nothing is stopped and nothing is written: words of the program's memory are read as they are. Each word
//! is consistent, but they are not all of the same moment: a sum may miss what is on its way from one word to
//! another. So numbers that only grow are never reported as smaller than before.
//!
//! Native code keeps the minor heap's allocation pointer in a register, and saves it when it calls C or the
//! collector. So allocation is known up to one minor heap.

use std::time::{Duration, Instant};

use bactrian_ocaml::accounting::{Accounting, MajorHeap, name};
use bactrian_ocaml::{RuntimeCode, Version};

use super::Known;
use crate::heap::process_memory;
use crate::heap::roots::{Search, running_domains};
use crate::heap::spaces::{self, HeapUse};
use crate::heap::statistics::{self, Statistics};
use crate::heap::target::{Files, Target};
use crate::memory::{Cached, ProcessMemory};

const WORD: u64 = 8;
/// The shortest interval at which all of memory is searched for domains.
const SEARCH_EVERY: Duration = Duration::from_secs(5);

/// The counters of one program.
#[derive(Debug)]
pub struct Counters {
    pid: u32,
    memory: ProcessMemory,
    target: Target,
    /// The states of the domains that were found last.
    states: Vec<u64>,
    searched: Option<Instant>,
    /// What was reported last.
    last: Collector,
}

/// The collector's counters of a program. Bytes are bytes of the OCaml heap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Collector {
    /// The size of the major heap in bytes.
    pub heap: u64,
    /// The bytes of it that are not free: alive, or not yet found to be dead.
    pub live: u64,
    /// Bytes allocated since the program started.
    pub allocated: u64,
    /// Bytes promoted from the minor heaps.
    pub promoted: u64,
    /// The number of minor collections.
    pub minor_collections: u64,
    /// The number of completed major collections.
    pub major_collections: u64,
    /// The number of compactions.
    pub compactions: u64,
    /// The number of running domains; 1 in OCaml 4.
    pub domains: u64,
    /// Bytes of a minor heap, if that can be read.
    pub minor_heap_size: Option<u64>,
    /// The parameter `space_overhead`, in percent, if that can be read.
    pub space_overhead: Option<u64>,
    /// What the numbers leave out, and why.
    pub gaps: Vec<String>,
}

impl Counters {
    /// Finds the counters of a process.
    ///
    /// # Errors
    /// If its memory may not be read, or there is no supported OCaml runtime in it.
    pub fn find(pid: u32) -> Known<Counters> {
        let memory = ProcessMemory::open(pid)
            .map_err(|error| crate::attach::Refusal::opening(pid, &error).to_string())?;
        let target = Target::find(&memory, &Files::of_process(pid)).map_err(|e| e.to_string())?;
        if Accounting::of(target.version).is_none() {
            let version = target.version;
            return Err(format!("the location of the counters of OCaml {version} is unknown"));
        }
        let (states, last) = (Vec::new(), Collector::default());
        Ok(Counters { pid, memory, target, states, searched: None, last })
    }

    /// The program's OCaml version.
    pub fn version(&self) -> Version {
        self.target.version
    }

    /// Whether it runs native code or bytecode.
    pub fn code(&self) -> RuntimeCode {
        self.target.code
    }

    /// The memory, with the mappings of the time when this was made or domains were last searched for.
    pub fn memory(&self) -> &ProcessMemory {
        &self.memory
    }

    /// Whether the major heap consists of chunks, as in OCaml 4.
    pub fn has_chunks(&self) -> bool {
        let major = Accounting::of(self.target.version).map(|layout| layout.major);
        matches!(major, Some(MajorHeap::Chunks(_)))
    }

    /// Which addresses are OCaml's, as far as that is known without reading the entire heap. Ranges in the
    /// executable are not included.
    pub fn ranges(&self) -> process_memory::Known {
        let memory = Cached::new(&self.memory);
        let heap = HeapUse {
            ranges: spaces::chunks(&self.target, &memory).unwrap_or_default(),
            ..HeapUse::default()
        };
        process_memory::Known::of_heaps(&self.target, &memory, &heap, &self.states)
    }

    /// Reads all that the collector counts and how it is set, by name.
    ///
    /// # Errors
    /// If the runtime has not started yet.
    pub fn statistics(&mut self) -> Known<Statistics> {
        let gaps = self.find_domains()?;
        let memory = Cached::new(&self.memory);
        let mut found = statistics::read(&self.target, &memory, &self.states);
        found.gaps.extend(gaps);
        Ok(found)
    }

    /// Reads them.
    ///
    /// # Errors
    /// If the runtime has not started yet, or its memory can no longer be read.
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
        // The mappings have changed since.
        self.memory = ProcessMemory::open(self.pid).map_err(|error| error.to_string())?;
        let (states, gaps) = running_domains(&self.target, &self.memory, &states, Search::Memory);
        if states.is_empty() {
            return Err("the OCaml runtime has not started yet".to_owned());
        }
        (self.states, self.searched) = (states, Some(Instant::now()));
        Ok(gaps)
    }
}

/// Selects what is reported from the runtime's counters.
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
    // Other gaps do not matter to somebody who watches a running program.
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
        minor_heap_size: bytes("minor_heap_size").ok(),
        space_overhead: number("space_overhead").ok(),
        gaps: of_ended.collect(),
    })
}
