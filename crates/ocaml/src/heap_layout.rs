//! Where the runtime keeps what a heap snapshot needs: its roots and its spaces.
//!
//! All numbers are 8-byte words from the beginning of a structure. They were taken from the sources of each
//! release: `domain_state.tbl`, `finalise.c`, `memprof.c`, `st_stubs.c`, `major_gc.h`, `fiber.h`,
//! `globroots.c`.

use crate::domain_state::Release;

/// The layouts of one runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeapLayout {
    /// Words of the domain state.
    pub state: StateLayout,
    /// Words of a thread of the systhreads library.
    pub thread: ThreadLayout,
    /// The sampler's entries; None in runtimes without a sampler.
    pub memprof: Option<MemprofLayout>,
    /// OCaml 4: the length of the head of a chunk of the major heap, in words.
    pub chunk_head: usize,
    /// OCaml 5: whether static arrays with one element per domain contain these elements themselves (until 5.2,
    /// which allows at most 128 domains) or a pointer to them.
    pub holds_domains_in_place: bool,
}

/// Words of the domain state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StateLayout {
    /// `young_ptr`: where the used part of the minor heap begins.
    pub young_pointer: usize,
    /// `young_start`.
    pub young_start: usize,
    /// `young_end`.
    pub young_end: usize,
    /// `stack_cache`: fiber stacks kept for reuse (OCaml 5).
    pub stack_cache: Option<usize>,
    /// `gc_regs`: registers saved when the collector was called.
    pub registers: usize,
    /// `local_roots`: the chain of CAMLparam and CAMLlocal.
    pub local_roots: usize,
    /// `stack_high`: the end of the interpreter's stack (OCaml 4).
    pub stack_high: Option<usize>,
    /// `backtrace_last_exn`.
    pub last_exception: usize,
    /// `final_info` (OCaml 5).
    pub finalisers: Option<usize>,
    /// `ephe_info` (OCaml 5).
    pub ephemerons: Option<usize>,
    /// `memprof` (OCaml 5).
    pub memprof: Option<usize>,
    /// `dls_root`: the contents of Domain.DLS (OCaml 5).
    pub domain_local: Option<usize>,
}

/// Words of a thread of the systhreads library, `struct caml_thread_struct`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadLayout {
    /// `next`, in a circular list. `descr` is word 0.
    pub next: usize,
    /// `bottom_of_stack` of native code in OCaml 4, `current_stack` in OCaml 5.
    pub stack: usize,
    /// `last_retaddr` of native code in OCaml 4.
    pub return_address: Option<usize>,
    /// `gc_regs`, in native code.
    pub registers: usize,
    /// `stack_high` of bytecode in OCaml 4.
    pub interpreter_stack_high: Option<usize>,
    /// `sp` of bytecode in OCaml 4.
    pub interpreter_stack: Option<usize>,
    /// `local_roots`.
    pub local_roots: usize,
    /// `backtrace_last_exn`.
    pub last_exception: usize,
    /// `memprof_ctx`, if it is a pointer.
    pub memprof: Option<usize>,
    /// `domain_id`, a C int (OCaml 5).
    pub domain: Option<usize>,
    /// The number of words per domain in `thread_table` (OCaml 5).
    pub table_stride: Option<usize>,
}

/// The sampler's entries. The sampled block is word 0 of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemprofLayout {
    /// Size of an entry in words.
    pub entry: usize,
    /// `n_samples`.
    pub samples: usize,
    /// `user_data`.
    pub user_data: usize,
    /// The word with flags.
    pub flags: usize,
    /// The bit that says that the block is dead.
    pub is_deallocated: u64,
    /// The bit that says that the entry is deleted.
    pub is_deleted: u64,
    /// The bit that says that the block does not exist yet and its word is not an address (OCaml 5).
    pub is_offset: u64,
    /// The number of entries: a word of a table of entries, whose first word points to them.
    pub table_length: usize,
    /// The beginning of a thread's own table in the thread's structure.
    pub thread_table: usize,
    /// OCaml 5: what the sampler keeps for a domain.
    pub domain: Option<MemprofDomain>,
}

/// What the sampler keeps for a domain of OCaml 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemprofDomain {
    /// The domain's own table of entries.
    pub table: usize,
    /// The configuration, within a table.
    pub configuration: usize,
    /// The linked list of tables of ended profiles.
    pub orphans: usize,
    /// The link to the next one, in such a table.
    pub next_orphan: usize,
    /// The linked list of threads.
    pub threads: usize,
    /// The link to the next one, in a thread.
    pub next_thread: usize,
}

/// The configuration of an OCaml 5 sampler: fields of a block. Domains may share one.
pub mod configuration {
    use crate::value::{UNIT, integer};

