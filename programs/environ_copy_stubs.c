/* The part of environ_copy.ml that is written in C. */
#include <caml/alloc.h>
#include <caml/mlvalues.h>

extern char **environ;

value variables(value unit)
{
  (void)unit;
  return caml_copy_string_array((const char **)environ);
}
