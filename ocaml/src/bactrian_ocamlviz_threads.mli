(** The same as {!Bactrian_ocamlviz}: there, too, no signal is used. *)

include Bactrian_monitor.Monitor

val yield : unit -> unit
val send_now : unit -> unit
val init : unit -> unit
