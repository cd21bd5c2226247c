(** Marked values: how many of them are alive, and how much memory they hold with all they point to.

    Marking does not keep a value alive, and takes the same time whatever is marked. A value that is marked twice counts
    once; so does memory that several marked values share. Integers and their like hold no memory and are not counted.

    Sizes are those of [Obj.reachable_words], in bytes. They are found in slices, so that the program stands still for a
    few milliseconds at a time only: a size is of values as they were while it was being found. *)

type t

val create :
  ?labels:Bactrian_observer.labels -> ?size:bool -> ?count:bool -> ?period:int -> string -> t
(** [size] is [false] unless told otherwise, [count] is [true]. [period] is in milliseconds. *)

val mark : t -> 'a -> 'a
(** The result is the value itself. *)

val kill : t -> unit
val set_period : t -> int -> unit

(**/**)

val create_with :
  ?labels:Bactrian_observer.labels ->
  ?size:bool ->
  ?count:bool ->
  ?measure:((('a -> unit) -> unit) -> int) ->
  ?period:int ->
  string ->
  t

(* The longest slice so far, in nanoseconds: for the bench. *)
val longest_slice : int ref
