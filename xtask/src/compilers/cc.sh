#!/bin/sh
# The machine's C compiler, told to compile and link with the libc that came with this OCaml.
set -eu
tools=$(cd "$(dirname "$0")" && pwd -P)
prefix=${tools%/*}
libraries=$prefix/usr/lib/x86_64-linux-gnu
# Without this folder, or this script would find itself.
PATH=${PATH#"$tools":}
# An RPATH, unlike a RUNPATH, also holds for libraries that libraries need.
exec "$(basename "$0")" --sysroot="$prefix" -B"$libraries" -L"$libraries" \
    -Wl,--dynamic-linker="$libraries/ld-linux-x86-64.so.2" \
    -Wl,--disable-new-dtags -Wl,-rpath,"$libraries" "$@"
