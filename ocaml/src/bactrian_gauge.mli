(** A number that goes up and down, and that the program sets: the length of a queue. A number that can be computed when
    somebody wants to see it is better a {!Bactrian_value}. *)

type t

val create : ?labels:Bactrian_observer.labels -> ?unit:Bactrian_observer.unit_of_measure -> string -> t
val set : t -> float -> unit
val add : t -> float -> unit
val get : t -> float
val kill : t -> unit
