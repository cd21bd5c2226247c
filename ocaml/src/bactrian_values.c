/* Observers of the program's values: declaring them and publishing their values. Whatever can be read without calling
   OCaml is read here, because a reference from OCaml code would keep the value alive. */

#include <stdlib.h>
#include <string.h>

#include "bactrian_runtime.h"

void bactrian_describe(struct bactrian_name *description, struct bactrian_text *parts, value name, value labels, int unit,
                       uint32_t period)
{
    size_t count = 0;

    for (; Is_block(labels) && 2 * count < MOST_PARTS; labels = Field(labels, 1), count++) {
        parts[2 * count] = text_of(Field(Field(labels, 0), 0));
        parts[2 * count + 1] = text_of(Field(Field(labels, 0), 1));
    }
    description->name = text_of(name);
    description->labels = parts;
    description->labels_count = count;
    description->unit = unit;
    description->period = period;
}

static uint32_t milliseconds(value period)
{
    long wanted = Long_val(period);

    return wanted < 0 ? 0 : wanted > 1000000000 ? 1000000000 : wanted;
}

value bactrian_asked(value kind, value name, value labels, value unit, value period)
{
    struct bactrian_name description;
    struct bactrian_text parts[MOST_PARTS];

    if (bactrian_is_child)
        return Val_long(0);
    bactrian_describe(&description, parts, name, labels, Int_val(unit), milliseconds(period));
    return Val_long(bactrian_observe_asked(Int_val(kind), &description));
}

value bactrian_published(value kind, value name, value labels, value unit)
{
    struct bactrian_name description;
    struct bactrian_text parts[MOST_PARTS];

    if (bactrian_is_child)
        return Val_long(0);
    bactrian_describe(&description, parts, name, labels, Int_val(unit), 0);
    return Val_long(bactrian_observe_published(Int_val(kind), &description));
}

value bactrian_kill(value id)
{
    if (!bactrian_is_child)
        bactrian_observe_kill(Long_val(id));
    return Val_unit;
}

value bactrian_set_period(value id, value period)
{
    if (!bactrian_is_child)
        bactrian_observe_set_period(Long_val(id), milliseconds(period));
    return Val_unit;
}

/* Publishes a value of this kind. */
value bactrian_say(value id, value kind, value what)
{
    if (bactrian_is_child)
        return Val_unit;
    switch (Int_val(kind)) {
    case BACTRIAN_INT: bactrian_observe_int(Long_val(id), Long_val(what)); break;
    case BACTRIAN_FLOAT: bactrian_observe_float(Long_val(id), Double_val(what)); break;
    case BACTRIAN_BOOL: bactrian_observe_bool(Long_val(id), Bool_val(what)); break;
    case BACTRIAN_TEXT: bactrian_observe_text(Long_val(id), text_of(what)); break;
    }
    return Val_unit;
}

value bactrian_say_failed(value id, value why)
{
    if (!bactrian_is_child)
        bactrian_observe_failed(Long_val(id), text_of(why));
    return Val_unit;
}

value bactrian_say_tag(value id, value count, value bytes)
{
    if (!bactrian_is_child)
        bactrian_observe_tag(Long_val(id), Long_val(count), Long_val(bytes));
    return Val_unit;
}

static void fail(value id, const char *why)
{
    struct bactrian_text text = { why, strlen(why) };

    bactrian_observe_failed(Long_val(id), text);
}

/* Results of evaluating a weak observer. */
enum { SAID, UNFINISHED, COLLECTED };

static value collected(value id)
{
    bactrian_observe_collected(Long_val(id));
    return Val_int(COLLECTED);
}

/* Publishes the contents of the reference that is the key of [ephemeron]. */
value bactrian_say_ref(value id, value kind, value ephemeron)
{
    value ref;

    if (bactrian_is_child)
        return Val_int(SAID);
    ref = peek_key(ephemeron, 0);
    if (ref == 0)
        return collected(id);
    bactrian_say(id, kind, Field(ref, 0));
    return Val_int(SAID);
}

/* Whether the key of an ephemeron is alive and may be read as an OCaml value. That is allowed only in every other
   major cycle, because the key would otherwise never be collected. [last] is the cycle in which it was last read. */
value bactrian_may_take(value ephemeron, value last)
{
    value key = peek_key(ephemeron, 0);

    if (key == 0)
        return Val_int(COLLECTED);
    if (is_undecided(key) && (intnat)collections_so_far() < Long_val(last) + 2)
        return Val_int(UNFINISHED);
    return Val_int(SAID);
}

value bactrian_collections(value unit)
{
    return Val_long(collections_so_far());
}

value bactrian_collected(value id)
{
    if (!bactrian_is_child)
        bactrian_observe_collected(Long_val(id));
    return Val_unit;
}

/* Hash tables. A table of the standard library is a record of its size, its buckets, a seed and its initial number of
   buckets. A bucket is a chain of blocks with a key, its value and the next block. The walk checks all of that,
   because the type does not guarantee that the value is a table. */

struct walk {
    mlsize_t next, buckets; /* the walk visits one bucket after the other; if the table is resized, it begins again */
    uint64_t bindings, empty, longest;
    int attempts;
};

