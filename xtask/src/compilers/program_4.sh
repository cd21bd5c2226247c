#!/bin/sh
# Starts this OCaml's program of this name, which is older than this machine and runs with its libc.
set -eu
prefix=$(cd "$(dirname "$0")/.." && pwd -P)
OCAMLLIB=$prefix/usr/lib/ocaml
CAML_LD_LIBRARY_PATH=$OCAMLLIB/stublibs
export OCAMLLIB CAML_LD_LIBRARY_PATH
exec "$prefix/usr/bin/$(basename "$0")" "$@"
