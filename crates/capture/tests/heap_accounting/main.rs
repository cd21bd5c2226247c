//! What we count from outside is what programs count themselves, and our names are theirs.

mod code_names;
mod custom_blocks;
mod programs;

use std::fs;
use std::path::PathBuf;

use bactrian_capture::heap::process_memory::{self, Holder, Known, Observed};
use bactrian_capture::heap::{spaces, statistics};
use bactrian_capture::memory::Memory;
use bactrian_fixtures::{BOTH, Compiler, Variant, program, stripped};
use bactrian_ocaml::accounting::name;
use programs::Waiting;

fn count(program: &Waiting) -> spaces::HeapUse {
    spaces::measure(&program.target, &program.memory, &program.domains())
}

#[test]
fn chunks_are_what_gc_stat_says() {
    for moment in ["collected", "sweeping"] {
        let program =
            Waiting::start(&program("heap_numbers", Compiler::OCaml4, Variant::Plain), &[moment]);
        let found = count(&program);
        let said = |name| program.said(name);
        assert_eq!(found.gaps, [""; 0]);
        assert_eq!((found.words, found.parts), (said("heap_words"), said("heap_chunks")));
        assert_eq!(found.live.words, said("live_words"));
        assert_eq!(found.live.blocks, said("live_blocks"));
        // Gc.stat counts blocks that are known to be dead as free.
        assert_eq!(found.free.words + found.dead.words, said("free_words"));
        assert_eq!(found.free.blocks + found.dead.blocks, said("free_blocks"));
        assert_eq!(found.fragments, said("fragments"));
        assert_eq!(found.unknown, 0);
        let sum = found.live.words + found.dead.words + found.free.words + found.fragments;
        assert_eq!(sum, found.words);
        assert_eq!(by_size(&found), (found.live.words + found.dead.words, found.free.words));
        // OCaml 4.11 has other slices, and does not get into that state.
        let is_there = moment == "sweeping" && Compiler::OCaml4.version() >= (4, 12);
        assert_eq!(found.dead.blocks > 0, is_there, "the moment is the one that is meant");
        if moment == "collected" {
            assert_eq!(found.largest_free, said("largest_free"));
        }
    }
}

/// Used and free words, summed over the sizes.
fn by_size(found: &spaces::HeapUse) -> (u64, u64) {
    for (most, size) in &found.sizes {
        for tally in [size.used, size.free] {
            assert!(tally.words <= tally.blocks * most, "{most}: {size:?}");
        }
    }
    let sizes = found.sizes.values();
    (sizes.clone().map(|of| of.used.words).sum(), sizes.map(|of| of.free.words).sum())
}

#[test]
fn pools_are_what_gc_stat_says() {
    let program = program("heap_numbers", Compiler::OCaml5, Variant::Plain);
    let with_and_without_names = [program.clone(), stripped(&program)];
    for (moment, program) in ["collected", "sweeping"].into_iter().zip(with_and_without_names) {
        let program = Waiting::start(&program, &[moment]);
        let found = count(&program);
        let said = |name| program.said(name);
        assert_eq!(found.gaps, [""; 0]);
        assert_eq!(found.words, said("heap_words"));
        // Gc.stat counts as live what is not swept yet, and the descriptors of large blocks.
        let large_heads = 2 * found.large.blocks;
        assert_eq!(found.live.words + found.dead.words + large_heads, said("live_words"));
        assert_eq!(found.live.blocks + found.dead.blocks, said("live_blocks"));
        assert_eq!(found.free.words, said("free_words"));
        assert_eq!(found.fragments - large_heads, said("fragments"));
        let sum = found.live.words + found.dead.words + found.free.words + found.fragments;
        assert_eq!((found.unknown, sum), (0, found.words));
        let in_slots = found.live.words + found.dead.words - found.large.words;
        assert_eq!(by_size(&found), (in_slots, found.free.words));
        assert!(found.large.blocks > 100);
        assert_eq!(
            found.dead.blocks > 0,
            moment == "sweeping",
            "the moment is the one that is meant"
        );
    }
}