/* How often a walk that meets a table in the middle of a resize begins again. */
#define MOST_ATTEMPTS 10

value bactrian_table_walk(value unit)
{
    struct walk *walk = calloc(1, sizeof *walk);

    if (walk == NULL)
        caml_raise_out_of_memory();
    return Val_address(walk);
}

static int is_record(value v, mlsize_t size)
{
    return Is_block(v) && is_value(v) && Tag_val(v) == 0 && Wosize_val(v) == size;
}

static int is_table(value v)
{
    value buckets;

    if (!is_record(v, 4) || !Is_long(Field(v, 0)) || !Is_long(Field(v, 2)) || !Is_long(Field(v, 3)))
        return 0;
    buckets = Field(v, 1);
    return Is_block(buckets) && is_value(buckets) && Tag_val(buckets) == 0;
}

/* Publishes the statistics of the table that is the key of [ephemeron], or walks it until [deadline]. */
value bactrian_say_table(value id, value ephemeron, value walk_address, value deadline)
{
    static const char *const other = "this is not a hash table of the standard library";
    struct walk *walk = Address_val(walk_address);
    uint64_t until = Long_val(deadline);
    value table, buckets;

    if (bactrian_is_child)
        return Val_int(SAID);
    table = peek_key(ephemeron, 0);
    if (table == 0)
        return collected(id);
    if (!is_table(table)) {
        fail(id, other);
        return Val_int(SAID);
    }
    buckets = Field(table, 1);
    if (walk->next == 0 || walk->buckets != Wosize_val(buckets)) {
        int attempts = walk->attempts;

        memset(walk, 0, sizeof *walk);
        walk->buckets = Wosize_val(buckets);
        walk->attempts = attempts;
    }
    while (walk->next < walk->buckets) {
        uint64_t length = 0;
        value cell = Field(buckets, walk->next);

        for (; Is_block(cell); cell = Field(cell, 2), length++)
            if (!is_record(cell, 3) || length > ((uint64_t)1 << 32)) {
                walk->next = 0;
                fail(id, other);
                return Val_int(SAID);
            }
        walk->next++;
        walk->bindings += length;
        walk->empty += length == 0;
        walk->longest = length > walk->longest ? length : walk->longest;
        if (walk->next % 256 == 0 && bactrian_observe_now() > until)
            return Val_int(UNFINISHED);
    }
    walk->next = 0;
    /* A table that is being resized has its new buckets before its bindings are in them. */
    if (walk->bindings < Long_val(Field(table, 0)) / 8 * 7 && walk->attempts++ < MOST_ATTEMPTS)
        return Val_int(UNFINISHED);
    walk->attempts = 0;
    bactrian_observe_table(Long_val(id), walk->buckets, walk->bindings, walk->empty, walk->longest);
    return Val_int(SAID);
}

/* Trees: nodes are records of a string and a list of children. Nodes that are the same block are one node, so that
   sharing and cycles are visible. */

#define MOST_NODES 65000

struct seen {
    value node; /* 0 if the entry is free */
    uint32_t number;
};

static uint32_t number_of(struct seen *seen, size_t mask, value node, value *queue, uint32_t *count)
{
    size_t at = ((uintnat)node >> 3) * 0x9E3779B97F4A7C15u >> 20 & mask;

    for (; seen[at].node != 0; at = (at + 1) & mask)
        if (seen[at].node == node)
            return seen[at].number;
    if (*count == MOST_NODES)
        return UINT32_MAX;
    seen[at].node = node;
    seen[at].number = *count;
    queue[*count] = node;
    return (*count)++;
}

value bactrian_say_tree(value id, value root)
{
    static const char *const no_memory = "there is no memory for walking this tree";
    static const char *const too_large = "this tree has more than 65000 nodes, or children of one of them";
    const size_t room = 4 * 65536;
    struct seen *seen;
    value *queue;
    uint32_t count = 0;
    const char *why_not = NULL;
    void *tree;

    if (bactrian_is_child)
        return Val_unit;
    seen = calloc(room, sizeof *seen);
    queue = malloc(MOST_NODES * sizeof *queue);
    tree = bactrian_observe_tree();
    if (seen == NULL || queue == NULL)
        why_not = no_memory;
    else
        number_of(seen, room - 1, root, queue, &count);
    for (uint32_t parent = 0; parent < count && why_not == NULL; parent++) {
        value children = Field(queue[parent], 1);
        uint64_t edges = 0;

        bactrian_observe_tree_node(tree, text_of(Field(queue[parent], 0)));
        for (; Is_block(children); children = Field(children, 1)) {
            uint32_t child = number_of(seen, room - 1, Field(children, 0), queue, &count);

            /* A list may be cyclic, too. */
            if (child == UINT32_MAX || edges++ == MOST_NODES) {
                why_not = too_large;
                break;
            }
            bactrian_observe_tree_child(tree, parent, child);
        }
    }
    bactrian_observe_tree_publish(why_not == NULL ? Long_val(id) : 0, tree);
    if (why_not != NULL)
        fail(id, why_not);
    free(seen);
    free(queue);
    return Val_unit;
}
