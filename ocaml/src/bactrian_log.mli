(** Log lines for clients, with the time at which they were written. The newest lines are kept for clients that connect
    later. *)

val log : ('a, Format.formatter, unit, unit) format4 -> 'a
(** Like [Format.printf]. No newline is needed at the end. *)

val line : string -> unit
(** Logs a string. *)
