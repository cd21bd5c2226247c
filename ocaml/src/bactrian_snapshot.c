/* The one call from OCaml into Bactrian's agent, if it is in the process. */

#include <string.h>
#include <caml/mlvalues.h>

/* Exported by the agent; null where there is none. */
extern void bactrian_take_snapshot(const char *name) __attribute__((weak));

value bactrian_snapshot(value name)
{
    /* Domains are brought to a halt for a snapshot, and before that a collection may move the string. */
    char copy[256];

    if (bactrian_take_snapshot == NULL)
        return Val_unit;
    strncpy(copy, String_val(name), sizeof copy - 1);
    copy[sizeof copy - 1] = 0;
    bactrian_take_snapshot(copy);
    return Val_unit;
}
