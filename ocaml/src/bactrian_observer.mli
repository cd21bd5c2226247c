(** What all observers have in common. *)

type t
(** Something that is observed. *)

type labels = (string * string) list
(** Distinguishes observers of the same name, such as [["method", "GET"]]. The first 16 are kept. *)

type unit_of_measure = [ `None | `Bytes | `Nanoseconds | `Percent ]
(** The unit of a number. *)

val kill : t -> unit
(** Stops observing. Clients keep the last value. *)

val set_period : t -> int -> unit
(** Sets the number of milliseconds between two evaluations. An observer whose evaluation takes more than a twentieth of the
    program's time is evaluated less often, whatever the period. *)

(**/**)

(* For the other modules of the library. *)

type kind = Point | Time | Int | Float | Bool | Text | Tag | Tree | Table | Counter | Gauge

(* The result of an evaluation: a value was published; the evaluation continues at the next tick; there will be no more. *)
type outcome = Said | Unfinished | Collected

(* Starts the server, and checks whether threads exist by now. The second function does so only on its first call. *)
val prepare : unit -> unit
val prepare_once : unit -> unit
val none : t
val number : t -> int
val measure : unit_of_measure -> int

(* [asked kind ~labels ~unit ~period name evaluate]: [evaluate] is called at safe points with its observer and the deadline
   for its work. *)
val asked :
  kind -> ?labels:labels -> ?unit:unit_of_measure -> ?period:int -> string -> (t -> deadline:int -> outcome) -> t

(* Like [asked], for an observer that ends when [key] is collected; it does not keep [key] alive. *)
val asked_weakly :
  kind -> ?labels:labels -> ?unit:unit_of_measure -> ?period:int -> string -> key:'a -> ('a -> t -> outcome) -> t

val published : kind -> ?labels:labels -> ?unit:unit_of_measure -> string -> t
val forget : t -> unit

external say : t -> kind -> 'a -> unit = "bactrian_say"
external now : unit -> int = "bactrian_nanos" [@@noalloc]

(* Evaluates pending observers, or all of them, now. *)
val answer : unit -> unit
val answer_all : unit -> unit
