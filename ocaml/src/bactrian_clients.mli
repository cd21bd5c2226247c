(** The connected clients, such as [bactrian live]. *)

val connected : unit -> int
(** The number of connected clients. *)

val wait_for_connected : int -> unit
(** Waits until this many clients are connected. Signal handlers run and observers are evaluated meanwhile. *)

val wait_for_killed : unit -> unit
(** Waits until no client is connected. *)

val marker : string -> unit
(** Asks all clients to stop and show this text. Observers are evaluated first, so that clients see the values at this very
    point of the program. *)

val yield : unit -> unit
(** A safe point for code that neither allocates nor waits: pending observers are evaluated here. *)

val show : unit -> unit
(** Evaluates all observers now instead of with the next tick. When this returns, clients will see these values even if
    they change at once. Does nothing if no client is connected. *)

(**/**)

val ticks : unit -> int
