(** A number that only grows, such as requests answered or bytes sent. No count is lost, even if several domains count. *)

type t

val create : ?labels:Bactrian_observer.labels -> ?unit:Bactrian_observer.unit_of_measure -> string -> t
(** A counter with this name, at 0. *)

val incr : t -> unit
(** Adds 1. *)

val add : t -> int -> unit
(** Adds a number; negative numbers are ignored. *)

val get : t -> int
(** The current count. *)

val kill : t -> unit
(** Stops observing the counter. Clients keep its last value. *)
