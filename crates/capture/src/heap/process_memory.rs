//! What the memory of a process is used for, so that live words and what `top` shows can be reconciled.
//!
//! The kernel says of each mapping how much of it is resident; the walker knows which addresses are OCaml's. Every
//! resident byte is in exactly one line of an [`Account`], and the lines add up to what the kernel says. A mapping
//! of which only parts are OCaml's (chunks of the heap that come from `malloc`) is split by looking up which
//! of its pages are resident; a page that is partly OCaml's counts for both, by bytes.
//!
//! Ask before the memory is read ([`Observed::take`]): reading a page that the program never touched makes it look
//! resident.
//!
//! A frozen copy has fewer resident pages than the program it was copied from: pages of files that are only read
//! are not copied along. What anonymous memory and the heap take is the same.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::smaps::{self, Mapping};
use super::spaces::HeapUse;
use super::target::Target;
use crate::memory::{Memory, Region};

const WORD: u64 = 8;
/// Programs have some thousand modules.
const MOST_SEGMENTS: u64 = 1 << 20;

/// What memory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Holder {
    /// The major heap: blocks, what is free, and what is lost between blocks.
    MajorHeap,
    /// Minor heaps. OCaml 5 reserves addresses for as many domains as there may be.
    MinorHeaps,
    /// Data that OCaml's compiler put into the executable and into plugins.
    StaticData,
    /// Code that OCaml's compiler made.
    Code,
    /// What else is mapped from the executable and from libraries.
    Objects,
    /// Stacks of fibers (OCaml 5), with those of threads that OCaml code runs on.
    FiberStacks,
    /// Allocated by C: `malloc`, bigarrays, and everything else without a file.
    CHeap,
    /// The system's stacks: the main one and those of threads, as far as these can be told by the guard before them.
    Stacks,
    /// The ring of OCaml 5's runtime events, which is a file.
    RuntimeEvents,
    /// Other files, and memory that is shared with other processes.
    Files,
    /// What the kernel puts into every process.
    Kernel,
}

/// All holders, in the order in which they are shown.
pub const HOLDERS: [Holder; 11] = [
    Holder::MajorHeap,
    Holder::MinorHeaps,
    Holder::StaticData,
    Holder::Code,
    Holder::Objects,
    Holder::FiberStacks,
    Holder::CHeap,
    Holder::Stacks,
    Holder::RuntimeEvents,
    Holder::Files,
    Holder::Kernel,
];

impl Holder {
    /// What it is called in snapshots and tables.
    pub fn name(self) -> &'static str {
        match self {
            Holder::MajorHeap => "major heap",
            Holder::MinorHeaps => "minor heaps",
            Holder::StaticData => "static data of OCaml",
            Holder::Code => "code of OCaml",
            Holder::Objects => "executable and libraries",
            Holder::FiberStacks => "fiber stacks",
            Holder::CHeap => "allocated by C",
            Holder::Stacks => "stacks",
            Holder::RuntimeEvents => "runtime events",
            Holder::Files => "files and shared memory",
            Holder::Kernel => "kernel",
        }
    }
}

/// Bytes of one holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// What for.
    pub holder: Holder,
    /// Bytes of address space.
    pub mapped: u64,
    /// How many of these are only reserved: they cannot be accessed, and take no memory.
    pub reserved: u64,
    /// Bytes in physical memory.
    pub resident: u64,
}

/// What the memory of a process is used for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Account {
    /// A line for each of [`HOLDERS`].
    pub lines: Vec<Line>,
    /// All bytes in physical memory: the sum of the lines. None if it is not known (core files).
    pub resident: Option<u64>,
    /// The same with pages that several processes share divided by their number.
    pub proportional: Option<u64>,
    /// Bytes in swap.
    pub swapped: Option<u64>,
    /// What could not be told, and why.
    pub gaps: Vec<String>,
}

impl Account {
    fn new() -> Account {
        let line = |holder| Line { holder, mapped: 0, reserved: 0, resident: 0 };
        let lines = HOLDERS.map(line).to_vec();
        Account { lines, resident: None, proportional: None, swapped: None, gaps: Vec::new() }
    }