    /// No configuration.
    pub const NONE: usize = UNIT;
    /// Whether it is sampling, stopped, or discarded.
    pub const STATUS: usize = 0;
    /// The status of one that is sampling.
    pub const SAMPLING: usize = integer(0);
    /// The status of one that was discarded.
    pub const DISCARDED: usize = integer(2);
    /// A float: `1 / log(1 - rate)`.
    pub const INVERSE: usize = 2;
    /// The first callback.
    pub const FIRST_CALLBACK: usize = 4;
    /// The last callback.
    pub const LAST_CALLBACK: usize = 8;
}

/// Finalisers have the same structure everywhere: `{table, old, young, size}`, with `{function, value, offset}`
/// in a table.
pub mod finaliser {
    /// The table, in `struct finalisable`.
    pub const TABLE: usize = 0;
    /// `young`: the number of entries.
    pub const COUNT: usize = 2;
    /// Size of an entry in words.
    pub const ENTRY: usize = 3;
    /// The value, in an entry; the function is word 0.
    pub const VALUE: usize = 1;
    /// The first entry in `struct to_do`: after the link and the count.
    pub const DUE_ENTRIES: usize = 2;
    /// The number of entries in `struct to_do`; a C int.
    pub const DUE_COUNT: usize = 1;
    /// OCaml 5, words of `struct caml_final_info`: finalisers of Gc.finalise.
    pub const FIRST: usize = 0;
    /// Finalisers of Gc.finalise_last.
    pub const LAST: usize = 5;
    /// Finalisers to be called next.
    pub const DUE: usize = 10;
    /// The next such structure, of domains that have ended.
    pub const NEXT: usize = 13;
}

/// Skip lists of C roots: the head's first word is the first cell; word 0 of a cell is the address of a root.
pub mod skip_list {
    /// The link to the next cell, in a cell.
    pub const NEXT: usize = 2;
}

/// The blocks made by CAMLparam.
pub mod local_roots {
    /// The number of tables.
    pub const TABLES: usize = 1;
    /// The number of items in each.
    pub const ITEMS: usize = 2;
    /// The first of the tables' addresses. Word 0 links to the next block.
    pub const FIRST_TABLE: usize = 3;
    /// The maximum number of tables in a block.
    pub const MOST_TABLES: u64 = 5;
}

/// OCaml 4: the link from the end of a stack chunk, below which C called OCaml, to the chunk from which OCaml
/// called that C code.
pub mod callback_link {
    /// Its byte offset from the end of the chunk: after an exception handler.
    pub const OFFSET: u64 = 16;
}

/// Fibers of OCaml 5.
pub mod fiber {
    /// The stack pointer, in `struct stack_info`.
    pub const STACK_POINTER: usize = 0;
    /// `exception_ptr`, which links a fiber in the cache to the next one.
    pub const NEXT_CACHED: usize = 1;
    /// The handler, which is also the stack's upper end.
    pub const HANDLER: usize = 2;
    /// Words of `struct stack_handler`, which ends a fiber's memory. That memory is contiguous and begins with
    /// `struct stack_info`.
    pub const HANDLER_WORDS: usize = 4;
    /// The number of lists in `stack_cache`, one for each size of stack.
    pub const CACHE_LISTS: usize = 5;
    /// In the handler: the closures that handle a value, an exception, an effect.
    pub const HANDLES: [usize; 3] = [0, 1, 2];
    /// In the handler: the parent fiber.
    pub const PARENT: usize = 3;
    /// Where the registers of the chunk above are saved, in bytes from the end of a stack chunk.
    pub const SAVED_REGISTERS: u64 = 24;
    /// The number of bytes to skip at the end of a chunk.
    pub const PIECE_HEADER: u64 = 32;
}

/// OCaml 4: words of the head of a heap chunk, counted back from `chunk_head`.
pub mod chunk {
    /// The chunk's size in bytes.
    pub const SIZE: usize = 2;
    /// The next chunk.
    pub const NEXT: usize = 3;
}

const STATE_4_13: StateLayout = StateLayout {
    young_pointer: 1,
    young_start: 4,
    young_end: 5,
    stack_cache: None,
    registers: 28,
    local_roots: 36,
    stack_high: Some(18),
    last_exception: 32,
    finalisers: None,
    ephemerons: None,
    memprof: None,
    domain_local: None,
};

const THREAD_4: ThreadLayout = ThreadLayout {
    next: 1,
    stack: 4,
    return_address: Some(5),
    registers: 6,
    interpreter_stack_high: Some(4),
    interpreter_stack: Some(6),
    local_roots: 8,
    last_exception: 12,
    memprof: Some(13),
    domain: None,
    table_stride: None,
};

const MEMPROF_4_12: MemprofLayout = MemprofLayout {
    entry: 6,
    samples: 1,
    user_data: 3,
    flags: 5,
    is_deallocated: 1 << 4,
    is_deleted: 1 << 7,
    is_offset: 0,
    table_length: 3,
    thread_table: 2,
    domain: None,
};

