(** Whoever watches. *)

val connected : unit -> int
(** How many watch. *)

val wait_for_connected : int -> unit
(** Waits until so many watch. Handlers of signals and observers are called meanwhile. *)

val wait_for_killed : unit -> unit
(** Waits until nobody watches. *)

val marker : string -> unit
(** Asks whoever watches to stop here and look. *)

val yield : unit -> unit
(** Lets observers be evaluated in code that neither allocates nor waits. *)

val tick : unit -> unit
(** Has values sent now, instead of with the next tick. *)

(**/**)

val ticks : unit -> int
