/* The interface of the Rust library (crates/observe-ocaml) for the stubs. It does not depend on OCaml's values.

   Observers are numbers; 0 is an observer that does not exist, and operations on it are ignored. Texts are copied.
   All functions may be called by any thread. */

#ifndef BACTRIAN_OBSERVE_H
#define BACTRIAN_OBSERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bactrian_text {
    const char *bytes;
    size_t length;
};

struct bactrian_name {
    struct bactrian_text name;
    const struct bactrian_text *labels; /* key, value, key, value, .. */
    size_t labels_count;                /* number of pairs */
    int unit;                           /* a Unit, in the order of the model */
    uint32_t period;                    /* in milliseconds; 0 for every tick of the server */
};

struct bactrian_elapsed {
    uint64_t nanos, runs;
    int is_running;
};

/* Kinds, in the order of the model. */
enum { BACTRIAN_POINT, BACTRIAN_TIME, BACTRIAN_INT, BACTRIAN_FLOAT, BACTRIAN_BOOL, BACTRIAN_TEXT, BACTRIAN_TAG,
       BACTRIAN_TREE, BACTRIAN_TABLE, BACTRIAN_COUNTER, BACTRIAN_GAUGE };

/* Starts the server if it is not running. Its thread calls [ask] when it needs values from the program's own threads;
   [ask] must return at once. [runtime] is the language and its version. */
void bactrian_observe_start(void (*ask)(void), struct bactrian_text runtime);

/* Declares an observer whose values are requested. */
uint32_t bactrian_observe_asked(int kind, const struct bactrian_name *name);
/* Like the previous function, with one of the names reserved for the runtime. */
uint32_t bactrian_observe_asked_of_runtime(int kind, const char *name, int unit);
/* Declares an observer that publishes values at any time. */
uint32_t bactrian_observe_published(int kind, const struct bactrian_name *name);
/* Declare observers that the server's thread reads by calling [read]. */
uint32_t bactrian_observe_count(int kind, const struct bactrian_name *name, uint64_t (*read)(const void *),
                                const void *cell);
uint32_t bactrian_observe_time(const struct bactrian_name *name, void (*read)(void *, struct bactrian_elapsed *),
                               void *cell);
/* Declare observers that count in memory of the library, which is never freed. They return null if nothing is
   observed. */
void *bactrian_observe_gauge(const struct bactrian_name *name, uint32_t *id);
void *bactrian_observe_histogram(const struct bactrian_name *name, uint32_t *id);
void *bactrian_observe_span(const struct bactrian_name *name, uint32_t *id);

void bactrian_observe_gauge_set(void *gauge, double number);
void bactrian_observe_gauge_add(void *gauge, double number);
double bactrian_observe_gauge_get(void *gauge);
void bactrian_observe_histogram_record(void *histogram, uint64_t number);
uint64_t bactrian_observe_span_begin(void *span);
void bactrian_observe_span_end(void *span, uint64_t begin);

/* Publish values. */
void bactrian_observe_int(uint32_t id, int64_t number);
void bactrian_observe_float(uint32_t id, double number);
void bactrian_observe_bool(uint32_t id, int truth);
void bactrian_observe_text(uint32_t id, struct bactrian_text text);
/* A negative number is not shown. */
void bactrian_observe_tag(uint32_t id, int64_t count, int64_t bytes);
void bactrian_observe_table(uint32_t id, uint64_t buckets, uint64_t bindings, uint64_t empty, uint64_t longest);
void bactrian_observe_failed(uint32_t id, struct bactrian_text why);
/* Trees: nodes are numbered in the order in which they are added; 0 is the root. Publishing a tree frees it. */
void *bactrian_observe_tree(void);
void bactrian_observe_tree_node(void *tree, struct bactrian_text label);
void bactrian_observe_tree_child(void *tree, uint32_t parent, uint32_t child);
void bactrian_observe_tree_publish(uint32_t id, void *tree);

void bactrian_observe_kill(uint32_t id);
void bactrian_observe_collected(uint32_t id);
void bactrian_observe_set_period(uint32_t id, uint32_t milliseconds);

/* The next observer whose value is requested, or 0. */
uint32_t bactrian_observe_next(void);
/* Whether there is one. */
bool bactrian_observe_is_asked(void);
/* Says that this observer was not finished; it continues at the next tick. */
void bactrian_observe_again(uint32_t id);
/* Says how long this observer took, in nanoseconds. Observers that take too much of the program's time are requested
   less often. */
void bactrian_observe_spent(uint32_t id, uint64_t nanos);

void bactrian_observe_log(struct bactrian_text line);
/* Sends a marker with the next tick. */
void bactrian_observe_marker(struct bactrian_text text);
/* Whether a client has stopped this observer. */
bool bactrian_observe_is_stopped(uint32_t id);
int bactrian_observe_clients(void);
/* Waits until this many clients are connected (for -1, none), but no longer than the given time. Returns whether that
   is the case. */
int bactrian_observe_wait(int clients, uint32_t milliseconds);
/* Shows all values as they are now; waits briefly until they have been recorded. */
void bactrian_observe_show(void);
uint64_t bactrian_observe_ticks(void);
/* Nanoseconds since the program's start. */
uint64_t bactrian_observe_now(void);

#endif
