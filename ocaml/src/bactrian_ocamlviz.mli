(** The interface of Ocamlviz. With [module Ocamlviz = Bactrian.Ocamlviz] (and [module Protocol = Bactrian.Protocol]),
    programs that were written for Ocamlviz compile.

    Both Ocamlviz's own clients and [bactrian live] can show such programs. Differences from the original: times are wall
    time; no signal is used, so this module and {!Bactrian_ocamlviz_threads} are the same; hash tables can be observed on
    every version of OCaml; and an observer that fails does not affect the others. *)

include Bactrian_monitor.Monitor

val yield : unit -> unit
(** A safe point for code that neither allocates nor waits: pending observers are evaluated here. *)

val send_now : unit -> unit
(** Evaluates all observers and sends their values now. *)

val init : unit -> unit
(** Starts the server. Using anything else of this module starts it, too. *)
