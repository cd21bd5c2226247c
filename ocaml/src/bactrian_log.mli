(** Lines for whoever watches, with the moment at which they were written. The newest are kept for those who come later. *)

val log : ('a, Format.formatter, unit, unit) format4 -> 'a
(** As [Format.printf]; a new line at the end is not needed. *)

val line : string -> unit
(** The same for a text that is ready. *)
