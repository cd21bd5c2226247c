#!/bin/sh
# Builds libbactrian_stubs.a and dllbactrian_stubs.so in the current folder from the C stubs there and the Rust library:
# stubs.sh OCAMLC. Needs cargo, a C compiler (CC) and the binutils (LD, OBJCOPY, AR).
set -eu
ocamlc=$1
cc=${CC:-cc}

# In dune's build folder this is a copy; the Rust library is beside the original. The path of the build folder tells
# where the original is.
here=$(pwd -P)
# Folders to search upwards from, one per line, because they may contain spaces.
candidates=$here
case $here in
*/_build/*)
    top=${here%%/_build/*}
    inner=$(printf %s "$here" | sed -n 's:.*/_build/[^/]*/::p')
    candidates="$top/$inner
$top
$here"
    ;;
esac
[ -z "${BACTRIAN_SOURCES:-}" ] || candidates="$BACTRIAN_SOURCES
$candidates"
sources=$(
    printf '%s\n' "$candidates" | while IFS= read -r folder; do
        while :; do
            if [ -f "$folder/crates/observe-ocaml/Cargo.toml" ]; then
                printf %s "$folder"
                exit
            fi
            above=$(dirname "$folder")
            [ "$above" != "$folder" ] || break
            folder=$above
        done
    done
)
if [ -z "$sources" ]; then
    echo "stubs.sh: crates/observe-ocaml is not in a folder above $here; say where Bactrian's sources are in BACTRIAN_SOURCES" >&2
    exit 1
fi

target=${CARGO_TARGET_DIR:-$sources/target}
(cd "$sources" && cargo build --quiet --locked --profile ocaml -p bactrian-observe-ocaml --target-dir "$target")
library=$target/ocaml/libbactrian_observe_ocaml.a

objects=
for source in bactrian_*.c; do
    "$ocamlc" -ccopt "-O2 -fPIC -Wall" -c "$source"
    objects="$objects ${source%.c}.o"
done

# A single object with the parts of the Rust library that the stubs use. Only our own symbols stay global: another Rust
# library in the same program has the same symbols for its own copy of the standard library.
wanted=$(nm -u $objects | sed -n 's/.* \(bactrian_observe_[a-z_]*\)$/-u \1/p' | sort -u)
# Unquoted, because these are several words for the linker.
# shellcheck disable=SC2086
"${LD:-ld}" -r --gc-sections $wanted "$library" -o bactrian_rust.part
"${OBJCOPY:-objcopy}" --wildcard --keep-global-symbol='bactrian_*' --strip-debug --remove-section=.llvmbc \
    --remove-section=.llvmcmd bactrian_rust.part bactrian_rust.o
rm -f bactrian_rust.part libbactrian_stubs.a
# shellcheck disable=SC2086
"${AR:-ar}" rcs libbactrian_stubs.a $objects bactrian_rust.o
# shellcheck disable=SC2086
"$cc" -shared $objects bactrian_rust.o -o dllbactrian_stubs.so -lpthread -ldl -lm
