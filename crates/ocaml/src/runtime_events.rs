//! The events that OCaml 5 writes to the ring buffers of its runtime_events: one table, keyed by version.
//!
//! Each release has inserted phases and counters between the old ones without changing the version number in
//! the file's header, so the numbers mean nothing without the version of OCaml. Taken from `runtime_events.h`
//! of the release; names are those of OCaml's module Runtime_events.

use crate::version::Version;

/// The meaning of the numbers in a ring buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventTable {
    /// The first and the last version of OCaml with these numbers.
    pub versions: (Version, Version),
    /// Names of phases, by number.
    pub phases: &'static [&'static str],
    /// Phases that begin when the program is stopped for the collector. All other phases are nested in these,
    /// or stop nothing.
    pub stops: &'static [&'static str],
    /// Names of counters, by number.
    pub counters: &'static [&'static str],
}

/// Types of events, the same in all versions.
pub mod kind {
    /// Something happened to a ring buffer or a domain.
    pub const LIFECYCLE: u64 = 1;
    /// A phase begins.
    pub const BEGIN: u64 = 2;
    /// A phase ends.
    pub const END: u64 = 3;
    /// The value of a counter.
    pub const COUNTER: u64 = 4;
}

/// Life-cycle events of ring buffers and domains, the same in all versions.
pub mod lifecycle {
    /// A domain began.
    pub const DOMAIN_SPAWN: u64 = 6;
    /// A domain ended.
    pub const DOMAIN_TERMINATE: u64 = 7;
}

/// Phases of the newest release.
const PHASES: &[&str] = &[
    "explicit_gc_set",
    "explicit_gc_stat",
    "explicit_gc_minor",
    "explicit_gc_major",
    "explicit_gc_full_major",
    "explicit_gc_compact",
    "major",
    "major_sweep",
    "major_mark_roots",
    "major_memprof_roots",
    "major_mark",
    "minor",
    "minor_local_roots",
    "minor_memprof_roots",
    "minor_memprof_clean",
    "minor_finalized",
    "explicit_gc_major_slice",
    "finalise_update_first",
    "finalise_update_last",
    "interrupt_remote",
    "major_ephe_mark",
    "major_ephe_sweep",
    "major_finish_marking",
    "major_gc_cycle_domains",
    "major_gc_phase_change",
    "major_gc_stw",
    "major_mark_opportunistic",
    "major_slice",
    "major_finish_cycle",
    "minor_clear",
    "minor_finalizers_oldify",
    "minor_global_roots",
    "minor_leave_barrier",
    "stw_api_barrier",
    "stw_handler",
    "stw_leader",
    "major_finish_sweeping",
    "major_memprof_clean",
    "minor_finalizers_admin",
    "minor_remembered_set",
    "minor_remembered_set_promote",
    "minor_local_roots_promote",
    "domain_condition_wait",
    "domain_resize_heap_reservation",
    "compact",
    "compact_evacuate",
    "compact_forward",
    "compact_release",
    // Since 5.4.
    "empty_minor",
    "minor_ephe_clean",
];

/// See [`EventTable::stops`].
const STOPS: &[&str] = &[
    "empty_minor",
    "explicit_gc_set",
    "explicit_gc_stat",
    "explicit_gc_minor",
    "explicit_gc_major",
    "explicit_gc_full_major",
    "explicit_gc_compact",
    "explicit_gc_major_slice",
    "major",
    "major_slice",
    "major_gc_cycle_domains",
    "major_gc_phase_change",
    "major_gc_stw",
    "major_finish_cycle",
    "minor",
    "interrupt_remote",
    "stw_handler",
    "stw_leader",
    "compact",
];