    /// The line of a holder.
    pub fn line(&self, holder: Holder) -> Line {
        let line = self.lines.iter().find(|line| line.holder == holder);
        line.copied().unwrap_or(Line { holder, mapped: 0, reserved: 0, resident: 0 })
    }

    fn add(&mut self, holder: Holder, mapped: u64, is_reserved: bool, resident: u64) {
        if let Some(line) = self.lines.iter_mut().find(|line| line.holder == holder) {
            line.mapped = line.mapped.saturating_add(mapped);
            line.reserved = line.reserved.saturating_add(if is_reserved { mapped } else { 0 });
            line.resident = line.resident.saturating_add(resident);
        }
    }
}

/// Which addresses are OCaml's. They do not overlap in any program; if they do, the range that begins first has
/// them.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Of the major heap ([`super::spaces::HeapUse::ranges`]).
    pub major: Vec<Range<u64>>,
    /// Of minor heaps, with what is reserved for more of them.
    pub minor: Vec<Range<u64>>,
    /// Of static data.
    pub data: Vec<Range<u64>>,
    /// Of code.
    pub code: Vec<Range<u64>>,
    /// Of stacks of fibers, which only a walk of the heap finds.
    pub fibers: Vec<Range<u64>>,
}

impl Known {
    /// What is OCaml's in a program: its heap as it was counted, its minor heaps, and its modules. `states` are the
    /// domain states.
    pub fn find(target: &Target, memory: &dyn Memory, heap: &HeapUse, states: &[u64]) -> Known {
        Known {
            data: segments(target, memory, "caml_data_segments"),
            code: segments(target, memory, "caml_code_segments"),
            ..Known::of_heaps(target, memory, heap, states)
        }
    }

    /// The same without modules: only what is not in files.
    pub fn of_heaps(target: &Target, memory: &dyn Memory, heap: &HeapUse, states: &[u64]) -> Known {
        let global = |name: &str| target.global(name).and_then(|at| memory.word(at));
        // OCaml 5 reserves one area for the minor heaps of all domains; in OCaml 4 there is one.
        let reserved = global("caml_minor_heaps_start").zip(global("caml_minor_heaps_end"));
        let layout = target.layout.state;
        let own = states.iter().filter_map(|state| {
            let word = |index: usize| memory.word(state.checked_add(index as u64 * WORD)?);
            word(layout.young_start).zip(word(layout.young_end))
        });
        let minor = reserved.into_iter().chain(own).map(|(start, end)| start..end).collect();
        Known { major: heap.ranges.clone(), minor, ..Known::default() }
    }

    /// Sorted ranges with their holders, none of which overlap.
    fn ranges(&self) -> Vec<(Range<u64>, Holder)> {
        let by_holder = [
            (&self.major, Holder::MajorHeap),
            (&self.minor, Holder::MinorHeaps),
            (&self.data, Holder::StaticData),
            (&self.code, Holder::Code),
            (&self.fibers, Holder::FiberStacks),
        ];
        let all = by_holder.into_iter().flat_map(|(ranges, holder)| {
            ranges
                .iter()
                .filter(|range| range.start < range.end)
                .map(move |range| (range.clone(), holder))
        });
        let mut all: Vec<_> = all.collect();
        all.sort_by_key(|(range, holder)| (range.start, *holder));
        let mut end = 0;
        all.retain_mut(|(range, _)| {
            range.start = range.start.max(end);
            end = end.max(range.end);
            range.start < range.end
        });
        all
    }
}

/// What the linker wrote down for the runtime: where each module begins and ends. Ended by zero.
fn segments(target: &Target, memory: &dyn Memory, name: &str) -> Vec<Range<u64>> {
    let Some(table) = target.global(name) else { return Vec::new() };
    let words = (0..2 * MOST_SEGMENTS).map(|index| table.wrapping_add(index * WORD));
    let mut words = words.map_while(|at| memory.word(at));
    let pairs =
        std::iter::from_fn(|| Some(words.next().filter(|start| *start != 0)?..words.next()?));
    // Ends are those of what the segment's last symbol stands for: a word.
    pairs.map(|range| range.start..range.end.saturating_add(WORD)).collect()
}