/// OCaml 4.11. Its chunks have no redarkening marks, and its domain state has no mark stack.
pub(crate) const HEAP_4_11: HeapLayout = HeapLayout {
    state: StateLayout {
        young_pointer: 0,
        registers: 27,
        local_roots: 35,
        stack_high: Some(17),
        last_exception: 31,
        ..STATE_4_13
    },
    thread: ThreadLayout { memprof: None, ..THREAD_4 },
    memprof: Some(MemprofLayout {
        flags: 4,
        is_deallocated: 1 << 3,
        is_deleted: 1 << 7,
        table_length: 2,
        ..MEMPROF_4_12
    }),
    chunk_head: 4,
    holds_domains_in_place: false,
};

/// OCaml 4.12.
pub(crate) const HEAP_4_12: HeapLayout =
    HeapLayout { state: StateLayout { young_pointer: 0, ..STATE_4_13 }, ..HEAP_4_13 };

/// OCaml 4.13.
pub(crate) const HEAP_4_13: HeapLayout = HeapLayout {
    state: STATE_4_13,
    thread: THREAD_4,
    memprof: Some(MEMPROF_4_12),
    chunk_head: 6,
    holds_domains_in_place: false,
};

/// OCaml 4.14.
pub(crate) const HEAP_4_14: HeapLayout = HeapLayout { chunk_head: 7, ..HEAP_4_13 };

const STATE_5_3: StateLayout = StateLayout {
    young_pointer: 1,
    young_start: 2,
    young_end: 3,
    stack_cache: Some(9),
    registers: 11,
    local_roots: 20,
    stack_high: None,
    last_exception: 26,
    finalisers: Some(22),
    ephemerons: Some(21),
    memprof: Some(58),
    domain_local: Some(38),
};

/// A release of OCaml 5.
pub(crate) const fn heap_5(release: Release) -> HeapLayout {
    let state = STATE_5_3;
    let state = StateLayout {
        stack_cache: release.maybe(state.stack_cache),
        registers: release.word(state.registers),
        local_roots: release.word(state.local_roots),
        last_exception: release.word(state.last_exception),
        finalisers: release.maybe(state.finalisers),
        ephemerons: release.maybe(state.ephemerons),
        memprof: if release.has_sampler() { release.maybe(state.memprof) } else { None },
        domain_local: release.maybe(state.domain_local),
        ..state
    };
    let is_old = (release as u8) < Release::V5_3 as u8;
    let thread = ThreadLayout {
        // 5.3 added `tick_thread_stop`.
        table_stride: Some(if is_old { 17 } else { 18 }),
        ..THREAD_5
    };
    HeapLayout {
        state,
        thread,
        memprof: if release.has_sampler() { Some(MEMPROF_5_3) } else { None },
        chunk_head: 0,
        holds_domains_in_place: is_old,
    }
}

const THREAD_5: ThreadLayout = ThreadLayout {
    next: 1,
    stack: 4,
    return_address: None,
    registers: 10,
    interpreter_stack_high: None,
    interpreter_stack: None,
    local_roots: 6,
    last_exception: 9,
    memprof: None,
    domain: Some(3),
    table_stride: None,
};

const MEMPROF_5_3: MemprofLayout = MemprofLayout {
    entry: 6,
    samples: 2,
    user_data: 1,
    flags: 5,
    is_offset: 1 << 2,
    is_deallocated: 1 << 5,
    is_deleted: 1 << 6,
    table_length: 3,
    thread_table: 3,
    domain: Some(MemprofDomain {
        table: 1,
        configuration: 7,
        orphans: 9,
        next_orphan: 8,
        threads: 11,
        next_thread: 12,
    }),
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Counted in `domain_state.tbl` and `st_stubs.c` of each release.
    #[test]
    fn early_releases_of_ocaml_5_have_their_own_words() {
        let of = |release| {
            let HeapLayout { state, thread, .. } = heap_5(release);
            let some = [state.stack_cache, state.finalisers, state.ephemerons, state.domain_local];
            let [cache, finalisers, ephemerons, local] = some.map(Option::unwrap_or_default);
            let words = [cache, state.registers, state.local_roots, ephemerons, finalisers];
            (words, state.last_exception, local, thread.table_stride)
        };
        assert_eq!(of(Release::V5_0), ([8, 10, 20, 21, 22], 26, 40, Some(17)));
        assert_eq!(of(Release::V5_1), ([9, 11, 19, 20, 21], 25, 37, Some(17)));
        assert_eq!(of(Release::V5_2), of(Release::V5_1));
        assert_eq!(of(Release::V5_3), ([9, 11, 20, 21, 22], 26, 38, Some(18)));
        for release in [Release::V5_0, Release::V5_1, Release::V5_2] {
            let heap = heap_5(release);
            assert!(heap.holds_domains_in_place && heap.memprof.is_none(), "{release:?}");
            assert_eq!(heap.state.memprof, None, "{release:?}");
        }
    }
}
