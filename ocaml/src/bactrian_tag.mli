(** Marked values: how many of them are alive, and how much memory is reachable from them.

    Marking a value does not keep it alive, and takes the same time for every value. A value that is marked twice counts
    once, and so does memory that several marked values share. Integers and other immediates hold no memory and are not
    counted.

    Sizes are those of [Obj.reachable_words], in bytes. They are computed in slices, so that the program is paused for a few
    milliseconds at a time only. A size therefore reflects the values at the time when each of them was visited. *)

type t

val create :
  ?labels:Bactrian_observer.labels -> ?size:bool -> ?count:bool -> ?period:int -> string -> t
(** A tag with this name. [size] and [count] say what is shown; [size] is [false] by default, [count] is [true]. [period]
    is in milliseconds. *)

val mark : t -> 'a -> 'a
(** Marks a value and returns it. *)

val kill : t -> unit
(** Stops observing the tag and forgets its marked values. Clients keep its last value. *)

val set_period : t -> int -> unit
(** As {!Bactrian_observer.set_period}. *)

(**/**)

val create_with :
  ?labels:Bactrian_observer.labels ->
  ?size:bool ->
  ?count:bool ->
  ?measure:((('a -> unit) -> unit) -> int) ->
  ?period:int ->
  string ->
  t

(* The longest slice so far in nanoseconds, for the benchmark. *)
val longest_slice : int ref
