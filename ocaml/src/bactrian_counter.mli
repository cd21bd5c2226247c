(** A number that only grows: requests, bytes sent. No count is lost, also when several domains count. *)

type t

val create : ?labels:Bactrian_observer.labels -> ?unit:Bactrian_observer.unit_of_measure -> string -> t
val incr : t -> unit

val add : t -> int -> unit
(** A number less than 0 is not added. *)

val get : t -> int
val kill : t -> unit
