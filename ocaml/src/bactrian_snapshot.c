/* The only call from OCaml into Bactrian's agent, if the agent is in the process. */

#include <string.h>
#include <caml/alloc.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>

/* Exported by the agent; null without it. Returns null if no snapshots are wanted, the empty string if one was taken,
   and otherwise the reason why not. */
extern const char *bactrian_take_snapshot(const char *name) __attribute__((weak));

value bactrian_snapshot(value name)
{
    CAMLparam1(name);
    CAMLlocal2(skipped, why);
    /* All domains stop for a snapshot, and before that a collection may move the string. */
    char copy[256];
    const char *said;

    if (bactrian_take_snapshot == NULL)
        CAMLreturn(Val_int(1));
    strncpy(copy, String_val(name), sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    said = bactrian_take_snapshot(copy);
    if (said == NULL)
        CAMLreturn(Val_int(1));
    if (*said == 0)
        CAMLreturn(Val_int(0));
    why = caml_copy_string(said);
    skipped = caml_alloc_small(1, 0);
    Field(skipped, 0) = why;
    CAMLreturn(skipped);
}
