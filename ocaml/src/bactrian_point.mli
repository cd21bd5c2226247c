(** Counts how often the program reaches a point.

    Counting takes about a nanosecond and calls no function. No count is lost, even if several domains count. *)

type t

val create : ?labels:Bactrian_observer.labels -> string -> t
(** A point with this name. *)

val observe : t -> unit
(** Counts one pass through the point. *)

val count : t -> int
(** The number of passes so far. *)

val kill : t -> unit
(** Stops observing the point. Clients keep its last value. *)

(** {1 Function calls} *)

val observe_calls : string -> ('a -> 'b) -> 'a -> 'b
(** [let f = observe_calls "f" f] counts the calls of [f]. *)

val observe_calls2 : string -> ('a -> 'b -> 'c) -> 'a -> 'b -> 'c
(** Like {!observe_calls}, for a function of two arguments. *)

val observe_calls_rec : string -> (('a -> 'b) -> 'a -> 'b) -> 'a -> 'b
(** [let f = observe_calls_rec "f" (fun f x -> ..)] counts all calls of a recursive function, including recursive ones. *)

val observe_calls_rec2 : string -> (('a -> 'b -> 'c) -> 'a -> 'b -> 'c) -> 'a -> 'b -> 'c
(** Like {!observe_calls_rec}, for a function of two arguments. *)
