#!/bin/sh
# Compiles the helper: build.sh OCAMLOPT OUTPUT
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
output=$(realpath -m "$2")
cp "$here"/*.ml "$here"/*.mli "$work"
cd "$work"
version=$("$1" -version | cut -d . -f 1,2)
sed "/(\*! .* \*)/{/ $version /!d}" "$here/compat.ml" >compat.ml
"$1" -I +compiler-libs -I +unix -w +a-4-9-40..42-44-45-70 ocamlcommon.cmxa unix.cmxa compat.ml names.ml wire.ml table.ml modules.mli modules.ml \
    convert.mli convert.ml layouts.mli layouts.ml captures.mli captures.ml variables.mli variables.ml sites.mli sites.ml units.mli units.ml bactrian_cmt.ml -o "$output"
