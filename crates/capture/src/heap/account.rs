//! Everything in a snapshot other than its blocks: what is read from the program's memory once it is known
//! which blocks are alive.

use std::collections::{HashMap, HashSet};
use std::io;

use bactrian_agent_abi::token;
use bactrian_snapshot::{
    ClosureCode, CodeId, CustomId, Number, Oddity, Sample, SizeClass, SnapshotLocation, Statistic,
};

use super::customs::{Customs, Shares};
use super::encode::References;
use super::mark::Met;
use super::names::Names;
use super::process_memory::{self, Account, HOLDERS, Known, Observed};
use super::reach::Reached;
use super::roots::{Roots, Stacks};
use super::spaces::{HeapUse, SizeUse};
use super::tables::TableMaker;
use super::walk::Subject;
use super::{samples, statistics, variables};
use crate::memory::Memory;

/// Collects from the program's memory everything that is not blocks.
pub struct Accountant<'a> {
    pub subject: &'a Subject<'a>,
    /// The program's memory; the heap is read from our copy.
    pub memory: &'a dyn Memory,
    pub roots: &'a Roots,
    /// What the major heap is used for.
    pub heap: HeapUse,
    pub maker: TableMaker<'a>,
    /// What the kernel reported about the process's memory; None if there is no process.
    pub observed: Option<io::Result<Observed>>,
}

