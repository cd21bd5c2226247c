(** How often the program comes by somewhere.

    Counting takes about a nanosecond: nobody is called. No count is lost, also when several domains count. *)

type t

val create : ?labels:Bactrian_observer.labels -> string -> t
val observe : t -> unit

val count : t -> int
(** How often it was so far. *)

val kill : t -> unit

(** {1 Calls of functions} *)

val observe_calls : string -> ('a -> 'b) -> 'a -> 'b
(** [let f = observe_calls "f" f] counts the calls of [f]. *)

val observe_calls2 : string -> ('a -> 'b -> 'c) -> 'a -> 'b -> 'c
(** The same for a function of two arguments. *)

val observe_calls_rec : string -> (('a -> 'b) -> 'a -> 'b) -> 'a -> 'b
(** [let f = observe_calls_rec "f" (fun f x -> ..)] counts the calls of a recursive function, those by itself too. *)

val observe_calls_rec2 : string -> (('a -> 'b -> 'c) -> 'a -> 'b -> 'c) -> 'a -> 'b -> 'c
(** The same for a function of two arguments. *)