/// What the kernel says of a process's memory at one moment.
pub struct Observed {
    mappings: Vec<Mapping>,
    pages: Option<Pages>,
    stack_length: u64,
}

impl Observed {
    /// Asks the kernel now: `folder` is the process's `/proc/PID`. What is read afterwards does not change it.
    ///
    /// # Errors
    /// If the kernel does not tell of its mappings.
    pub fn take(folder: &Path) -> io::Result<Observed> {
        Observed::with_pages(folder, |_| true)
    }

    /// With the pages of these mappings.
    fn with_pages(folder: &Path, is_wanted: impl Fn(&Mapping) -> bool) -> io::Result<Observed> {
        let mappings = smaps::parse(&fs::read_to_string(folder.join("smaps"))?);
        let wanted = mappings.iter().filter(|mapping| is_wanted(mapping));
        let file = File::open(folder.join("pagemap")).ok();
        let pages = file.map(|file| Pages::read(&file, wanted));
        let limits = fs::read_to_string(folder.join("limits")).unwrap_or_default();
        Ok(Observed { mappings, pages, stack_length: smaps::stack_length(&limits) })
    }

    /// The account, once it is known what is OCaml's.
    pub fn account(&self, known: &Known) -> Account {
        let holders = smaps::holders(&self.mappings, self.stack_length);
        let mut account = account(&self.mappings, &holders, known, self.pages.as_ref());
        let sum = |of: fn(&Mapping) -> u64| Some(self.mappings.iter().map(of).sum());
        account.resident = Some(account.lines.iter().map(|line| line.resident).sum());
        account.proportional = sum(|mapping| mapping.proportional);
        account.swapped = sum(|mapping| mapping.swapped);
        account
    }
}

/// The account of a process: `folder` is its `/proc/PID`. Of pages the kernel is asked only where a mapping is not all OCaml's or all
/// others'.
///
/// # Errors
/// If the kernel does not tell of its mappings.
pub fn of_process(folder: &Path, known: &Known) -> io::Result<Account> {
    let ranges = known.ranges();
    let is_split = |mapping: &Mapping| {
        let first = ranges.partition_point(|(range, _)| range.end <= mapping.range.start);
        let overlaps = |range: &Range<u64>| range.start < mapping.range.end;
        ranges.get(first).is_some_and(|(range, _)| overlaps(range) && *range != mapping.range)
    };
    Ok(Observed::with_pages(folder, is_split)?.account(known))
}

/// The account of memory of which only the mappings are known, as of a core file: nothing is said of what was
/// resident.
pub fn of_regions(regions: &[Region], known: &Known) -> Account {
    let mappings: Vec<Mapping> = regions.iter().map(Mapping::from).collect();
    account(&mappings, &smaps::holders(&mappings, smaps::USUAL_STACK), known, None)
}

