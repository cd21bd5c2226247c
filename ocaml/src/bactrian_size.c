/* How many marked values are alive, and how much memory is reachable from them: what Obj.reachable_words returns for
   all of them together, but computed in slices, so that the program is paused only briefly.

   The traversal. There is no safe point within a slice, so no block moves or dies while it runs. The work left to do
   is a stack of (block, next field). Between slices the blocks are in ephemerons, so that a block that the program
   drops meanwhile dies as usual, and the collector updates their addresses. During a slice the stack is an array;
   when it is full, the ephemeron of its lower half is put aside, which is done in OCaml. When a block's last field is
   visited, the field's block replaces it on the stack, so that a list of any length needs one entry.

   The marks. There is one bit for each word of the heap, in pages that are allocated on demand. Bits belong to
   addresses, so a compaction restarts the traversal. Young blocks have no stable address: they wait until a minor
   collection has moved them. If a block dies during the traversal, a new one may get its address, and is then not
   counted this time.

   Data that is mutated during the traversal is counted as it was when it was visited. */

#include <stdlib.h>
#include <string.h>

#include "bactrian_runtime.h"

/* The number of keys in an ephemeron; the stack has twice as many entries. OCaml makes the ephemerons and relies on
   this number. */
#define PLACES 1024
/* The size of the address range that a page covers, as a power of two, and the size of the page in bytes. */
#define PAGE_SHIFT 18
#define PAGE_BYTES ((1 << PAGE_SHIFT) / sizeof(value) / 8)

struct page {
    uintnat number; /* number of the address range plus one; 0 if the entry is free */
    unsigned char *bits;
};

struct pages {
    struct page *table;
    size_t room, count;
    struct page last;
};

struct place {
    value block;
    mlsize_t field;
};

struct traversal {
    struct pages seen, counted;
    uint64_t words, count;
    uintnat compactions;
    /* The next fields of the blocks in the two ephemerons of the stack, and in those that were put aside. */
    size_t depth, aside;
    mlsize_t fields[2 * PLACES], *fields_aside;
    struct place stack[2 * PLACES];
    /* Young blocks that wait; the first [ready] of them are no longer young. */
    size_t young, ready;
    size_t next_root;
    int has_no_memory;
};

static void forget(struct pages *pages)
{
    for (size_t at = 0; at < pages->room; at++)
        free(pages->table[at].bits);
    free(pages->table);
    memset(pages, 0, sizeof *pages);
}

static struct page *find(struct page *table, size_t room, uintnat number)
{
    size_t at = number * 0x9E3779B97F4A7C15u >> 20 & (room - 1);

    while (table[at].number != 0 && table[at].number != number)
        at = (at + 1) & (room - 1);
    return &table[at];
}

static int make_room(struct pages *pages)
{
    size_t room = pages->room == 0 ? 64 : 2 * pages->room;
    struct page *table = calloc(room, sizeof *table);

    if (table == NULL)
        return 0;
    for (size_t at = 0; at < pages->room; at++)
        if (pages->table[at].number != 0)
            *find(table, room, pages->table[at].number) = pages->table[at];
    free(pages->table);
    pages->table = table;
    pages->room = room;
    return 1;
}

/* Sets the bit of a block. Returns whether it was clear. */
static int add(struct traversal *traversal, struct pages *pages, value block)
{
    uintnat number = ((uintnat)block >> PAGE_SHIFT) + 1;
    size_t bit = ((uintnat)block & ((1 << PAGE_SHIFT) - 1)) / sizeof(value);
    unsigned char *byte, mask = 1 << bit % 8;

    if (pages->last.number != number) {
        struct page *page;

        if (2 * pages->count >= pages->room && !make_room(pages)) {
            traversal->has_no_memory = 1;
            return 0;
        }
        page = find(pages->table, pages->room, number);
        if (page->number == 0) {
            page->bits = calloc(1, PAGE_BYTES);
            if (page->bits == NULL) {
                traversal->has_no_memory = 1;
                return 0;
            }
            page->number = number;
            pages->count++;
        }
        pages->last = *page;
    }
    byte = &pages->last.bits[bit / 8];
    if (*byte & mask)
        return 0;
    *byte |= mask;
    return 1;
}