#[test]
fn statistics_are_what_gc_says() {
    for compiler in BOTH {
        let program =
            Waiting::start(&program("heap_numbers", compiler, Variant::Plain), &["collected"]);
        let found = statistics::read(&program.target, &program.memory, &program.domains());
        assert_eq!(found.gaps, [""; 0]);
        let number = |name: &str| found.get(name).expect(name).whole();
        for name in [
            name::PROMOTED_WORDS,
            name::MAJOR_WORDS,
            "minor_collections",
            "major_collections",
            "compactions",
            "forced_major_collections",
            "heap_words",
            "top_heap_words",
            "minor_heap_size",
            "space_overhead",
            "custom_major_ratio",
            "custom_minor_ratio",
            "custom_minor_max_size",
        ]
        .into_iter()
        .filter(|name| compiler.version() >= (4, 12) || *name != "forced_major_collections")
        {
            assert_eq!(number(name), program.said(name), "{compiler:?}: {name}");
        }
        // Printing allocates.
        let printed = number(name::MINOR_WORDS) - program.said(name::MINOR_WORDS);
        assert!(printed < 5_000, "{compiler:?}: {printed}");
        if compiler == Compiler::OCaml4 {
            assert_eq!(number("heap_chunks"), program.said("heap_chunks"));
            assert_eq!(number("free_list_words"), program.said("free_words"));
        } else {
            assert_eq!(number("domains"), 1);
        }
    }
}

#[test]
fn every_resident_byte_is_in_one_line() {
    for compiler in BOTH {
        let program = program("heap_bigarrays", compiler, Variant::Plain);
        let program = Waiting::start(&program, &[]);
        let folder = PathBuf::from(format!("/proc/{}", program.pid()));
        // Taken before anything is read, since reading touches pages.
        let observed = Observed::take(&folder).expect("its mappings");
        let smaps = fs::read_to_string(folder.join("smaps")).expect("its mappings");
        let domains = program.domains();
        let heap = count(&program);
        let known = Known::find(&program.target, &program.memory, &heap, &domains);
        let account = observed.account(&known);
        assert_eq!(account.gaps, [""; 0]);

        let kernel = smaps.lines().filter_map(|line| line.strip_prefix("Rss:"));
        let kernel = kernel
            .map(|line| line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number"));
        let kernel = kernel.sum::<u64>() << 10;
        let lines = account.lines.iter().map(|line| line.resident).sum::<u64>();
        assert_eq!((account.resident, lines), (Some(kernel), kernel));
        for line in &account.lines {
            assert!(line.resident + line.reserved <= line.mapped, "{line:?}");
        }

        let heap_line = account.line(Holder::MajorHeap);
        assert_eq!(heap_line.mapped, (heap.words + heap.idle) * 8);
        assert!(heap_line.resident >= heap.live.words * 8, "live blocks were written");
        let minor = account.line(Holder::MinorHeaps);
        assert_eq!(minor.mapped - minor.reserved, 256 * 1024 * 8, "{minor:?}");
        for holder in
            [Holder::StaticData, Holder::Code, Holder::Objects, Holder::Stacks, Holder::CHeap]
        {
            assert!(account.line(holder).resident > 0, "{holder:?}");
        }
        let told = process_memory::resident_bytes(&folder).expect("its status");
        assert!(told.abs_diff(kernel) < 1 << 20, "{told} is what top shows, {kernel} what is so");

        let blind = process_memory::of_regions(program.memory.regions(), &known);
        assert_eq!(blind.resident, None);
        assert_eq!(blind.line(Holder::MajorHeap).mapped, heap_line.mapped);
    }
}

/// Running domains, and one that has ended and left its heap behind.
#[test]
fn heaps_of_all_domains_are_counted_whether_they_run_or_not() {
    let program = program("heap_domains", Compiler::OCaml5, Variant::Plain);
    for program in [program.clone(), stripped(&program)] {
        let program = Waiting::start(&program, &[]);
        let domains = program.domains();
        assert_eq!(domains.len(), 4);
        let found = count(&program);
        let numbers = statistics::read(&program.target, &program.memory, &domains);
        assert_eq!((found.gaps, numbers.gaps.clone()), (vec![], vec![]));
        let number = |name: &str| numbers.get(name).expect(name).whole();
        assert_eq!(number("domains"), 4);
        // The runtime's own count, which it maintains when it allocates and sweeps.
        assert_eq!(found.words, number("heap_words"));
        assert_eq!(
            found.live.words + found.dead.words - found.large.words,
            number("pool_live_words")
        );
        let blocks = number("pool_live_blocks") + number("large_blocks");
        assert_eq!(found.live.blocks + found.dead.blocks, blocks);
        assert_eq!(found.large.words + 2 * found.large.blocks, number("large_words"));
        assert_eq!(found.fragments - 2 * found.large.blocks, number("pool_fragment_words"));
        // The numbers of each domain follow.
        let own: u64 = (0..4).map(|id| number(&format!("domain {id}: pool_words"))).sum();
        assert!(own > 0 && own <= number("pool_words"));
    }
}
