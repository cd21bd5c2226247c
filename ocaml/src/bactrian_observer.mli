(** What all observers have in common. *)

type t
(** Something that is observed. *)

type labels = (string * string) list
(** What tells observers of the same name apart, such as [["method", "GET"]]. The first 16 are kept. *)

type unit_of_measure = [ `None | `Bytes | `Nanoseconds | `Percent ]
(** What numbers mean. *)

val kill : t -> unit
(** It is not observed any more. Clients keep its last value. *)

val set_period : t -> int -> unit
(** Milliseconds between its values. One that takes more than a twentieth of the program's time to evaluate is evaluated
    less often than that, whatever is set. *)

(**/**)

(* For the other modules of the library. *)

type kind = Point | Time | Int | Float | Bool | Text | Tag | Tree | Table | Counter | Gauge

(* What became of an evaluation: a value was said, or it is to go on with the next tick, or there will be no more. *)
type outcome = Said | Unfinished | Collected

(* Starts the server, and looks whether threads are there by now. The second does so if nobody did. *)
val prepare : unit -> unit
val prepare_once : unit -> unit
val none : t
val number : t -> int
val measure : unit_of_measure -> int

(* [asked kind ~labels ~unit ~period name evaluate]: [evaluate] is called at safe points with its observer and the moment at
   which it should be done. *)
val asked :
  kind -> ?labels:labels -> ?unit:unit_of_measure -> ?period:int -> string -> (t -> deadline:int -> outcome) -> t

(* The same for what is alive only as long as [key], which is not kept alive. *)
val asked_weakly :
  kind -> ?labels:labels -> ?unit:unit_of_measure -> ?period:int -> string -> key:'a -> ('a -> t -> outcome) -> t

val published : kind -> ?labels:labels -> ?unit:unit_of_measure -> string -> t
val forget : t -> unit

external say : t -> kind -> 'a -> unit = "bactrian_say"
external now : unit -> int = "bactrian_nanos" [@@noalloc]

(* Evaluates what is asked for, now. *)
val answer : unit -> unit
val answer_all : unit -> unit
