(* Variables of the source: by the numbers that the compiler gives them, which debug information of bytecode repeats, and by where they
   can be named, which is all that is known of native code. *)

type t

(* Those of a unit, by its number in the table; functions may capture those that no module holds. *)
val of_unit : int -> Captures.t -> t

(* Where a variable can be named: in all that follows, in some part of the source, or in a function whose parameter it is. *)
type scope = Everywhere | Within of Location.t | Parameter_of of Location.t

(* A variable that holds a value. *)
val value : t -> Modules.frame -> scope -> Ident.t * Types.type_expr -> unit

(* What a structure's item binds, but for values. *)
val item : t -> Modules.frame -> scope -> Typedtree.structure_item -> unit

(* What is bound inside an expression. *)
val local : t -> Modules.frame -> scope -> Compat.local -> unit
