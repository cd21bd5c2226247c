(** Pieces of work that begin and end, several at once if need be: how many are open, and how long the others took, as a
    distribution. *)

type t

type running
(** A piece of work that has begun. *)

val create : ?labels:Bactrian_observer.labels -> string -> t
val start : t -> running

val finish : running -> unit
(** To be called once for each. *)

val during : t -> (unit -> 'a) -> 'a
(** Calls a function; the span ends also if that raises an exception. *)

val kill : t -> unit
