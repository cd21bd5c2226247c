/* Differences between OCaml's runtimes, for the other stubs.

   Some functions here look at blocks without the runtime's knowledge. That is sound only as long as the runtime does
   not run: callers neither allocate in OCaml's heap nor release the runtime lock until they no longer need the
   addresses. */

#ifndef BACTRIAN_RUNTIME_H
#define BACTRIAN_RUNTIME_H

#define CAML_NAME_SPACE
#define CAML_INTERNALS
#include <caml/address_class.h>
#include <caml/alloc.h>
#include <caml/callback.h>
#include <caml/custom.h>
#include <caml/fail.h>
#include <caml/gc.h>
#include <caml/major_gc.h>
#include <caml/memory.h>
#include <caml/minor_gc.h>
#include <caml/mlvalues.h>
#include <caml/signals.h>
#include <caml/version.h>
#include <caml/weak.h>
#if OCAML_VERSION >= 50000
#include <caml/gc_ctrl.h>
#include <caml/gc_stats.h>
#include <caml/shared_heap.h>
#endif

#include "bactrian_observe.h"

extern value caml_ephe_set_key(value ephemeron, value position, value key);
extern value caml_ephe_unset_key(value ephemeron, value position);

/* Whether this process is the child of a fork. There nothing is observed, and waiting for a lock is forbidden. */
extern int bactrian_is_child;

/* An address outside OCaml's heap, encoded as an OCaml integer. */
#define Address_val(v) ((void *)((v) & ~(value)1))
#define Val_address(p) ((value)(p) | 1)

/* Whether traversals may scan a block. OCaml 4 allows pointers to arbitrary memory. */
static inline int is_in_heap(value block)
{
#if OCAML_VERSION >= 50000
    return 1;
#else
    return Is_in_heap_or_young(block);
#endif
}

/* The same, but including static data of the program. */
static inline int is_value(value block)
{
#if OCAML_VERSION >= 50000
    return 1;
#else
    return Is_in_value_area(block);
#endif
}

/* The key of an ephemeron, or 0. Unlike Weak.get this does not keep the key alive; otherwise the collector would find
   it in use in each of its cycles. */
static inline value peek_key(value ephemeron, mlsize_t position)
{
    value key = ((volatile value *)ephemeron)[CAML_EPHE_FIRST_KEY + position];
    value block = key;

    if (key == caml_ephe_none || Is_long(key))
        return 0;
    if (Is_young(key) || !is_value(key))
        return key;
    if (Tag_val(block) == Infix_tag)
        block -= Infix_offset_val(block);
    /* It is already dead, but the collector has not cleaned this ephemeron yet. */
#if OCAML_VERSION >= 50000
    if (caml_gc_phase == Phase_sweep_ephe && is_unmarked(block))
        return 0;
#else
    if (caml_gc_phase == Phase_clean && Is_in_heap(block) && Is_white_val(block))
        return 0;
#endif
    return key;
}

/* Whether reading this key from its ephemeron would save it from the current collection. */
static inline int is_undecided(value key)
{
    if (Is_young(key) || !is_value(key))
        return 0;
    if (Tag_val(key) == Infix_tag)
        key -= Infix_offset_val(key);
#if OCAML_VERSION >= 50000
    return caml_gc_phase != Phase_sweep_ephe && is_unmarked(key);
#else
    return caml_gc_phase == Phase_mark && Is_in_heap(key) && Is_white_val(key);
#endif
}

/* How many major collections were completed, and how often blocks were moved. */
static inline uintnat collections_so_far(void)
{
#if OCAML_VERSION >= 50000
    return caml_major_cycles_completed;
#else
    return Caml_state->stat_major_collections;
#endif
}

static inline uintnat compactions_so_far(void)
{
#if OCAML_VERSION >= 50200
    return atomic_load_explicit(&caml_compactions_count, memory_order_relaxed);
#elif OCAML_VERSION >= 50000
    return 0;
#else
    return Caml_state->stat_compactions;
#endif
}

static inline struct bactrian_text text_of(value string)
{
    struct bactrian_text text = { String_val(string), caml_string_length(string) };
    return text;
}

/* Labels beyond the 16th are dropped. */
#define MOST_PARTS 32

/* Fills [description] with an observer's description from OCaml; [labels] is a list of pairs. It is valid until the
   runtime runs. */
void bactrian_describe(struct bactrian_name *description, struct bactrian_text *parts, value name, value labels, int unit,
                       uint32_t period);

/* Declares observers of the runtime itself. */
void bactrian_declare_numbers(void);
/* Publishes the value of this observer, if it is one of the runtime. */
int bactrian_say_number(uint32_t id);

#endif
