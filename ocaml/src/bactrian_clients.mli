(** Whoever watches. *)

val connected : unit -> int
(** How many watch. *)

val wait_for_connected : int -> unit
(** Waits until so many watch. Handlers of signals and observers are called meanwhile. *)

val wait_for_killed : unit -> unit
(** Waits until nobody watches. *)

val marker : string -> unit
(** Asks whoever watches to stop here and look: observers are evaluated, and they see what was true at this very point. *)

val yield : unit -> unit
(** Lets observers be evaluated in code that neither allocates nor waits. *)

val show : unit -> unit
(** Shows all values as they are now, instead of with the next tick: observers are evaluated, and when this returns, whoever watches
    will see what they said, even if it changes at once. Does nothing if nobody watches. *)

(**/**)

val ticks : unit -> int
