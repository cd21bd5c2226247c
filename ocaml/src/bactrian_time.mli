(** Stopwatches: the wall time that the program spends in some part of itself. *)

type t

exception Already_started
exception Not_started

val create : ?labels:Bactrian_observer.labels -> string -> t
(** A stopwatch with this name, not running. *)

val start : t -> unit
(** Starts the stopwatch.
    @raise Already_started if it is running. *)

val stop : t -> unit
(** Stops the stopwatch. This may be in another place than [start].
    @raise Not_started if it is not running. *)

val kill : t -> unit
(** Stops observing the stopwatch. Clients keep its last value. *)

val time : string -> ('a -> 'b) -> 'a -> 'b
(** [time name f x] is [f x]. It adds the duration to the stopwatch with this name, even if [f] raises an exception. Calls may
    be nested, or made by several threads: the stopwatch shows the time during which at least one call is active. *)

val elapsed_time : unit -> float
(** Seconds since the program's start. *)

(** {1 Nested calls} *)

val enter : t -> unit
(** Begins a call; the stopwatch runs until all calls have ended. Do not mix this with [start] and [stop]. *)

val leave : t -> unit
(** Ends a call. *)

val leave_and_raise : t -> exn -> 'a
(** Ends a call because of this exception, which is raised again with its backtrace. *)
