/* A C program with OCaml in a library, embedded.ml. */
#include <caml/callback.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <stdio.h>

static value call(value count)
{
  CAMLparam1(count);
  CAMLlocal1(length);
  length = caml_callback(*caml_named_value("work"), count);
  CAMLreturn(length);
}

int main(int count, char **arguments)
{
  (void)count;
  caml_startup(arguments);
  printf("%ld\n", Long_val(call(Val_long(10000))));
  return 0;
}
