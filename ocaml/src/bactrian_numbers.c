/* Observers of the runtime's own numbers, which are shown for every program. None of them needs a walk through the
   heap. */

#include "bactrian_runtime.h"
#if OCAML_VERSION < 50000
#include <caml/freelist.h>
#endif

enum { HEAP, LIVE, ALLOCATED, PROMOTED, MINOR, MAJOR, COMPACTIONS, NUMBERS };

static const struct {
    const char *name;
    int kind, unit;
} numbers[NUMBERS] = {
    [HEAP] = { "runtime.heap", BACTRIAN_GAUGE, 1 },
    [LIVE] = { "runtime.live", BACTRIAN_GAUGE, 1 },
    [ALLOCATED] = { "runtime.allocated", BACTRIAN_COUNTER, 1 },
    [PROMOTED] = { "runtime.promoted", BACTRIAN_COUNTER, 1 },
    [MINOR] = { "runtime.minor_collections", BACTRIAN_COUNTER, 0 },
    [MAJOR] = { "runtime.major_collections", BACTRIAN_COUNTER, 0 },
    [COMPACTIONS] = { "runtime.compactions", BACTRIAN_COUNTER, 0 },
};

static uint32_t ids[NUMBERS];

void bactrian_declare_numbers(void)
{
    for (int which = 0; which < NUMBERS; which++) {
        const char *name = numbers[which].name;

        ids[which] = bactrian_observe_asked_of_runtime(numbers[which].kind, name, numbers[which].unit);
    }
}

#if OCAML_VERSION >= 50000

static int64_t number(int which)
{
    struct gc_stats stats;

    switch (which) {
    case MINOR: return atomic_load_explicit(&caml_minor_collections_count, memory_order_relaxed);
    case MAJOR: return collections_so_far();
    case COMPACTIONS: return compactions_so_far();
    }
    caml_compute_gc_stats(&stats);
    switch (which) {
    case HEAP: return (stats.heap_stats.pool_words + stats.heap_stats.large_words) * sizeof(value);
    case LIVE: return (stats.heap_stats.pool_live_words + stats.heap_stats.large_words) * sizeof(value);
    case PROMOTED: return stats.alloc_stats.promoted_words * sizeof(value);
    default:
        return (stats.alloc_stats.minor_words + stats.alloc_stats.major_words - stats.alloc_stats.promoted_words) *
               sizeof(value);
    }
}

#else

static int64_t number(int which)
{
    double minor = Caml_state->stat_minor_words + (double)(Caml_state->young_alloc_end - Caml_state->young_ptr);

    switch (which) {
    case HEAP: return Caml_state->stat_heap_wsz * sizeof(value);
    case LIVE: return (Caml_state->stat_heap_wsz - caml_fl_cur_wsz) * sizeof(value);
    case PROMOTED: return Caml_state->stat_promoted_words * sizeof(value);
    case MINOR: return Caml_state->stat_minor_collections;
    case MAJOR: return collections_so_far();
    case COMPACTIONS: return compactions_so_far();
    default:
        return (minor + Caml_state->stat_major_words + (double)caml_allocated_words - Caml_state->stat_promoted_words) *
               sizeof(value);
    }
}

#endif

int bactrian_say_number(uint32_t id)
{
    for (int which = 0; which < NUMBERS; which++)
        if (ids[which] == id) {
            bactrian_observe_int(id, number(which));
            return 1;
        }
    return 0;
}