value bactrian_traversal(value unit)
{
    struct traversal *traversal = calloc(1, sizeof *traversal);

    if (traversal == NULL)
        caml_raise_out_of_memory();
    traversal->compactions = compactions_so_far();
    return Val_address(traversal);
}

value bactrian_traversal_free(value address)
{
    struct traversal *traversal = Address_val(address);

    forget(&traversal->seen);
    forget(&traversal->counted);
    free(traversal->fields_aside);
    free(traversal);
    return Val_unit;
}

/* Counts a block that was not visited before, and pushes it if it has fields to scan. */
static size_t visit(struct traversal *traversal, value young, value block, size_t depth)
{
    header_t header;
    tag_t tag;

    if (!is_in_heap(block))
        return depth;
    if (Is_young(block)) {
        /* The caller ensures that there is room. */
        caml_ephe_set_key(young, Val_long(traversal->young++), block);
        return depth;
    }
    if (Tag_val(block) == Infix_tag)
        block -= Infix_offset_val(block);
    if (!add(traversal, &traversal->seen, block))
        return depth;
    header = Hd_val(block);
    tag = Tag_hd(header);
    traversal->words += Whsize_hd(header);
    if (tag >= No_scan_tag || Wosize_hd(header) == 0)
        return depth;
    traversal->stack[depth].block = block;
    traversal->stack[depth].field = tag == Closure_tag ? Start_env_closinfo(Closinfo_val(block)) : 0;
    return depth + 1;
}

/* Why a slice ended: out of time, a stack to put aside or to take back, young blocks that wait, no more roots, a
   compaction, out of memory. OCaml relies on these numbers. */
enum { LATE, FULL, REFILL, YOUNG, ROOTS, MOVED, NO_MEMORY };

static value leave(struct traversal *traversal, value lower, value upper, size_t depth, int why)
{
    for (size_t at = 0; at < depth; at++) {
        caml_ephe_set_key(at < PLACES ? lower : upper, Val_long(at % PLACES), traversal->stack[at].block);
        traversal->fields[at] = traversal->stack[at].field;
    }
    traversal->depth = depth;
    return Val_int(traversal->has_no_memory ? NO_MEMORY : why);
}

/* Puts the lower half of the stack aside; the upper half becomes the lower one. */
static int put_aside(struct traversal *traversal)
{
    size_t half = PLACES * sizeof(mlsize_t);
    mlsize_t *aside = realloc(traversal->fields_aside, (traversal->aside + 1) * half);

    if (aside == NULL)
        return NO_MEMORY;
    traversal->fields_aside = aside;
    memcpy(aside + traversal->aside++ * PLACES, traversal->fields, half);
    memmove(traversal->fields, traversal->fields + PLACES, half);
    traversal->depth -= PLACES;
    return FULL;
}

static int take_back(struct traversal *traversal)
{
    memcpy(traversal->fields, traversal->fields_aside + --traversal->aside * PLACES, PLACES * sizeof(mlsize_t));
    traversal->depth = PLACES;
    return REFILL;
}

/* Takes a block that waited; the last one fills its place. */
static value take_ready(struct traversal *traversal, value young)
{
    size_t place = --traversal->ready, last = --traversal->young;
    value block = peek_key(young, place), moved = peek_key(young, last);

    if (place != last && moved != 0)
        caml_ephe_set_key(young, Val_long(place), moved);
    else if (place != last)
        caml_ephe_unset_key(young, Val_long(place));
    return block;
}

/* Scans the next fields of the topmost block, up to the first that points to something. */
static size_t step(struct traversal *traversal, value young, size_t depth)
{
    struct place *stack = traversal->stack;
    value block = stack[--depth].block;
    mlsize_t field = stack[depth].field, size = Wosize_val(block), end = field + 1024;

    for (end = end < size ? end : size; field < end; field++) {
        value child = ((volatile value *)block)[field];

        if (Is_long(child))
            continue;
        if (field + 1 < size) {
            stack[depth].block = block;
            stack[depth++].field = field + 1;
        }
        return visit(traversal, young, child, depth);
    }
    if (field < size) {
        stack[depth].block = block;
        stack[depth++].field = field;
    }
    return depth;
}

