(** Pieces of work that begin and end, possibly several at the same time. Shown are the number of open ones and the
    distribution of the durations of the finished ones. *)

type t

type running
(** A piece of work that has begun. *)

val create : ?labels:Bactrian_observer.labels -> string -> t
(** A kind of work with this name. *)

val start : t -> running
(** Begins a piece of work. *)

val finish : running -> unit
(** Ends a piece of work. Call this exactly once for each. *)

val during : t -> (unit -> 'a) -> 'a
(** Calls a function as a piece of work, which also ends if the function raises an exception. *)

val kill : t -> unit
(** Stops observing this kind of work. Clients keep its last value. *)
