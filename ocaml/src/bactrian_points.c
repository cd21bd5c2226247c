/* Counters and stopwatches: memory outside OCaml's heap that the program writes and the server's thread reads.

   To OCaml a counter looks like a record { mutable count : int; id : int; mutable is_shared : bool }. As long as
   there is one domain, OCaml increments the count without calling a function. When there are several, each domain
   counts in an array of its own. */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bactrian_runtime.h"

#define LINE 64
/* Counters and domains beyond these limits share their memory. */
#define COUNTERS 65536
#define DOMAINS 128

struct counter {
    header_t header;
    volatile value count; /* counted by a single domain, as long as it was the only one */
    value id;
    volatile value is_shared;
    /* OCaml does not know what follows. */
    uintnat number;
    struct counter *older;
    char rest_of_line[LINE - 6 * sizeof(value)];
};

static uintnat counters;
static struct counter *newest;
static int are_shared;
static uint64_t *of_domain[DOMAINS];

static uint64_t count_of(const void *cell)
{
    const struct counter *counter = cell;
    uint64_t count = (uintnat)counter->count >> 1;

    if (counter->number < COUNTERS)
        for (int domain = 0; domain < DOMAINS; domain++) {
            uint64_t *counts = __atomic_load_n(&of_domain[domain], __ATOMIC_ACQUIRE);

            if (counts != NULL)
                count += __atomic_load_n(&counts[counter->number], __ATOMIC_RELAXED);
        }
    return count;
}

