(** How numbers are distributed: clients show percentiles, to a sixteenth of the number. *)

type t

val create : ?labels:Bactrian_observer.labels -> ?unit:Bactrian_observer.unit_of_measure -> string -> t

val record : t -> int -> unit
(** Takes in a number; one less than 0 as 0. *)

val kill : t -> unit
