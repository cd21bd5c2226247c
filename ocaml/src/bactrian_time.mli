(** Stopwatches: how long the program was in some part of itself, on the wall. *)

type t

exception Already_started
exception Not_started

val create : ?labels:Bactrian_observer.labels -> string -> t

val start : t -> unit
(** @raise Already_started if it runs. *)

val stop : t -> unit
(** May be somewhere else than [start].
    @raise Not_started if it does not run. *)

val kill : t -> unit

val time : string -> ('a -> 'b) -> 'a -> 'b
(** [time name f x] is [f x], and its time is added to the stopwatch of this name, also if it raises an exception. Calls may
    be nested, or made by several threads: what is shown is the time during which at least one goes on. *)

val elapsed_time : unit -> float
(** Seconds since the program's start. *)

(** {1 Of calls that may be nested} *)

val enter : t -> unit
(** Begins a call; the stopwatch runs until each has ended. Not to be mixed with [start] and [stop]. *)

val leave : t -> unit
(** Ends one. *)

val leave_and_raise : t -> exn -> 'a
(** Ends one that is left by this exception, which goes on. *)
