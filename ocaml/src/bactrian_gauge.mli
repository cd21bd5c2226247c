(** A number that goes up and down and that the program sets, such as the length of a queue. For a number that can be
    computed on demand, use {!Bactrian_value} instead. *)

type t

val create : ?labels:Bactrian_observer.labels -> ?unit:Bactrian_observer.unit_of_measure -> string -> t
(** A gauge with this name. *)

val set : t -> float -> unit
(** Sets the number. *)

val add : t -> float -> unit
(** Adds to the number; the argument may be negative. *)

val get : t -> float
(** The current number. *)

val kill : t -> unit
(** Stops observing the gauge. Clients keep its last value. *)
