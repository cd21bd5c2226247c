(** The interface of Ocamlviz, so that [module Ocamlviz = Bactrian.Ocamlviz] (and [module Protocol = Bactrian.Protocol])
    compiles programs that were written for it.

    Programs are shown by Ocamlviz's own clients and by [bactrian live]. What differs: times are on the wall; no signal is
    used, so that this module and {!Bactrian_ocamlviz_threads} are the same; hash tables are observed on every version of
    OCaml; an observer that fails silences nobody else. *)

include Bactrian_monitor.Monitor

val yield : unit -> unit
(** Lets observers be evaluated in code that neither allocates nor waits. *)

val send_now : unit -> unit
(** Has what is observed evaluated and sent now. *)

val init : unit -> unit
(** Starts the server; so does using anything of this module. *)