/* Continues until [deadline]. [roots] holds [roots_count] marked values; if a value occurs twice, one of the two is
   removed. [lower] and [upper] are the stack, and [young] are the blocks that wait for a minor collection.
   [collected] is 1 if there was one since the last slice, and 2 if young blocks are to be ignored. */
value bactrian_traverse(value address, value roots, value roots_count, value lower, value upper, value young,
                        value with_size, value collected, value deadline)
{
    struct traversal *traversal = Address_val(address);
    size_t depth = 0, count = Long_val(roots_count);
    uint64_t until = Long_val(deadline);

    if (compactions_so_far() != traversal->compactions)
        return Val_int(MOVED);
    for (size_t at = 0; at < traversal->depth; at++) {
        value block = peek_key(at < PLACES ? lower : upper, at % PLACES);

        if (block == 0)
            continue;
        traversal->stack[depth].block = block;
        traversal->stack[depth++].field = traversal->fields[at];
    }
    if (Int_val(collected) == 1)
        traversal->ready = traversal->young;
    else if (Int_val(collected) == 2)
        traversal->ready = traversal->young = 0;
    for (size_t steps = 1;; steps++) {
        if (steps % 128 == 0 && bactrian_observe_now() > until)
            return leave(traversal, lower, upper, depth, LATE);
        /* A step pushes at most two entries, and adds at most one young block. */
        if (depth + 2 > 2 * PLACES) {
            value why = leave(traversal, lower, upper, depth, FULL);

            return why == Val_int(FULL) ? Val_int(put_aside(traversal)) : why;
        }
        if (traversal->ready > 0 && (depth == 0 || traversal->young == PLACES)) {
            value block = take_ready(traversal, young);

            if (block != 0)
                depth = visit(traversal, young, block, depth);
        } else if (traversal->young == PLACES) {
            return leave(traversal, lower, upper, depth, YOUNG);
        } else if (depth > 0) {
            depth = step(traversal, young, depth);
        } else if (traversal->aside > 0) {
            leave(traversal, lower, upper, 0, REFILL);
            return Val_int(take_back(traversal));
        } else if (traversal->next_root < count) {
            value root = peek_key(roots, traversal->next_root), block = root;

            if (root != 0 && Is_young(root)) {
                if (Int_val(collected) != 2)
                    return leave(traversal, lower, upper, depth, YOUNG);
                traversal->count++;
            } else if (root != 0) {
                if (is_value(root) && Tag_val(root) == Infix_tag)
                    block -= Infix_offset_val(block);
                if (add(traversal, &traversal->counted, block)) {
                    traversal->count++;
                    if (Bool_val(with_size))
                        depth = visit(traversal, young, root, depth);
                } else if (!traversal->has_no_memory) {
                    caml_ephe_unset_key(roots, Val_long(traversal->next_root));
                }
            }
            traversal->next_root++;
        } else {
            traversal->next_root = 0;
            return leave(traversal, lower, upper, depth, ROOTS);
        }
        if (traversal->has_no_memory)
            return Val_int(NO_MEMORY);
    }
}

value bactrian_traverse_bytecode(value *arguments, int count)
{
    return bactrian_traverse(arguments[0], arguments[1], arguments[2], arguments[3], arguments[4], arguments[5],
                             arguments[6], arguments[7], arguments[8]);
}

value bactrian_traversal_has_young(value address)
{
    return Val_bool(((struct traversal *)Address_val(address))->young > 0);
}

value bactrian_traversal_count(value address)
{
    return Val_long(((struct traversal *)Address_val(address))->count);
}

value bactrian_traversal_words(value address)
{
    return Val_long(((struct traversal *)Address_val(address))->words);
}

/* Moves live marks from [from] to free keys of [to]; both have [PLACES] keys. Returns how many remain in [from]. */
value bactrian_merge_marks(value from, value to)
{
    size_t free_place = 0, left = 0;

    for (size_t at = 0; at < PLACES; at++) {
        value key = peek_key(from, at);

        if (key == 0)
            continue;
        while (free_place < PLACES && peek_key(to, free_place) != 0)
            free_place++;
        if (free_place == PLACES) {
            left++;
            continue;
        }
        caml_ephe_set_key(to, Val_long(free_place), key);
        caml_ephe_unset_key(from, Val_long(at));
    }
    return Val_long(left);
}