/* Makes a counter, which is never freed. */
value bactrian_counter(value kind, value name, value labels, value unit)
{
    struct counter *counter;
    struct bactrian_name description;
    struct bactrian_text parts[MOST_PARTS];

    if (posix_memalign((void **)&counter, LINE, sizeof *counter) != 0)
        caml_raise_out_of_memory();
    counter->header = Caml_out_of_heap_header(3, 0);
    counter->count = Val_long(0);
    counter->id = Val_long(0);
    counter->is_shared = Val_bool(are_shared);
    counter->number = __atomic_fetch_add(&counters, 1, __ATOMIC_RELAXED);
    counter->older = __atomic_load_n(&newest, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&newest, &counter->older, counter, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
        ;
    if (!bactrian_is_child) {
        bactrian_describe(&description, parts, name, labels, Int_val(unit), 0);
        counter->id = Val_long(bactrian_observe_count(Int_val(kind), &description, count_of, counter));
    }
    return (value)&counter->count;
}

#if OCAML_VERSION >= 50000
static uint64_t *counts_of_this_domain(int domain)
{
    uint64_t *counts = __atomic_load_n(&of_domain[domain], __ATOMIC_ACQUIRE);
    uint64_t *nobodys = NULL;

    if (counts != NULL)
        return counts;
    counts = mmap(NULL, COUNTERS * sizeof *counts, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                  -1, 0);
    if (counts == MAP_FAILED)
        return NULL;
    if (__atomic_compare_exchange_n(&of_domain[domain], &nobodys, counts, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return counts;
    munmap(counts, COUNTERS * sizeof *counts);
    return nobodys;
}
#endif

/* Called before there are several domains. */
value bactrian_share_counters(value unit)
{
    are_shared = 1;
    for (struct counter *counter = newest; counter != NULL; counter = counter->older)
        counter->is_shared = Val_true;
    return Val_unit;
}

/* Counts if there are several domains. */
value bactrian_counter_add(value cell, value more)
{
    struct counter *counter = (struct counter *)((header_t *)cell - 1);
#if OCAML_VERSION >= 50000
    int domain = Caml_state->id;

    if (domain < DOMAINS && counter->number < COUNTERS) {
        uint64_t *counts = counts_of_this_domain(domain);

        if (counts != NULL) {
            counts += counter->number;
            /* No other thread writes there. */
            __atomic_store_n(counts, *counts + Long_val(more), __ATOMIC_RELAXED);
            return Val_unit;
        }
    }
#endif
    __atomic_fetch_add(&counter->count, more - 1, __ATOMIC_RELAXED);
    return Val_unit;
}

value bactrian_counter_get(value cell)
{
    return Val_long(count_of((header_t *)cell - 1));
}

/* A stopwatch. Calls may be nested, or made by several threads; it runs as long as one of them is active. */
struct stopwatch {
    uint64_t version; /* odd while the next three fields are being changed */
    uint64_t nanos, runs, start;
    int32_t depth;
    uint64_t shown;
};

static void begin_change(struct stopwatch *watch)
{
    __atomic_store_n(&watch->version, watch->version + 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

static void end_change(struct stopwatch *watch)
{
    __atomic_store_n(&watch->version, watch->version + 1, __ATOMIC_RELEASE);
}

/* Several domains that use one stopwatch without [enter] and [leave] may leave it inconsistent, so reading it does
   not wait forever. */
static void elapsed_of(void *cell, struct bactrian_elapsed *elapsed)
{
    struct stopwatch *watch = cell;
    uint64_t nanos = 0, runs = 0, start = 0;

    for (int attempt = 0; attempt < 100; attempt++) {
        uint64_t version = __atomic_load_n(&watch->version, __ATOMIC_ACQUIRE);

        elapsed->is_running = __atomic_load_n(&watch->depth, __ATOMIC_RELAXED) > 0;
        nanos = __atomic_load_n(&watch->nanos, __ATOMIC_RELAXED);
        runs = __atomic_load_n(&watch->runs, __ATOMIC_RELAXED);
        start = __atomic_load_n(&watch->start, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (version % 2 == 0 && version == __atomic_load_n(&watch->version, __ATOMIC_RELAXED))
            break;
    }
    if (elapsed->is_running && start != 0) {
        uint64_t now = bactrian_observe_now();

        nanos += now > start ? now - start : 0;
    }
    /* Time that was shown is never taken back. */
    watch->shown = nanos > watch->shown ? nanos : watch->shown;
    elapsed->nanos = watch->shown;
    elapsed->runs = runs;
}

value bactrian_stopwatch(value name, value labels)
{
    CAMLparam2(name, labels);
    CAMLlocal1(made);
    struct stopwatch *watch;
    struct bactrian_name description;
    struct bactrian_text parts[MOST_PARTS];
    uint32_t id = 0;

    if (posix_memalign((void **)&watch, LINE, sizeof *watch) != 0)
        caml_raise_out_of_memory();
    memset(watch, 0, sizeof *watch);
    if (!bactrian_is_child) {
        bactrian_describe(&description, parts, name, labels, 0, 0);
        id = bactrian_observe_time(&description, elapsed_of, watch);
    }
    made = caml_alloc_small(2, 0);
    Field(made, 0) = Val_address(watch);
    Field(made, 1) = Val_long(id);
    CAMLreturn(made);
}

static void run(struct stopwatch *watch)
{
    begin_change(watch);
    watch->start = bactrian_observe_now();
    end_change(watch);
}

static void halt(struct stopwatch *watch)
{
    uint64_t now = bactrian_observe_now();

    begin_change(watch);
    watch->nanos += now > watch->start ? now - watch->start : 0;
    watch->start = 0;
    end_change(watch);
}

/* Returns whether it was not already running. */
value bactrian_stopwatch_start(value cell)
{
    struct stopwatch *watch = Address_val(cell);

    if (watch->depth != 0)
        return Val_false;
    run(watch);
    watch->depth = 1;
    return Val_true;
}

/* Returns whether it was running. */
value bactrian_stopwatch_stop(value cell)
{
    struct stopwatch *watch = Address_val(cell);

    if (watch->depth == 0)
        return Val_false;
    watch->depth = 0;
    watch->runs++;
    halt(watch);
    return Val_true;
}

value bactrian_stopwatch_enter(value cell)
{
    struct stopwatch *watch = Address_val(cell);

    if (__atomic_fetch_add(&watch->depth, 1, __ATOMIC_ACQ_REL) == 0)
        run(watch);
    return Val_unit;
}

value bactrian_stopwatch_leave(value cell)
{
    struct stopwatch *watch = Address_val(cell);

    __atomic_fetch_add(&watch->runs, 1, __ATOMIC_RELAXED);
    if (__atomic_sub_fetch(&watch->depth, 1, __ATOMIC_ACQ_REL) == 0)
        halt(watch);
    return Val_unit;
}

/* Seconds since the program's start. */
double bactrian_now_unboxed(value unit)
{
    return (double)bactrian_observe_now() / 1e9;
}

value bactrian_now(value unit)
{
    return caml_copy_double(bactrian_now_unboxed(unit));
}
