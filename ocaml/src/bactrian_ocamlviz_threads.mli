(** The same as {!Bactrian_ocamlviz}, which does not use signals either. *)

include Bactrian_monitor.Monitor

val yield : unit -> unit
val send_now : unit -> unit
val init : unit -> unit
