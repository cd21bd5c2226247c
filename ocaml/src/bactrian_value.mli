(** Values of the program, obtained on demand by calling a function or reading a reference.

    Functions are called at safe points of the program, like signal handlers: where it allocates, polls or returns from a
    system call. They should be fast. An exception is shown as a failure of that observer only.

    A reference is not kept alive by being observed; nor is a function with [~weak:true]. Their observation ends when they
    are collected. [period] is in milliseconds. *)

type 'a observed =
  ?labels:Bactrian_observer.labels ->
  ?unit:Bactrian_observer.unit_of_measure ->
  ?weak:bool ->
  ?period:int ->
  string ->
  (unit -> 'a) ->
  Bactrian_observer.t
(** Observes the result of a function under a name. *)

val int : int observed
val float : float observed
val bool : bool observed
val string : string observed

type 'a observed_ref =
  ?labels:Bactrian_observer.labels ->
  ?unit:Bactrian_observer.unit_of_measure ->
  ?period:int ->
  string ->
  'a ref ->
  Bactrian_observer.t
(** Observes the contents of a reference under a name. *)

val int_ref : int observed_ref
val float_ref : float observed_ref
val bool_ref : bool observed_ref
val string_ref : string observed_ref

(** {1 Values that do not change} *)

val constant_int : ?labels:Bactrian_observer.labels -> string -> int -> Bactrian_observer.t
val constant_float : ?labels:Bactrian_observer.labels -> string -> float -> Bactrian_observer.t
val constant_bool : ?labels:Bactrian_observer.labels -> string -> bool -> Bactrian_observer.t
val constant_string : ?labels:Bactrian_observer.labels -> string -> string -> Bactrian_observer.t
