(** The distribution of numbers, such as sizes of replies. Clients show percentiles, accurate to a sixteenth of the number. *)

type t

val create : ?labels:Bactrian_observer.labels -> ?unit:Bactrian_observer.unit_of_measure -> string -> t
(** An empty histogram with this name. *)

val record : t -> int -> unit
(** Adds a number to the distribution; negative numbers count as 0. *)

val kill : t -> unit
(** Stops observing the histogram. Clients keep its last value. *)
