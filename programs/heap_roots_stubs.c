/* Lets the runtime say where its roots are, and waits there: what is told is true as long as it waits.
   Standard output: `domain STATE` for each domain, `LIST DOMAIN SLOT VALUE` for each root, then `ready`. */

#define CAML_INTERNALS
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <caml/mlvalues.h>
#include <caml/memory.h>
#include <caml/alloc.h>
#include <caml/callback.h>
#include <caml/roots.h>
#include <caml/globroots.h>
#include <caml/finalise.h>
#include <caml/memprof.h>
#include <caml/version.h>

static const char *list;
static int domain;

static void print(value v, void *slot)
{
  printf("%s %d %lx %lx\n", list, domain, (unsigned long)slot, (unsigned long)v);
}

static value mutable_root, young_root, old_root;

/* Registers roots of all kinds. */
value heap_roots_register(value kept)
{
  mutable_root = young_root = old_root = kept;
  caml_register_global_root(&mutable_root);
  caml_register_generational_global_root(&young_root);
  caml_register_generational_global_root(&old_root);
  return Val_unit;
}

static void wait_for_end(void)
{
  char end;
  printf("ready\n");
  fflush(stdout);
  while (read(0, &end, 1) > 0) {}
  _exit(0);
}

#if OCAML_VERSION < 50000

value heap_roots_note(value unit) { return unit; }

static void action(value v, value *slot) { print(v, slot); }

value heap_roots_list(value kept)
{
  CAMLparam1(kept);
  CAMLlocal2(copy, other);
  CAMLlocalN(many, 3);
  copy = kept;
  many[1] = kept;
  printf("domain %lx\n", (unsigned long)Caml_state);
  list = "all", caml_do_roots(action, 1);
  list = "final", caml_final_do_roots(action);
  list = "memprof", caml_memprof_do_roots(action);
  list = "threads";
  if (caml_scan_roots_hook != NULL) (*caml_scan_roots_hook)(action);
  wait_for_end();
  CAMLreturn(other);
}

#else

#include <caml/domain.h>

static caml_domain_state *states[128];
static int count;

/* Called by each other domain before it waits. */
value heap_roots_note(value unit)
{
  states[++count] = Caml_state;
  return unit;
}

static void action(void *data, value v, volatile value *slot) { print(v, (void *)slot); }

value heap_roots_list(value kept)
{
  CAMLparam1(kept);
  CAMLlocal2(copy, other);
  CAMLlocalN(many, 3);
  copy = kept;
  many[1] = kept;
  states[0] = Caml_state;
  for (int i = 0; i <= count; i++) printf("domain %lx\n", (unsigned long)states[i]);
  list = "global", caml_scan_global_roots(action, NULL);
  for (domain = 0; domain <= count; domain++) {
    scan_roots_hook hook = atomic_load(&caml_scan_roots_hook);
    list = "all", caml_do_roots(action, 0, NULL, states[domain], 0);
    list = "final", caml_final_do_roots(action, 0, NULL, states[domain], 0);
#if OCAML_VERSION >= 50300
    list = "memprof", caml_memprof_scan_roots(action, 0, NULL, states[domain], 0);
#endif
    list = "threads";
    if (hook != NULL) (*hook)(action, 0, NULL, states[domain]);
  }
  wait_for_end();
  CAMLreturn(other);
}

#endif
