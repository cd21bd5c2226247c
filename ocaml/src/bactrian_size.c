/* How many marked values are alive, and how much memory they hold: what Obj.reachable_words says of all of them together,
   but in slices, so that the program stands still for a moment only.

   The traversal. A slice runs from one safe point of the program to no other, so that while it runs no block moves or
   dies. What is left to do is a stack of (block, next field); between slices it lies in ephemerons, so that a block that
   the program drops meanwhile dies as if we were not there, and the collector does with their addresses what it must. The
   stack at work is an array here; when it is full, the ephemeron of its lower half is put aside, which OCaml does.
   A block's last field takes the place of its block, so that a list of any length needs one place.

   What was seen. One bit for each word of the heap, in pages that are made when they are needed. Bits are of addresses, so
   that a compaction makes the traversal begin again. Young blocks have no address to speak of: they wait until a minor
   collection has moved them. A block that dies during the traversal may leave its address to a new one, which then is not
   counted this time.

   What is mutated during the traversal is counted as it was when we came by. */

#include <stdlib.h>
#include <string.h>

#include "bactrian_runtime.h"

/* Places of an ephemeron; the stack has twice as many. OCaml makes the ephemerons and knows this number. */
#define PLACES 1024
/* Words of the heap that a page is for, and its length in bytes. */
#define PAGE_SHIFT 18
#define PAGE_BYTES ((1 << PAGE_SHIFT) / sizeof(value) / 8)

struct page {
    uintnat number; /* of the part of the address space, plus one; 0: none */
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
    /* Fields that go with the blocks in the two ephemerons of the stack, and in those that were put aside. */
    size_t depth, aside;
    mlsize_t fields[2 * PLACES], *fields_aside;
    struct place stack[2 * PLACES];
    /* Young blocks that wait; the first [ready] of them are not young any more. */
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

/* Sets the bit of a block. Says whether it was not set. */
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

/* Counts a block that was not seen, and puts it on the stack if there is something in it. */
static size_t visit(struct traversal *traversal, value young, value block, size_t depth)
{
    header_t header;
    tag_t tag;

    if (!is_in_heap(block))
        return depth;
    if (Is_young(block)) {
        /* The caller sees to it that there is a place. */
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

/* What a slice ended with: the time, a stack that is to be put aside or taken back, young blocks that wait, no more
   roots, a compaction, no memory. OCaml knows these numbers. */
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

/* The lower half is put aside, and the upper becomes the lower. */
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

/* One that waited; the last takes its place. */
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

/* Looks at the next fields of the block on top, up to the first that points to something. */
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

/* Goes on until [deadline]. [roots] has [roots_count] marked values; of those that are in it twice, one is taken out.
   [lower] and [upper] are the stack, [young] what waits for a minor collection; [collected] is 1 if there was one since
   the last slice, and 2 if what is young is to be passed over. */
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
        /* A step adds two places at most, and one young block. */
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

/* Moves what is alive in [from] to free places of [to], both with [PLACES]. Says how many stay in [from]. */
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