/// Counters of the newest release.
const COUNTERS: &[&str] = &[
    "force_minor_alloc_small",
    "force_minor_make_vect",
    "force_minor_set_minor_heap_size",
    "force_minor_memprof",
    "minor_promoted",
    "minor_allocated",
    "request_major_alloc_shr",
    "request_major_adjust_gc_speed",
    "request_minor_realloc_ref_table",
    "request_minor_realloc_ephe_ref_table",
    "request_minor_realloc_custom_table",
    "major_heap_pool_words",
    "major_heap_pool_live_words",
    "major_heap_large_words",
    "major_heap_pool_frag_words",
    "major_heap_pool_live_blocks",
    "major_heap_large_blocks",
    "major_heap_words",
    "major_allocated_words",
    "major_allocated_work",
    "major_dependent_work",
    "major_extra_work",
    "major_work_counter",
    "major_alloc_counter",
    "major_slice_target",
    "major_slice_budget",
    // Since 5.5.
    "minor_allocated_words",
    "minor_promoted_words",
];

/// Phases of 5.2, which has no sampler.
const PHASES_5_2: [&str; 44] = {
    let mut phases = [""; 44];
    let (mut of_5_3, mut at) = (0, 0);
    while at < phases.len() {
        // major_memprof_roots, minor_memprof_roots, minor_memprof_clean, major_memprof_clean.
        if !matches!(of_5_3, 9 | 13 | 14 | 37) {
            phases[at] = PHASES[of_5_3];
            at += 1;
        }
        of_5_3 += 1;
    }
    phases
};

/// The table of one release: the first `counted` phases and the first `counters` counters of a list. The
/// releases since 5.3, and those up to 5.2, each added theirs at the end.
const fn table(
    minor: u8,
    phases: &'static [&'static str],
    counted: usize,
    counters: usize,
) -> EventTable {
    let version = Version::new(5, minor);
    EventTable {
        versions: (version, version),
        phases: phases.split_at(counted).0,
        stops: STOPS,
        counters: COUNTERS.split_at(counters).0,
    }
}

static TABLES: [EventTable; 6] = [
    table(0, &PHASES_5_2, 40, 11),
    table(1, &PHASES_5_2, 40, 17),
    table(2, &PHASES_5_2, 44, 17),
    table(3, PHASES, 48, 26),
    table(4, PHASES, 50, 26),
    table(5, PHASES, 50, 28),
];

impl EventTable {
    /// The table of a version; None if it is unknown, or has no such ring buffers.
    pub fn of(version: Version) -> Option<&'static EventTable> {
        TABLES.iter().find(|table| (table.versions.0..=table.versions.1).contains(&version))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_numbers_are_known_by_version() {
        for (major, minor, known) in [(4, 14, false), (5, 0, true), (5, 3, true), (5, 6, false)] {
            assert_eq!(EventTable::of(Version::new(major, minor)).is_some(), known);
        }
    }

    /// Counted in the header of the newest release.
    #[test]
    fn event_tables_are_complete() {
        assert_eq!((PHASES.len(), COUNTERS.len()), (50, 28));
        assert_eq!((PHASES[34], PHASES[47]), ("stw_handler", "compact_release"));
        assert_eq!(COUNTERS[25], "major_slice_budget");
        assert!(STOPS.iter().all(|name| PHASES.contains(name)));
    }

    /// Counted in the headers of these releases.
    #[test]
    fn early_releases_have_no_phases_of_a_sampler() {
        let last = |minor| {
            let table = EventTable::of(Version::new(5, minor)).expect("it is known");
            assert!(!table.phases.iter().any(|name| name.contains("memprof")), "5.{minor}");
            assert_eq!(table.phases.iter().position(|name| *name == "stw_leader"), Some(32));
            (table.phases.last().copied(), table.counters.last().copied())
        };
        let resize = Some("domain_resize_heap_reservation");
        assert_eq!(last(0), (resize, Some("request_minor_realloc_custom_table")));
        assert_eq!(last(1), (resize, Some("major_heap_large_blocks")));
        assert_eq!(last(2), (Some("compact_release"), Some("major_heap_large_blocks")));
    }
}
