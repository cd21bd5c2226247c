# Builds and installs the packages of the OCaml library and the ppx as opam does, and uses both in a program.
PATH=/opt/rust/bin:$PATH
case $(ocamlopt -version) in
    "$expected".*) ;;
    *)
        echo "OCaml $(ocamlopt -version) instead of $expected" >&2
        exit 1
        ;;
esac
cd /source/*/
prefix=/tmp/prefix
# Each package separately, as opam does: the ppx is built against the installed library.
rm -rf ocaml/_build
for package in bactrian ppx_bactrian; do
    OCAMLPATH=$prefix/lib dune build --root ocaml --only-packages "$package" --profile release \
        --ignore-promoted-rules --default-target @install
    dune install --root ocaml --prefix "$prefix" --libdir "$prefix/lib" "$package"
done
rm -rf ocaml/_build

# A user's program, outside our tree.
mkdir /tmp/theirs
cd /tmp/theirs
cat >dune-project <<'END'
(lang dune 2.9)
END
cat >dune <<'END'
(executable
 (name theirs)
 (libraries bactrian)
 (preprocess (pps ppx_bactrian)))
END
cat >theirs.ml <<'END'
let handle request = (String.length request) [@@observe]
let requests = Bactrian.Point.create "requests"
let () =
  Bactrian.Point.observe requests;
  ignore (Bactrian.snapshot ~name:"here" ());
  Printf.printf "%d\n" (handle "four")
END
export OCAMLPATH=$prefix/lib
dune build --root . ./theirs.exe
test "$(./_build/default/theirs.exe)" = 4
