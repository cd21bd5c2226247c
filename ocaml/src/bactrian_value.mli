(** Values of the program, got by calling a function or looking into a reference when somebody wants to see them.

    Functions are called at safe points of the program: where it allocates, polls or ends a system call, as handlers of
    signals are. They should be quick. An exception is shown as the failure of that observer. With [weak] a function is
    observed as long as something else keeps it alive; references always are. [period] is in milliseconds. *)

type 'a observed =
  ?labels:Bactrian_observer.labels ->
  ?unit:Bactrian_observer.unit_of_measure ->
  ?weak:bool ->
  ?period:int ->
  string ->
  (unit -> 'a) ->
  Bactrian_observer.t

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

val int_ref : int observed_ref
val float_ref : float observed_ref
val bool_ref : bool observed_ref
val string_ref : string observed_ref

(** {1 Values that do not change} *)

val constant_int : ?labels:Bactrian_observer.labels -> string -> int -> Bactrian_observer.t
val constant_float : ?labels:Bactrian_observer.labels -> string -> float -> Bactrian_observer.t
val constant_bool : ?labels:Bactrian_observer.labels -> string -> bool -> Bactrian_observer.t
val constant_string : ?labels:Bactrian_observer.labels -> string -> string -> Bactrian_observer.t
