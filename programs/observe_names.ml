(* Opened before programs that were written for Ocamlviz, so that they are compiled with our library. *)

module Ocamlviz = Bactrian.Ocamlviz
module Ocamlviz_threads = Bactrian.Ocamlviz_threads
module Protocol = Bactrian.Protocol