/// Bytes of a process that are in physical memory, as `top` shows them. The kernel keeps this number less exactly
/// than the one in an [`Account`].
pub fn resident_bytes(folder: &Path) -> Option<u64> {
    let status = fs::read_to_string(folder.join("status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix("VmRSS:")).and_then(smaps::kilobytes)
}

fn account(
    mappings: &[Mapping],
    holders: &[Holder],
    known: &Known,
    pages: Option<&Pages>,
) -> Account {
    let mut account = Account::new();
    let known = known.ranges();
    let mut split_without_pages = 0;
    for (mapping, &holder) in mappings.iter().zip(holders) {
        let mut resident_left = mapping.resident;
        let mut mapped_left = mapping.range.end - mapping.range.start;
        let first = known.partition_point(|(range, _)| range.end <= mapping.range.start);
        for (range, holder) in known.get(first..).unwrap_or(&[]) {
            if range.start >= mapping.range.end {
                break;
            }
            let part = range.start.max(mapping.range.start)..range.end.min(mapping.range.end);
            let length = part.end - part.start;
            let resident = if resident_left == 0 {
                0
            } else if part == mapping.range {
                mapping.resident
            } else if let Some(resident) = pages.and_then(|pages| pages.resident(part)) {
                resident
            } else {
                split_without_pages += 1;
                length
            };
            let resident = resident.min(resident_left);
            account.add(*holder, length, mapping.is_reserved, resident);
            resident_left -= resident;
            mapped_left -= length;
        }
        account.add(holder, mapped_left, mapping.is_reserved, resident_left);
    }
    if split_without_pages > 0 {
        account.gaps.push(
            "the kernel does not say which pages are resident: where OCaml's memory shares a mapping with C's, \
             all of OCaml's is taken to be"
                .to_owned(),
        );
    }
    account
}

/// Which pages are resident, by `/proc/PID/pagemap`: 64 bits for each, of which the uppermost says so.
struct Pages {
    /// Addresses, and a bit for each page of them; in order.
    known: Vec<(Range<u64>, Vec<u64>)>,
}

impl Pages {
    const PAGE: u64 = 4096;
    const ENTRY: u64 = 8;
    /// Pages that are asked for at once.
    const AT_ONCE: u64 = 4096;
    /// Pages of all mappings; more are not looked at (a terabyte, which takes 32 MB).
    const MOST: u64 = 1 << 28;

    /// Asks for all pages of mappings that have some.
    fn read<'m>(file: &File, mappings: impl Iterator<Item = &'m Mapping>) -> Pages {
        let mut known = Vec::new();
        let mut left = Self::MOST;
        for mapping in mappings.filter(|mapping| mapping.resident > 0) {
            let pages = (mapping.range.end - mapping.range.start) / Self::PAGE;
            let Some(rest) = left.checked_sub(pages) else { continue };
            left = rest;
            if let Some(bits) = Self::bits(file, mapping.range.start / Self::PAGE, pages) {
                known.push((mapping.range.clone(), bits));
            }
        }
        Pages { known }
    }

    fn bits(file: &File, first: u64, pages: u64) -> Option<Vec<u64>> {
        let mut bits = vec![0; pages.div_ceil(64) as usize];
        let mut entries = vec![0; (Self::AT_ONCE * Self::ENTRY) as usize];
        for start in (0..pages).step_by(Self::AT_ONCE as usize) {
            let count = Self::AT_ONCE.min(pages - start);
            let entries = entries.get_mut(..(count * Self::ENTRY) as usize)?;
            file.read_exact_at(entries, (first + start) * Self::ENTRY).ok()?;
            for (page, entry) in (start..).zip(entries.as_chunks::<8>().0) {
                *bits.get_mut(page as usize / 64)? |=
                    (u64::from_le_bytes(*entry) >> 63) << (page % 64);
            }
        }
        Some(bits)
    }

    /// How many bytes of a range within one mapping are resident, if that is known.
    fn resident(&self, range: Range<u64>) -> Option<u64> {
        let after = self.known.partition_point(|(mapping, _)| mapping.start <= range.start);
        let (mapping, bits) = self.known.get(after.checked_sub(1)?)?;
        let is_resident = |page: u64| {
            bits.get(page as usize / 64).is_some_and(|word| word >> (page % 64) & 1 == 1)
        };
        let mut bytes = 0;
        let mut at = range.start;
        while at < range.end.min(mapping.end) {
            let page = (at - mapping.start) / Self::PAGE;
            let end = range.end.min(mapping.start + (page + 1) * Self::PAGE);
            bytes += if is_resident(page) { end - at } else { 0 };
            at = end;
        }
        (range.end <= mapping.end).then_some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_byte_is_counted_twice() {
        let known = Known {
            major: vec![10..20, 30..40],
            minor: vec![15..35, 50..50],
            data: vec![5..10, 60..70],
            code: vec![60..100, 64..65],
            fibers: vec![110..120, 130..130],
        };
        use Holder::*;
        let expected = [
            (5..10, StaticData),
            (10..20, MajorHeap),
            (20..35, MinorHeaps),
            (35..40, MajorHeap),
            (60..70, StaticData),
            (70..100, Code),
            (110..120, FiberStacks),
        ];
        assert_eq!(known.ranges(), expected);
    }
}