impl Accountant<'_> {
    /// Fills the tables; returns what blocks refer to.
    pub fn account(&mut self, reached: &mut Reached) -> References {
        let stacks = Stacks::new(self.subject.target, self.memory);
        let unmanaged = std::mem::take(&mut reached.met.unmanaged);
        self.maker.spaces(&self.roots.spaces, unmanaged);
        self.maker.roots(self.roots);
        self.maker.continuations(&reached.continuations, |address| stacks.frame(address));
        self.maker.fibers(&self.roots.fibers, &reached.fibers);
        let none = self.subject.target.global("caml_ephe_none").and_then(|at| self.memory.word(at));
        self.maker.ephemerons(reached, none.unwrap_or(0));
        self.maker.labels();
        self.samples();
        let names = Names::new(self.subject.target, self.memory, &stacks);
        let references = self.references(&reached.met, &names);
        self.variables(reached, &names);
        self.use_of_memory(reached);
        self.gaps(reached);
        references
    }

    /// Variables of bytecode. Without them less is known about types, but nothing else is missing.
    fn variables(&mut self, reached: &Reached, names: &Names<'_>) {
        let Some(program) = names.program() else { return };
        let suspended = reached.continuations.iter().flat_map(|(_, scanned)| &scanned.calls);
        let calls: Vec<_> = self.roots.calls.iter().chain(suspended).copied().collect();
        let pc = |address| names.instruction(address);
        if let Err(error) = variables::add(program, pc, &calls, &mut self.maker.tables) {
            let gap = format!("names of variables: {error}");
            self.maker.tables.gaps.push(gap);
        }
    }

    fn references(&mut self, met: &Met, names: &Names<'_>) -> References {
        let mut references = References::default();
        self.codes(&met.codes, names, &mut references);
        self.customs(&met.customs, &mut references);
        references
    }

    fn codes(&mut self, codes: &HashSet<u64>, names: &Names<'_>, references: &mut References) {
        let mut codes: Vec<u64> = codes.iter().copied().collect();
        codes.sort_unstable();
        let functions = names.functions(&codes);
        let tables = &mut self.maker.tables;
        for (number, (address, function)) in codes.into_iter().zip(functions).enumerate() {
            let location = SnapshotLocation {
                function: tables.names.add(&function.name),
                file: tables.names.add(function.file.as_deref().unwrap_or("")),
                line: function.line,
                ..SnapshotLocation::default()
            };
            tables.codes.push(ClosureCode { address, location });
            references.codes.insert(address, CodeId(number as u32));
        }
    }

    fn customs(&mut self, blocks: &HashMap<u64, Vec<u64>>, references: &mut References) {
        /// How many leading words of a custom block say what it holds.
        const WORDS: u64 = 24;
        let customs = Customs::new(self.memory, self.subject.target.version);
        let mut shares = Shares::default();
        let mut held = Vec::new();
        let mut identifiers = HashMap::new();
        let mut sorted: Vec<_> = blocks.iter().collect();
        sorted.sort_unstable();
        // The first entry stands for blocks whose operations cannot be read.
        self.maker.tables.customs.push(Default::default());
        for (&address, blocks) in sorted {
            let operations = customs.operations(address);
            if let Some(identifier) = &operations.identifier {
                let tables = &mut self.maker.tables;
                let name = tables.names.add(identifier);
                let id = *identifiers.entry(name).or_insert_with(|| {
                    tables.customs.push(name);
                    CustomId(tables.customs.len() as u32 - 1)
                });
                references.operations.insert(address, id);
            }
            if let Some(bytes) = operations.integer_bytes() {
                references.integers.push((address, bytes));
            }
            if !operations.may_hold_memory() {
                continue;
            }
            let mut words = Vec::new();
            for &block in blocks {
                let Some(header) = self.maker.image.spot(block - 8) else { continue };
                words.clear();
                let count = super::block::Header::of(header.word()).words.min(WORDS);
                self.maker.image.fields(header, 0..count, |piece| words.extend_from_slice(piece));
                let external = customs.external(&operations, &words);
                shares.note(block, external);
                held.push((block, external));
            }
        }
        let bytes = held.iter().map(|&(block, external)| (block, shares.bytes_of(block, external)));
        references.external = bytes.filter(|(_, bytes)| *bytes > 0).collect();
        let total =
            references.external.values().fold(0u64, |sum, bytes| sum.saturating_add(*bytes));
        self.maker.tables.memory.external_bytes = Some(total);
    }

    /// Sampled blocks that are alive: the number of samples, and where and when they were allocated.
    fn samples(&mut self) {
        // A forked child still has its parent's samples, whose allocations are in the parent's trace: they
        // belong to older recordings.
        let known = |sample: &super::roots::Sample| token::read(sample.user_data);
        let all = self.roots.samples.iter().filter_map(known).map(|token| token.recording);
        let newest = self.subject.recording.or(all.max());
        let mut alive = Vec::new();
        for sample in &self.roots.samples {
            let Some(token) = known(sample).filter(|token| Some(token.recording) == newest) else {
                continue;
            };
            if let Some(target) = self.maker.pointer(sample.block) {
                alive.push((target.block, token.object, sample.samples));
            }
        }
        alive.sort_unstable();
        let wanted: HashSet<u64> = alive.iter().map(|(_, object, _)| *object).collect();
        let mut allocations = samples::Allocations::default();
        if let Some(trace) = self.subject.trace.as_ref().filter(|_| !wanted.is_empty()) {
            let names = &mut self.maker.tables.names;
            match samples::look_up(trace, |object| wanted.contains(&object), names) {
                Ok(found) => allocations = found,
                Err(why) => self.maker.tables.gaps.push(why),
            }
        }
        let tables = &mut self.maker.tables;
        tables.stacks = allocations.stacks;
        tables.sampling = allocations.sampling;
        tables.samples = alive
            .into_iter()
            .map(|(block, allocation, samples)| {
                let found = allocations.found.get(&allocation);
                Sample {
                    block,
                    allocation,
                    samples: u32::try_from(found.map_or(samples, |found| found.samples))
                        .unwrap_or(u32::MAX),
                    stack: found.and_then(|found| found.stack),
                    time: found.map(|found| found.time),
                }
            })
            .collect();
    }

    /// How memory is used, and the runtime's counters.
    fn use_of_memory(&mut self, reached: &Reached) {
        let Accountant { subject, memory, roots, ref heap, .. } = *self;
        let counted = statistics::read(subject.target, memory, &roots.domains);
        let fibers = roots.fibers.iter().map(|(piece, _)| piece);
        let fibers = fibers.chain(reached.fibers.iter().map(|(piece, _)| piece)).cloned().collect();
        let known = Known { fibers, ..Known::find(subject.target, memory, heap, &roots.domains) };
        let of_regions = || process_memory::of_regions(subject.memory.regions(), &known);
        let account = match &self.observed {
            Some(Ok(observed)) => observed.account(&known),
            Some(Err(why)) => {
                let gap = format!("its resident memory is unknown: {why}");
                Account { gaps: vec![gap], ..of_regions() }
            }
            None => of_regions(),
        };
        let HeapUse { words, free, fragments, .. } = *heap;
        let minor =
            roots.spaces.iter().filter(|space| space.kind == super::roots::SpaceKind::Minor);
        let minor_words = minor.map(|space| (space.range.end - space.range.start) / 8).sum();
        let unreadable = self.maker.image.unreadable_bytes();
        let tables = &mut self.maker.tables;
        tables.size_classes = heap.sizes.iter().map(|(most, of)| size_class(*most, of)).collect();
        let numbers = &mut tables.memory;
        numbers.resident_bytes = account.resident;
        numbers.mapped_heap_words = Some(words);
        numbers.free_words = Some(free.words);
        numbers.fragment_words = Some(fragments);
        // If roots could not be read, blocks reachable from them only look unreachable.
        let is_all_known = roots.gaps.is_empty() && reached.gaps.is_empty() && unreadable == 0;
        numbers.unreachable_words =
            is_all_known.then(|| heap.unreachable_words(reached.met.major.words));
        numbers.minor_words = Some(minor_words);
        numbers.ring_bytes = Some(account.line(process_memory::Holder::RuntimeEvents).resident);
        let whole = |name: String, value: u64| (name, Number::Whole(value));
        let lines = HOLDERS.iter().flat_map(|&holder| {
            let line = account.line(holder);
            let name = holder.name();
            let mapped = whole(format!("{name}, mapped bytes"), line.mapped);
            let resident =
                account.resident.map(|_| whole(format!("{name}, resident bytes"), line.resident));
            [Some(mapped), resident].into_iter().flatten()
        });
        let counted_numbers = counted.numbers.iter().map(|(name, number)| {
            let number = match *number {
                statistics::Number::Whole(number) => Number::Whole(number),
                statistics::Number::Real(number) => Number::Real(number),
            };
            (name.clone(), number)
        });
        for (name, value) in counted_numbers.chain(lines).collect::<Vec<_>>() {
            let name = tables.names.add(&name);
            tables.statistics.push(Statistic { name, value });
        }
        for gaps in [&heap.gaps, &counted.gaps, &account.gaps] {
            tables.gaps.extend_from_slice(gaps);
        }
    }

    /// What could not be read, and what should not exist.
    fn gaps(&mut self, reached: &Reached) {
        let tables = &mut self.maker.tables;
        tables.gaps.extend(self.subject.gaps.iter().cloned());
        tables.gaps.extend(self.roots.gaps.iter().cloned());
        tables.gaps.extend(self.roots.unnamed.map(str::to_owned));
        tables.gaps.extend(reached.gaps.iter().cloned());
        let odd = [
            ("pointers to no block", reached.met.bad_pointers),
            ("bytes of the heap that could not be read", self.maker.image.unreadable_bytes()),
        ];
        for (what, count) in odd.into_iter().filter(|(_, count)| *count > 0) {
            let what = tables.names.add(what);
            tables.oddities.push(Oddity { what, count });
        }
    }
}

fn size_class(most_words: u64, of: &SizeUse) -> SizeClass {
    SizeClass {
        most_words,
        used_blocks: of.used.blocks,
        used_words: of.used.words,
        free_blocks: of.free.blocks,
        free_words: of.free.words,
    }
}
