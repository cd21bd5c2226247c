#!/bin/sh
# Starts this OCaml's program of this name with the libc that came with it.
set -eu
prefix=$(cd "$(dirname "$0")/.." && pwd -P)
name=$(basename "$0")
libraries=$prefix/usr/lib/x86_64-linux-gnu
ocaml=$(echo "$libraries"/ocaml/5.*)
# The C compiler that links with that libc stands before the machine's.
PATH=$prefix/tools:$PATH
OCAMLLIB=$ocaml
CAML_LD_LIBRARY_PATH=$ocaml/stublibs
export PATH OCAMLLIB CAML_LD_LIBRARY_PATH
exec "$libraries/ld-linux-x86-64.so.2" --argv0 "$name" --library-path "$libraries" \
    "$prefix/usr/bin/$name" "$@"
