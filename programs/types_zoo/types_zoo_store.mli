(* What others see of types_zoo_store.ml: not all of it, and not in its order. *)

type t
type 'a box
type key = private int

val find : t -> string -> int option
val shared : t
val boxed : string box

module Inner : sig
  type secret

  val last : secret
  val first : secret
end

exception Full of int

val count : t -> int
