/* The part of memprof_pending.ml that is written in C. */
#include <caml/alloc.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>

/* A list of so many cells. */
value cells(value count)
{
  CAMLparam1(count);
  CAMLlocal2(list, cell);
  long n;
  list = Val_emptylist;
  for (n = 0; n < Long_val(count); n++) {
    cell = caml_alloc_small(2, 0);
    Field(cell, 0) = Val_long(n);
    Field(cell, 1) = list;
    list = cell;
  }
  CAMLreturn(list);
}
